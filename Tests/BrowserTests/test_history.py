"""A long conversation: reading back, keeping one's place, finding where reading goes on."""

import unittest

from browser import BrowserTestCase
from gateway import path
from playwright.sync_api import expect

LENGTH = 350
#: The first message that is wholly in view, and where it stands.
FIRST_IN_VIEW = """scroller => {
  const top = scroller.getBoundingClientRect().top;
  const rows = [...scroller.querySelectorAll('.message')];
  return rows.find((row) => row.getBoundingClientRect().top >= top);
}"""
TOP_OF = "row => row.getBoundingClientRect().top"


class HistoryTests(BrowserTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.gateway.converse("long", "alice", "bob", "carol", title="Long")
        cls.gateway.say("long", "bob", *(f"Message {n}" for n in range(1, LENGTH + 1)))

    def first_in_view(self, page):
        return page.scroller.evaluate_handle(FIRST_IN_VIEW).as_element()

    def walk_back(self, page):
        """Scrolls up until the beginning is there."""
        beginning = page.page.locator('.beginning[data-state="start"]')
        for _ in range(LENGTH):
            if beginning.count() > 0:
                return
            before = page.messages.count()
            page.scroll_to(0)
            page.page.wait_for_function(
                """before => document.querySelectorAll('.message').length > before
                    || document.querySelector('.beginning[data-state="start"]')""", arg=before)
        self.fail("the beginning never came")

    def test_scrolling_up_brings_all_of_it_in_order_once(self):
        alice = self.open("alice", "long")
        expect(alice.messages).to_have_count(100)
        expect(alice.messages.last).to_be_in_viewport()
        self.walk_back(alice)
        self.assertEqual(list(range(1, LENGTH + 1)), alice.places())
        self.assertEqual(0, alice.gaps.count())
        alice.scroll_to(0)
        expect(alice.page.get_by_text("This is the beginning.")).to_be_in_viewport()
        self.picture(alice, "beginning")

    def test_what_is_read_does_not_move_when_older_messages_come(self):
        alice = self.open("alice", "long")
        expect(alice.messages).to_have_count(100)
        # Held still, the gateway lets the view be measured before its answer comes.
        self.gateway.suspend()
        alice.scroll_to(600)
        row = self.first_in_view(alice)
        before = row.evaluate(TOP_OF)
        self.gateway.resume()
        expect(alice.messages).to_have_count(200)
        self.assertAlmostEqual(before, row.evaluate(TOP_OF), delta=1)

    def test_what_is_read_does_not_move_when_newer_messages_come(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(90)))
        alice = self.open("alice", self.room)
        expect(alice.messages).to_have_count(90)
        alice.scroll_to(500)
        jump = alice.page.locator(".jump")
        expect(jump).to_have_text("Latest ↓")
        row = self.first_in_view(alice)
        before = row.evaluate(TOP_OF)
        self.gateway.say(self.room, "bob", "News", "More news")
        expect(jump).to_have_text("2 new ↓")
        self.assertAlmostEqual(before, row.evaluate(TOP_OF), delta=1)
        self.picture(alice, "reading-back")
        jump.click()
        expect(alice.message("More news")).to_be_in_viewport()
        expect(jump).to_be_hidden()
        self.gateway.say(self.room, "bob", "At the end again")
        expect(alice.message("At the end again")).to_be_in_viewport()

    def test_reading_goes_on_at_the_first_unread_message(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Old {n}" for n in range(30)))
        alice = self.open("alice", self.room)
        expect(alice.message("Old 29")).to_be_in_viewport()
        expect(alice.entry(self.room)).to_be_visible()
        expect(alice.badge(self.room)).to_be_hidden()
        address = alice.page.url
        alice.page.goto("about:blank")
        self.gateway.say(self.room, "bob", *(f"New {n}" for n in range(40)))
        alice.page.goto(address)
        expect(alice.page.locator(".divider[data-unread]")).to_be_in_viewport()
        expect(alice.message("New 0").first).to_be_in_viewport()
        expect(alice.message("New 39")).not_to_be_in_viewport()
        self.picture(alice, "unread-line")
        alice.scroll_to(1_000_000)
        expect(alice.badge(self.room)).to_be_hidden()

    def test_a_change_in_the_middle_of_history_shows_where_it_is(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Part {n}" for n in range(1, 151)))
        alice = self.open("alice", self.room)
        expect(alice.messages).to_have_count(100)
        self.walk_back(alice)
        messages = path(self.room, "messages")
        listed = self.gateway.call("GET", f"{messages}?limit=1&after=9&order=asc")
        edited = listed["messages"][0]
        self.assertEqual("Part 10", edited["body"])
        self.gateway.call("PATCH", f"{messages}/{edited['id']}", {"body": "Part ten"})
        expect(alice.bodies.nth(9)).to_have_text("Part ten (edited)")
        expect(alice.messages).to_have_count(150)


if __name__ == "__main__":
    unittest.main()
