"""The origin is Redis, and goes away: what people wrote waits, and what was missed comes back."""

import subprocess
import sys
import tempfile
import unittest

from browser import BrowserTestCase
from chat_page import PATIENCE
from gateway import REPOSITORY, Gateway, free_port
from playwright.sync_api import expect
from tcp_proxy import TCPProxy

sys.path.insert(0, str(REPOSITORY / "deploy"))

from demonstration.processes import redis_program  # noqa: E402 (found by the line above)

#: So often a message was tried before it was given up, once.
TRIES = 5
#: Has the page count the messages that it asks the gateway to take.
COUNT = """() => {
  const { send } = WebSocket.prototype;
  window.tries = 0;
  WebSocket.prototype.send = function (text) {
    if (text.includes('"sendMessage"')) window.tries += 1;
    send.call(this, text);
  };
}"""


class Redis:
    """A Redis on a port of its own, which can be killed and started again on its files."""

    def __init__(self):
        self.port = free_port()
        self.folder = tempfile.TemporaryDirectory(prefix="gapless-redis-")
        self.process = None
        self.start()

    def start(self):
        # What it is is in its name, whatever the name of its file.
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir",
             self.folder.name, "--save", "", "--appendonly", "yes", "--appendfsync", "always"],
            executable=redis_program(), stdout=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def revive(self):
        """Starts it, unless it runs."""
        if self.process.poll() is not None:
            self.start()

    def discard(self):
        self.kill()
        self.folder.cleanup()


@unittest.skipIf(redis_program() is None, "Redis is not installed")
class OriginTests(BrowserTestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.addClassCleanup(cls.redis.discard)
        #: The way of the first gateway to Redis; the second has one of its own.
        cls.way = TCPProxy(f"127.0.0.1:{cls.redis.port}")
        cls.addClassCleanup(lambda: cls.way.close())
        cls.settings = {
            "upstream__kind": "redis", "upstream__redis__url": f"redis://{cls.way.address}"}
        super().setUpClass()
        cls.second = Gateway(**{
            **cls.settings, "upstream__redis__url": f"redis://127.0.0.1:{cls.redis.port}"})
        cls.addClassCleanup(cls.second.discard)
        cls.second.start()

    def tearDown(self):
        # A test that failed may have left it dead.
        self.redis.revive()
        super().tearDown()

    def open_talk(self):
        """A page of alice's with messages of bob's, and a second conversation not yet opened."""
        self.gateway.converse(f"{self.room} too", "alice", "bob")
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(1, 61)))
        alice = self.open("alice", self.room)
        alice.expect_live()
        expect(alice.message("Line 60")).to_be_in_viewport()
        expect(alice.entry(f"{self.room} too")).to_be_visible()
        return alice

    def test_what_is_sent_while_the_origin_is_away_waits_for_it(self):
        alice = self.open_talk()
        alice.page.evaluate(COUNT)
        self.redis.kill()
        alice.expect_state("Log offline")
        expect(alice.notice).to_contain_text("can't reach the chat's log")
        alice.say("While it was away")
        alice.page.wait_for_function(f"() => window.tries > {TRIES}", timeout=PATIENCE)
        unsent = alice.message("While it was away")
        expect(unsent).to_have_attribute("data-state", "sending")
        # Foot and banner say the same, also of a conversation that is opened meanwhile.
        self.picture(alice, "origin-away")
        alice.entry(f"{self.room} too").click()
        expect(alice.title).to_have_text(f"{self.room} too")
        alice.expect_state("Log offline")
        expect(alice.notice).to_contain_text("can't reach the chat's log")
        self.redis.start()
        alice.expect_live()
        expect(alice.notice).to_be_hidden()
        alice.entry(f"{self.room}").filter(has_not_text=" too").click()
        expect(unsent).to_have_attribute("data-seq", "61", timeout=PATIENCE)
        self.assertEqual(1, self.gateway.said(self.room).count("While it was away"))

    def test_what_the_gateway_missed_is_shown_without_a_reload(self):
        alice = self.open_talk()
        port = int(self.way.address.split(":")[1])
        self.way.close()
        alice.expect_state("Log offline")
        self.second.say(self.room, "bob", *(f"Missed {n}" for n in range(1, 3001)))
        type(self).way = TCPProxy(f"127.0.0.1:{self.redis.port}", port)
        alice.expect_live()
        alice.expect_last("Missed 3000")
        # No row waits for a gateway that has caught up: all of it comes to a user who reads back.
        self.assertEqual([], alice.walk(-1, 3060)["missing"])
        expect(alice.gaps).to_have_count(0)
        self.assertEqual(0, self.gateway.health()["sync"]["openGaps"])


if __name__ == "__main__":
    unittest.main()
