"""Tabs of one browser share one connection, and survive each other: the examples, twice."""

import unittest

from browser import UNREACHABLE, chromium
from chat_page import ChatPage
from playwright.sync_api import expect
from test_examples import PATIENCE, ExampleTestCase

#: How many sockets there are is asked of the gateway.
SOCKETS = "gapless_connections"

#: A page that hangs for longer than the others wait for it.
HANG = """() => setTimeout(() => {
  const end = Date.now() + 14000;
  while (Date.now() < end);
}, 0)"""


class TabTests(ExampleTestCase):
    def setUp(self):
        super().setUp()
        self.expected = (UNREACHABLE, "ERR_CONNECTION_REFUSED", "React DevTools")
        self.context = chromium().new_context()
        self.addCleanup(self.context.close)

    def tab(self, example="plain-chat.html"):
        """A tab of the one browser, in the conversation of the test."""
        page = self.visit(example, self.context, user="alice", conversation=self.room)
        if example == "react-chat.html":
            page.get_by_role("button", name=self.room).click()
        expect(page.get_by_role("status")).to_have_text("Connected as alice", timeout=PATIENCE)
        return page

    def write(self, page, text):
        page.get_by_label("Message").fill(text)
        page.get_by_label("Message").press("Enter")

    def expect_rows(self, page, *rows):
        expect(page.locator("li")).to_have_text(list(rows), timeout=PATIENCE)

    def expect_sockets(self, count):
        for _ in range(300):
            if self.gateway.metric(SOCKETS) == count:
                return
            self.context.pages[0].wait_for_timeout(100)
        self.assertEqual(count, self.gateway.metric(SOCKETS))

    def test_two_tabs_are_one_connection_through_an_outage(self):
        self.prepare()
        one, two = self.tab("react-chat.html"), self.tab("react-chat.html")
        self.expect_sockets(1)
        said = ["bob: disk is full", "bob: anybody?"]
        for page in (one, two):
            self.expect_rows(page, *said)
        self.write(two, "from two")
        self.write(one, "from one")
        for page in (one, two):
            expect(page.locator("li")).to_have_count(4)
        self.gateway.kill()
        for page in (one, two):
            expect(page.get_by_role("status")).not_to_contain_text("Connected", timeout=PATIENCE)
        self.write(one, "one, offline")
        self.write(two, "two, offline")
        self.gateway.start()
        self.gateway.say(self.room, "bob", "meanwhile")
        for page in (one, two):
            expect(page.locator("li")).to_have_count(7, timeout=PATIENCE)
            expect(page.locator("li.draft")).to_have_count(0, timeout=PATIENCE)
        first, second = (page.locator("li").all_text_contents() for page in (one, two))
        self.assertEqual(first, second)
        bodies = self.gateway.said(self.room)
        self.assertEqual(sorted(bodies), sorted(set(bodies)), "nothing is there twice")
        self.assertEqual(7, len(bodies))
        self.expect_sockets(1)

    def test_the_tab_with_the_socket_is_closed(self):
        self.prepare()
        one, two = self.tab(), self.tab()
        self.expect_rows(two, "bob: disk is full", "bob: anybody?")
        one.close()
        self.gateway.say(self.room, "bob", "after it")
        self.expect_rows(two, "bob: disk is full", "bob: anybody?", "bob: after it")
        expect(two.get_by_role("status")).to_have_text("Connected as alice", timeout=PATIENCE)
        self.expect_sockets(1)
        self.write(two, "still here")
        expect(two.locator("li").last).to_have_text("alice: still here")

    def test_what_a_closed_tab_had_not_sent_is_sent_once_by_another(self):
        self.prepare()
        one, two = self.tab(), self.tab()
        self.gateway.kill()
        expect(one.get_by_role("status")).not_to_contain_text("Connected", timeout=PATIENCE)
        self.write(one, "written in one")
        self.write(two, "written in two")
        expect(one.locator("li").last).to_contain_text("written in one")
        one.wait_for_timeout(500)
        one.close()
        # It is the other's from now on, though nobody is connected.
        expect(two.locator("li", has_text="written in one")).to_have_count(1, timeout=PATIENCE)
        self.gateway.start()
        expect(two.locator("li")).to_have_count(4, timeout=PATIENCE)
        expect(two.locator("li", has_text="alice: ")).to_have_count(2, timeout=PATIENCE)
        self.assertEqual(
            ["anybody?", "disk is full", "written in one", "written in two"],
            sorted(self.gateway.said(self.room)))

    def test_the_tab_with_the_socket_hangs(self):
        self.prepare()
        one, two = self.tab(), self.tab()
        self.assertEqual(1, self.gateway.metric(SOCKETS))
        one.evaluate(HANG)
        self.gateway.say(self.room, "bob", "while it hangs")
        rows = ["bob: disk is full", "bob: anybody?", "bob: while it hangs"]
        self.expect_rows(two, *rows)
        # The one that hangs has its socket still, and does not know that it lost the lead.
        self.assertEqual(2, self.gateway.metric(SOCKETS))
        self.write(two, "awake")
        expect(two.locator("li").last).to_have_text("alice: awake", timeout=PATIENCE)
        self.expect_rows(one, *rows, "alice: awake")
        self.write(one, "awake too")
        self.expect_rows(two, *rows, "alice: awake", "alice: awake too")
        self.expect_sockets(1)

    def test_the_page_in_two_tabs(self):
        self.prepare()
        pages = []
        for _ in range(2):
            page = self.context.new_page()
            page.on("pageerror", lambda error: self.complaints.append(str(error)))
            page.goto(f"http://{self.gateway.address}/?user=alice&conversation={self.room}")
            pages.append(ChatPage(page, "alice"))
            pages[-1].expect_messages(["disk is full", "anybody?"])
        self.expect_sockets(1)
        pages[1].say("from the second")
        for page in pages:
            page.expect_messages(["disk is full", "anybody?", "from the second"])
        pages[0].page.close()
        pages[1].say("alone")
        pages[1].expect_messages(["disk is full", "anybody?", "from the second", "alone"])
        self.expect_sockets(1)

    def test_tabs_of_two_people_share_nothing(self):
        self.prepare()
        alice = self.tab()
        bob = self.visit("plain-chat.html", self.context, user="bob", conversation=self.room)
        expect(bob.get_by_role("status")).to_have_text("Connected as bob")
        self.expect_sockets(2)
        self.write(bob, "it is me")
        expect(alice.locator("li").last).to_have_text("bob: it is me")


if __name__ == "__main__":
    unittest.main()
