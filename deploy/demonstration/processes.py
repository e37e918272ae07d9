"""The programs of the demonstration, gateways and an origin, each started again when it died."""

import asyncio
import os
import pathlib
import shutil
import signal
import sys
import time

#: How long one that died stays away, in seconds: long enough to see what the others do meanwhile.
AWAY = 3.0
#: How long one may take to come up, and to stop.
PATIENCE = 60.0
#: Debian's packages of Redis hold one program that is what its name says.
REDIS_PROGRAMS = ("redis-server", "redis-check-rdb", "redis-check-aof")


class Program:
    """One program, which is kept running until `stop`, unless it is `hold`ed."""

    #: What asks it to end at once.
    ending = signal.SIGTERM

    def __init__(self, name, arguments, is_ready, note, executable=None, output=None, user=None):
        """`is_ready` is an asynchronous question, `note` takes each line of news for people, `user`
        is who it runs as (`None`: the user who runs this)."""
        self.name = name
        self.arguments = [str(argument) for argument in arguments]
        self.executable = executable
        self.output = output
        self.user = user
        self.is_ready = is_ready
        self.note = note
        self.process = None
        #: `starting`, `running`, `stopping` or `dead`.
        self.state = "dead"
        #: Until when nobody starts it: `None` for as long as it is not released.
        self.away_until = 0.0
        self.watcher = None

    async def start(self):
        """Starts it for the first time. False if it ended before it was ready; it said why."""
        if not await self._begin():
            return False
        self.watcher = asyncio.create_task(self._watch())
        return True

    def kill(self):
        """Ends it as a power failure would; it comes back after a while."""
        self.away_until = time.monotonic() + AWAY
        self._send(signal.SIGKILL)

    async def hold(self):
        """Stops it, and keeps it stopped until `release`."""
        self.away_until = None
        self.state = "stopping"
        self._send(self.ending)
        await self.process.wait()
        self.state = "dead"

    def release(self):
        """Lets it be started again."""
        self.away_until = 0.0

    async def stop(self):
        """Ends it for good."""
        if self.watcher is not None:
            self.watcher.cancel()
        if self.process is None or self.process.returncode is not None:
            return
        self._send(self.ending)
        try:
            await asyncio.wait_for(self.process.wait(), PATIENCE)
        except asyncio.TimeoutError:
            self._send(signal.SIGKILL)

    async def _begin(self):
        self.state = "starting"
        # In a session of its own it does not see the terminal's Ctrl-C, which would be a second
        # signal beside the one from here and cut its drain short.
        self.process = await asyncio.create_subprocess_exec(
            *self.arguments, executable=self.executable, stdout=self.output, stderr=self.output,
            user=self.user, start_new_session=True)
        deadline = time.monotonic() + PATIENCE
        while not await self.is_ready():
            if self.process.returncode is not None or time.monotonic() > deadline:
                self.state = "dead"
                return False
            await asyncio.sleep(0.05)
        self.state = "running"
        return True

    async def _watch(self):
        while True:
            status = await self.process.wait()
            if self.state == "running":
                self.note(f"{self.name} is gone ({describe(status)})")
            self.state = "dead"
            # A process that was killed from elsewhere is treated the same.
            if self.away_until == 0.0:
                self.away_until = time.monotonic() + AWAY
            while self.away_until is None or time.monotonic() < self.away_until:
                await asyncio.sleep(0.05)
            self.away_until = 0.0
            if await self._begin():
                self.note(f"{self.name} is back")
            else:
                # It said why; a port that is taken, or a disk that is full, may be free again.
                self.away_until = time.monotonic() + AWAY

    def _send(self, number):
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)


def describe(status):
    """How a program ended, for a person to read."""
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def redis_program():
    """Where the program of Redis is; `None` where it is not installed."""
    places = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin"]
    return next((found for name in REDIS_PROGRAMS
                 if (found := shutil.which(name, path=os.pathsep.join(places)))), None)


class Redis(Program):
    """A Redis that keeps its log in a folder, and can be put back to a copy of it."""

    def __init__(self, address, folder, note):
        self.host, port = address.rsplit(":", 1)
        self.port = int(port)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.copy = self.folder.with_name(f"{self.folder.name}-backup")
        # What it is is in its name, whatever the name of its file.
        arguments = [
            "redis-server", "--port", port, "--bind", self.host, "--dir", self.folder.resolve(),
            "--save", "", "--appendonly", "yes", "--appendfsync", "everysec",
            # A copy of the files is whole as long as nobody rewrites them meanwhile.
            "--auto-aof-rewrite-percentage", "0",
        ]
        with (self.folder / "redis.log").open("ab") as log:
            output = os.dup(log.fileno())
        super().__init__("Redis", arguments, self._answers, note, redis_program(), output)

    def settings(self):
        """What a gateway is told of it."""
        return {"upstream.kind": "redis", "upstream.redis.url": f"redis://{self.host}:{self.port}/0"}

    async def back_up(self):
        """Copies its files as they are now."""
        # They are written within a second.
        await asyncio.sleep(1.2)
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.folder / "appendonlydir", self.copy)

    async def restore(self):
        """Puts the copy back: what was written since is lost."""
        await self.hold()
        shutil.rmtree(self.folder / "appendonlydir")
        shutil.copytree(self.copy, self.folder / "appendonlydir")
        self.release()

    async def _answers(self):
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port)
            writer.write(b"PING\r\n")
            answer = await asyncio.wait_for(reader.readline(), 2)
            writer.close()
            return answer.startswith(b"+PONG")
        except (OSError, asyncio.TimeoutError):
            return False


class Gateway(Program):
    """One gateway, with an address for clients and one for its operator."""

    def __init__(self, name, program, address, internal, settings, note):
        self.address = address
        self.internal = internal
        values = {"listen.public": address, "listen.internal": internal, **settings}
        arguments = [program, "serve", *(f"--set={key}={value}" for key, value in values.items())]
        super().__init__(name, arguments, self._is_ready, note, output=sys.stderr)
        self.program = program
        self.cache = pathlib.Path(settings["cache.path"])
        self.copy = self.cache.with_suffix(".backup")

    async def back_up(self):
        """Copies the log of an embedded origin."""
        self.copy.unlink(missing_ok=True)
        process = await asyncio.create_subprocess_exec(
            self.program, "backup", f"--set=cache.path={self.cache}", self.copy,
            stdout=asyncio.subprocess.DEVNULL)
        if await process.wait() != 0:
            raise RuntimeError("the log could not be copied; the reason stands above")

    async def restore(self):
        """Puts the copy back: what was written since is lost."""
        await self.hold()
        for ending in ("-wal", "-shm"):
            self.cache.with_name(self.cache.name + ending).unlink(missing_ok=True)
        shutil.copyfile(self.copy, self.cache)
        self.release()

    async def _is_ready(self):
        return (await ask(self.internal, "GET", "/health/ready"))[0] == 200


async def ask(address, method, path, body=b"", key=None, patience=5.0):
    """One HTTP request: the status, 0 where nobody answers, and the body."""
    writer = None
    try:
        host, port = address.rsplit(":", 1)
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), patience)
        access = f"Authorization: Bearer {key}\r\n" if key else ""
        writer.write((
            f"{method} {path} HTTP/1.1\r\nHost: {address}\r\n{access}Connection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body)
        answer = await asyncio.wait_for(reader.read(), patience)
        head, _, content = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), content
    except (OSError, asyncio.TimeoutError, ValueError, IndexError):
        return 0, b""
    finally:
        if writer is not None:
            writer.close()
