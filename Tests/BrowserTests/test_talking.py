"""Two people talk: what one page does, the other shows."""

import re
import unittest

from browser import BrowserTestCase
from gateway import path
from playwright.sync_api import expect


class TalkingTests(BrowserTestCase):
    settings = {"limits__message": "2KiB"}

    def test_deleted_messages_that_stand_together_are_one_row_that_opens(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", "One", "Two", "Three", "Four", "Five")
        messages = path(self.room, "messages")
        said = self.gateway.call("GET", f"{messages}?order=asc")["messages"]
        third = said[2]
        quote = {key: third[key] for key in ("id", "seq")}
        self.gateway.say(self.room, "bob", "Six", metadata={"replyTo": quote})
        for message in said[1:4]:
            self.gateway.call("DELETE", f"{messages}/{message['id']}")
        alice = self.open("alice", self.room)
        fold = alice.page.locator(".fold")
        expect(fold).to_contain_text("3 messages were deleted")
        expect(alice.messages).to_have_count(3)
        self.picture(alice, "deleted-together")
        fold.get_by_role("button", name="Show").press("Enter")
        expect(fold).to_have_count(0)
        expect(alice.messages).to_have_count(6)
        expect(alice.page.locator('.message[data-seq="2"]')).to_be_focused()
        alice.page.get_by_role("button", name="Hide").press("Enter")
        expect(alice.messages).to_have_count(3)
        expect(fold.get_by_role("button", name="Show")).to_be_focused()
        # A person who goes to one of them by a quote sees it.
        alice.page.locator("button.quote").click()
        expect(alice.page.locator('.message[data-seq="3"]')).to_be_focused()
        expect(alice.messages).to_have_count(6)

    def test_the_list_shows_the_conversation_that_is_open(self):
        self.gateway.converse(self.room, "zoe")
        self.gateway.say(self.room, "zoe", "Said before all the others")
        for number in range(20):
            self.gateway.converse(f"Later {number}", "zoe")
            self.gateway.say(f"Later {number}", "zoe", "Said later")
        zoe = self.open("zoe", self.room)
        expect(zoe.entry(self.room)).to_be_in_viewport(ratio=0.9)
        expect(zoe.entry("Later 19")).not_to_be_in_viewport()

    def test_what_one_page_sends_the_other_shows_once(self):
        alice, bob = self.open_room("alice", "bob")
        alice.say("Hello Bob")
        bob.expect_messages(["Hello Bob"])
        bob.say("Hello Alice,\n  how are you?")
        alice.say("Fine \N{THUMBS UP SIGN} \N{ARABIC LETTER MEEM}\N{ARABIC LETTER REH}")
        for page in (alice, bob):
            expect(page.messages).to_have_count(3)
            # A message that is still being sent has no place.
            expect(page.page.locator("[data-state=sending]")).to_have_count(0)
            self.assertEqual([1, 2, 3], page.places())
        said = self.gateway.said(self.room)
        self.assertEqual("Hello Bob", said[0])
        self.assertCountEqual(
            ["Hello Alice,\n  how are you?",
             "Fine \N{THUMBS UP SIGN} \N{ARABIC LETTER MEEM}\N{ARABIC LETTER REH}"], said[1:])
        self.picture(alice, "talking")

    def test_a_sent_row_stays_the_same_element_when_it_is_confirmed(self):
        alice, bob = self.open_room("alice", "bob")
        self.gateway.suspend()
        alice.say("Still on its way")
        expect(alice.messages).to_have_attribute("data-state", "sending")
        row = alice.messages.element_handle()
        self.gateway.resume()
        bob.expect_messages(["Still on its way"])
        expect(alice.messages).to_have_attribute("data-seq", "1")
        self.assertTrue(row.evaluate("row => row.isConnected && !row.dataset.state"))

    def test_an_edit_and_a_deletion_show_on_both_pages(self):
        alice, bob = self.open_room("alice", "bob")
        alice.say("Helo")
        alice.say("Not for you")
        bob.expect_messages(["Helo", "Not for you"])
        alice.message("Helo").hover()
        alice.message("Helo").get_by_role("button", name="Edit message").click()
        expect(alice.box).to_have_value("Helo")
        alice.say("Hello")
        alice.delete("Not for you")
        for page in (alice, bob):
            page.expect_messages(["Hello (edited)", "This message was deleted"])
        self.picture(alice, "edited")
        self.assertEqual(0, bob.page.get_by_role("button", name="Edit message").count())

    def test_typing_is_shown_to_the_others_until_the_message_comes(self):
        alice, bob = self.open_room("alice", "bob")
        typing = bob.page.locator(".typing")
        alice.box.press_sequentially("I thi")
        expect(typing).to_have_text("alice is typing…")
        expect(alice.page.locator(".typing")).to_have_text("")
        alice.say("I think so")
        bob.expect_messages(["I think so"])
        expect(typing).to_have_text("")
        alice.box.press_sequentially("never mind")
        expect(typing).to_have_text("alice is typing…")
        alice.box.fill("")
        expect(typing).to_have_text("")

    def test_unread_messages_are_counted_until_they_are_read(self):
        alice, = self.open_room("alice")
        self.gateway.converse("lunch", "alice", "bob", title="Lunch")
        expect(alice.entry("Lunch")).to_be_visible()
        self.gateway.say("lunch", "bob", "Hungry?", "I am")
        expect(alice.badge("Lunch")).to_have_text("2")
        expect(alice.page).to_have_title("(2) Gapless")
        expect(alice.page.locator(".conversations a").first).to_contain_text("Lunch")
        self.picture(alice, "unread")
        alice.entry("Lunch").click()
        alice.expect_messages(["Hungry?", "I am"])
        expect(alice.badge("Lunch")).to_be_hidden()
        expect(alice.page).to_have_title("Gapless")
        alice.say("Coming")
        bob = self.open("bob", "lunch")
        expect(alice.page.locator(".seen")).to_have_text("Seen by bob")
        bob.expect_messages(["Hungry?", "I am", "Coming"])

    def test_two_pages_of_one_user_are_in_step(self):
        self.gateway.converse(self.room, "carol", "bob")
        self.gateway.say(self.room, "bob", "One", "Two")
        here, there = self.open("carol"), self.open("carol")
        for page in (here, there):
            expect(page.badge(self.room)).to_have_text("2")
        here.entry(self.room).click()
        here.say("Three")
        expect(there.badge(self.room)).to_be_hidden()
        there.entry(self.room).click()
        for page in (here, there):
            page.expect_messages(["One", "Two", "Three"])

    def test_what_is_typed_waits_in_its_conversation(self):
        alice, = self.open_room("alice")
        self.gateway.converse("elsewhere", "alice", title="Elsewhere")
        alice.box.fill("Half a thought\nand a half")
        height = alice.box.bounding_box()["height"]
        alice.entry("Elsewhere").click()
        expect(alice.box).to_have_value("")
        expect(alice.entry(self.room)).to_contain_text("Not sent yet: Half a thought")
        alice.entry(self.room).click()
        expect(alice.box).to_have_value("Half a thought\nand a half")
        self.assertEqual(height, alice.box.bounding_box()["height"])
        alice.box.press("Enter")
        alice.entry("Elsewhere").click()
        expect(alice.box).to_have_value("")
        expect(alice.entry(self.room)).to_contain_text("You: Half a thought")

    def test_a_message_that_is_refused_can_be_discarded_and_the_next_one_goes(self):
        alice, bob = self.open_room("alice", "bob")
        alice.say("x" * 3000)
        failure = alice.page.locator(".message .failure")
        expect(failure).to_contain_text("Not sent")
        alice.say("Short")
        bob.expect_messages(["Short"])
        self.picture(alice, "refused")
        failure.get_by_role("button", name="Discard").click()
        alice.expect_messages(["Short"])

    def test_what_somebody_does_reads_as_one_sentence(self):
        alice, bob = self.open_room("alice", "bob")
        self.gateway.say(self.room, "bob", "waves", metadata={"emote": True})
        emote = alice.messages.first
        expect(emote).to_have_attribute("data-emote", "true")
        expect(emote.locator(".body")).to_contain_text("bob waves")
        expect(alice.entry(self.room)).to_contain_text("bob waves")
        bob.say("That was me")
        alice.expect_last("That was me")
        self.assertIsNone(alice.messages.last.get_attribute("data-continued"))
        self.picture(alice, "emote")

    def test_the_time_of_a_replayed_log_stands_beside_its_own_and_rows_have_names(self):
        alice, = self.open_room("alice")
        for time in ("06:18", "06:18 by the admin"):
            self.gateway.say(self.room, f"bob {len(time)}", "Hello", metadata={"time": time})
        expect(alice.messages).to_have_count(2)
        # What is no time is what anybody may have written.
        expect(alice.page.locator(".logged")).to_have_text(["06:18 originally"])
        self.picture(alice, "replayed")
        rows = alice.page.get_by_role("article", name=re.compile(r"^bob \d+, \d\d:\d\d$"))
        expect(rows).to_have_count(2)

    def test_a_new_conversation_appears_with_everybody_in_it(self):
        dora, eve = self.open("dora"), self.open("eve")
        dora.page.get_by_role("button", name="New conversation").click()
        dora.dialog.get_by_label("Title").fill("Plans")
        dora.dialog.get_by_label("People").fill("eve, bob")
        self.picture(dora, "new-conversation")
        dora.dialog.get_by_role("button", name="Create").click()
        expect(dora.title).to_have_text("Plans")
        eve.entry("Plans").click()
        eve.say("What is it about?")
        dora.expect_messages(["What is it about?"])

    def test_who_is_taken_out_reads_no_more(self):
        alice, bob = self.open_room("alice", "bob")
        alice.say("Before")
        bob.expect_messages(["Before"])
        self.gateway.call("DELETE", path(self.room, "participants", "bob"))
        expect(bob.notice).to_have_text("You no longer take part in this conversation.")
        expect(bob.box).to_be_disabled()
        expect(bob.messages).to_have_count(0)
        expect(bob.entry(self.room)).to_have_count(0)
        alice.say("After")
        alice.expect_messages(["Before", "After"])
        expect(bob.messages).to_have_count(0)
        self.expected = ("not_found",)
        stranger = self.open("mallory", self.room)
        expect(stranger.notice).to_contain_text("does not exist, or you take no part in it")


if __name__ == "__main__":
    unittest.main()
