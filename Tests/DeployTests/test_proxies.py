"""Two gateways behind each proxy, with the files of deploy/proxy, restarted one after the other
under load: nobody misses a message, and no token gets into a log."""

import asyncio
import contextlib
import unittest

from processes import Gateway, Proxy, Redis, run, wait_until
from watcher import TRUSTING, Backend, Watcher

import http.client

PEOPLE = 40


class Proxies(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.redis = self.stack.enter_context(Redis())
        settings = {
            "upstream__kind": "redis", "upstream__redis__url": self.redis.url,
            "drain__window": "2s",
        }
        self.gateways = [
            self.stack.enter_context(Gateway(**settings)) for _ in range(2)
        ]

    def proxy(self, kind):
        proxy = self.stack.enter_context(Proxy(kind, self.gateways))
        status, said = run(*proxy.check)
        self.assertEqual(status, 0, said)
        proxy.start(*proxy.words)
        backend = Backend(proxy.port, "ops")
        people = [f"user-{number}" for number in range(PEOPLE)]
        wait_until(
            lambda: backend.call("PUT", "", {"participants": people}) in (200, 201), proxy.kind)
        return proxy, backend

    def connections(self):
        return [gateway.health()["clients"]["connections"] for gateway in self.gateways]

    async def rolling_restart(self, proxy, backend):
        watchers = [Watcher(proxy.port, f"user-{number}", "ops") for number in range(PEOPLE)]
        tasks = [asyncio.create_task(watcher.run()) for watcher in watchers]
        writing = asyncio.create_task(backend.run())

        async def until(condition, what):
            # The event loop goes on meanwhile.
            await asyncio.to_thread(wait_until, condition, what)

        await until(lambda: sum(self.connections()) == PEOPLE, "all are connected")
        self.assertTrue(all(self.connections()), "both have clients")
        for gateway, other in [self.gateways, self.gateways[::-1]]:
            self.assertEqual(await asyncio.to_thread(gateway.stop), 0)
            await until(
                lambda: other.health()["clients"]["connections"] == PEOPLE, "all are at the other")
            await asyncio.to_thread(gateway.start)
            # The proxy has to find it again before the other one goes.
            before = backend.written
            await until(lambda: backend.written > before + 150, "the backend goes on")
        backend.stopped = True
        await writing
        everything = set(range(1, backend.written + 1))
        await until(
            lambda: all(watcher.held == everything for watcher in watchers), "all hold all")
        for task in tasks:
            task.cancel()
        for task in tasks:
            # What a client died of is a fault of the test or of the gateway.
            with contextlib.suppress(asyncio.CancelledError):
                await task
        return watchers

    def judge(self, kind):
        proxy, backend = self.proxy(kind)
        watchers = asyncio.run(self.rolling_restart(proxy, backend))
        for watcher in watchers:
            self.assertEqual(
                [watcher.bodies[seq] for seq in sorted(watcher.held)],
                [f"text {number}" for number in range(backend.written)])
        codes = {code for watcher in watchers for code in watcher.codes}
        # Sent away by the gateway, with its own word, and never cut by the proxy.
        self.assertEqual(codes, {3000})
        log = proxy.lines()
        self.assertIn("/v1/ws", log)
        self.assertNotIn("secret-word", log)
        for gateway in self.gateways:
            self.assertNotIn("secret-word", gateway.log.read_text())
        return proxy

    def test_nginx(self):
        proxy = self.judge("nginx")
        # What is the server API to a gateway is none of the page, however it is spelled.
        for path in ("/v1/conversations/ops/participants/..%2f..%2f..%2f..%2fx", "/v1/..%2fx"):
            self.assertEqual(self.page(proxy, path), 403)
        self.assertEqual(self.page(proxy, "/"), 200)

    def test_haproxy(self):
        proxy = self.judge("haproxy")
        # What is not ready gets nobody, though it lives.
        self.assertEqual(self.page(proxy, "/v1/conversations/ops"), 401)
        self.redis.stop()
        wait_until(lambda: self.page(proxy, "/") == 503, "no gateway is ready")
        self.redis.begin()
        wait_until(lambda: self.page(proxy, "/") == 200, "the gateways are ready again")

    def page(self, proxy, path):
        connection = http.client.HTTPSConnection(
            "127.0.0.1", proxy.port, context=TRUSTING, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()


if __name__ == "__main__":
    unittest.main()
