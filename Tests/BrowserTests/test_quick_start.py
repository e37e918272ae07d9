"""The quick start of the README, as somebody would try it: their own page beside the client."""

import functools
import http.server
import pathlib
import re
import tempfile
import threading
import unittest

from browser import BrowserTestCase, chromium
from gateway import REPOSITORY
from playwright.sync_api import expect

LONGEST = 15


class SilentHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class QuickStartTests(BrowserTestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        site = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(SilentHandler, directory=folder))
        threading.Thread(target=site.serve_forever, daemon=True).start()
        cls.addClassCleanup(site.server_close)
        cls.addClassCleanup(site.shutdown)
        cls.site = f"http://127.0.0.1:{site.server_port}"
        cls.settings = {"listen__allowed_origins": cls.site}
        super().setUpClass()
        block = re.search(r"```html\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.S)[1]
        cls.lines = block.splitlines()
        page = pathlib.Path(folder, "index.html")
        page.write_text(block.replace("127.0.0.1:8000", cls.gateway.address))
        pathlib.Path(folder, "gapless").symlink_to(REPOSITORY / "Sources/Browser")

    def test_it_is_short(self):
        self.assertLessEqual(len(self.lines), LONGEST)

    def test_it_is_a_live_list_that_survives_an_outage(self):
        self.gateway.converse("ops", "alice", "bob")
        self.gateway.say("ops", "bob", "disk is full", "anybody?")
        context = chromium().new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.site)
        rows = page.locator("li")
        expect(rows).to_have_text(["bob: disk is full", "bob: anybody?"])
        self.gateway.say("ops", "alice", "on it")
        expect(rows.last).to_have_text("alice: on it")
        self.gateway.kill()
        self.gateway.start()
        self.gateway.say("ops", "bob", "thank you")
        expect(rows).to_have_text(
            ["bob: disk is full", "bob: anybody?", "alice: on it", "bob: thank you"],
            timeout=30_000)


if __name__ == "__main__":
    unittest.main()
