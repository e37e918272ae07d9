"""A long conversation: reading back, keeping one's place, finding where reading goes on."""

import re
import unittest

from browser import UNREACHABLE
from gateway import path
from long_conversation import LongConversationTestCase
from playwright.sync_api import expect

LENGTH = 350
#: The first message that is wholly in view and goes on where its author just spoke: one that begins
#: a block may lose that, and its name, when older messages come before it.
FIRST_IN_VIEW = """scroller => {
  const top = scroller.getBoundingClientRect().top;
  const rows = [...scroller.querySelectorAll('.message[data-continued]')];
  return rows.find((row) => row.getBoundingClientRect().top >= top);
}"""
TOP_OF = "row => row.getBoundingClientRect().top"


class HistoryTests(LongConversationTestCase):
    length = LENGTH

    def first_in_view(self, page):
        return page.scroller.evaluate_handle(FIRST_IN_VIEW).as_element()

    def test_scrolling_up_and_down_shows_all_of_it_in_order(self):
        alice = self.open_long()
        for direction in (-1, 1):
            seen = alice.walk(direction, LENGTH)
            self.assertEqual([], seen["missing"])
            self.assertLessEqual(seen["drift"], 1)
            self.assertLess(seen["mostRows"], 150)
            places = alice.places()
            self.assertEqual(list(range(places[0], places[-1] + 1)), places)
            if direction < 0:
                expect(alice.page.get_by_text("This is the beginning.")).to_be_in_viewport()
                self.picture(alice, "beginning")

    def test_a_reader_who_scrolled_before_the_place_to_read_on_was_known_stays_there(self):
        self.gateway.converse(self.room, "alice")
        alice = self.open("alice", self.room)
        alice.expect_live()
        alice.mark_read(self.conversation, LENGTH)
        alice.hold_requests("fetchConversation")
        alice.entry("Long").click()
        expect(alice.message(f"Message {LENGTH}")).to_be_in_viewport()
        alice.scroll_to(400)
        row = self.first_in_view(alice)
        before = row.evaluate(TOP_OF)
        alice.release_requests()
        # The strip says where the view is once what it shows counts as seen.
        strip = alice.page.get_by_role("slider")
        expect(strip).to_have_attribute("aria-valuetext", re.compile(r"Message 2\d\d of"))
        self.assertAlmostEqual(before, row.evaluate(TOP_OF), delta=1)

    def test_what_is_read_does_not_move_when_older_messages_come(self):
        alice = self.open_long()
        # Held still, the gateway lets the view be measured before its answer comes.
        self.gateway.suspend()
        alice.scroll_to(0)
        beginning = alice.page.locator('.beginning[data-state="older"]')
        expect(beginning).to_be_in_viewport()
        row = self.first_in_view(alice)
        before = row.evaluate(TOP_OF)
        self.gateway.resume()
        expect(beginning).not_to_be_in_viewport()
        self.assertAlmostEqual(before, row.evaluate(TOP_OF), delta=1)

    def test_the_row_under_the_pointer_does_not_move_when_one_above_it_grows(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(90)))
        alice = self.open("alice", self.room)
        expect(alice.message("Line 89")).to_be_in_viewport()
        alice.scroll_to(900)
        rows = alice.messages.element_handles()
        inside = [row for row in rows if 150 < row.evaluate(TOP_OF) < 600]
        grown, pointed = inside[0], inside[6]
        pointed.hover()
        before = pointed.evaluate(TOP_OF)
        seq = int(grown.get_attribute("data-seq"))
        messages = path(self.room, "messages")
        listed = self.gateway.call("GET", f"{messages}?limit=1&after={seq - 1}&order=asc")
        text = "\n".join(f"One more line {n}" for n in range(9))
        self.gateway.call(
            "PATCH", f"{messages}/{listed['messages'][0]['id']}", {"body": text})
        expect(alice.message("One more line 8")).to_have_count(1)
        self.assertAlmostEqual(before, pointed.evaluate(TOP_OF), delta=1)

    def test_what_is_read_does_not_move_when_newer_messages_come(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(90)))
        alice = self.open("alice", self.room)
        expect(alice.message("Line 89")).to_be_in_viewport()
        alice.scroll_to(500)
        jump = alice.page.locator(".jump")
        expect(jump).to_have_text("Latest ↓")
        row = self.first_in_view(alice)
        before = row.evaluate(TOP_OF)
        self.gateway.say(self.room, "bob", "News", "More news")
        expect(jump).to_have_text("2 new ↓")
        self.assertAlmostEqual(before, row.evaluate(TOP_OF), delta=1)
        self.picture(alice, "reading-back")
        # What one says oneself, on another machine, is not new.
        self.gateway.say(self.room, "alice", "From elsewhere")
        expect(alice.entry(self.room)).to_contain_text("You: From elsewhere")
        expect(jump).to_have_text("2 new ↓")
        jump.click()
        expect(alice.message("More news")).to_be_in_viewport()
        expect(jump).to_be_hidden()
        self.gateway.say(self.room, "bob", "At the end again")
        expect(alice.message("At the end again")).to_be_in_viewport()

    def test_a_place_far_away_is_shown_and_the_gaps_around_it_fill_as_one_reads_on(self):
        alice = self.open_long()
        alice.reveal(0)
        expect(alice.page.locator('.message[data-seq="1"]')).to_be_in_viewport()
        gap = alice.page.locator(".truth .gaps li")
        expect(gap).to_contain_text("149 not loaded")
        self.picture(alice, "what-is-held")
        seen = alice.walk(1, LENGTH)
        self.assertEqual([], seen["missing"])
        expect(gap).to_have_count(0)

    def test_what_is_held_stands_in_plain_words_and_beside_the_scroll_bar(self):
        alice = self.open_long()
        strip = alice.page.get_by_role("slider", name="Place in the conversation")
        expect(strip).to_have_attribute("aria-valuetext", re.compile(
            "of 350; 100 are here, nothing is missing between them"))
        alice.page.get_by_role("button", name="What this page holds").click()
        summary = alice.page.locator(".truth .summary")
        expect(summary).to_have_text(
            "You have 100 of 350 messages. Nothing is missing between the ones you see.")
        expect(alice.page.locator(".truth details dl")).to_be_hidden()
        # The strip is reached, and goes, by keys.
        strip.focus()
        strip.press("Home")
        expect(alice.page.locator('.message[data-seq="1"]')).to_be_in_viewport()
        expect(strip).to_be_focused()
        expect(summary).to_contain_text("messages are missing between them.")
        expect(strip).to_have_attribute("aria-valuetext", re.compile("1 gap between them"))
        strip.press("End")
        expect(alice.message(f"Message {LENGTH}")).to_be_in_viewport()
        self.picture(alice, "strip")

    def test_a_gap_says_how_many_from_when_to_when_and_what_happens(self):
        alice = self.open_long()
        alice.reveal(0)
        expect(alice.page.locator('.message[data-seq="1"]')).to_be_in_viewport()
        alice.hold_requests("fetchMessages")
        alice.scroller.focus()
        alice.scroll_to(2300)
        expect(alice.gaps).to_have_count(1)
        expect(alice.gaps.locator("strong")).to_have_text("149 messages are not loaded.")
        expect(alice.gaps).to_contain_text(re.compile(r"(Around|Between) \d\d:\d\d"))
        self.picture(alice, "gap-row")
        alice.release_requests()
        expect(alice.gaps).to_have_count(0)

    def test_a_gap_is_filled_by_a_click_where_it_is_listed(self):
        alice = self.open_long()
        alice.reveal(0)
        gap = alice.page.locator(".truth .gaps li")
        expect(gap).to_contain_text("102 – 250: 149 not loaded")
        gap.get_by_role("button", name="Load").click()
        expect(gap).to_contain_text("102 – 150: 49 not loaded")

    def test_what_is_quoted_is_shown_wherever_it_is(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", "What about lunch?", *(f"Line {n}" for n in range(400)))
        quoted = self.gateway.call(
            "GET", path(self.room, "messages") + "?limit=1&order=asc&after=0")["messages"][0]
        self.gateway.say(self.room, "bob", "As I asked before", metadata={"replyTo": {
            "id": quoted["id"], "seq": 1}})
        alice = self.open("alice", self.room)
        quote = alice.message("As I asked before").locator(".quote")
        expect(quote).to_have_text("bob What about lunch?")
        self.picture(alice, "quote")
        quote.click()
        found = alice.page.locator('.message[data-seq="1"]')
        expect(found).to_be_in_viewport()
        expect(found).to_have_attribute("data-found", "true")
        expect(found).to_be_focused()
        self.picture(alice, "quoted")
        alice.page.keyboard.press("r")
        alice.say("At one")
        expect(alice.messages.last).to_be_in_viewport()
        expect(alice.messages.last.locator(".quote")).to_have_text("bob What about lunch?")

    def test_what_is_quoted_and_can_not_be_had_is_said_to_be_so(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(200)))
        self.gateway.say(self.room, "bob", "As I said", metadata={"replyTo": {
            "id": "m", "seq": 1}})
        alice = self.open("alice", self.room)
        quote = alice.message("As I said").locator(".quote")
        expect(quote).to_be_visible()
        self.expected = (UNREACHABLE,)
        self.gateway.kill()
        alice.expect_state("Offline")
        quote.click()
        expect(alice.dialog).to_contain_text("can't be loaded now")
        self.gateway.start()
        alice.dialog.get_by_role("button", name="OK").click()
        expect(alice.message("As I said")).to_be_in_viewport()

    def test_many_unread_messages_open_where_reading_goes_on(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Old {n}" for n in range(30)))
        alice = self.open("alice", self.room)
        expect(alice.message("Old 29")).to_be_in_viewport()
        expect(alice.badge(self.room)).to_be_hidden()
        alice.page.context.close()
        self.pages.remove(alice)
        self.gateway.say(self.room, "bob", *(f"New {n}" for n in range(450)))
        alice = self.open("alice", self.room)
        expect(alice.page.locator(".divider[data-unread]")).to_be_in_viewport()
        expect(alice.message("New 0").first).to_be_in_viewport()

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
        expect(alice.message("Part 150")).to_be_in_viewport()
        alice.walk(-1, 150)
        messages = path(self.room, "messages")
        listed = self.gateway.call("GET", f"{messages}?limit=1&after=9&order=asc")
        edited = listed["messages"][0]
        self.assertEqual("Part 10", edited["body"])
        self.gateway.call("PATCH", f"{messages}/{edited['id']}", {"body": "Part ten"})
        expect(alice.bodies.nth(9)).to_have_text("Part ten (edited)")


if __name__ == "__main__":
    unittest.main()
