"""Starts the programs of the demonstration, breaks them when a button says so, and tells how they
stand."""

import asyncio
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import sys
import time

from .control import Control
from .links import Link
from .postgres import Postgres
from .processes import Gateway, Redis, ask, redis_program
from .talk import Talk, lines_of

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LOGS = REPOSITORY / "config/demo"
CONVERSATION = "demo"
#: With so many messages the conversation of the demonstration begins.
BEGINNING = 60
#: How often the programs are asked how they stand, in seconds.
PACE = 0.3
#: While alice's link is slow everybody talks: so many times 25 messages, then until her gateway
#: had to leave something out, and this many a second from then on. The kernel's buffers, and how
#: fast this machine writes, decide how much that takes.
CROWDS, CROWD_RATE, USUAL_RATE = 24, 20.0, 2.0
KEPT_NEWS = 14
METRICS = {
    "gapless_deltas_written_total": "written", "gapless_sheds_total": "sheds",
    "gapless_origin_fetches_total": "fetches", "gapless_resets_total": "resets",
    "gapless_resumes_total": "resumes", "gapless_accounting_error": "error",
}


async def end(tasks):
    """Cancels tasks, and waits until they have ended."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        # Before Python 3.12 `wait_for` loses a cancellation that comes together with what it waits
        # for (bpo-37658), so it is said again.
        _, pending = await asyncio.wait(pending, timeout=1)
    await asyncio.gather(*tasks, return_exceptions=True)


class Settings:
    """What the environment says; see `deploy/demo`."""

    def __init__(self, program, environment):
        self.program = os.path.realpath(program)
        self.address = environment.get("DEMO_ADDRESS", "127.0.0.1:8000")
        self.internal = environment.get("DEMO_INTERNAL", "127.0.0.1:9000")
        self.second = environment.get("DEMO_SECOND", "127.0.0.1:8001")
        self.second_internal = environment.get("DEMO_SECOND_INTERNAL", "127.0.0.1:9001")
        self.supervisor = environment.get("DEMO_SUPERVISOR", "127.0.0.1:8002")
        self.redis = environment.get("DEMO_REDIS", "127.0.0.1:6390")
        self.postgres = environment.get("DEMO_POSTGRES", "127.0.0.1:5490")
        self.folder = (REPOSITORY / environment.get("DEMO_DIRECTORY", ".build/run")).resolve()
        self.upstream = environment.get("DEMO_UPSTREAM") or (
            "redis" if redis_program() else "embedded")
        if self.upstream not in ("embedded", "redis", "postgres"):
            sys.exit(f"demo: the origin is {self.upstream}; embedded, redis and postgres are known")

    def taken(self):
        """What to do about an address that somebody else has; `None` if there is none."""
        addresses = {"DEMO_ADDRESS": self.address, "DEMO_INTERNAL": self.internal,
                     "DEMO_SUPERVISOR": self.supervisor}
        if self.upstream != "embedded":
            addresses |= {"DEMO_SECOND": self.second, "DEMO_SECOND_INTERNAL": self.second_internal,
                          f"DEMO_{self.upstream.upper()}": getattr(self, self.upstream)}
        for name, address in addresses.items():
            host, port = address.rsplit(":", 1)
            try:
                socket.create_server((host, int(port))).close()
            except OSError as error:
                return (
                    f"{address}: {os.strerror(error.errno)}. Another program listens there,"
                    f" perhaps an earlier make run. Stop it, or say where else:"
                    f" {name}={host}:{int(port) + 100} make run")
        return None


class Supervisor:
    """Owns everything that runs, and answers the buttons."""

    def __init__(self, settings):
        self.settings = settings
        os.umask(0o077)
        settings.folder.mkdir(parents=True, exist_ok=True)
        self.keys = settings.folder / "api-keys"
        if not self.keys.exists():
            self.keys.write_text(secrets.token_hex(24) + "\n")
        self.key = self.keys.read_text().split()[0]
        self.news = []
        #: What two gateways share; without one the origin is in the one gateway.
        self.origin = None
        if settings.upstream == "redis":
            self.origin = Redis(settings.redis, settings.folder / "redis", self.note)
        elif settings.upstream == "postgres":
            self.origin = Postgres(
                settings.postgres, settings.folder / "postgres", settings.program, self.note)
        self.gateways = [self._gateway("gateway a", settings.address, settings.internal, "a", {
            "demo.enabled": "true", "demo.supervisor": settings.supervisor})]
        if self.origin:
            self.gateways.append(self._gateway(
                "gateway b", settings.second, settings.second_internal, "b", {}))
        self.links = {
            "alice": Link(lambda: self.gateways[0].address),
            "bob": Link(lambda: self.gateways[-1].address),
        }
        self.talk = Talk(lines_of(LOGS), self._post)
        self.control = Control(settings, self.links, self.press, self.state)
        self.head = None
        self.backup_at = None
        self.measured = {}
        self.tasks = []

    def _gateway(self, name, address, internal, letter, more):
        settings = {
            "auth.api_key_file": self.keys, "drain.window": "1s", "log.level": "warning",
            # So that a page which is too slow is told so after kilobytes.
            "limits.outbox_soft": "4KiB",
            # No warning on a machine that lets a process open few files.
            "limits.connections": 500, **more,
        }
        if self.origin:
            settings |= self.origin.settings()
            settings["cache.path"] = (
                self.settings.folder / f"cache-{self.settings.upstream}-{letter}.db")
        else:
            settings["cache.path"] = self.settings.folder / "gapless.db"
        return Gateway(name, self.settings.program, address, internal, settings, self.note)

    # Life.

    async def run(self):
        """Runs until it is told to stop; the exit status."""
        taken = self.settings.taken()
        if taken is not None:
            print(f"demo: {taken}", file=sys.stderr)
            return 1
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        try:
            for program in filter(None, [self.origin, *self.gateways]):
                if not await program.start():
                    return 1
            await self._begin()
            await self.control.start()
            self.tasks = [asyncio.create_task(work) for work in (
                self.talk.run(), self._measure(),
                self._replay(self._live(), "ubuntu-live", 1))]
            self._greet()
            await stopped.wait()
            print("\nStopping.", flush=True)
            return 0
        finally:
            await end(self.tasks)
            await asyncio.gather(*(gateway.stop() for gateway in self.gateways))
            if self.origin:
                await self.origin.stop()

    async def _begin(self):
        await self._call("DELETE", f"/v1/conversations/{CONVERSATION}")
        for conversation in ("ubuntu-history", "ubuntu-live"):
            title = f"#ubuntu, {conversation.removeprefix('ubuntu-')}"
            await self._call("PUT", f"/v1/conversations/{conversation}", {"title": title})
            for user in ("alice", "bob"):
                await self._call(
                    "PUT", f"/v1/conversations/{conversation}/participants/{user}", {})
        await self._call("PUT", f"/v1/conversations/{CONVERSATION}", {
            "title": "#ubuntu", "participants": ["alice", "bob", *self.talk.authors]})
        await self._replay(LOGS / "ubuntu-2009-05-08.irc", "ubuntu-history", 0)
        await self.talk.say(BEGINNING)
        await (self.origin or self.gateways[0]).back_up()
        self.backup_at = BEGINNING
        self.note(f"a backup is made, with {BEGINNING} messages: it stands for yesterday's")

    def _live(self):
        """The log that arrives live, under a name that is new at each start: by its name and line a
        message is known, and what is known arrives once."""
        for earlier in self.settings.folder.glob("live-*.irc"):
            earlier.unlink()
        return shutil.copy(
            LOGS / "ubuntu-2012-03-24.irc", self.settings.folder / f"live-{time.time_ns()}.irc")

    async def _replay(self, file, conversation, rate):
        with (self.settings.folder / f"replay-{conversation}.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                self.settings.program, "replay", file,
                "--conversation", conversation, "--rate", str(rate),
                "--url", f"http://{self.gateways[-1].address}", "--api-key-file", self.keys,
                "--patience", "10m", stdout=log, stderr=log, start_new_session=True)
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def _greet(self):
        address = self.settings.address
        print(f"""
  Gapless runs. See what it promises, while you break it:

    http://{address}/demo

  Or open these in two windows and talk:

    http://{address}/?user=alice&conversation=ubuntu-live
    http://{address}/?user=bob&conversation=ubuntu-live

  Inside the gateway: http://{self.settings.internal}/     Stop: Ctrl-C
