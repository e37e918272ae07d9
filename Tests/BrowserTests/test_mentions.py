"""Mentions and replies on the page: who is offered, who is told, and what is said of a refusal."""

import unittest
import uuid

import axe
from browser import PHONE, UNREACHABLE, BrowserTestCase
from chat_page import RETURN
from gateway import path
from playwright.sync_api import expect
from test_origin import Redis, redis_program


class MentionTestCase(BrowserTestCase):
    def converse(self, *people, admins=(), names=None, room=None):
        room = room or self.room
        self.gateway.call("PUT", path(room), {
            "title": room, "participants": list(people), "admins": list(admins)})
        for person, name in (names or {}).items():
            self.gateway.call("PUT", path(room, "participants", person), {"name": name})

    def write(self, body, author="bob", room=None, **more):
        """Writes a message to the log, as a backend does; `more` are fields of it."""
        self.gateway.call("POST", path(room or self.room, "messages"), {
            "id": str(uuid.uuid4()), "author": author, "body": body, **more})

    def last(self):
        """The newest message of the log."""
        reply = self.gateway.call("GET", f"{path(self.room, 'messages')}?limit=1000&order=asc")
        return reply["messages"][-1]

    def people(self, page):
        """Who takes part, as soon as the page knows."""
        return page.page.locator(".people-button")

    def people_list(self, page):
        return page.page.get_by_role("listbox", name="People to mention")

    def options(self, page):
        return self.people_list(page).get_by_role("option")

    def active(self, page):
        """The option that has the focus for a screen reader, by the box that says so."""
        return page.page.evaluate("""() => {
          const box = document.activeElement;
          const active = document.getElementById(box.getAttribute('aria-activedescendant'));
          return [box.tagName, active && active.getAttribute('aria-selected') === 'true'
            ? active.querySelector('bdi').textContent : null];
        }""")

    def mentions(self, page, title=None):
        return page.entry(title or self.room).locator(".mentions")

    def next_mention(self, page):
        return page.page.locator(".next-mention")


