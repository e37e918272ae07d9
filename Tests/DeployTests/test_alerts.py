"""A real Prometheus watches a gateway that has real faults: the alert fires, and is gone when the
fault is. Waits are shortened, nothing else: minutes of the rules become seconds."""

import contextlib
import json
import os
import pathlib
import re
import tempfile
import threading
import time
import unittest

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from corruption import add_to_books
from processes import DEPLOY, PATIENCE, Daemon, Gateway, Redis, free_port, run, text, wait_until
from tcp_proxy import TCPProxy


class Prometheus(Daemon):
    """Scrapes and judges every second. `waits` are further words of the rules, and what they are
    here."""

    def __init__(self, gateway, waits):
        super().__init__()
        self.address = f"127.0.0.1:{free_port()}"
        rules = (DEPLOY / "monitoring/alerts.yml").read_text()
        rules = re.sub(r"for: \w+", "for: 1s", rules)
        rules = re.sub(r"\[(5m|1h)\]", "[10s]", rules).replace("> 120", "> 3")
        for word, shorter in waits.items():
            assert word in rules
            rules = rules.replace(word, shorter)
        (self.path / "alerts.yml").write_text(rules)
        configuration = (DEPLOY / "monitoring/prometheus.yml").read_text()
        configuration = configuration.replace("15s", "1s").replace(
            "127.0.0.1:9000", gateway.internal)
        (self.path / "prometheus.yml").write_text(configuration)
        self.start("prometheus", f"--web.listen-address={self.address}",
                   f"--storage.tsdb.path={self.path}/data",
                   f"--config.file={self.path}/prometheus.yml")
        # Until then it answers everything with a sentence.
        wait_until(lambda: "is Ready" in (text(self.address, "/-/ready") or ""), "Prometheus")

    def firing(self):
        answer = text(self.address, "/api/v1/alerts")
        alerts = json.loads(answer)["data"]["alerts"] if answer else []
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def scraped(self):
        """How often the gateway answered."""
        query = "count_over_time(gapless_uptime_seconds[1m])"
        answer = text(self.address, f"/api/v1/query?query={query}")
        results = json.loads(answer)["data"]["result"] if answer else []
        return int(results[0]["value"][1]) if results else 0


class Client:
    """One user's WebSocket."""

    def __init__(self, address, user):
        self.socket = connect(f"ws://{address}/v1/ws", proxy=None, max_size=None)
        self.ask("connect", user=user)

    def send(self, method, **params):
        self.socket.send(json.dumps({"id": 1, "method": method, "params": params}))

    def ask(self, method, **params):
        """Whatever comes first is taken for the reply: here nothing else has a reason to."""
        self.send(method, **params)
        reply = json.loads(self.socket.recv())
        assert "result" in reply, reply

    def read(self):
        """Until the connection ends."""
        with contextlib.suppress(ConnectionClosed):
            for _ in self.socket:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Repeated:
    """An action that a thread repeats as long as the `with` lasts."""

    def __init__(self, action):
        self.action = action
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.is_over.is_set():
            self.action()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join(PATIENCE)


