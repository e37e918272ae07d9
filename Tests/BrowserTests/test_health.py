"""What the page says is wrong: the nearest thing that is, since when, and the same everywhere."""

import re
import unittest

from browser import UNREACHABLE, BrowserTestCase
from gateway import path
from playwright.sync_api import expect

#: Keeps the socket of the page, from the next frame that it sends.
CAPTURE = """() => {
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (text) {
    window.socket = this;
    send.call(this, text);
  };
}"""
HEAR = "frame => { socket.onmessage({ data: JSON.stringify(frame) }); }"
SINCE = re.compile(r"since \d\d:\d\d")


class HealthTests(BrowserTestCase):
    def setUp(self):
        super().setUp()
        self.expected = (UNREACHABLE, "Failed to load resource")

    def open_elsewhere(self):
        """A page of alice's, and a second conversation that she has not opened."""
        self.gateway.converse(f"{self.room} too", "alice", "bob")
        alice, = self.open_room("alice")
        alice.expect_live()
        expect(alice.entry(f"{self.room} too")).to_be_visible()
        return alice

    def hear(self, page, **frame):
        """The gateway says something to the page."""
        page.page.evaluate(HEAR, frame)

    def captured(self, page):
        """The page, with its socket kept for `hear`."""
        page.page.evaluate(CAPTURE)
        page.box.press_sequentially("x")
        page.page.wait_for_function("window.socket !== undefined")
        page.box.fill("")
        return page

    def assert_says(self, page, name, text):
        """Foot and banner say it, since when, and what is not loaded says why."""
        expect(page.light).to_contain_text(name)
        expect(page.notice).to_contain_text(text)
        expect(page.notice).to_contain_text(SINCE)

    def test_a_device_without_network_says_so_everywhere(self):
        alice = self.open_elsewhere()
        alice.lose_network()
        self.assert_says(alice, "Offline", "this device has no network")
        alice.entry(f"{self.room} too").click()
        beginning = alice.page.locator(".beginning")
        expect(beginning).to_have_text("Not loaded yet: this device has no network.")
        self.assert_says(alice, "Offline", "this device has no network")
        self.picture(alice, "no-network")
        alice.regain_network()
        alice.expect_live()
        expect(alice.notice).to_be_hidden()
        expect(beginning).to_contain_text("Nothing was said here yet.")

    def test_a_gateway_that_is_gone_is_said_to_be_and_since_when(self):
        alice = self.open_elsewhere()
        self.gateway.kill()
        self.assert_says(alice, "Offline", "the gateway does not answer")
        # Each try says the same: the banner does not flicker.
        alice.page.get_by_role("button", name="Now").click()
        self.assert_says(alice, "", "the gateway does not answer")
        alice.entry(f"{self.room} too").click()
        expect(alice.page.locator(".beginning")).to_have_text(
            "Not loaded yet: the gateway does not answer.")
        self.picture(alice, "no-gateway")
        self.gateway.start()
        alice.expect_live()
        expect(alice.notice).to_be_hidden()

    def test_a_list_that_does_not_come_says_why(self):
        nobody = self.open("nobody")
        nobody.page.route_web_socket("**/v1/ws", lambda socket: socket.close(code=1011))
        nobody.page.reload()
        expect(nobody.page.locator(".sidebar .empty")).to_have_text(
            "Not loaded yet: the gateway does not answer.")

    def test_an_origin_that_is_away_is_said_in_one_voice(self):
        alice = self.captured(self.open_elsewhere())
        since = "2026-11-20T10:00:00.000Z"
        self.hear(alice, event="upstream", state="offline", since=since)
        self.assert_says(alice, "Log offline", "The gateway can't reach the chat's log")
        self.picture(alice, "no-origin")
        self.hear(alice, event="upstream", state="syncing", since=since)
        self.assert_says(alice, "Catching up", "is reading from the chat's log what it missed")
        self.hear(alice, event="upstream", state="online", since=since)
        alice.expect_live()
        expect(alice.notice).to_be_hidden()

    def test_a_gap_that_the_gateway_was_to_heal_is_read_again_when_it_is_back(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(1, 101)))
        alice = self.open("alice", self.room)
        alice.expect_live()
        expect(alice.message("Line 100")).to_be_in_viewport()
        alice = self.captured(alice)
        head = self.gateway.call("GET", path(self.room))["conversation"]["head"]
        since = "2026-11-20T10:00:00.000Z"
        gap = {"after": 80, "before": 91, "missing": 10, "cause": "upstream", "since": since}
        self.hear(alice, event="upstream", state="offline", since=since)
        self.hear(alice, event="gap", conversation=self.room, gaps=[gap], prev=head["rev"],
                  asOf=head["rev"], head=head, open=True)
        expect(alice.gaps).to_have_count(1)
        self.picture(alice, "gap-of-the-gateway")
        self.hear(alice, event="upstream", state="online", since=since)
        expect(alice.gaps).to_have_count(0)
        self.assertEqual(list(range(75, 101)), alice.places()[-26:])


if __name__ == "__main__":
    unittest.main()