class MentionTests(MentionTestCase):
    def test_by_keys_alone(self):
        self.converse("alice", "bob", "carol", "carl", names={"bob": "Bob Smith"})
        self.write("Hello")
        alice = self.open("alice", self.room)
        bob = self.open("bob", self.room)
        for page in (alice, bob):
            page.expect_live()
        keys = alice.page.keyboard
        alice.box.focus()
        expect(self.people(alice)).to_contain_text("carl")
        keys.type("Hi @")
        expect(self.options(alice)).to_have_count(4)
        keys.type("ca")
        expect(self.options(alice)).to_have_count(2)
        self.assertEqual(["TEXTAREA", "carl"], self.active(alice))
        keys.press("ArrowDown")
        self.assertEqual(["TEXTAREA", "carol"], self.active(alice))
        keys.press("ArrowDown")
        self.assertEqual(["TEXTAREA", "carl"], self.active(alice))
        keys.press("ArrowUp")
        keys.press("Enter")
        expect(alice.box).to_have_value("Hi @carol ")
        expect(self.people_list(alice)).to_be_hidden()
        keys.type("and @smi")
        keys.press("Tab")
        expect(alice.box).to_have_value("Hi @carol and @Bob Smith ")
        expect(alice.box).to_be_focused()
        # Escape leaves the list, and then sends as it is.
        keys.type("not @c")
        keys.press("Escape")
        expect(self.people_list(alice)).to_be_hidden()
        keys.type("ar")
        expect(self.people_list(alice)).to_be_hidden()
        keys.press("Enter")
        alice.expect_last("not @car")
        expect(alice.bodies.last.locator(".mention")).to_have_text(["@carol", "@Bob Smith"])
        expect(alice.messages.last).not_to_have_attribute("data-mention", "true")
        self.assertEqual(["carol", "bob"], self.last()["mentions"])
        self.assertNotIn("mentionAll", self.last())
        bob.expect_last("not @car")
        expect(bob.messages.last).to_have_attribute("data-mention", "true")
        self.assertIn("mentions you", bob.messages.last.get_attribute("aria-label"))
        expect(bob.page.get_by_role("log", name="New messages")).to_contain_text(
            "alice mentions you: Hi @carol")
        # Typed by hand it is the same.
        alice.say("@everyone hello @carl")
        alice.expect_last("hello @carl")
        expect(bob.messages.last).to_have_attribute("data-mention", "true")
        self.assertEqual([["carl"], True], [self.last()["mentions"], self.last()["mentionAll"]])

    def test_no_network_is_needed_to_choose_and_nothing_is_lost_until_it_is_back(self):
        self.converse("alice", "bob", "carol")
        self.write("Lunch?")
        alice = self.open("alice", self.room)
        alice.expect_last("Lunch?")
        alice.expect_live()
        expect(self.people(alice)).to_contain_text("carol")
        self.expected = (UNREACHABLE, "Failed to load resource")
        alice.lose_network()
        alice.expect_state("Offline")
        alice.message("Lunch?").hover()
        alice.message("Lunch?").get_by_role("button", name="Reply to message").click()
        alice.page.keyboard.type("Ask @ca")
        self.options(alice).first.click()
        alice.page.keyboard.press("Enter")
        expect(alice.messages.last.locator(".quote")).to_have_text("bob Lunch?")
        expect(alice.bodies.last.locator(".mention")).to_have_text("@carol")
        # The page is closed meanwhile, as far as that can be.
        alice.regain_network()
        alice.page.reload()
        alice.expect_last("Ask @carol")
        expect(alice.messages.last.locator(".quote")).to_have_text("bob Lunch?", timeout=RETURN)
        expect(alice.page.locator(".message[data-state]")).to_have_count(0, timeout=RETURN)
        self.assertEqual(["carol"], self.last()["mentions"])
        self.assertEqual(1, self.last()["replyTo"]["seq"])

    def test_by_a_finger(self):
        self.converse("alice", "bob", "carol", *(f"user{number}" for number in range(20)))
        alice = self.open("alice", self.room, look=PHONE)
        alice.expect_live()
        expect(self.people(alice)).to_contain_text("23 people")
        alice.box.tap()
        alice.page.keyboard.type("@")
        expect(self.options(alice)).to_have_count(6)
        expect(self.people_list(alice)).to_be_in_viewport(ratio=1)
        self.picture(alice, "mentions-phone-choice")
        self.assertEqual([], axe.findings(alice.page))
        alice.page.keyboard.type("car")
        self.options(alice).first.tap()
        expect(alice.box).to_have_value("@carol ")
        expect(alice.box).to_be_focused()
        alice.page.keyboard.type("look")
        alice.page.get_by_role("button", name="Send").tap()
        alice.expect_last("@carol look")
        expect(alice.bodies.last.locator(".mention")).to_have_text("@carol")
        self.write("@alice here", mentions=["alice"])
        alice.expect_last("@alice here")
        self.picture(alice, "mentions-phone")
        self.assertEqual([], axe.findings(alice.page))

    def test_only_who_may_is_offered_everyone(self):
        self.converse("alice", "bob", admins=["bob"])
        alice, bob = self.open("alice", self.room), self.open("bob", self.room)
        for page, count in ((alice, 1), (bob, 2)):
            page.expect_live()
            expect(self.people(page)).to_contain_text("bob")
            page.box.press_sequentially("@")
            expect(self.options(page)).to_have_count(count)
        bob.box.press_sequentially("every")
        bob.page.keyboard.press("Enter")
        bob.box.press_sequentially("look")
        bob.page.keyboard.press("Enter")
        alice.expect_last("@everyone look")
        expect(alice.messages.last).to_have_attribute("data-mention", "true")
        self.assertTrue(self.last()["mentionAll"])
        # For others it is a word.
        alice.say("@everyone hi")
        bob.expect_last("@everyone hi")
        expect(bob.bodies.last.locator(".mention")).to_have_count(0)
        self.assertNotIn("mentionAll", self.last())

    def test_the_list_says_how_many_mentions_are_unread_and_a_button_leads_to_each(self):
        self.gateway.converse("elsewhere", "alice", "bob")
        self.converse("alice", "bob")
        self.write("First")
        for number in range(120):
            self.write(f"Line {number}\n" + "more\n" * 5)
            if number in (40, 80):
                self.write(f"@alice at {number}", mentions=["alice"])
        alice = self.open("alice", "elsewhere")
        alice.expect_live()
        expect(self.mentions(alice)).to_have_text("@2")
        expect(self.mentions(alice)).to_have_attribute("aria-label", "2 mention you")
        expect(alice.badge(self.room)).to_have_text("123")
        # Otherwise the conversation opens at its end.
        alice.mark_read(self.room, 1)
        expect(alice.badge(self.room)).to_have_text("122")
        self.write("and @everyone", mentionAll=True)
        expect(self.mentions(alice)).to_have_text("@3", timeout=RETURN)
        self.picture(alice, "mentions-list")
        self.assertEqual([], axe.findings(alice.page))
        alice.entry(self.room).first.click()
        button = self.next_mention(alice)
        expect(button).to_have_accessible_name("Go to the next of 3 unread mentions")
        self.picture(alice, "mentions-button")
        for text in ("@alice at 40", "@alice at 80"):
            button.click()
            expect(alice.message(text)).to_be_focused()
            expect(alice.message(text)).to_be_in_viewport()
        self.picture(alice, "mentions-jumped")
        self.assertEqual([], axe.findings(alice.page))
        # What is read everywhere is none.
        alice.mark_read(self.room, 120)
        expect(self.mentions(alice)).to_have_text("@1", timeout=RETURN)
        expect(button).to_have_accessible_name("Go to the unread mention of you")
        button.focus()
        alice.page.keyboard.press("Enter")
        expect(alice.message("and @everyone")).to_be_focused()
        alice.mark_read(self.room, 124)
        expect(self.mentions(alice)).to_be_hidden(timeout=RETURN)
        expect(button).to_be_hidden()

    def test_an_edit_may_mention_others_and_the_reply_stays(self):
        self.converse("alice", "bob", "carol")
        self.write("Lunch?")
        alice, bob = self.open("alice", self.room), self.open("bob", self.room)
        for page in (alice, bob):
            page.expect_live()
            page.expect_last("Lunch?")
        alice.message("Lunch?").hover()
        alice.message("Lunch?").get_by_role("button", name="Reply to message").click()
        alice.say("Yes @carol")
        bob.expect_last("Yes @carol")
        expect(bob.messages.last).not_to_have_attribute("data-mention", "true")
        alice.messages.last.hover()
        alice.messages.last.get_by_role("button", name="Edit message").click()
        alice.say("Yes @bob")
        expect(bob.bodies.last).to_contain_text("Yes @bob (edited)")
        expect(bob.messages.last).to_have_attribute("data-mention", "true")
        expect(bob.messages.last.locator(".quote")).to_have_text("bob Lunch?")
        self.assertEqual(["bob"], self.last()["mentions"])

    def test_what_it_looks_like(self):
        self.converse("alice", "bob", "carol", "dave", names={"bob": "Bob Smith"})
        self.write("The deploy begins at noon.")
        first = self.last()
        self.write("@alice, @carol: please do not merge until it is through. `@dave` is code.",
                   mentions=["alice", "carol", "dave"], replyTo=first["id"])
        self.write("Thank you @Bob Smith", author="carol", mentions=["bob"])
        self.write("@everyone it is through", author="alice", mentionAll=True)
        self.write("@everyone lunch?", mentionAll=True)
        alice = self.open("alice", self.room)
        alice.expect_live()
        alice.expect_last("lunch?")
        expect(alice.page.locator(".message[data-mention]")).to_have_count(2)
        expect(self.people(alice)).to_contain_text("bob")
        alice.box.press_sequentially("@")
        for scheme in ("dark", "light"):
            alice.page.emulate_media(color_scheme=scheme)
            self.picture(alice, f"mentions-{scheme}")
            self.assertEqual([], axe.findings(alice.page))
        alice.page.emulate_media(forced_colors="active")
        self.picture(alice, "mentions-forced")


