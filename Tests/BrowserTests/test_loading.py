"""The page as it is installed: bundled, compressed, kept for offline, and new after an upgrade."""

import gzip
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from browser import DESK, SCREENSHOTS, UNREACHABLE, chromium
from chat_page import RETURN, ChatPage
from gateway import PATIENCE, PROGRAM, REPOSITORY, Gateway
from playwright.sync_api import expect
from tcp_proxy import TCPProxy

PAGE = REPOSITORY / "Sources/Page"
#: Of a page with a hundred messages, over the network: requests, and bytes of them all.
MOST_REQUESTS, MOST_BYTES = 8, 80_000
#: Ways to the gateway: the delay of an answer in milliseconds, and bits a second.
WAYS = {"60 ms, 9 Mbit/s": (60, 9e6), "400 ms, 400 kbit/s": (400, 400e3)}
IS_KEPT = """async () => {
  const { active } = await navigator.serviceWorker.getRegistration('/') ?? {};
  return active?.state === 'activated' && (await caches.keys()).length === 1;
}"""
#: How many messages of the room are in the store, which is written a moment after they came.
STORED = """async () => {
  const { MessageStore } = await import('/message-store.js');
  const store = await MessageStore.open('alice');
  const kept = await store.load('room');
  store.close();
  return kept?.messages.length ?? 0;
}"""
#: What Chromium says where nobody listens.
AWAY = (UNREACHABLE, "ERR_CONNECTION_REFUSED", "Failed to fetch")


