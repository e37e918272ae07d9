"""Notifications of the system: asked for, and only while the user looks at no tab."""

import unittest

from browser import BrowserTestCase
from chat_page import ChatPage
from playwright.sync_api import expect

#: Notes what is shown, beside showing it.
NOTE = """(() => {
  window.told = [];
  const Shown = Notification;
  window.Notification = class extends Shown {
    constructor(title, options) {
      super(title, options);
      window.told.push([title, options.body]);
      window.last = this;
    }
  };
})()"""
HIDE = """isHidden => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


class NotificationTests(BrowserTestCase):
    def open_noted(self, user, **more):
        """A page with nothing open, of somebody who has two conversations."""
        for name in ("Lunch", "Work"):
            self.gateway.converse(f"{self.room} {name}", user, "bob", title=name)
        alice = self.open(user, **more)
        alice.page.add_init_script(NOTE)
        alice.page.reload()
        alice.expect_live()
        expect(alice.entry("Lunch")).to_be_visible()
        self.bell = alice.page.get_by_role("button", name="Notifications")
        return alice

    def say(self, *bodies, room="Lunch", author="bob"):
        self.gateway.say(f"{self.room} {room}", author, *bodies)

    def expect_told(self, page, *expected):
        page.page.wait_for_function(
            "count => window.told.length >= count", arg=len(expected))
        self.assertEqual([list(each) for each in expected], page.page.evaluate("window.told"))

    def test_what_comes_while_nobody_looks_is_told(self):
        alice = self.open_noted("alice", permissions=["notifications"])
        # Nobody is told who did not ask to be.
        expect(self.bell).to_have_attribute("aria-pressed", "false")
        alice.page.evaluate(HIDE, True)
        self.say("Hungry?")
        expect(alice.badge("Lunch")).to_have_text("1")
        alice.page.evaluate(HIDE, False)
        self.bell.click()
        expect(self.bell).to_have_attribute("aria-pressed", "true")
        proof = ("Gapless", "You are told of new messages here while you are elsewhere.")
        self.picture(alice, "notifications-on")
        # Who looks sees it on the page.
        self.say("I am")
        expect(alice.badge("Lunch")).to_have_text("2")
        alice.page.evaluate(HIDE, True)
        self.say("Really")
        first = ("Lunch", "bob: Really\n3 unread messages")
        self.expect_told(alice, proof, first)
        self.say("Monday", room="Work")
        second = ("Work", "bob: Monday")
        self.expect_told(alice, proof, first, second)
        # What one says oneself, on another machine, is no news.
        self.say("So am I", author="alice")
        expect(alice.entry("Lunch")).to_contain_text("You: So am I")
        self.say("Tuesday", room="Work")
        third = ("Work", "bob: Tuesday\n2 unread messages")
        self.expect_told(alice, proof, first, second, third)
        # A notification leads to what it tells of.
        alice.page.evaluate("window.last.dispatchEvent(new Event('click'))")
        expect(alice.title).to_have_text("Work")
        self.bell.click()
        expect(self.bell).to_have_attribute("aria-pressed", "false")
        self.say("Wednesday")
        expect(alice.badge("Lunch")).to_have_text("1")
        self.bell.click()
        # What comes before it is on is no news.
        expect(self.bell).to_have_attribute("aria-pressed", "true")
        self.say("Thursday")
        fourth = ("Lunch", "bob: Thursday\n2 unread messages")
        self.expect_told(alice, proof, first, second, third, proof, fourth)

    def test_who_looks_at_another_tab_is_not_told(self):
        alice = self.open_noted("anna", permissions=["notifications"])
        self.bell.click()
        expect(self.bell).to_have_attribute("aria-pressed", "true")
        second = alice.page.context.new_page()
        second.goto(alice.page.url)
        other = ChatPage(second, "anna")
        other.expect_live()
        alice.page.evaluate(HIDE, True)
        self.say("Hungry?")
        expect(alice.badge("Lunch")).to_have_text("1")
        other.page.evaluate(HIDE, True)
        self.say("I am")
        self.expect_told(
            alice, ("Gapless", "You are told of new messages here while you are elsewhere."),
            ("Lunch", "bob: I am\n2 unread messages"))

    def test_a_browser_that_refuses_is_said_to(self):
        alice = self.open_noted("agnes")
        alice.page.evaluate("Notification.requestPermission = async () => 'denied'")
        self.bell.click()
        expect(alice.dialog).to_contain_text("lets this page show no notifications")
        alice.dialog.get_by_role("button", name="OK").click()
        expect(self.bell).to_have_attribute("aria-pressed", "false")


if __name__ == "__main__":
    unittest.main()
