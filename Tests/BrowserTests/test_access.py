"""Without a mouse, without sight, on a phone, in the dark."""

import re
import unittest

from browser import DESK, PHONE, BrowserTestCase
from gateway import path
from playwright.sync_api import expect

#: Texts of at least this contrast can be read by most people with weak sight (WCAG 2, AA).
CONTRAST = 4.5
#: Each text in the page with a contrast below the limit. Colours are measured by painting them.
FAINT_TEXTS = """limit => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const paint = canvas.getContext('2d', { willReadFrequently: true });
  const blend = (colors) => {
    paint.clearRect(0, 0, 1, 1);
    for (const color of colors) {
      paint.fillStyle = color;
      paint.fillRect(0, 0, 1, 1);
    }
    return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const grounds = (node) => {
    const colors = [];
    for (let at = node; at; at = at.parentElement) {
      colors.unshift(getComputedStyle(at).backgroundColor);
    }
    return colors;
  };
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const node = text.parentElement;
    const isSeen = node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!text.data.trim() || !isSeen || node.closest(':disabled, .visually-hidden')) continue;
    const below = grounds(node);
    const [low, high] = [blend(below), blend([...below, getComputedStyle(node).color])]
      .map(luminance).sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < limit) faint.push(`${node.className || node.tagName}: ${contrast.toFixed(2)}`);
  }
  return faint;
}"""
#: Whether anything makes the page wider than the screen.
OVERFLOW = "document.documentElement.scrollWidth > innerWidth"
#: Names of every colour that there is for a name.
PEOPLE = [f"person {n}" for n in range(40)]


