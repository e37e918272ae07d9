"""Each state of the page has no finding of axe-core, and tells as much where the system chooses the
colours."""

import unittest

import axe
from browser import PHONE, UNREACHABLE, BrowserTestCase, chromium
from colors import SYSTEM, colors
from gateway import path
from playwright.sync_api import expect


class AxeTests(BrowserTestCase):
    def setUp(self):
        super().setUp()
        self.expected = (UNREACHABLE, "Failed to load resource")

    def assert_clean(self, page, state):
        with self.subTest(state):
            self.assertEqual([], axe.findings(page.page))

    def talk(self):
        """A conversation with one of everything that a person may see, and an unread one."""
        self.other = other = f"other than {self.room}"
        self.gateway.converse(self.room, "alice", "bob", title="A room")
        self.gateway.converse(other, "alice", "bob", title=other)
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(240)))
        first = self.gateway.call(
            "GET", path(self.room, "messages") + "?limit=1&order=asc&after=0")["messages"][0]
        self.gateway.say(self.room, "bob", "waves", metadata={"emote": True})
        self.gateway.say(self.room, "bob", "As I said", metadata={
            "replyTo": {"id": first["id"], "seq": 1}})
        self.gateway.say(
            self.room, "carol", "See https://example.org/", "`let x = 1`", "🎉", "Gone", "So too")
        gone = self.gateway.call(
            "GET", path(self.room, "messages") + "?limit=2&order=desc")["messages"]
        for message in gone:
            self.gateway.call("DELETE", path(self.room, "messages", message["id"]))
        self.gateway.say(self.room, "alice", "Mine")
        alice = self.open("alice", self.room)
        alice.expect_live()
        expect(alice.message("Mine")).to_be_in_viewport()
        expect(alice.message("As I said").locator(".quote")).to_contain_text("Line 0")
        self.gateway.say(other, "bob", "Unread")
        expect(alice.badge(other)).to_be_visible()
        return alice

    def test_talking(self):
        alice = self.talk()
        self.assert_clean(alice, "a conversation")
        alice.page.get_by_role("button", name="Search").click()
        alice.page.get_by_label("Search in this conversation").fill("Line")
        alice.page.get_by_label("Search in this conversation").press("Enter")
        expect(alice.page.get_by_text("were not searched")).to_be_visible()
        alice.page.get_by_role("button", name="What this page holds").click()
        alice.page.locator(".truth summary").click()
        expect(alice.page.get_by_text("As of change")).to_be_visible()
        self.assert_clean(alice, "search, and what is held")
        alice.page.locator(".people-button").click()
        expect(alice.dialog).to_be_visible()
        self.assert_clean(alice, "people")
        alice.dialog.get_by_role("button", name="Done").click()
        alice.page.get_by_role("button", name="New conversation").click()
        expect(alice.dialog).to_be_visible()
        self.assert_clean(alice, "a new conversation")

    def test_away(self):
        alice = self.talk()
        alice.lose_network()
        alice.expect_state("Offline")
        self.assert_clean(alice, "offline")
        self.gateway.say(self.room, "bob", *(f"Missed {n}" for n in range(300)))
        alice.hold_requests("fetchMessages")
        alice.regain_network()
        alice.expect_live()
        expect(alice.gaps).to_have_count(1)
        alice.gaps.scroll_into_view_if_needed()
        expect(alice.gaps).to_be_in_viewport()
        alice.box.fill("What did I miss?")
        self.assert_clean(alice, "a gap, and what was missed")

    def test_the_rest(self):
        self.gateway.converse(self.room, "alice", "bob", title="A room")
        self.gateway.say(self.room, "bob", "Hello")
        nobody = self.open(None)
        expect(nobody.dialog).to_be_visible()
        self.assert_clean(nobody, "a name is asked for")
        alice = self.open("alice", look=PHONE)
        expect(alice.entry("A room").first).to_be_visible()
        self.assert_clean(alice, "the list on a phone")
        alice.entry("A room").first.tap()
        alice.expect_last("Hello")
        self.assert_clean(alice, "a conversation on a phone")

    def test_it_finds_what_is_wrong(self):
        alice, = self.open_room("alice")
        alice.page.locator(".send").evaluate(
            "send => ['aria-label', 'title'].forEach((name) => send.removeAttribute(name))")
        alice.page.evaluate("document.querySelector('.head h2').style.color = '#ddd'")
        found = "\n".join(axe.findings(alice.page))
        self.assertRegex(found, r"'light'.*button-name: \.send")
        self.assertRegex(found, r"'light'.*color-contrast: .*h2")

    def colors(self, locator):
        return colors(self.darkroom, locator)

    def test_with_forced_colors_what_grounds_tell_is_told_by_shapes(self):
        alice = self.talk()
        self.darkroom = chromium().new_context().new_page()
        self.addCleanup(self.darkroom.context.close)
        for scheme in ("light", "dark"):
            with self.subTest(scheme):
                alice.page.emulate_media(color_scheme=scheme, forced_colors="active")
                ink, ground = alice.page.evaluate(SYSTEM)
                self.assertNotEqual(ink, ground)
                current = self.colors(alice.page.locator(".conversations a[aria-current]"))
                self.assertLess(current.get(ground, 0), 0.1, "which one is open")
                self.assertGreater(self.colors(alice.entry(self.other)).get(ground, 0), 0.5)
                strip = self.colors(alice.page.locator(".strip"))
                held = max(share for color, share in strip.items() if color not in (ink, ground))
                self.assertGreater(held, 0.1, "what is held")
                self.assertGreater(strip.get(ground, 0), 0.1, "what is not")
                # A frame, of an otherwise empty ground.
                for name in (".badge", ".jump, .box", ".message[data-own]"):
                    frame = self.colors(alice.page.locator(name).locator("visible=true").first)
                    self.assertGreater(frame.get(ink, 0), 0.01, name)
                light = alice.page.locator(".light")
                self.assertEqual([ink, ground], light.evaluate(
                    """light => {
                      const { backgroundColor } = getComputedStyle(light, '::before');
                      light.dataset.tone = 'bad';
                      const bad = getComputedStyle(light, '::before').backgroundColor;
                      light.dataset.tone = 'good';
                      return [backgroundColor, bad];
                    }"""))
                self.picture(alice, f"forced-colors-{scheme}")


if __name__ == "__main__":
    unittest.main()
