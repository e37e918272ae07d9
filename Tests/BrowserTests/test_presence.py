"""Who is there, on the page: beside people, in the list and in the head; and appearing hidden."""

import re
import unittest

import axe
from browser import PHONE, UNREACHABLE, BrowserTestCase, chromium
from chat_page import RETURN, ChatPage
from colors import SYSTEM, colors
from playwright.sync_api import expect

LAST_SEEN = re.compile(r"last seen (\w+ )*\d\d:\d\d")
#: Nobody looks at the page from here on, and its minutes pass at once.
LOOK_AWAY = """() => {
  const later = window.setTimeout;
  window.setTimeout = (action, delay) => later(action, delay === 60000 ? 0 : delay);
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""
LOOK_AGAIN = """() => {
  delete document.hidden;
  document.dispatchEvent(new Event('visibilitychange'));
}"""


class PresenceTestCase(BrowserTestCase):
    #: A gateway that began a moment ago does not know who is about to come back.
    settings = {"presence__linger": "1s", "presence__lease": "3s", "presence__grace": "1s",
                "presence__interval": "100ms"}

    def head(self, page):
        return page.page.locator(".head .partner")

    def sign(self, page, title=None):
        """What the list says of the other one of a conversation."""
        return page.entry(title or self.room).locator(".presence")

    def row(self, page, user):
        return page.dialog.locator(".people li").filter(has=page.page.get_by_text(user, exact=True))

    def switch(self, page):
        return page.page.get_by_role("button", name="Appear hidden")

    def expect_head(self, page, words, state):
        expect(self.head(page)).to_contain_text(words, timeout=RETURN)
        expect(self.head(page).locator(".presence")).to_have_attribute("data-state", state)
        expect(self.sign(page)).to_have_attribute("data-state", state, timeout=RETURN)

    def leave(self, page):
        """Closes a page, as its user does."""
        page.page.context.close()
        self.pages.remove(page)


class PresenceTests(PresenceTestCase):
    def test_who_comes_and_goes_is_seen(self):
        alice, bob = self.open_room("alice", "bob")
        self.expect_head(alice, "here", "present")
        self.expect_head(bob, "here", "present")
        # A screen reader is told who, and the list says it in words.
        expect(self.head(alice)).to_have_text("bob: here")
        expect(alice.entry(self.room)).to_contain_text("here")
        self.picture(alice, "presence-here")
        alice.page.locator(".people-button").click()
        expect(self.row(alice, "bob")).to_contain_text("here")
        expect(self.row(alice, "alice")).to_contain_text("here")
        self.picture(alice, "presence-people")
        self.leave(bob)
        expect(self.row(alice, "bob")).to_contain_text(LAST_SEEN, timeout=RETURN)
        alice.dialog.get_by_role("button", name="Done").click()
        self.expect_head(alice, LAST_SEEN, "absent")
        self.picture(alice, "presence-last-seen")
        self.open("bob", self.room)
        self.expect_head(alice, "here", "present")

    def test_a_page_at_which_nobody_looks_is_away(self):
        alice, bob = self.open_room("alice", "bob")
        self.expect_head(alice, "here", "present")
        bob.page.evaluate(LOOK_AWAY)
        self.expect_head(alice, re.compile(r"away since \d\d:\d\d"), "away")
        self.picture(alice, "presence-away")
        bob.page.evaluate(LOOK_AGAIN)
        self.expect_head(alice, "here", "present")

    def test_appearing_hidden_by_keys_in_each_tab_and_over_a_reload(self):
        alice, bob = self.open_room("alice", "bob")
        self.expect_head(alice, "here", "present")
        second = ChatPage(bob.page.context.new_page(), "bob")
        second.page.goto(bob.page.url)
        second.expect_live()
        switch = self.switch(bob)
        expect(switch).to_be_visible()
        expect(switch).to_have_attribute("aria-pressed", "false")
        switch.focus()
        bob.page.keyboard.press("Space")
        expect(switch).to_have_attribute("aria-pressed", "true")
        expect(self.switch(second)).to_have_attribute("aria-pressed", "true")
        self.expect_head(alice, LAST_SEEN, "absent")
        self.picture(bob, "presence-hidden")
        bob.say("I am not here")
        alice.expect_last("I am not here")
        for page in (bob, second):
            page.page.reload()
            page.expect_live()
            expect(self.switch(page)).to_have_attribute("aria-pressed", "true")
        # Of one who was there in between, the gateway would say so.
        alice.page.reload()
        self.expect_head(alice, LAST_SEEN, "absent")
        self.switch(second).press("Enter")
        self.expect_head(alice, "here", "present")
        expect(self.switch(bob)).to_have_attribute("aria-pressed", "false")

    def test_what_nobody_can_know_is_unknown(self):
        self.expected = (UNREACHABLE, "ERR_INTERNET_DISCONNECTED", "ERR_CONNECTION_REFUSED")
        alice, bob = self.open_room("alice", "bob")
        self.expect_head(alice, "here", "present")
        alice.lose_network()
        self.expect_head(alice, "unknown", "unknown")
        self.picture(alice, "presence-unknown")
        self.leave(bob)
        alice.regain_network()
        self.expect_head(alice, LAST_SEEN, "absent")

    def test_tabs_watch_different_people_over_one_connection(self):
        self.gateway.converse("of carol", "alice", "carol")
        alice, bob = self.open_room("alice", "bob")
        carol = self.open("carol", "of carol")
        second = ChatPage(alice.page.context.new_page(), "alice")
        second.page.goto(alice.page.url.replace(self.room, "of%20carol"))
        self.expect_head(alice, "here", "present")
        expect(self.head(second)).to_have_text("carol: here", timeout=RETURN)
        # The tab that leads goes: the other one watches on.
        alice.page.close()
        expect(self.head(second)).to_have_text("carol: here", timeout=RETURN)
        self.leave(carol)
        expect(self.head(second)).to_contain_text(LAST_SEEN, timeout=RETURN)
        expect(self.sign(second)).to_have_attribute("data-state", "present", timeout=RETURN)
        self.leave(bob)
        expect(self.sign(second)).to_have_attribute("data-state", "absent", timeout=RETURN)

    def test_of_more_than_two_only_the_dialog_tells(self):
        self.gateway.converse(self.room, "alice", "bob", "carol")
        alice = self.open("alice", self.room)
        bob = self.open("bob", self.room)
        alice.page.locator(".people-button").click()
        expect(self.row(alice, "bob")).to_contain_text("here", timeout=RETURN)
        # Nobody saw carol ever.
        expect(self.row(alice, "carol")).to_contain_text(
            re.compile("not here|last seen"), timeout=RETURN)
        alice.dialog.get_by_role("button", name="Done").click()
        expect(self.head(alice).locator(".presence")).to_be_hidden()
        expect(self.sign(alice)).to_be_hidden()
        bob.expect_live()

    def test_nothing_moves_when_it_becomes_known(self):
        for look in ({}, {"look": PHONE}):
            with self.subTest(**look):
                self.gateway.converse(self.room, "alice", "bob")
                self.gateway.say(self.room, "bob", "Hello")
                alice = self.open("alice", self.room, **look)
                alice.page.add_init_script(f"({HOLD_WATCH})()")
                alice.page.reload()
                alice.expect_live()
                alice.expect_last("Hello")
                expect(self.head(alice).locator(".presence")).to_be_hidden()
                parts = ".head h2, .people-button, .message, .composer"
                if not look:
                    parts += ", .conversations .title, .conversations .when, .who, .light"
                boxes = "parts => parts.map((part) => JSON.stringify(part.getBoundingClientRect()))"
                before = alice.page.locator(parts).evaluate_all(boxes)
                alice.release_requests()
                expect(self.head(alice)).to_contain_text(
                    re.compile("here|last seen|unknown"), timeout=RETURN)
                self.assertEqual(before, alice.page.locator(parts).evaluate_all(boxes))

    def test_it_is_told_by_shape_as_well_as_by_color_and_axe_finds_nothing(self):
        self.gateway.converse(f"{self.room} away", "alice", "carol")
        self.gateway.converse(f"{self.room} gone", "alice", "dave")
        alice, bob = self.open_room("alice", "bob")
        carol = self.open("carol", f"{self.room} away")
        carol.page.evaluate(LOOK_AWAY)
        titles = [self.room, f"{self.room} away", f"{self.room} gone"]
        signs = [alice.page.locator(".conversations li").filter(
            has=alice.page.get_by_text(title, exact=True)).locator(".presence")
            for title in titles]
        for sign, state in zip(signs, ("present", "away", "absent")):
            expect(sign).to_have_attribute("data-state", state, timeout=RETURN)
        self.assertEqual([], axe.findings(alice.page))
        alice.page.locator(".people-button").click()
        expect(self.row(alice, "bob")).to_contain_text("here")
        self.assertEqual([], axe.findings(alice.page))
        alice.dialog.get_by_role("button", name="Done").click()
        darkroom = chromium().new_context().new_page()
        self.addCleanup(darkroom.context.close)
        for scheme in ("light", "dark"):
            alice.page.emulate_media(color_scheme=scheme, forced_colors="active")
            self.picture(alice, f"presence-forced-{scheme}")
            ink, _ = alice.page.evaluate(SYSTEM)
            here, away, gone = (colors(darkroom, sign).get(ink, 0) for sign in signs)
            self.assertGreater(here, away + 0.1)
            self.assertGreater(away, gone + 0.1)
        alice.page.emulate_media(color_scheme="dark", forced_colors="none")
        self.picture(alice, "presence-dark")
        self.assertEqual("bob: here", self.head(alice).text_content())
        bob.expect_live()

    def test_on_a_phone(self):
        self.gateway.converse(self.room, "alice", "bob", title="A conversation with a long name")
        bob = self.open("bob", self.room)
        alice = self.open("alice", look=PHONE)
        sign = alice.entry("A conversation").locator(".presence")
        expect(sign).to_have_attribute("data-state", "present", timeout=RETURN)
        expect(self.switch(alice)).to_be_visible()
        self.picture(alice, "presence-phone-list")
        self.assertEqual([], axe.findings(alice.page))
        alice.entry("A conversation").tap()
        expect(self.head(alice)).to_have_text("bob: here")
        self.picture(alice, "presence-phone")
        alice.page.locator(".people-button").tap()
        row = self.row(alice, "bob")
        expect(row).to_contain_text("here")
        before = row.bounding_box()
        self.leave(bob)
        expect(row).to_contain_text(LAST_SEEN, timeout=RETURN)
        self.picture(alice, "presence-phone-people")
        self.assertEqual(before, row.bounding_box())
        self.assertEqual([], axe.findings(alice.page))
        alice.dialog.get_by_role("button", name="Done").tap()
        expect(self.head(alice)).to_contain_text(LAST_SEEN, timeout=RETURN)
        self.picture(alice, "presence-phone-last-seen")
        self.assertEqual([], axe.findings(alice.page))


#: `watchPresence` waits for `release()`.
HOLD_WATCH = """() => {
  const { send } = WebSocket.prototype;
  const held = [];
  WebSocket.prototype.send = function (text) {
    if (text.includes('"watchPresence"')) held.push([this, text]); else send.call(this, text);
  };
  window.release = () => {
    WebSocket.prototype.send = send;
    for (const [socket, text] of held) if (socket.readyState === 1) socket.send(text);
  };
}"""


class PresenceOffTests(BrowserTestCase):
    settings = {"clients__presence": "no"}

    def test_nothing_is_shown(self):
        alice, bob = self.open_room("alice", "bob")
        for page in (alice, bob):
            page.expect_live()
        bob.say("Hello")
        alice.expect_last("Hello")
        expect(alice.page.locator(".presence").first).to_be_attached()
        button = alice.page.locator(".appear-hidden")
        expect(button).to_be_hidden(timeout=RETURN)
        # Not because the answer is not here yet.
        expect(button).to_have_attribute("hidden", "")
        expect(alice.page.locator(".presence").locator("visible=true")).to_have_count(0)
        alice.page.locator(".people-button").click()
        expect(alice.dialog.locator(".people li")).to_have_count(2)
        expect(alice.dialog.locator(".presence").locator("visible=true")).to_have_count(0)
        expect(alice.dialog).not_to_contain_text("unknown")


if __name__ == "__main__":
    unittest.main()
