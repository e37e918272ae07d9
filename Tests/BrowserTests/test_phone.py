"""The page on a phone and in a small window, and the keys that go to the ends of a history."""

import unittest

from browser import PHONE, BrowserTestCase
from playwright.sync_api import expect


class PhoneTests(BrowserTestCase):
    def test_enter_does_what_its_key_says_and_the_keyboard_stays_when_one_sends(self):
        alice, = self.open_room("alice", "bob", look=PHONE)[:1]
        bob = self.open("bob", self.room)
        expect(bob.box).to_have_attribute("enterkeyhint", "send")
        expect(alice.box).to_have_attribute("enterkeyhint", "enter")
        alice.box.tap()
        alice.page.keyboard.type("One line")
        alice.page.keyboard.press("Enter")
        alice.page.keyboard.type("and another")
        alice.page.get_by_role("button", name="Send").tap()
        bob.expect_messages(["One line\nand another"])
        expect(alice.box).to_have_value("")
        expect(alice.box).to_be_focused()
        self.picture(alice, "phone-talking")

    def test_messages_keep_their_room_in_a_small_window(self):
        look = {"viewport": {"width": 320, "height": 256}}
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(50)))
        alice = self.open("alice", self.room, look=look)
        expect(alice.message("Line 49")).to_be_in_viewport()
        alice.page.get_by_role("button", name="What this page holds").click()
        self.assertGreaterEqual(alice.scroller.bounding_box()["height"], 60)
        expect(alice.message("Line 49")).to_be_in_viewport()
        expect(alice.box).to_be_in_viewport(ratio=0.9)
        self.picture(alice, "small-window")

    def test_end_goes_to_the_newest_message_of_a_long_history(self):
        self.gateway.converse(self.room, "alice", "bob")
        # Of very different heights, so that what is not drawn is guessed wrong.
        self.gateway.say(
            self.room, "bob",
            *("\n".join(f"{n}.{line}" for line in range(1 + n % 40)) for n in range(1500)),
            "Newest")
        alice = self.open("alice", self.room)
        expect(alice.message("Newest")).to_be_in_viewport()
        for share in (0, 0.5):
            alice.reveal(share)
            expect(alice.message("Newest")).not_to_be_in_viewport()
            alice.scroller.focus()
            alice.page.keyboard.press("End")
            expect(alice.message("Newest")).to_be_in_viewport(ratio=0.9)
        # As far from the end as the window lets go of it.
        alice.reveal(0)
        for _ in range(14):
            alice.scroll_to(1_000_000)
            alice.page.wait_for_timeout(50)
        alice.scroller.focus()
        alice.page.keyboard.press("End")
        expect(alice.message("Newest")).to_be_in_viewport(ratio=0.9)


if __name__ == "__main__":
    unittest.main()
