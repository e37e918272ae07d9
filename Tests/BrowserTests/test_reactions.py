"""Reactions on the page: who sees what, by mouse, keyboard and finger, and what is not touched."""

import unittest
import urllib.parse

import axe
from browser import PHONE, UNREACHABLE, BrowserTestCase
from chat_page import RETURN
from gateway import path
from playwright.sync_api import expect

THUMB = "👍"
HEART = "❤️"
ROCKET = "🚀"


class ReactionTestCase(BrowserTestCase):
    def messages(self):
        """What the log holds, oldest first."""
        reply = self.gateway.call("GET", f"{path(self.room, 'messages')}?limit=1000&order=asc")
        return reply["messages"]

    def react(self, message, key, *users, method="PUT"):
        """Has users react, as a backend does."""
        for user in users:
            of = path(self.room, "messages", message["id"], "reactions", user, key)
            self.gateway.call(method, of)

    def said(self, *bodies, people=("alice", "bob"), admins=()):
        """A conversation in which bob said something."""
        self.gateway.call("PUT", path(self.room), {
            "title": self.room, "participants": list(people), "admins": list(admins)})
        self.gateway.say(self.room, "bob", *bodies)
        return self.messages()

    def chip(self, page, text, key):
        return page.message(text).locator(f'[data-control="reaction {key}"]')

    def expect_chip(self, page, text, key, count, own):
        chip = self.chip(page, text, key)
        expect(chip).to_contain_text(str(count), timeout=RETURN)
        # The client may ask the gateway for that, and not at once.
        expect(chip).to_have_attribute(
            "aria-pressed", "true" if own else "false", timeout=RETURN)

    def add_button(self, page, text):
        return page.message(text).locator(".actions").get_by_role("button", name="Add reaction")

    def choose(self, page, text, key):
        page.message(text).hover()
        self.add_button(page, text).click()
        page.dialog.get_by_role("button", name=key).click()

    def focused(self, page):
        return page.page.evaluate("document.activeElement.dataset.control ?? null")