class Alerts(unittest.TestCase):
    def watch(self, gateway, waits=None):
        prometheus = Prometheus(gateway, waits or {})
        self.addCleanup(prometheus.__exit__)
        wait_until(lambda: prometheus.scraped() >= 3, "Prometheus scrapes")
        self.assertEqual(prometheus.firing(), set())
        return prometheus

    def fires(self, prometheus, *alerts):
        wait_until(lambda: prometheus.firing() >= set(alerts), f"{alerts} fire", 60)

    def clears(self, prometheus):
        wait_until(lambda: not prometheus.firing(), "no alert fires", 90)

    def test_an_origin_that_goes_away(self):
        with Redis() as redis, Gateway(
                upstream__kind="redis", upstream__redis__url=redis.url) as gateway:
            prometheus = self.watch(gateway)
            redis.stop()
            self.fires(prometheus, "GaplessUpstreamOffline", "GaplessNotReady")
            redis.begin()
            self.clears(prometheus)

    def test_a_gateway_that_is_gone(self):
        with Gateway() as gateway:
            prometheus = self.watch(gateway)
            gateway.kill()
            self.fires(prometheus, "GaplessDown")
            gateway.start()
            self.clears(prometheus)

    def test_books_that_do_not_balance(self):
        with Gateway() as gateway:
            prometheus = self.watch(gateway)
            add_to_books(gateway.process, 1)
            self.fires(prometheus, "GaplessAccountingError")
            self.assertEqual(gateway.health()["status"], "degraded")
            add_to_books(gateway.process, -1)
            self.clears(prometheus)

    def test_descriptors_that_run_out(self):
        with Gateway() as gateway:
            prometheus = self.watch(gateway)
            process = gateway.process.pid
            used = len(os.listdir(f"/proc/{process}/fd"))
            limits = run("prlimit", f"--pid={process}", "--nofile", "--output=SOFT", "--noheadings")
            run("prlimit", f"--pid={process}", f"--nofile={used + 1}:")
            self.fires(prometheus, "GaplessDescriptorsShort")
            run("prlimit", f"--pid={process}", f"--nofile={limits[1].strip()}:")
            self.clears(prometheus)

    def test_a_drain_that_takes_long(self):
        with Gateway(drain__window="20s") as gateway, contextlib.ExitStack() as clients:
            prometheus = self.watch(gateway)
            # Each is sent away at a moment of its own; the last of so many is late.
            for number in range(30):
                socket = clients.enter_context(
                    connect(f"ws://{gateway.address}/v1/ws", proxy=None))
                params = {"user": f"user-{number}"}
                socket.send(json.dumps({"id": 1, "method": "connect", "params": params}))
                socket.recv()
            gateway.process.terminate()
            self.fires(prometheus, "GaplessDrainStuck")
            self.assertEqual(gateway.process.wait(PATIENCE), 0)
            gateway.start()
            self.clears(prometheus)

    def small_disk(self):
        """A folder with room for 4 MiB, and what takes all that is left of it."""
        folder = tempfile.TemporaryDirectory(prefix="gapless-disk-")
        self.addCleanup(folder.cleanup)
        status, said = run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder.name)
        self.assertEqual(status, 0, said)
        self.addCleanup(run, "umount", "--lazy", folder.name)
        return pathlib.Path(folder.name)

    def fill(self, folder):
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        return filler

    @unittest.skipUnless(os.geteuid() == 0, "a small file system is mounted by root")
    def test_a_disk_that_is_full(self):
        folder = self.small_disk()
        with Gateway(cache__path=f"{folder}/gapless.db") as gateway:
            prometheus = self.watch(gateway)
            gateway.converse("ops", "alice")
            filler = self.fill(folder)
            self.write_until_refused(gateway)
            self.fires(prometheus, "GaplessCacheNotWritable", "GaplessNotReady",
                       "GaplessCommitsFail", "GaplessErrorsLogged")
            filler.unlink()
            self.clears(prometheus)
            gateway.say("ops", "alice", "after")

    @unittest.skipUnless(os.geteuid() == 0, "a small file system is mounted by root")
    def test_a_cache_whose_disk_is_full(self):
        folder = self.small_disk()
        with Redis() as redis, Gateway(
                upstream__kind="redis", upstream__redis__url=redis.url,
                cache__path=f"{folder}/gapless.db") as gateway:
            prometheus = self.watch(gateway)
            gateway.converse("ops", "alice")
            with Client(gateway.address, "alice") as client:
                client.ask("subscribeMessages", conversation="ops")
                threading.Thread(target=client.read, daemon=True).start()
                filler = self.fill(folder)
                # Redis takes what is said; it is the cache that lacks it.
                with Repeated(lambda: gateway.say("ops", "alice", "x" * 8000)):
                    self.fires(prometheus, "GaplessCacheNotWritable", "GaplessGapsStayOpen")
                filler.unlink()
                self.clears(prometheus)

    def test_an_origin_that_answers_no_questions(self):
        with Redis() as redis:
            redis.ask("acl", "setuser", "near", "on", ">secret", "~*", "&*", "+@all")
            url = redis.url.replace("//", "//near:secret@")
            with Gateway(upstream__kind="redis", upstream__redis__url=url,
                         sync__backoff_max="500ms") as gateway:
                prometheus = self.watch(gateway)
                gateway.converse("ops", "alice")
                with Client(gateway.address, "alice") as client:
                    client.ask("subscribeMessages", conversation="ops")
                    # The feed comes back, and Redis refuses the question of what was missed.
                    redis.ask("acl", "setuser", "near", "-evalsha")
                    redis.ask("client", "kill", "user", "near")
                    self.fires(prometheus, "GaplessOriginFails")
                    redis.ask("acl", "setuser", "near", "+evalsha")
                    self.clears(prometheus)

    def test_an_origin_that_takes_its_time(self):
        with Redis() as redis, Gateway(
                upstream__kind="redis", upstream__redis__url=redis.url) as gateway:
            gateway.converse("ops", "alice")
            prometheus = self.watch(gateway)

            def is_said_late():
                redis.ask("client", "pause", "1500", "write")
                gateway.say("ops", "alice", "late")
                return "GaplessWritesSlow" in prometheus.firing()

            wait_until(is_said_late, "GaplessWritesSlow fires", 60)
            self.clears(prometheus)

    def test_a_processor_that_is_taken_away(self):
        with contextlib.ExitStack() as stack:
            gateway = stack.enter_context(Gateway(
                limits__requests_per_second="0", fanout__pacing="0"))
            gateway.converse("ops", "alice")
            gateway.say("ops", "alice", *["x" * 1000 for _ in range(1000)])
            prometheus = self.watch(gateway)
            for _ in range(5):
                watcher = stack.enter_context(Client(gateway.address, "alice"))
                watcher.ask("subscribeMessages", conversation="ops")
                threading.Thread(target=watcher.read, daemon=True).start()
            readers = [stack.enter_context(Client(gateway.address, "alice")) for _ in range(2)]
            # Work enough that a moment without the processor falls into the middle of it.
            page = {"conversation": "ops", "limit": 1000}
            for reader in readers:
                stack.enter_context(
                    Repeated(lambda reader=reader: reader.ask("fetchMessages", **page)))
            stack.enter_context(
                Repeated(lambda: gateway.say("ops", "alice", *["x" * 1000 for _ in range(300)])))

            def is_starved():
                gateway.suspend()
                time.sleep(0.7)
                gateway.resume()
                # The rest of the work goes on in turns as short as ever.
                time.sleep(0.3)
                return prometheus.firing() >= {"GaplessLoopStalls", "GaplessFanoutSlow"}

            wait_until(is_starved, "the loop stalls", 60)
            self.clears(prometheus)

    def crowd(self, gateway):
        """Ten who are told of everything, and the way to them, which can be blocked."""
        proxy = TCPProxy(gateway.address)
        self.addCleanup(proxy.close)
        gateway.converse("ops", "alice")
        for _ in range(10):
            client = Client(proxy.address, "alice")
            self.addCleanup(client.socket.close)
            client.ask("subscribeMessages", conversation="ops")
            threading.Thread(target=client.read, daemon=True).start()
        return proxy

    def flood(self, gateway):
        gateway.say("ops", "alice", *["x" * 8000 for _ in range(20)])

    def test_readers_that_stop_reading(self):
        with Gateway(limits__outbox_soft="32KiB") as gateway:
            proxy = self.crowd(gateway)
            prometheus = self.watch(gateway)
            proxy.stop_reading()
            with Repeated(lambda: self.flood(gateway)):
                self.fires(prometheus, "GaplessReadersShed")
            proxy.go_on()
            self.clears(prometheus)

    def test_memory_that_grows(self):
        # All that nobody takes is kept.
        with Gateway(limits__outbox_soft="512MiB", limits__outbox_hard="1GiB",
                     limits__outbox_total="2GiB") as gateway:
            proxy = self.crowd(gateway)
            prometheus = self.watch(gateway, {"> 7200": "> 10"})
            proxy.stop_reading()
            with Repeated(lambda: self.flood(gateway)):
                self.fires(prometheus, "GaplessMemoryGrows")
            proxy.go_on()
            self.clears(prometheus)

    def write_until_refused(self, gateway):
        for number in range(1000):
            try:
                gateway.say("ops", "alice", f"{number} " + "x" * 8000)
            except AssertionError:
                return
        self.fail("the disk was never full")


if __name__ == "__main__":
    unittest.main()