class MentionAllOffTests(MentionTestCase):
    settings = {"clients__mention_all": "no"}

    def test_a_refusal_says_what_to_do_and_the_draft_stays(self):
        self.converse("alice", "bob")
        alice = self.open("alice", self.room)
        alice.expect_live()
        expect(self.people(alice)).to_contain_text("bob")
        alice.say("@everyone and @bob: lunch")
        failed = alice.page.locator('.message[data-state="failed"]')
        expect(failed.get_by_role("alert")).to_contain_text(
            "Not sent: to mention everyone is turned off here.")
        self.assertEqual([], axe.findings(alice.page))
        self.picture(alice, "mentions-refused")
        alice.page.reload()
        expect(failed).to_contain_text("lunch")
        failed.get_by_role("button", name="Send without that").click()
        expect(failed).to_have_count(0)
        alice.expect_last("@everyone and @bob: lunch")
        expect(alice.bodies.last.locator(".mention")).to_have_text("@bob")
        self.assertEqual(["bob"], self.last()["mentions"])
        # Another text does, too; so it is with an edit.
        alice.say("@everyone again")
        failed.get_by_role("button", name="Edit").click()
        alice.say("all again")
        alice.expect_last("all again")
        alice.messages.last.hover()
        alice.messages.last.get_by_role("button", name="Edit message").click()
        alice.say("@everyone once more")
        expect(alice.messages.last.get_by_role("alert")).to_contain_text(
            "Your change was not made: to mention everyone is turned off here.")
        alice.messages.last.get_by_role("button", name="Send without that").click()
        expect(alice.bodies.last).to_contain_text("@everyone once more (edited)")
        self.assertNotIn("mentionAll", self.last())