class LoadingTests(unittest.TestCase):
    def setUp(self):
        # Below the build, where the program can be linked to instead of being copied.
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(
            prefix="bundled-", dir=pathlib.Path(PROGRAM).parent)))
        self.program = self.folder / "gapless"
        os.link(os.path.realpath(PROGRAM), self.program)
        self.bundle()
        self.gateway = self.enterContext(Gateway(program=str(self.program)))
        self.gateway.converse("room", "alice", "bob")
        self.gateway.say("room", "bob", *(f"Message {number}" for number in range(1, 101)))
        self.complaints = []

    def bundle(self, page=PAGE):
        subprocess.run(
            [REPOSITORY / "deploy/bundle-page", self.folder / "gapless-page", page], check=True)

    def open(self):
        context = chromium().new_context(locale="en-GB", timezone_id="UTC", **DESK)
        self.addCleanup(context.close)
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def visit(self, page, address=None):
        address = address or self.gateway.address
        page.goto(f"http://{address}/?user=alice&conversation=room")
        opened = ChatPage(page, "alice")
        opened.expect_last("Message 100")
        return opened

    def wait(self, page, condition, argument=None):
        """Waits for what a page has to ask for: `wait_for_function` takes a promise for a yes."""
        deadline = time.monotonic() + PATIENCE
        while not page.evaluate(condition, argument):
            self.assertLess(time.monotonic(), deadline, condition)
            page.wait_for_timeout(50)

    def wait_until_kept(self, page):
        self.wait(page, IS_KEPT)

    def assert_clean(self):
        self.assertEqual([], [
            text for text in self.complaints if not any(known in text for known in AWAY)])

    def get(self, path, **headers):
        connection = http.client.HTTPConnection(self.gateway.address, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read()

    def test_parts_are_named_after_their_content_and_compressed(self):
        answer, index = self.get("/")
        self.assertEqual("no-cache", answer.getheader("Cache-Control"))
        parts = re.findall(r'(?:href|src)="(assets/[^"]+)"', index.decode())
        self.assertEqual(4, len(parts))
        for part in parts:
            plain, content = self.get(f"/{part}")
            self.assertIn("immutable", plain.getheader("Cache-Control"))
            self.assertIsNone(plain.getheader("Content-Encoding"))
            refused, same = self.get(f"/{part}", **{"Accept-Encoding": "gzip;q=0, br"})
            self.assertIsNone(refused.getheader("Content-Encoding"))
            self.assertEqual(content, same)
            packed, less = self.get(f"/{part}", **{"Accept-Encoding": "deflate, GZIP;q=0.5"})
            self.assertEqual("gzip", packed.getheader("Content-Encoding"))
            self.assertEqual(content, gzip.decompress(less))
            # Of a few lines little can be saved.
            self.assertLess(len(less), len(content) / (2 if len(content) > 1000 else 1))
            for answer in plain, packed:
                self.assertEqual("Accept-Encoding", answer.getheader("Vary"))
            # They are two representations.
            self.assertNotEqual(plain.getheader("ETag"), packed.getheader("ETag"))
            again, nothing = self.get(f"/{part}", **{
                "Accept-Encoding": "gzip", "If-None-Match": packed.getheader("ETag")})
            self.assertEqual((304, b""), (again.status, nothing))

    def test_a_first_message_takes_few_requests_and_bytes(self):
        measured = {}
        for way, (delay, bits) in WAYS.items():
            page = self.open()
            session = page.context.new_cdp_session(page)
            session.send("Network.enable")
            session.send("Network.emulateNetworkConditions", {
                "offline": False, "latency": delay, "downloadThroughput": bits / 8,
                "uploadThroughput": bits / 8})
            sizes = []
            session.on("Network.loadingFinished", lambda event: sizes.append(
                event["encodedDataLength"]))
            self.visit(page)
            took = page.evaluate("() => performance.now()")
            measured[way] = {
                "milliseconds": round(took), "requests": len(sizes), "bytes": round(sum(sizes))}
            self.assertLessEqual(len(sizes), MOST_REQUESTS)
            self.assertLessEqual(sum(sizes), MOST_BYTES)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (SCREENSHOTS / "loading.json").write_text(json.dumps(measured, indent=1))
        self.assert_clean()

    def test_no_part_is_asked_for_twice(self):
        pieces = []
        proxy = TCPProxy(self.gateway.address, note=pieces.append)
        self.addCleanup(proxy.close)
        page = self.open()
        self.visit(page, proxy.address)
        self.wait_until_kept(page)
        # Not by the page, the tab's icon, and what keeps them for offline together.
        asked = re.findall(rb"GET (\S+) HTTP", b"".join(pieces))
        parts = [path for path in asked if path not in (b"/", b"/v1/ws")]
        self.assertEqual(sorted(set(parts)), sorted(parts))
        self.assertEqual(
            4, sum(1 for path in parts if path.startswith(b"/assets/")), parts)
        self.assert_clean()

    def test_the_socket_is_opened_while_the_script_is_on_its_way(self):
        page = self.open()
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        delay, bits = WAYS["400 ms, 400 kbit/s"]
        session.send("Network.emulateNetworkConditions", {
            "offline": False, "latency": delay, "downloadThroughput": bits / 8,
            "uploadThroughput": bits / 8})
        happened, scripts = [], set()
        session.on("Network.requestWillBeSent", lambda event: scripts.add(event["requestId"])
                   if "/assets/page-" in event["request"]["url"]
                   and event["request"]["url"].endswith(".js") else None)
        session.on("Network.loadingFinished", lambda event: happened.append("script")
                   if event["requestId"] in scripts else None)
        session.on("Network.webSocketCreated", lambda _: happened.append("socket"))
        self.visit(page)
        # And it is the one socket that there is.
        self.assertEqual(["socket", "script"], happened)
        self.assertEqual(1, self.gateway.health()["clients"]["connections"])
        # A tab that asks by way of another opens none, or lets go of it.
        second = page.context.new_page()
        self.visit(second)
        self.wait(second, "() => globalThis.gaplessSocket === null")
        self.assertEqual(1, self.gateway.health()["clients"]["connections"])
        self.assert_clean()

    def test_a_reload_without_a_gateway_shows_what_is_held(self):
        page = self.open()
        opened = self.visit(page)
        self.wait_until_kept(page)
        self.wait(page, STORED)
        self.gateway.kill()
        page.reload()
        opened.expect_last("Message 100")
        opened.expect_state("Offline")
        self.gateway.start()
        opened.expect_live()
        self.gateway.say("room", "bob", "After all this")
        opened.expect_last("After all this")
        self.assert_clean()

    def test_after_an_upgrade_the_first_reload_shows_the_new_page(self):
        page = self.open()
        self.visit(page)
        self.wait_until_kept(page)
        # What is kept of the first version must not come back.
        newer = self.folder / "newer"
        shutil.copytree(PAGE, newer)
        index = newer / "index.html"
        index.write_text(index.read_text().replace("<noscript>", "<p id='newer'></p><noscript>"))
        self.gateway.kill()
        self.bundle(newer)
        self.gateway.start()
        page.reload()
        expect(page.locator("#newer")).to_be_attached(timeout=RETURN)
        version = page.locator("meta[name=worker]").get_attribute("content")
        self.wait(
            page, "async (version) => String(await caches.keys()) === `gapless ${version}`",
            version)
        self.gateway.kill()
        page.reload()
        expect(page.locator("#newer")).to_be_attached(timeout=RETURN)
        # And a page of separate modules, as developers have it, keeps nothing.
        shutil.rmtree(self.folder / "gapless-page")
        self.gateway.start()
        page.reload()
        expect(page.locator("script[src='page.js']")).to_be_attached(timeout=RETURN)
        self.wait(
            page, "async () => await navigator.serviceWorker.getRegistration('/') === undefined")
        self.assert_clean()


if __name__ == "__main__":
    unittest.main()
