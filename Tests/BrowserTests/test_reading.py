"""What counts as read: what was on the screen, and nothing else."""

import re
import unittest

from browser import UNREACHABLE, BrowserTestCase
from gateway import path
from playwright.sync_api import expect

#: Makes the page believe that it is hidden, or shown again.
HIDE = """isHidden => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
  document.dispatchEvent(new Event('visibilitychange'));
}"""
TOP_OF = "row => row.getBoundingClientRect().top"
#: How many messages of a list are on the screen as a whole, and at least in part.
ON_SCREEN = """scroller => {
  const { top, bottom } = scroller.getBoundingClientRect();
  const rows = [...scroller.querySelectorAll('.message')].map((row) => row.getBoundingClientRect());
  return [
    rows.filter((row) => row.top >= top && row.bottom <= bottom).length,
    rows.filter((row) => row.bottom > top && row.top < bottom).length,
  ];
}"""


class ReadingTests(BrowserTestCase):
    def setUp(self):
        super().setUp()
        self.expected = (UNREACHABLE,)

    def said_by_bob(self, count, people=("alice", "bob")):
        self.gateway.converse(self.room, *people)
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(1, count + 1)))

    def read_by(self, user):
        """Up to where a user has read, by the gateway's word."""
        people = self.gateway.call("GET", path(self.room, "participants"))["participants"]
        return next(person["lastReadSeq"] for person in people if person["id"] == user)

    def read_before(self, user, seq):
        """The user has read up to here on another machine."""
        other = self.open(user)
        other.expect_live()
        other.mark_read(self.room, seq)
        other.page.context.close()
        self.pages.remove(other)

    def wait_read_by(self, user, seq):
        for _ in range(100):
            if self.read_by(user) == seq:
                return
            self.pages[-1].page.wait_for_timeout(50)
        self.assertEqual(seq, self.read_by(user))

    def open_at_end(self, count):
        """A page of alice's that has read everything."""
        self.said_by_bob(count)
        self.read_before("alice", count)
        alice = self.open("alice", self.room)
        expect(alice.message(f"Line {count}")).to_be_in_viewport()
        alice.expect_live()
        return alice

    def test_opening_a_conversation_marks_only_what_it_shows(self):
        self.said_by_bob(700)
        self.read_before("alice", 200)
        alice = self.open("alice", self.room)
        expect(alice.page.locator(".divider[data-unread]")).to_be_in_viewport()
        expect(alice.message("Line 201")).to_be_in_viewport()
        missed = alice.page.locator(".missed")
        # The banner and the list no longer count a message that was seen.
        badge = alice.badge(self.room)
        expect(badge).not_to_have_text("500")
        expect(missed).to_contain_text(re.compile(r"^4\d\d unread messages"))
        alice.page.wait_for_function("""() => {
          const [pill, badge] = ['.missed span', '.conversations .badge'].map((name) => (
            parseInt(document.querySelector(name).textContent, 10)
          ));
          return pill === badge;
        }""")
        last = max(
            place for place, row in zip(alice.places(), alice.messages.element_handles())
            if row.evaluate("row => row.getBoundingClientRect().bottom <= innerHeight"))
        read = 700 - int(missed.locator("span").text_content().split()[0])
        self.assertLessEqual(read, last)
        self.assertGreater(read, 200)
        # And every message that they no longer count was marked read, and no other.
        self.wait_read_by("alice", read)
        self.picture(alice, "unread-500")
        # At the end one has seen the end, and not what is between.
        alice.page.locator(".jump").click()
        expect(alice.page.locator(".jump")).to_be_hidden()
        expect(missed).to_be_visible()
        self.assertLess(self.read_by("alice"), 400)
        missed.get_by_role("button", name="First unread").click()
        expect(alice.message("Line 201")).to_be_in_viewport()
        alice.walk(1, 700)
        expect(missed).to_be_hidden()
        expect(alice.badge(self.room)).to_be_hidden()
        self.assertEqual(700, self.read_by("alice"))

    def test_opening_what_was_never_read_marks_only_what_is_seen(self):
        self.said_by_bob(400)
        alice = self.open("alice", self.room)
        expect(alice.message("Line 400")).to_be_in_viewport()
        pill = alice.page.locator(".missed span")
        expect(pill).to_have_text(re.compile(r"^3\d\d unread messages$"))
        # Those on the screen are seen, and no others.
        whole, part = alice.scroller.evaluate(ON_SCREEN)
        seen = 400 - int(pill.text_content().split()[0])
        self.assertTrue(whole <= seen <= part, (whole, seen, part))
        # What was read is told in the time of a request.
        alice.page.wait_for_timeout(500)
        self.assertEqual(0, self.read_by("alice"))
        alice.page.get_by_role("button", name="Mark read").click()
        expect(pill).to_be_hidden()
        self.wait_read_by("alice", 400)

    def test_the_pill_counts_anew_what_was_deleted_or_read_elsewhere(self):
        self.said_by_bob(300)
        self.read_before("alice", 100)
        alice = self.open("alice", self.room)
        alice.expect_live()
        pill = alice.page.locator(".missed span")
        expect(pill).to_contain_text("unread messages")
        before = int(pill.text_content().split()[0])
        self.read_before("alice", 200)
        expect(pill).to_have_text("100 unread messages")
        self.assertGreater(before, 100)
        newest = self.gateway.call("GET", path(self.room, "messages") + "?limit=3")["messages"]
        for message in newest:
            self.gateway.call("DELETE", path(self.room, "messages", message["id"]))
        expect(pill).to_have_text("97 unread messages")

    def test_a_marker_does_not_pass_what_is_missing(self):
        alice = self.open_at_end(100)
        self.gateway.say(self.room, "bob", "Seen")
        expect(alice.message("Seen")).to_be_in_viewport()
        # A page is not asked for: what it would bring stays missing.
        alice.hold_requests("fetchMessages")
        alice.lose_network()
        alice.expect_state("Offline")
        self.gateway.say(self.room, "bob", *(f"Missed {n}" for n in range(1, 151)))
        alice.regain_network()
        alice.expect_live()
        expect(alice.page.locator(".missed")).to_contain_text("150 messages while you were away")
        for _ in range(2):
            alice.scroll_to(1_000_000)
            expect(alice.message("Missed 150")).to_be_in_viewport()
            alice.scroll_to(0)
            expect(alice.message("Missed 150")).not_to_be_in_viewport()
        self.assertEqual(101, self.read_by("alice"))

    def test_a_hidden_page_reads_nothing(self):
        alice = self.open_at_end(60)
        alice.page.evaluate(HIDE, True)
        self.gateway.say(self.room, "bob", *(f"Hidden {n}" for n in range(1, 51)))
        expect(alice.badge(self.room)).to_have_text("50")
        expect(alice.page).to_have_title("(50) Gapless")
        # The first ones are where reading goes on; the view did not run after the last.
        expect(alice.message("Line 60")).to_be_in_viewport()
        expect(alice.message("Hidden 50")).not_to_be_in_viewport()
        self.assertEqual(60, self.read_by("alice"))
        alice.page.evaluate(HIDE, False)
        expect(alice.page.locator(".missed")).to_contain_text("50 messages while you were away")
        alice.scroll_to(1_000_000)
        alice.walk(-1, 110)
        expect(alice.badge(self.room)).to_be_hidden()
        self.assertEqual(110, self.read_by("alice"))

    def test_coming_back_keeps_the_place_and_says_what_was_missed(self):
        alice = self.open_at_end(90)
        bob = self.open("bob", self.room)
        expect(bob.message("Line 90")).to_be_in_viewport()
        row = alice.message("Line 80").element_handle()
        before = row.evaluate(TOP_OF)
        alice.lose_network()
        # The gateway's next ping is far away: the device itself says so.
        expect(alice.light).to_contain_text("Offline", timeout=5_000)
        expect(alice.light).to_contain_text("this device is offline", ignore_case=True)
        self.gateway.say(self.room, "bob", *(f"Missed {n}" for n in range(1, 402)))
        alice.regain_network()
        alice.expect_live()
        missed = alice.page.locator(".missed")
        expect(missed).to_contain_text("401 messages while you were away")
        self.assertAlmostEqual(before, row.evaluate(TOP_OF), delta=1)
        expect(alice.message("Missed 401")).not_to_be_in_viewport()
        self.picture(alice, "while-you-were-away")
        # Nobody is told that she has seen what her page never showed.
        expect(bob.page.locator(".seen")).to_have_count(0)
        self.assertLess(self.read_by("alice"), 200)
        missed.get_by_role("button", name="First unread").click()
        expect(alice.page.locator(".divider[data-unread]")).to_be_in_viewport()
        expect(alice.bodies.get_by_text("Missed 1", exact=True)).to_be_in_viewport()
        missed.get_by_role("button", name="Mark read").click()
        expect(missed).to_be_hidden()
        expect(alice.badge(self.room)).to_be_hidden()
        self.assertEqual(491, self.read_by("alice"))

    def test_what_fits_below_what_was_seen_is_shown_at_once(self):
        alice = self.open_at_end(90)
        alice.lose_network()
        alice.expect_state("Offline")
        self.gateway.say(self.room, "bob", "Are you there?", "Hello?")
        alice.regain_network()
        expect(alice.message("Hello?")).to_be_in_viewport()
        expect(alice.page.locator(".divider[data-unread]")).to_be_in_viewport()
        expect(alice.page.locator(".missed")).to_be_hidden()
        expect(alice.badge(self.room)).to_be_hidden()
        self.assertEqual(92, self.read_by("alice"))


if __name__ == "__main__":
    unittest.main()
