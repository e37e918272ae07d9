"""What the tests with a browser share: Debian's Chromium, pages, and a clean console."""

import atexit
import os
import pathlib
import shutil
import unittest
import urllib.parse

from chat_page import ChatPage
from gateway import REPOSITORY, Gateway
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("TEST_CHROMIUM") or shutil.which("chromium")
SCREENSHOTS = pathlib.Path(os.environ.get("TEST_SCREENSHOTS", REPOSITORY / ".build/reports"))
DESK = {"viewport": {"width": 1180, "height": 760}}
PHONE = {
    "viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True,
    "device_scale_factor": 2,
}
#: How it is started. The sandbox does not run as root, which is what containers of a build run as.
FLAGS = ["--no-sandbox"]
#: Chromium says so itself when a socket can't be opened: no news where a test stops the gateway.
UNREACHABLE = "WebSocket connection to"

_running = {}


def chromium():
    """The one browser of this process; starting it takes longer than most tests."""
    if "browser" not in _running:
        playwright = sync_playwright().start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        _running["browser"] = browser

        def close():
            browser.close()
            playwright.stop()

        atexit.register(close)
    return _running["browser"]


class BrowserTestCase(unittest.TestCase):
    """A gateway for the whole class, and pages for each test.

    Whatever a page writes to its console, throws, or asks against its own policy fails the test,
    except for what the test says it expects.
    """

    #: Keys of the gateway's configuration, see `Gateway`.
    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(**cls.settings)
        cls.addClassCleanup(cls.gateway.discard)
        cls.gateway.start()

    def setUp(self):
        self.complaints = []
        self.expected = ()
        self.pages = []
        # One gateway serves many tests, so each talks in conversations of its own.
        self.room = self._testMethodName.removeprefix("test_")

    def run(self, result=None):
        self.result = result
        return super().run(result)

    def tearDown(self):
        failed = any(test is self for test, _ in self.result.failures + self.result.errors)
        for number, page in enumerate(self.pages):
            if failed:
                self.picture(page, f"failed-{self.room}-{number}")
            page.page.context.close()
        # A test that failed may have left it suspended.
        self.gateway.resume()
        # After a failure all this would only hide what failed.
        if not failed:
            self.assertEqual([], [
                text for text in self.complaints
                if not any(expected in text for expected in self.expected)])
            self.assertIsNone(self.gateway.process.poll(), self.gateway.log.read_text())
            self.assertEqual(0, self.gateway.health()["accounting"]["error"])

    def open(self, user, conversation=None, look=DESK, **more):
        """A page in a browser profile of its own, as on a machine of its own."""
        context = chromium().new_context(locale="en-GB", timezone_id="UTC", **look, **more)
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        query = {} if user is None else {"user": user}
        if conversation is not None:
            query["conversation"] = conversation
        page.goto(f"http://{self.gateway.address}/?{urllib.parse.urlencode(query)}")
        opened = ChatPage(page, user)
        self.pages.append(opened)
        return opened

    def open_room(self, *users, **more):
        """A page for each user in the conversation of this test, which is theirs alone."""
        self.gateway.converse(self.room, *users)
        pages = [self.open(user, self.room, **more) for user in users]
        for page in pages:
            page.title.get_by_text(self.room).wait_for()
        return pages

    def picture(self, page, name):
        """Keeps what a page looks like, for a person to look at."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.page.screenshot(path=SCREENSHOTS / f"{name}.png")
