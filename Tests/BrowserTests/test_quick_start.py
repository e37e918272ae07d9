"""The quick start of the README, as somebody would try it: their own page beside the client."""

import functools
import http.server
import pathlib
import re
import tempfile
import threading
import unittest

from browser import UNREACHABLE, BrowserTestCase, chromium
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

    def test_what_was_missed_and_is_not_here_is_a_row(self):
        self.expected = (UNREACHABLE, "ERR_INTERNET_DISCONNECTED", "ERR_CONNECTION_REFUSED")
        self.gateway.converse("ops", "alice", "bob")
        self.gateway.say("ops", "bob", "the last one seen")
        context = chromium().new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(self.site)
        rows = page.locator("li")
        expect(rows.last).to_have_text("bob: the last one seen")
        self.gateway.kill()
        context.set_offline(True)
        self.gateway.start()
        self.gateway.say("ops", "bob", *[f"missed {n}" for n in range(500)])
        context.set_offline(False)
        expect(rows.last).to_have_text("bob: missed 499", timeout=30_000)
        # No two rows that are not neighbours in the log stand together without a word.
        expect(rows.filter(has_text="messages are missing")).to_have_count(1, timeout=30_000)
        texts = rows.all_text_contents()
        hole = next(at for at, text in enumerate(texts) if "messages are missing" in text)
        after, before = (int(texts[at].split()[-1]) for at in (hole - 1, hole + 1))
        self.assertEqual(f"{before - after - 1} messages are missing", texts[hole])


if __name__ == "__main__":
    unittest.main()
