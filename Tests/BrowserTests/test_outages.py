"""The gateway or the network goes away while pages are open, and comes back."""

import unittest

from browser import UNREACHABLE, BrowserTestCase
from playwright.sync_api import expect


class OutageTests(BrowserTestCase):
    settings = {"limits__ping_interval": "1s", "drain__window": "500ms"}

    def setUp(self):
        super().setUp()
        self.expected = (UNREACHABLE,)

    def open_talk(self):
        """Two pages and two messages, for something to be there before it breaks."""
        alice, bob = self.open_room("alice", "bob")
        alice.say("Before")
        bob.expect_messages(["Before"])
        bob.say("Before too")
        for page in (alice, bob):
            page.expect_messages(["Before", "Before too"])
        return alice, bob

    def assert_whole(self, bodies, *pages):
        """Every page shows these and nothing else, and so does the log."""
        for page in pages:
            page.expect_live()
            page.expect_messages(bodies)
            expect(page.gaps).to_have_count(0)
        self.assertEqual(bodies, self.gateway.said(self.room))

    def test_a_message_written_while_the_gateway_is_dead_arrives_once(self):
        alice, bob = self.open_talk()
        self.gateway.kill()
        alice.expect_state("Offline")
        bob.expect_state("Offline")
        bob.say("While it was down")
        bob.say("And another")
        expect(bob.page.locator('.message[data-state="sending"]')).to_have_count(2)
        expect(bob.notice).to_contain_text("What you write is sent when the connection is back")
        self.picture(bob, "gateway-killed")
        self.gateway.start()
        expected = ["Before", "Before too", "While it was down", "And another"]
        self.assert_whole(expected, alice, bob)
        alice.say("Back")
        self.assert_whole([*expected, "Back"], alice, bob)

    def test_a_burst_that_the_kill_cuts_through_arrives_whole_in_order_once(self):
        alice, bob = self.open_talk()
        burst = [f"Burst {n}" for n in range(12)]
        for text in burst[:6]:
            alice.say(text)
        # Held still, it has taken the rest into its sockets and answers none of it.
        self.gateway.suspend()
        for text in burst[6:]:
            alice.say(text)
        self.gateway.kill()
        self.gateway.start()
        self.assert_whole(["Before", "Before too", *burst], alice, bob)

    def test_what_changed_while_a_page_was_offline_is_there_when_it_is_back(self):
        alice, bob = self.open_talk()
        alice.page.context.set_offline(True)
        alice.expect_state("Offline")
        alice.say("Written offline")
        bob.say("Said meanwhile")
        bob.delete("Before too")
        bob.expect_messages(["Before", "This message was deleted", "Said meanwhile"])
        alice.page.context.set_offline(False)
        for page in (alice, bob):
            page.expect_live()
            page.expect_messages(
                ["Before", "This message was deleted", "Said meanwhile", "Written offline"])
            self.assertEqual([1, 2, 3, 4], page.places())

    def test_too_much_to_catch_up_with_is_a_gap_that_is_filled_when_it_comes_near(self):
        alice, bob = self.open_talk()
        alice.lose_network()
        alice.expect_state("Offline")
        self.gateway.say(self.room, "bob", *(f"Missed {n}" for n in range(150)))
        # Nothing comes for the gap yet, so that it can be seen where it is.
        alice.hold_requests("fetchMessages")
        alice.regain_network()
        alice.expect_live()
        alice.page.get_by_role("button", name="What this page holds").click()
        gap = alice.page.locator(".truth .gaps li")
        expect(gap).to_contain_text("3 – 52: 50 came while you were away")
        expect(alice.gaps).to_be_in_viewport()
        expect(alice.gaps).to_contain_text("50 messages came while you were away.")
        self.picture(alice, "gap")
        alice.release_requests()
        expect(alice.gaps).to_have_count(0)
        expect(gap).to_have_count(0)
        self.assertEqual([], alice.walk(1, 152)["missing"])
        bob.expect_last("Missed 149")

    def test_a_gateway_that_falls_silent_is_noticed(self):
        alice, bob = self.open_talk()
        self.gateway.suspend()
        # It says so for a moment only, then it tries again, against the same silence.
        expect(alice.light).not_to_contain_text("Live")
        alice.say("Into the silence")
        self.gateway.resume()
        self.assert_whole(["Before", "Before too", "Into the silence"], alice, bob)

    def test_pages_come_back_from_a_drain_and_miss_nothing(self):
        alice, bob = self.open_talk()
        self.assertEqual(0, self.gateway.stop())
        for page in (alice, bob):
            expect(page.light).to_contain_text("Offline")
        alice.say("Between two gateways")
        self.gateway.start()
        self.assert_whole(["Before", "Before too", "Between two gateways"], alice, bob)

    def test_who_is_disconnected_for_good_is_told_and_does_not_come_back(self):
        alice, bob = self.open_talk()
        self.gateway.call("POST", "/v1/users/bob/disconnect")
        bob.expect_state("Disconnected")
        expect(bob.light).to_contain_text("Disconnected by the server.")
        alice.say("Still here")
        alice.expect_messages(["Before", "Before too", "Still here"])
        bob.expect_messages(["Before", "Before too"])
        self.picture(bob, "disconnected")

    def test_who_is_asked_to_come_back_does_and_misses_nothing(self):
        alice, bob = self.open_talk()
        self.gateway.call("POST", "/v1/users/bob/disconnect", {"reconnect": True})
        alice.say("Are you back?")
        self.assert_whole(["Before", "Before too", "Are you back?"], alice, bob)


if __name__ == "__main__":
    unittest.main()
