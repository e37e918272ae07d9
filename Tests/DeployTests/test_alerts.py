"""A real Prometheus watches a gateway that has real faults: the alert fires, and is gone when the
fault is. Waits are shortened, nothing else: minutes of the rules become seconds."""

import contextlib
import json
import os
import pathlib
import re
import tempfile
import unittest

from websockets.sync.client import connect

from processes import DEPLOY, PATIENCE, Daemon, Gateway, Redis, free_port, run, text, wait_until


class Prometheus(Daemon):
    """Scrapes and judges every second."""

    def __init__(self, gateway):
        super().__init__()
        self.address = f"127.0.0.1:{free_port()}"
        rules = (DEPLOY / "monitoring/alerts.yml").read_text()
        rules = re.sub(r"for: \w+", "for: 1s", rules)
        rules = re.sub(r"\[(5m|1h)\]", "[10s]", rules).replace("> 120", "> 3")
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


class Alerts(unittest.TestCase):
    def watch(self, gateway):
        prometheus = Prometheus(gateway)
        self.addCleanup(prometheus.__exit__)
        wait_until(lambda: prometheus.scraped() >= 3, "Prometheus scrapes")
        self.assertEqual(prometheus.firing(), set())
        return prometheus

    def fires(self, prometheus, *alerts):
        wait_until(lambda: prometheus.firing() >= set(alerts), f"{alerts} fire", 60)

    def clears(self, prometheus):
        wait_until(lambda: not prometheus.firing(), "nothing fires any more", 90)

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

    @unittest.skipUnless(os.geteuid() == 0, "a small file system is mounted by root")
    def test_a_disk_that_is_full(self):
        folder = tempfile.TemporaryDirectory(prefix="gapless-disk-")
        self.addCleanup(folder.cleanup)
        status, said = run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder.name)
        self.assertEqual(status, 0, said)
        self.addCleanup(run, "umount", "--lazy", folder.name)
        with Gateway(cache__path=f"{folder.name}/gapless.db") as gateway:
            prometheus = self.watch(gateway)
            gateway.converse("ops", "alice")
            filler = pathlib.Path(folder.name, "filler")
            with filler.open("wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    pass
            self.write_until_refused(gateway)
            self.fires(prometheus, "GaplessCacheNotWritable", "GaplessNotReady",
                       "GaplessCommitsFail", "GaplessErrorsLogged")
            filler.unlink()
            self.clears(prometheus)
            gateway.say("ops", "alice", "after")

    def write_until_refused(self, gateway):
        for number in range(1000):
            try:
                gateway.say("ops", "alice", f"{number} " + "x" * 8000)
            except AssertionError:
                return
        self.fail("the disk was never full")


if __name__ == "__main__":
    unittest.main()