class ReactionTests(ReactionTestCase):
    def test_a_reaction_is_seen_by_all_and_changes_nothing_else(self):
        self.gateway.converse("elsewhere", "alice", "bob")
        alice, bob = self.open_room("alice", "bob")
        bob.say("Lunch?")
        alice.expect_last("Lunch?")
        expect(bob.page.get_by_text("Seen by alice")).to_be_visible()
        # What comes now would be news there.
        bob.page.goto(f"http://{self.gateway.address}/?"
                      + urllib.parse.urlencode({"user": "bob", "conversation": "elsewhere"}))
        bob.expect_live()
        self.choose(alice, "Lunch?", THUMB)
        self.expect_chip(alice, "Lunch?", THUMB, 1, own=True)
        expect(self.chip(alice, "Lunch?", THUMB)).to_have_attribute("aria-label", f"{THUMB} 1: you")
        expect(alice.page.locator(".edited")).to_have_count(0)
        self.assertIn(THUMB, [key["key"] for key in self.messages()[0]["reactions"]])
        expect(bob.badge(self.room)).to_be_hidden()
        alice.say("At noon.")
        expect(bob.badge(self.room)).to_have_text("1")
        bob.entry(self.room).first.click()
        self.expect_chip(bob, "Lunch?", THUMB, 1, own=False)
        expect(self.chip(bob, "Lunch?", THUMB)).to_have_attribute(
            "title", f"alice reacted with {THUMB}")
        expect(bob.badge(self.room)).to_be_hidden()
        self.chip(bob, "Lunch?", THUMB).click()
        self.expect_chip(alice, "Lunch?", THUMB, 2, own=True)
        self.assertEqual(["Gapless"] * 2, [page.page.title() for page in (alice, bob)])
        expect(alice.page.locator(".jump, .missed").locator("visible=true")).to_have_count(0)
        self.chip(alice, "Lunch?", THUMB).click()
        self.expect_chip(bob, "Lunch?", THUMB, 1, own=True)
        self.expect_chip(alice, "Lunch?", THUMB, 1, own=False)
        self.chip(bob, "Lunch?", THUMB).click()
        expect(alice.page.locator(".reaction")).to_have_count(0)
        expect(bob.page.locator(".reaction")).to_have_count(0)
        self.assertNotIn("reactions", self.messages()[0])

    def test_by_keys_alone(self):
        self.said("Lunch?")
        alice = self.open("alice", self.room)
        alice.expect_last("Lunch?")
        alice.expect_live()
        keys = alice.page.keyboard
        alice.scroller.focus()
        keys.press("ArrowUp")
        expect(alice.message("Lunch?")).to_be_focused()
        keys.press("Tab")
        self.assertEqual("react above", self.focused(alice))
        keys.press("Enter")
        first = alice.dialog.get_by_role("button", name=THUMB)
        expect(first).to_be_focused()
        keys.press("Escape")
        expect(alice.dialog).to_have_count(0)
        self.assertEqual("react above", self.focused(alice))
        keys.press("Enter")
        # The last of the first line, and below it the last of all.
        keys.press("ArrowUp")
        expect(first).to_be_focused()
        for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "End", "ArrowLeft", "Home"):
            keys.press(key)
        expect(first).to_be_focused()
        keys.press("ArrowRight")
        keys.press("Enter")
        self.expect_chip(alice, "Lunch?", HEART, 1, own=True)
        self.assertEqual("react above", self.focused(alice))
        # The reactions stand before what else one can do.
        keys.press("Shift+Tab")
        keys.press("Shift+Tab")
        keys.press("Shift+Tab")
        self.assertEqual(f"reaction {HEART}", self.focused(alice))
        message = self.messages()[0]
        self.react(message, HEART, "bob")
        self.expect_chip(alice, "Lunch?", HEART, 2, own=True)
        self.assertEqual(f"reaction {HEART}", self.focused(alice))
        keys.press("Space")
        self.expect_chip(alice, "Lunch?", HEART, 1, own=False)
        self.assertEqual(f"reaction {HEART}", self.focused(alice))
        # Where it is gone, the message has the focus.
        self.react(message, HEART, "bob", method="DELETE")
        expect(alice.page.locator(".reaction")).to_have_count(0)
        expect(alice.message("Lunch?")).to_be_focused()

    def test_by_a_finger(self):
        message, = self.said("Lunch?")
        alice = self.open("alice", self.room, look=PHONE)
        alice.expect_last("Lunch?")
        alice.expect_live()
        alice.message("Lunch?").tap()
        self.add_button(alice, "Lunch?").tap()
        expect(alice.dialog).to_be_in_viewport(ratio=1)
        self.picture(alice, "reactions-phone-choice")
        self.assertEqual([], axe.findings(alice.page))
        alice.dialog.get_by_role("button", name=ROCKET).tap()
        self.expect_chip(alice, "Lunch?", ROCKET, 1, own=True)
        self.react(message, THUMB, "bob")
        self.chip(alice, "Lunch?", THUMB).tap()
        self.expect_chip(alice, "Lunch?", THUMB, 2, own=True)
        self.picture(alice, "reactions-phone")
        alice.message("Lunch?").get_by_role("button", name="Who reacted").tap()
        expect(alice.dialog.locator("li")).to_have_count(3)
        self.picture(alice, "reactions-phone-who")
        self.assertEqual([], axe.findings(alice.page))

    def test_one_s_own_is_known_where_many_reacted(self):
        others = [f"user{number}" for number in range(12)]
        first, second = self.said("First", "Second", people=["alice", "bob", *others])
        self.react(first, THUMB, *others, "alice")
        self.react(second, THUMB, *others, "bob")
        alice = self.open("alice", self.room)
        self.expect_chip(alice, "First", THUMB, 13, own=True)
        self.expect_chip(alice, "Second", THUMB, 13, own=False)
        expect(self.chip(alice, "First", THUMB)).to_have_attribute(
            "aria-label", f"{THUMB} 13: you, user0 and 11 others")
        self.chip(alice, "First", THUMB).click()
        self.expect_chip(alice, "First", THUMB, 12, own=False)
        # The user is somewhere else, too.
        self.react(second, THUMB, "alice")
        self.expect_chip(alice, "Second", THUMB, 14, own=True)
        # After an outage it is known again.
        self.expected = (UNREACHABLE, "Failed to load resource")
        alice.lose_network()
        alice.expect_state("Offline")
        self.react(second, THUMB, "alice", method="DELETE")
        alice.regain_network()
        self.expect_chip(alice, "Second", THUMB, 13, own=False)

    def test_who_reacted_is_read_in_pages_and_by_reaction(self):
        people = [f"user{number:02}" for number in range(70)]
        message, = self.said("Lunch?", people=["alice", "bob", *people])
        self.react(message, THUMB, *people)
        self.react(message, HEART, "alice", "bob")
        alice = self.open("alice", self.room)
        who = alice.message("Lunch?").get_by_role("button", name="Who reacted")
        who.click()
        rows = alice.dialog.locator("li")
        expect(rows).to_have_count(50)
        expect(rows.first).to_contain_text("user00")
        expect(alice.dialog.get_by_text("50 of 72")).to_be_visible()
        self.picture(alice, "reactions-who")
        self.assertEqual([], axe.findings(alice.page))
        alice.dialog.get_by_role("button", name="Show more").click()
        expect(rows).to_have_count(72)
        expect(alice.dialog.get_by_role("button", name="Show more")).to_be_hidden()
        alice.dialog.get_by_role("button", name=HEART).click()
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("alice (you)")
        expect(alice.dialog.get_by_role("button", name="Remove")).to_have_count(0)
        alice.page.keyboard.press("Escape")
        expect(who).to_be_focused()

    def test_an_admin_takes_back_what_others_reacted(self):
        message, = self.said("Lunch?", admins=["alice"])
        self.react(message, THUMB, "alice", "bob")
        alice, bob = self.open("alice", self.room), self.open("bob", self.room)
        self.expect_chip(bob, "Lunch?", THUMB, 2, own=True)
        alice.message("Lunch?").get_by_role("button", name="Who reacted").click()
        rows = alice.dialog.locator("li")
        expect(rows).to_have_count(2)
        remove = alice.dialog.get_by_role("button", name="Remove")
        expect(remove).to_have_count(1)
        remove.click()
        expect(rows).to_have_count(1)
        self.expect_chip(bob, "Lunch?", THUMB, 1, own=False)

    def test_what_is_wanted_offline_is_shown_and_sent_later(self):
        message, = self.said("Lunch?")
        self.react(message, THUMB, "alice", "bob")
        alice, bob = self.open("alice", self.room), self.open("bob", self.room)
        self.expect_chip(alice, "Lunch?", THUMB, 2, own=True)
        self.expected = (UNREACHABLE, "Failed to load resource")
        alice.lose_network()
        alice.expect_state("Offline")
        self.choose(alice, "Lunch?", HEART)
        self.chip(alice, "Lunch?", THUMB).click()
        self.expect_chip(alice, "Lunch?", HEART, 1, own=True)
        self.expect_chip(alice, "Lunch?", THUMB, 1, own=False)
        expect(self.chip(bob, "Lunch?", HEART)).to_have_count(0)
        # As if the page was closed, too.
        alice.regain_network()
        self.expect_chip(bob, "Lunch?", HEART, 1, own=False)
        self.expect_chip(bob, "Lunch?", THUMB, 1, own=True)
        self.expect_chip(alice, "Lunch?", HEART, 1, own=True)

    def test_reactions_are_no_conflict_for_who_edits(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "alice", "Lunch at nine?")
        alice = self.open("alice", self.room)
        alice.expect_last("Lunch at nine?")
        alice.expect_live()
        alice.message("Lunch").hover()
        alice.message("Lunch").get_by_role("button", name="Edit message").click()
        message, = self.messages()
        self.react(message, THUMB, "bob")
        self.expect_chip(alice, "Lunch", THUMB, 1, own=False)
        alice.say("Lunch at noon?")
        expect(alice.bodies.last).to_contain_text("Lunch at noon? (edited)")
        self.expect_chip(alice, "Lunch", THUMB, 1, own=False)
        expect(alice.page.locator(".failure").locator("visible=true")).to_have_count(0)
        alice.delete("Lunch at noon?")
        expect(alice.page.locator(".reaction")).to_have_count(0)

    def test_more_than_fit_are_refused_and_not_shown(self):
        self.said("Lunch?")
        alice = self.open("alice", self.room)
        alice.expect_last("Lunch?")
        alice.expect_live()
        keys = [THUMB, HEART, ROCKET, "😂", "🎉", "😮", "😢", "🙏", "🔥"]
        for key in keys:
            self.choose(alice, "Lunch?", key)
        expect(alice.dialog).to_contain_text(
            "The reaction was not added: you have as many on this message as one can have.")
        alice.dialog.get_by_role("button", name="OK").click()
        expect(self.chip(alice, "Lunch?", "🔥")).to_have_count(0)
        expect(alice.page.locator('.reaction[aria-pressed="true"]')).to_have_count(8)

    def test_what_it_looks_like(self):
        people = ["carol", "dave", *(f"user{number}" for number in range(20))]
        first, second, third = self.said(
            "The deploy begins at noon. Please do not merge until it is through.", "Thank you!",
            "🎉", people=["alice", "bob", *people])
        self.react(first, THUMB, *people)
        self.react(first, HEART, "alice", "carol")
        self.react(second, ":shipit:", "alice")
        self.react(second, "x" * 64, "bob")
        for key in (THUMB, HEART, ROCKET, "😂", "😮", "😢", "🙏", "🔥"):
            self.react(third, key, "carol", "alice")
        alice = self.open("alice", self.room)
        self.expect_chip(alice, "deploy", THUMB, 22, own=False)
        for scheme in ("dark", "light"):
            alice.page.emulate_media(color_scheme=scheme)
            self.picture(alice, f"reactions-{scheme}")
        self.assertEqual([], axe.findings(alice.page))
        alice.message("Thank you!").hover()
        self.add_button(alice, "Thank you!").click()
        self.picture(alice, "reactions-choice")
        self.assertEqual([], axe.findings(alice.page))
        # Beside it is away from it.
        alice.page.mouse.click(5, 5)
        expect(alice.dialog).to_have_count(0)


class ReactionsOffTests(ReactionTestCase):
    settings = {"clients__react": "no"}

    def test_a_refusal_is_said_and_what_was_shown_goes(self):
        message, = self.said("Lunch?")
        self.react(message, THUMB, "bob")
        alice = self.open("alice", self.room)
        self.expect_chip(alice, "Lunch?", THUMB, 1, own=False)
        self.chip(alice, "Lunch?", THUMB).click()
        expect(alice.dialog).to_contain_text(
            "The reaction was not added: reactions are turned off here.")
        self.expect_chip(alice, "Lunch?", THUMB, 1, own=False)
        alice.dialog.get_by_role("button", name="OK").click()
        expect(self.chip(alice, "Lunch?", THUMB)).to_be_focused()


if __name__ == "__main__":
    unittest.main()