""", flush=True)

    async def _call(self, method, path, body=None):
        content = b"" if body is None else json.dumps(body).encode()
        for gateway in reversed(self.gateways):
            if gateway.state == "running":
                status, answer = await ask(
                    gateway.address, method, path, content, self.key)
                if status not in (0, 503):
                    return status, answer
        return 0, b""

    async def _post(self, body):
        path = f"/v1/conversations/{CONVERSATION}/messages"
        return (await self._call("POST", path, json.loads(body)))[0]

    # The buttons.

    async def press(self, name):
        """Does what a button says; what was not pressed before is undone by a second press."""
        await {
            "cut": self._cut, "slow": self._slow, "kill": self._kill, "origin": self._origin,
            "restore": self._restore,
        }[name]()

    async def _cut(self):
        link = self.links["alice"]
        if link.is_cut:
            link.mend()
            self.note("alice's link is mended")
        else:
            link.cut()
            self.note("alice's link is cut; the conversation goes on")

    async def _slow(self):
        link = self.links["alice"]
        link.is_slow = not link.is_slow
        self.talk.rate = CROWD_RATE if link.is_slow else USUAL_RATE
        if link.is_slow:
            self.note("alice's link carries little, and everybody talks at once")
            before = self._sheds()
            self.tasks.append(asyncio.create_task(self.talk.crowd(
                CROWDS, lambda: not link.is_slow or self._sheds() != before)))
        else:
            self.note("alice's link is fast again")

    def _sheds(self):
        """How often alice's gateway has left something out for a slow reader."""
        return self.measured.get(self.gateways[0].name, {}).get("sheds", 0)

    async def _kill(self):
        self.gateways[0].kill()
        self.note("kill -9 of gateway a")

    async def _origin(self):
        if not self.origin:
            return
        if self.origin.away_until is None:
            self.origin.release()
        else:
            await self.origin.hold()
            self.note(f"{self.origin.name} is stopped; gateways answer from what they hold")

    async def _restore(self):
        self.note(f"yesterday's backup is put back: what came after message {self.backup_at} is"
                  " gone from the log")
        await (self.origin or self.gateways[0]).restore()

    # How things stand.

    def note(self, text):
        """News for people."""
        self.news.append({"at": int(time.time() * 1000), "text": text})
        del self.news[:-KEPT_NEWS]
        self.control.changed()

    def state(self):
        """All that the page draws, beside what its two clients know themselves."""
        link = self.links["alice"]
        return {
            "upstream": self.origin.name if self.origin else None, "conversation": CONVERSATION,
            "pressed": {
                "cut": link.is_cut, "slow": link.is_slow,
                "origin": self.origin is not None and self.origin.away_until is None,
            },
            "possible": {"origin": self.origin is not None},
            "origin": {"state": self.origin.state if self.origin else self.gateways[0].state,
                       "head": self.head},
            "gateways": [
                {"name": gateway.name, "state": gateway.state,
                 "pid": gateway.process.pid if gateway.state != "dead" else None,
                 **self.measured.get(gateway.name, {})}
                for gateway in self.gateways],
            "rate": self.talk.rate, "news": self.news,
        }

    async def _measure(self):
        while True:
            await asyncio.gather(*(self._measure_one(gateway) for gateway in self.gateways))
            status, answer = await self._call("POST", "/v1/heads", {"ids": [CONVERSATION]})
            if status == 200:
                self.head = json.loads(answer)["heads"][CONVERSATION]
            self.control.changed()
            await asyncio.sleep(PACE)

    async def _measure_one(self, gateway):
        if gateway.state != "running":
            self.measured.pop(gateway.name, None)
            return
        health, metrics = await asyncio.gather(
            ask(gateway.internal, "GET", "/health"), ask(gateway.internal, "GET", "/metrics"))
        if health[0] != 200 or metrics[0] != 200:
            return
        said = json.loads(health[1])
        measured = {
            "feed": said["upstream"][0]["state"], "openGaps": said["sync"]["openGaps"],
            "clients": said["clients"]["connections"],
        }
        for line in metrics[1].decode().splitlines():
            name, _, value = line.partition(" ")
            plain = name.partition("{")[0]
            if plain in METRICS:
                measured[METRICS[plain]] = measured.get(METRICS[plain], 0) + float(value)
        self.measured[gateway.name] = measured
