"""The examples of deploy/examples, as somebody who took the package would run them."""

import re
import shutil
import subprocess
import unittest
import urllib.parse

from browser import UNREACHABLE, BrowserTestCase, chromium
from gateway import REPOSITORY
from playwright.sync_api import expect
from site_of_ours import bundle, project, serve

LONGEST = 100
PATIENCE = 30_000


class ExampleTestCase(BrowserTestCase):
    """A gateway, and the examples on a site of their own."""

    @classmethod
    def setUpClass(cls):
        cls.folder = project(cls)
        for file in (REPOSITORY / "deploy/examples").iterdir():
            shutil.copy(file, cls.folder)
        for name in ("render-counts.jsx", "render-counts.html"):
            shutil.copy(REPOSITORY / "Tests/BrowserTests" / name, cls.folder)
        bundle(cls.folder, "react-chat.jsx")
        bundle(cls.folder, "render-counts.jsx")
        cls.site = serve(cls, cls.folder)
        cls.settings = {"listen__allowed_origins": cls.site}
        super().setUpClass()

    def visit(self, page, context=None, site=None, **query):
        if context is None:
            context = chromium().new_context()
            self.addCleanup(context.close)
        opened = context.new_page()
        opened.on("console", lambda message: self.complaints.append(message.text))
        opened.on("pageerror", lambda error: self.complaints.append(str(error)))
        query["url"] = f"ws://{self.gateway.address}/v1/ws"
        opened.goto(f"{site or self.site}/{page}?{urllib.parse.urlencode(query)}")
        return opened

    def prepare(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", "disk is full", "anybody?")


class ExampleTests(ExampleTestCase):
    def test_each_is_short(self):
        for name in ("react-chat.jsx", "plain-chat.html"):
            lines = (REPOSITORY / "deploy/examples" / name).read_text().splitlines()
            self.assertLess(len(lines), LONGEST, name)

    def test_the_command_that_the_example_names_bundles_it(self):
        source = (REPOSITORY / "deploy/examples/react-chat.jsx").read_text()
        command = re.search(r"^// (esbuild .*)$", source, re.M)[1]
        page = (REPOSITORY / "deploy/reference/clients.md").read_text()
        self.assertIn(f"\nnpx {command}\n", page)
        # Debian's React lies elsewhere, behind links.
        output = command.replace("--outfile=react-chat.js", "--outfile=as-said.js")
        subprocess.run([*output.split(), "--preserve-symlinks", "--log-level=warning"],
                       cwd=self.folder, check=True)
        self.assertIn("WebSocket", (self.folder / "as-said.js").read_text())

    def check_a_chat(self, page):
        """The same is seen of both: a live list, gaps, drafts, all of it over an outage."""
        self.expected = (UNREACHABLE, "React DevTools")
        rows = page.locator("li")
        expect(rows).to_have_text(["bob: disk is full", "bob: anybody?"])
        page.get_by_label("Message").fill("on it")
        page.get_by_label("Message").press("Enter")
        expect(rows.last).to_have_text("alice: on it")
        self.gateway.kill()
        expect(page.get_by_role("status")).to_contain_text("waiting", timeout=PATIENCE)
        page.get_by_label("Message").fill("written offline")
        page.get_by_label("Message").press("Enter")
        expect(rows.last).to_contain_text("written offline")
        self.gateway.start()
        expect(page.get_by_role("status")).to_have_text("Connected as alice", timeout=PATIENCE)
        expect(rows).to_have_text([
            "bob: disk is full", "bob: anybody?", "alice: on it", "alice: written offline",
        ], timeout=PATIENCE)
        self.assertEqual(1, self.gateway.said(self.room).count("written offline"))
        # More was missed than one answer brings: a row says so, and fills.
        self.gateway.kill()
        expect(page.get_by_role("status")).to_contain_text("waiting", timeout=PATIENCE)
        page.context.set_offline(True)
        self.gateway.start()
        self.gateway.say(self.room, "bob", *[f"missed {n}" for n in range(150)])
        page.context.set_offline(False)
        gap = page.get_by_role("button", name="messages are missing")
        expect(gap).to_have_count(1, timeout=PATIENCE)
        while gap.count() > 0:
            gap.click()
            page.wait_for_timeout(200)
        expect(rows).to_have_count(154, timeout=PATIENCE)
        self.assertEqual(["bob: missed 0", "bob: missed 149"], [
            rows.nth(at).text_content() for at in (4, 153)])

    def test_react(self):
        self.prepare()
        page = self.visit("react-chat.html", user="alice")
        page.get_by_role("button", name=self.room).click()
        self.check_a_chat(page)

    def test_plain(self):
        self.prepare()
        page = self.visit("plain-chat.html", user="alice", conversation=self.room)
        self.check_a_chat(page)

    def test_what_did_not_change_is_not_drawn_again(self):
        self.expected = ("React DevTools",)
        self.gateway.converse(self.room, "carol", "bob")
        self.gateway.say(self.room, "bob", "disk is full", "anybody?")
        page = self.visit("render-counts.html", user="carol", conversation=self.room)
        expect(page.locator("li")).to_have_text(["bob: disk is full", "bob: anybody?"])
        page.wait_for_function("() => window.isQuiet()")
        rendered = page.evaluate("() => ({ ...window.renders })")
        # An event that is about something else, and one that says what is known.
        self.gateway.converse(f"{self.room}-2", "carol", "bob")
        expect(page.locator("#count")).to_have_text("2")
        page.wait_for_function("() => window.isQuiet()")
        now = page.evaluate("() => ({ ...window.renders })")
        self.assertEqual(rendered["Room"], now["Room"])
        self.assertEqual(rendered["Rows"], now["Rows"])
        self.assertGreater(now["List"], rendered["List"])
        self.gateway.say(self.room, "bob", "third")
        expect(page.locator("li").last).to_have_text("bob: third")
        page.wait_for_function("() => window.isQuiet()")
        self.assertEqual(now["Rows"] + 1, page.evaluate("() => window.renders.Rows"),
                         "one row is new, the others are the same objects")

    def test_a_conversation_that_is_not_there_says_so(self):
        self.expected = ("not_found",)
        page = self.visit("plain-chat.html", user="alice", conversation="no-such-room")
        expect(page.get_by_role("status")).to_contain_text("does not exist")
        warnings = [text for text in self.complaints if '"no-such-room": not_found' in text]
        self.assertEqual(1, len(warnings), self.complaints)

    def test_a_page_of_another_origin_is_told_why(self):
        self.expected = (UNREACHABLE, "listen.allowed_origins", "426 (Upgrade Required)")
        other = serve(type(self), self.folder)
        page = self.visit("plain-chat.html", site=other, user="alice", conversation="ops")
        expect(page.get_by_role("status")).to_contain_text(
            f"is {other} in its listen.allowed_origins?")
        self.assertTrue(any(text.startswith("gapless: the gateway at") for text in self.complaints))
        # And the gateway's operator, by a warning.
        lines = [line for line in self.gateway.log.read_text().splitlines()
                 if "event=websocket_refused" in line and other in line]
        self.assertIn("List the page's origin in listen.allowed_origins", lines[0].replace("\\", ""))
        self.assertIn("warning", lines[0].lower())


if __name__ == "__main__":
    unittest.main()