@unittest.skipIf(redis_program() is None, "Redis is not installed")
class NotEnabledTests(MentionTestCase):
    """An origin elsewhere, before `gapless enable`: an earlier gateway may share it."""

    @classmethod
    def setUpClass(cls):
        redis = Redis()
        cls.addClassCleanup(redis.discard)
        cls.settings = {
            "upstream__kind": "redis",
            "upstream__redis__url": f"redis://127.0.0.1:{redis.port}",
        }
        super().setUpClass()

    def test_a_reply_can_be_sent_as_a_plain_message(self):
        self.converse("alice", "bob")
        self.write("Lunch?")
        alice = self.open("alice", self.room)
        alice.expect_last("Lunch?")
        alice.expect_live()
        alice.message("Lunch?").hover()
        alice.message("Lunch?").get_by_role("button", name="Reply to message").click()
        alice.say("Yes, and @bob too")
        failed = alice.page.locator('.message[data-state="failed"]')
        expect(failed.get_by_role("alert")).to_contain_text(
            "Not sent: replies and mentions are not turned on here yet.")
        expect(failed.locator(".quote")).to_have_text("bob Lunch?")
        failed.get_by_role("button", name="Send without that").click()
        expect(failed).to_have_count(0)
        alice.expect_last("Yes, and @bob too")
        expect(alice.page.locator(".message[data-state]")).to_have_count(0)
        self.assertEqual("Yes, and @bob too", self.last()["body"])
        self.assertFalse({"replyTo", "mentions", "mentionAll"} & self.last().keys())


if __name__ == "__main__":
    unittest.main()
