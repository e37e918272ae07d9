"""What a user wrote is not lost: over reloads, in other conversations, offline."""

import re
import unittest

from browser import UNREACHABLE, BrowserTestCase, chromium
from chat_page import ChatPage
from gateway import path
from playwright.sync_api import expect


class UnsentTests(BrowserTestCase):
    def setUp(self):
        super().setUp()
        self.expected = (UNREACHABLE, "Failed to load resource")

    def test_what_was_written_offline_is_sent_from_wherever_the_user_is(self):
        self.gateway.converse(f"{self.room} too", "alice")
        alice, = self.open_room("alice")
        alice.expect_live()
        # The list comes by an answer of its own, after "Live": offline it would not come at all.
        expect(alice.entry(f"{self.room} too")).to_be_visible()
        alice.lose_network()
        alice.say("Written before I left")
        expect(alice.messages).to_have_attribute("data-state", "sending")
        alice.entry(f"{self.room} too").click()
        alice.regain_network()
        alice.expect_live()
        expect(alice.entry(self.room).first).to_contain_text("Written before I left")
        self.assertEqual(["Written before I left"], self.gateway.said(self.room))

    def test_what_was_written_offline_survives_a_visit_to_many_others(self):
        # More than the page keeps open.
        others = [f"{self.room} {number}" for number in range(13)]
        for other in others:
            self.gateway.converse(other, "alice", title=f"Other {other.split()[-1]}.")
        alice, = self.open_room("alice")
        alice.expect_live()
        for number in range(13):
            expect(alice.entry(f"Other {number}.")).to_be_visible()
        alice.lose_network()
        alice.say("Written before I left")
        expect(alice.messages).to_have_attribute("data-state", "sending")
        for number in range(13):
            alice.entry(f"Other {number}.").click()
            expect(alice.title).to_have_text(f"Other {number}.")
        alice.regain_network()
        alice.expect_live()
        expect(alice.entry(self.room)).to_contain_text("Written before I left")
        self.assertEqual(["Written before I left"], self.gateway.said(self.room))
        alice.entry(self.room).click()
        alice.expect_messages(["Written before I left"])

    def test_what_was_written_survives_a_reload_and_is_asked_about(self):
        alice, = self.open_room("alice")
        alice.expect_live()
        self.gateway.suspend()
        alice.say("Sent at last")
        expect(alice.messages).to_have_attribute("data-state", "sending")
        alice.box.press_sequentially("Half a thought")
        # A page that is left with something unsent asks whether that is meant.
        self.assertFalse(alice.page.evaluate(
            "dispatchEvent(new Event('beforeunload', { cancelable: true }))"))
        asked = []
        alice.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
        self.gateway.kill()
        self.gateway.start()
        alice.page.reload()
        alice.expect_messages(["Sent at last"])
        expect(alice.box).to_have_value("Half a thought")
        alice.expect_live()
        self.assertEqual(["Sent at last"], self.gateway.said(self.room))

    def test_an_edit_made_offline_is_kept_and_made_later(self):
        alice, _ = self.open_room("alice", "bob")
        alice.say("Helo")
        alice.expect_messages(["Helo"])
        alice.lose_network()
        alice.box.press("ArrowUp")
        alice.say("Hello")
        change = alice.page.locator(".change")
        expect(change).to_contain_text("Your change is not sent yet.")
        expect(change.locator("q")).to_have_text("Hello")
        self.picture(alice, "edit-offline")
        alice.regain_network()
        alice.expect_messages(["Hello (edited)"])
        expect(change).to_have_count(0)

    def test_an_edit_of_what_was_changed_meanwhile_is_asked_about(self):
        alice, _ = self.open_room("alice", "bob")
        alice.say("Lunch at noon")
        alice.expect_messages(["Lunch at noon"])
        alice.lose_network()
        alice.box.press("ArrowUp")
        alice.say("Lunch at one")
        change = alice.page.locator(".change")
        expect(change).to_contain_text("Your change is not sent yet.")
        # Her backend changes it too.
        messages = path(self.room, "messages")
        said = self.gateway.call("GET", messages)["messages"][0]
        self.gateway.call("PATCH", f"{messages}/{said['id']}", {"body": "Lunch at two"})
        alice.regain_network()
        alice.expect_messages(["Lunch at two (edited)"])
        expect(change).to_contain_text("the message was changed meanwhile")
        expect(change.locator("q")).to_have_text("Lunch at one")
        self.picture(alice, "edit-conflict")
        change.get_by_role("button", name="Replace it").click()
        alice.expect_messages(["Lunch at one (edited)"])
        expect(change).to_have_count(0)

    def test_what_one_does_is_written_with_a_slash(self):
        alice, bob = self.open_room("alice", "bob")
        alice.say("/me waves")
        expect(bob.messages.first.locator(".body")).to_contain_text("alice waves")
        expect(bob.messages.first).to_have_attribute("data-emote", "true")

    def test_a_text_that_is_too_long_can_be_shortened(self):
        alice, = self.open_room("alice")
        alice.expect_live()
        alice.say("a word " * 10_000)
        failed = alice.page.locator('.message[data-state="failed"]')
        expect(failed.locator(".failure")).to_contain_text("Not sent: the text is too long.")
        expect(failed.get_by_role("button", name="Try again")).to_have_count(0)
        alice.say("Said meanwhile")
        expect(alice.message("Said meanwhile")).to_have_attribute("data-seq", "1")
        self.picture(alice, "too-long")
        failed.get_by_role("button", name="Edit").click()
        expect(alice.page.locator(".editing")).to_contain_text("Editing what was not sent")
        alice.say("In short")
        expect(alice.message("In short")).to_have_attribute("data-seq", "2")
        expect(failed).to_have_count(0)
        self.assertEqual(["Said meanwhile", "In short"], self.gateway.said(self.room))

    def test_a_tab_that_is_loaded_anew_offline_shows_what_it_did_not_send(self):
        self.gateway.converse(self.room, "alice")
        context = chromium().new_context(locale="en-GB")
        self.addCleanup(context.close)
        sockets, is_cut = [], []

        def opened(socket):
            if is_cut:
                socket.close()
                return
            socket.connect_to_server()
            sockets.append(socket)

        context.route_web_socket("**/v1/ws", opened)
        tabs = []
        for _ in range(2):
            page = context.new_page()
            page.goto(f"http://{self.gateway.address}/?user=alice&conversation={self.room}")
            tabs.append(ChatPage(page, "alice"))
            tabs[-1].expect_live()
        # Of the first, and of the other: one of them has the socket.
        is_cut.append(True)
        for socket in sockets:
            socket.close()
        for number, tab in enumerate(tabs):
            expect(tab.light).not_to_contain_text("Live")
            tab.say(f"Not sent {number}")
            expect(tab.messages).to_have_attribute("data-state", "sending")
        for number, tab in enumerate(tabs):
            tab.page.on("dialog", lambda dialog: dialog.accept())
            tab.page.reload()
            expect(tab.messages).to_have_text(re.compile(f"Not sent {number}"))
            # It stays so for longer than others wait for the tab.
            tab.page.wait_for_timeout(4000)
            expect(tab.messages).to_have_text(re.compile(f"Not sent {number}"))
        is_cut.clear()
        for tab in tabs:
            expect(tab.page.locator("[data-seq]")).to_have_count(2, timeout=60_000)
            expect(tab.page.locator(".message[data-state]")).to_have_count(0, timeout=60_000)
        self.assertEqual(["Not sent 0", "Not sent 1"], sorted(self.gateway.said(self.room)))

    def test_an_edit_does_not_replace_what_its_author_has_not_seen(self):
        one, = self.open_room("alice")
        other = self.open("alice", self.room)
        one.say("First")
        for page in (one, other):
            page.expect_messages(["First"])
        one.message("First").hover()
        one.message("First").get_by_role("button", name="Edit message").click()
        one.box.fill("First, from here")
        other.message("First").hover()
        other.message("First").get_by_role("button", name="Edit message").click()
        other.say("First, from there")
        expect(one.bodies).to_contain_text(["First, from there"])
        one.box.press("Enter")
        change = one.page.locator(".change.failure")
        expect(change).to_contain_text("the message was changed meanwhile")
        expect(change).to_contain_text("First, from here")
        self.assertEqual(["First, from there"], self.gateway.said(self.room))
        self.picture(one, "edit-in-conflict")
        change.get_by_role("button", name="Edit").click()
        one.say("First, from both")
        expect(one.bodies).to_contain_text(["First, from both"])
        self.assertEqual(["First, from both"], self.gateway.said(self.room))


if __name__ == "__main__":
    unittest.main()