class AccessTests(BrowserTestCase):
    def fill_room(self):
        """A conversation with one of everything that a person may see."""
        self.gateway.converse(self.room, "alice", "bob", title="A room with a long name " * 4)
        for person in PEOPLE:
            self.gateway.say(self.room, person, "See https://example.org/")
        self.gateway.say(self.room, "bob", "waves", metadata={"emote": True})
        self.gateway.say(self.room, "alice", "Mine", "Mine too", "Not for long")

    def focused(self, page):
        """What has the focus, as a screen reader would name it."""
        return page.page.evaluate("""() => {
          const { activeElement: at } = document;
          return at === document.body ? '' : at.getAttribute('aria-label') ?? at.textContent;
        }""")

    def tab_to(self, page, name, key="Tab"):
        """Presses a key until what has this name has the focus."""
        for _ in range(40):
            if re.search(name, self.focused(page)):
                return
            page.page.keyboard.press(key)
        self.fail(f"{key} never came to {name}")

    def test_everything_can_be_done_with_the_keyboard(self):
        self.gateway.converse("first", "alice", "bob", title="First")
        self.gateway.converse("second", "alice", "bob", title="Second")
        alice, bob = self.open("alice"), self.open("bob", "first")
        keys = alice.page.keyboard
        expect(alice.entry("First")).to_be_visible()
        self.tab_to(alice, "Second")
        self.tab_to(alice, "First", "ArrowDown")
        keys.press("ArrowUp")
        self.assertIn("Second", self.focused(alice))
        keys.press("ArrowDown")
        keys.press("Enter")
        expect(alice.title).to_have_text("First")
        expect(alice.box).to_be_focused()
        keys.type("One")
        keys.press("Shift+Enter")
        keys.type("and two")
        keys.press("Enter")
        bob.expect_messages(["One and two"])
        self.assertEqual(["One\nand two"], self.gateway.said("first"))
        keys.press("ArrowUp")
        expect(alice.box).to_have_value("One\nand two")
        keys.press("Escape")
        expect(alice.box).to_have_value("")
        keys.press("ArrowUp")
        keys.press("Control+A")
        keys.type("Changed")
        keys.press("Enter")
        bob.expect_messages(["Changed (edited)"])
        self.tab_to(alice, "Delete message", "Shift+Tab")
        expect(alice.page.get_by_role("button", name="Delete message")).to_have_css("opacity", "1")
        self.picture(alice, "keyboard")
        keys.press("Enter")
        expect(alice.dialog).to_be_visible()
        keys.press("Escape")
        expect(alice.dialog).to_have_count(0)
        self.assertEqual("Delete message", self.focused(alice))
        keys.press("Enter")
        self.tab_to(alice, "^Delete$")
        keys.press("Enter")
        bob.expect_messages(["This message was deleted"])

    def test_arrow_keys_go_from_message_to_message_and_letters_act_on_them(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(60)))
        self.gateway.say(self.room, "alice", "Mine")
        alice = self.open("alice", self.room)
        expect(alice.message("Mine")).to_be_in_viewport()
        alice.scroller.focus()
        alice.page.keyboard.press("ArrowUp")
        expect(alice.message("Mine")).to_be_focused()
        for _ in range(40):
            alice.page.keyboard.press("ArrowUp")
        far = alice.page.locator('.message[data-seq="21"]')
        expect(far).to_be_focused()
        expect(far).to_be_in_viewport()
        alice.page.keyboard.press("e")
        expect(alice.page.locator(".editing")).to_be_hidden()
        alice.page.keyboard.press("r")
        expect(alice.page.locator(".editing")).to_contain_text("Reply to bob: Line 20")
        expect(alice.box).to_be_focused()
        alice.page.keyboard.press("Escape")
        expect(alice.page.locator(".editing")).to_be_hidden()
        alice.page.locator(".jump").click()
        expect(alice.page.locator(".jump")).to_be_hidden()
        alice.message("Mine").focus()
        alice.page.keyboard.press("e")
        expect(alice.box).to_have_value("Mine")

    def test_what_others_say_is_announced_and_what_is_scrolled_to_is_not(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Line {n}" for n in range(150)))
        alice = self.open("alice", self.room)
        expect(alice.message("Line 149")).to_be_in_viewport()
        announced = alice.page.get_by_role("log", name="New messages")
        alice.walk(-1, 150)
        expect(announced).to_have_text("")
        self.gateway.say(self.room, "bob", "Can you hear me?")
        expect(announced).to_have_text("bob: Can you hear me?")
        alice.say("I can")
        expect(alice.message("I can")).to_have_attribute("data-seq", "152")
        expect(announced).to_have_text("bob: Can you hear me?")

    def test_the_focus_stays_where_it_is_when_its_message_changes(self):
        alice, = self.open_room("alice")
        alice.say("One")
        alice.expect_messages(["One"])
        listed = self.gateway.call("GET", path(self.room, "messages"))["messages"]
        alice.message("One").get_by_role("button", name="Delete message").focus()
        self.gateway.call("PATCH", path(self.room, "messages", listed[0]["id"]), {"body": "Two"})
        alice.expect_messages(["Two (edited)"])
        self.assertEqual("Delete message", self.focused(alice))

    def test_every_control_has_a_name_and_the_regions_have_roles(self):
        self.fill_room()
        alice = self.open("alice", self.room)
        alice.expect_last("Not for long")
        for role, name in [
            ("navigation", "Conversations"), ("main", None), ("log", "Messages"),
            ("textbox", "Message"), ("heading", "Gapless"), ("list", None), ("status", None),
        ]:
            expect(alice.page.get_by_role(role, name=name).first).to_be_visible()
        nameless = alice.page.locator("button, a, input, textarea").evaluate_all(
            """controls => controls.filter((control) => !(control.getAttribute('aria-label')
                || control.textContent.trim() || control.labels?.length))
                .map((control) => control.outerHTML)""")
        self.assertEqual([], nameless)
        expect(alice.page.locator("html")).to_have_attribute("lang", "en")

    def test_every_text_has_enough_contrast_in_light_and_dark(self):
        self.fill_room()
        self.gateway.converse("other", "alice", "bob", title="Other")
        for scheme in ("light", "dark"):
            page = self.open("alice", self.room, color_scheme=scheme)
            page.expect_last("Not for long")
            self.gateway.say("other", "bob", "Unread")
            expect(page.badge("Other")).to_be_visible()
            expect(page.page.locator(".seen")).to_have_count(0)
            page.scroll_to(0)
            expect(page.page.locator(".jump")).to_be_visible()
            with self.subTest(scheme):
                self.assertEqual([], page.page.evaluate(FAINT_TEXTS, CONTRAST))
            self.picture(page, f"contrast-{scheme}")
        self.assertNotEqual([], page.page.evaluate(FAINT_TEXTS, 22), "no text is so clear")

    def test_a_phone_shows_the_list_or_the_conversation(self):
        self.fill_room()
        alice = self.open("alice", look=PHONE)
        sidebar, main = alice.page.locator("#sidebar"), alice.page.locator("#main")
        expect(alice.entry("A room")).to_be_visible()
        expect(main).to_be_hidden()
        self.picture(alice, "phone-list")
        alice.entry("A room").tap()
        expect(sidebar).to_be_hidden()
        alice.expect_last("Not for long")
        # A keyboard that nobody asked for would cover what they came to read.
        expect(alice.box).not_to_be_focused()
        self.assertFalse(alice.page.evaluate(OVERFLOW))
        alice.box.tap()
        alice.box.fill("From a phone")
        # There Enter begins a new line; the button sends.
        alice.box.press("Enter")
        alice.page.get_by_role("button", name="Send").tap()
        alice.expect_last("From a phone")
        self.assertEqual("From a phone", self.gateway.said(self.room)[-1])
        self.picture(alice, "phone")
        alice.message("Not for long").tap()
        alice.message("Not for long").get_by_role("button", name="Edit message").tap()
        expect(alice.box).to_have_value("Not for long")
        alice.page.get_by_role("button", name="Cancel").tap()
        alice.page.get_by_role("button", name="All conversations").tap()
        expect(sidebar).to_be_visible()
        expect(main).to_be_hidden()

    def test_a_name_is_asked_for_once_and_can_be_changed(self):
        page = self.open(None, look=DESK)
        name = page.dialog.get_by_label("Name")
        expect(name).to_be_focused()
        name.press("Enter")
        expect(page.dialog).to_contain_text("A name is needed.")
        name.fill("frida")
        name.press("Enter")
        who = page.page.locator(".who")
        expect(who).to_have_text("frida")
        page.page.reload()
        expect(who).to_have_text("frida")
        who.click()
        page.dialog.get_by_label("Name").fill("gustav")
        page.dialog.get_by_role("button", name="Continue").click()
        expect(who).to_have_text("gustav")


if __name__ == "__main__":
    unittest.main()
