"""Finding a conversation, a text, a day; and who takes part."""

import re
import unittest

from browser import PHONE, BrowserTestCase
from playwright.sync_api import expect


class FindingTests(BrowserTestCase):
    def test_conversations_are_filtered_from_anywhere(self):
        for name in ("Lunch", "Lunch too", "Work"):
            self.gateway.converse(f"{self.room} {name}", "dan", title=name)
        dan = self.open("dan", f"{self.room} Work")
        expect(dan.title).to_have_text("Work")
        dan.box.press("Control+k")
        box = dan.page.get_by_role("searchbox", name="Filter conversations")
        expect(box).to_be_focused()
        box.press_sequentially("lunch")
        expect(dan.page.locator(".conversations a .title")).to_have_text(["Lunch too", "Lunch"])
        self.picture(dan, "filter")
        box.press("Enter")
        expect(dan.title).to_have_text("Lunch too")
        expect(dan.page.locator(".conversations a")).to_have_count(3)
        box.fill("nothing of the kind")
        expect(dan.page.locator(".sidebar .empty")).to_have_text("None is called that.")

    def test_a_text_is_found_in_what_is_here_and_the_rest_is_named(self):
        self.gateway.converse(self.room, "alice", "bob")
        said = [f"Line {n}" + (" with a needle" if n in (5, 210, 290) else "") for n in range(300)]
        self.gateway.say(self.room, "bob", *said)
        alice = self.open("alice", self.room)
        expect(alice.message("Line 299")).to_be_in_viewport()
        alice.page.get_by_role("button", name="Search").click()
        box = alice.page.get_by_role("searchbox", name="Search in this conversation")
        status = alice.page.locator(".find p")
        box.press_sequentially("NEEDLE")
        for number, text in ((1, "Line 290"), (2, "Line 210")):
            box.press("Enter")
            expect(alice.message(text)).to_be_in_viewport()
            expect(status).to_have_text(
                f"{number} of 2. 200 messages are not here, and were not searched.")
        self.picture(alice, "found")
        box.fill("haystack")
        box.press("Enter")
        expect(status).to_contain_text(re.compile(r"Not found in the \d+ messages that are here"))

    def test_a_day_is_gone_to(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(300)))
        alice = self.open("alice", self.room)
        expect(alice.message("Line 299")).to_be_in_viewport()
        alice.page.get_by_role("button", name="Search").click()
        alice.page.get_by_label("Go to a day").fill("2020-01-01")
        expect(alice.page.locator('.message[data-seq="1"]')).to_be_in_viewport()
        # Behind the last one is the last one.
        alice.page.get_by_label("Go to a day").fill("2099-12-31")
        expect(alice.message("Line 299")).to_be_in_viewport()
        expect(alice.page.locator('.message[data-seq="1"]')).not_to_be_in_viewport()

    def test_people_are_shown_added_and_taken_out_and_one_may_leave(self):
        alice = self.open("alice")
        alice.page.get_by_role("button", name="New conversation").click()
        alice.dialog.get_by_label("Title").fill("Plans")
        alice.dialog.get_by_label("People").fill("bob")
        alice.dialog.get_by_role("button", name="Create").click()
        expect(alice.title).to_have_text("Plans")
        people = alice.page.locator(".people li")
        alice.page.get_by_role("button", name="alice and bob").click()
        expect(people).to_have_count(2)
        alice.dialog.get_by_label("Add people").fill("carol, dora")
        alice.dialog.get_by_role("button", name="Add", exact=True).click()
        expect(people).to_have_count(4)
        alice.dialog.get_by_role("button", name="Remove: dora").click()
        expect(people).to_have_count(3)
        expect(alice.page.locator(".people-button")).to_have_text("alice, bob and carol")
        alice.dialog.get_by_role("button", name="Make admin: bob").click()
        expect(people.filter(has_text="bob")).to_contain_text("admin")
        alice.dialog.get_by_label("Title").fill("Better plans")
        alice.dialog.get_by_role("button", name="Rename").click()
        expect(alice.title).to_have_text("Better plans")
        self.picture(alice, "people")
        alice.dialog.get_by_role("button", name="Done").click()
        bob = self.open("bob", look=PHONE)
        bob.entry("Better plans").tap()
        bob.page.locator(".people-button").tap()
        expect(bob.page.locator(".people li")).to_have_count(3)
        self.picture(bob, "people-phone")
        bob.dialog.get_by_role("button", name="Leave").tap()
        bob.dialog.last.get_by_role("button", name="Leave").tap()
        expect(bob.entry("Better plans")).to_have_count(0)


if __name__ == "__main__":
    unittest.main()
