"""The quick start of the README, as somebody would try it: their own page beside the client."""

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

from browser import UNREACHABLE, BrowserTestCase, chromium
from gateway import PATIENCE, PROGRAM, REPOSITORY, free_port
from playwright.sync_api import expect

LONGEST, LONGEST_README = 15, 120


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
        cls.readme = (REPOSITORY / "README.md").read_text()
        block = re.search(r"```html\n(.*?)```", cls.readme, re.S)[1]
        cls.lines = block.splitlines()
        page = pathlib.Path(folder, "index.html")
        page.write_text(block.replace("127.0.0.1:8000", cls.gateway.address))
        pathlib.Path(folder, "gapless").symlink_to(REPOSITORY / "Sources/Browser")

    def test_it_is_short(self):
        self.assertLessEqual(len(self.lines), LONGEST)
        self.assertLessEqual(len(self.readme.splitlines()), LONGEST_README)

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


class CommandTests(unittest.TestCase):
    """The commands of the README, typed into a shell in an empty folder."""

    @classmethod
    def setUpClass(cls):
        text = (REPOSITORY / "README.md").read_text()
        # Every other part stands between fences; one that begins with a line break is of a shell.
        blocks = text[text.index("In an empty folder"):].split("```")[1::2]
        cls.commands = [block[1:] for block in blocks if block.startswith("\n")]
        cls.page = next(block for block in blocks if block.startswith("html\n"))[len("html\n"):]

    def test_they_make_a_package_that_uses_the_swift_client(self):
        swift = shutil.which("swift", path=f"{os.environ['PATH']}:/opt/swift/usr/bin")
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "mine")
        folder.mkdir()
        commands = self.commands[1].replace("../gapless", str(REPOSITORY))
        commands = commands.replace("--package gapless", f"--package {REPOSITORY.name}")
        environment = {
            **os.environ, "PATH": f"{pathlib.Path(swift).parent}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-euc", commands], cwd=folder, check=True, capture_output=True,
                       env=environment)
        described = json.loads(subprocess.run(
            [swift, "package", "dump-package"], cwd=folder, check=True, capture_output=True).stdout)
        target = next(each for each in described["targets"] if each["name"] == "hello")
        self.assertEqual(["GaplessClient", REPOSITORY.name], target["dependencies"][0]["product"][:2])
        self.assertEqual([], list((folder / "Sources/hello").iterdir()))

    def test_they_lead_to_a_live_list(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        commands, page = f"{self.commands[0]}{self.commands[-1]}", self.page
        public, internal, site = (str(free_port()) for _ in range(3))
        ours = {
            "gapless serve": f"{PROGRAM} serve --set listen.public=127.0.0.1:{public}"
                             f" --set listen.internal=127.0.0.1:{internal}",
            "localhost:8000": f"localhost:{public}", "8080": site, "../gapless": str(REPOSITORY),
        }
        for said, meant in ours.items():
            self.assertIn(said, commands)
            commands = commands.replace(said, meant)
        (folder / "index.html").write_text(page.replace("127.0.0.1:8000", f"127.0.0.1:{public}"))
        with (folder / "log").open("wb") as log:
            shell = subprocess.Popen(["sh", "-euc", commands], cwd=folder, stdout=log, stderr=log,
                                     start_new_session=True)
        self.addCleanup(shell.wait)
        self.addCleanup(os.killpg, shell.pid, signal.SIGKILL)
        self.wait_for(site, folder / "log")
        context = chromium().new_context()
        self.addCleanup(context.close)
        opened = context.new_page()
        opened.goto(f"http://127.0.0.1:{site}")
        key = (folder / "keys").read_text().strip()
        request = urllib.request.Request(
            f"http://127.0.0.1:{public}/v1/conversations/ops/messages",
            b'{"author": "bob", "body": "disk is full"}', {"X-API-Key": key})
        urllib.request.urlopen(request).close()
        expect(opened.locator("li")).to_have_text(["bob: disk is full"], timeout=30_000)

    def wait_for(self, port, log):
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/gapless/gapless.js").close()
                return
            except OSError:
                self.assertLess(time.monotonic(), deadline, log.read_text())
                time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
