"""A quote shows what stands where it says, as it is now, and nothing that somebody claims."""

import unittest

import axe
from browser import BrowserTestCase
from gateway import path
from playwright.sync_api import expect


class QuoteTests(BrowserTestCase):
    def messages(self, query="limit=1&order=asc&after=0"):
        """What the log holds, with everything of each message."""
        return self.gateway.call("GET", f"{path(self.room, 'messages')}?{query}")["messages"]

    def change(self, message, body):
        self.gateway.call(
            "PATCH", f"{path(self.room, 'messages')}/{message['id']}", {"body": body})

    def quoting(self, between, **more):
        """alice's page, on which bob quotes his first message with so many others in between."""
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(
            self.room, "bob", "Lunch at noon", *(f"Line {n}" for n in range(between)))
        quoted = self.messages()[0]
        name = {"id": quoted["id"], "seq": 1, **more}
        # As it was written before messages had a field for it.
        self.gateway.say(self.room, "bob", "As I said", metadata={"replyTo": name})
        alice = self.open("alice", self.room)
        return alice, alice.message("As I said").locator(".quote"), quoted

    def test_an_answer_names_the_message_and_keeps_no_copy_of_it(self):
        alice, bob = self.open_room("alice", "bob")
        bob.say("Lunch?")
        alice.message("Lunch?").hover()
        alice.message("Lunch?").get_by_role("button", name="Reply to message").click()
        alice.say("Gladly")
        expect(bob.message("Gladly").locator(".quote")).to_have_text("bob Lunch?")
        asked, answered = self.messages("order=asc")
        self.assertEqual({"id": asked["id"], "seq": 1}, answered["replyTo"])
        self.assertEqual({}, answered["metadata"])

    def test_a_quote_follows_what_it_quotes_near_and_far(self):
        for between in (3, 300):
            with self.subTest(between=between):
                self.room = f"{self._testMethodName} {between}"
                alice, quote, quoted = self.quoting(between)
                expect(quote).to_have_text("bob Lunch at noon")
                self.change(quoted, "Lunch at one")
                expect(quote).to_have_text("bob Lunch at one (edited)")
                # What changes while the page is away is read again.
                alice.lose_network()
                alice.expect_state("Offline")
                self.gateway.call(
                    "DELETE", f"{path(self.room, 'messages')}/{quoted['id']}")
                self.expected = ("Failed to load resource", "WebSocket connection to")
                alice.regain_network()
                expect(quote).to_have_text("bob This message was deleted", timeout=30_000)
                expect(alice.page.get_by_text("Lunch at")).to_have_count(0)
                self.picture(alice, f"quote-deleted-{between}")

    def test_what_a_quote_claims_is_not_shown(self):
        alice, quote, _ = self.quoting(3, author="alice", text="I owe bob a million")
        expect(quote).to_have_text("bob Lunch at noon")
        self.assertEqual(0, alice.page.get_by_text("a million").count())

    def test_a_quote_of_what_was_not_said_is_seen_as_such(self):
        for between in (3, 300):
            with self.subTest(between=between):
                self.room = f"{self._testMethodName} {between}"
                alice, quote, _ = self.quoting(between, id="another", text="I owe bob a million")
                expect(quote).to_have_text("This quotes something that was not said here")
                self.picture(alice, "quote-forged")

    def test_a_reply_leads_to_its_message_however_far_away(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", "Lunch at noon", *(f"Line {n}" for n in range(300)))
        first, = self.messages()
        self.gateway.call("POST", path(self.room, "messages"), {
            "id": f"{self.room} reply", "author": "bob", "body": "As I said",
            "replyTo": first["id"]})
        alice = self.open("alice", self.room)
        quote = alice.message("As I said").locator(".quote")
        expect(quote).to_have_text("bob Lunch at noon")
        quote.click()
        expect(alice.message("Lunch at noon").first).to_be_focused()
        expect(alice.message("Lunch at noon").first).to_be_in_viewport()

    def test_a_reply_to_a_message_that_is_not_there_says_so(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.call("POST", path(self.room, "messages"), {
            "id": f"{self.room} reply", "author": "bob", "body": "Gladly", "replyTo": "unknown"})
        alice = self.open("alice", self.room)
        expect(alice.message("Gladly").locator(".quote")).to_have_text(
            "This answers a message that is not here")
        self.assertEqual([], axe.findings(alice.page))
        self.picture(alice, "quote-gone")


if __name__ == "__main__":
    unittest.main()
