"""A browser stops tabs that nobody sees: the others must not wait for one that has the socket."""

import unittest

from gateway import Gateway
from raw_browser import RawBrowser

#: Seconds after which what is said must be read in the tab that is seen.
LIMIT = 12
#: Keeps a tab from hearing that it is stopped, as one that hangs does not hear of it.
DEAF = "document.addEventListener('freeze', (event) => event.stopImmediatePropagation(), true)"


class FrozenTabTests(unittest.TestCase):
    def setUp(self):
        self.gateway = Gateway()
        self.addCleanup(self.gateway.discard)
        self.gateway.start()
        self.browser = RawBrowser()
        self.addCleanup(self.browser.close)
        self.gateway.converse("ops", "alice", "bob")
        self.gateway.say("ops", "bob", "before")

    def tab(self):
        tab = self.browser.tab(f"http://{self.gateway.address}/?user=alice&conversation=ops")
        tab.wait_for("document.querySelector('.light')?.textContent.includes('Live')")
        tab.wait_for("document.body.innerText.includes('before')")
        return tab

    def follow(self, first_does):
        leader = self.tab()
        seen = self.tab()
        self.assertEqual("hidden", leader.evaluate("document.visibilityState"))
        first_does(leader)
        leader.freeze()
        self.gateway.say("ops", "bob", "meanwhile")
        seen.wait_for("document.body.innerText.includes('meanwhile')", LIMIT)
        seen.wait_for("document.querySelector('.light')?.textContent.includes('Live')")
        leader.thaw()
        self.gateway.say("ops", "bob", "after it")
        for tab in (leader, seen):
            tab.wait_for("document.body.innerText.includes('after it')")

    def test_a_tab_that_is_told_that_it_freezes_hands_the_socket_on(self):
        self.follow(lambda leader: None)

    def test_a_tab_that_freezes_untold_is_noticed(self):
        self.follow(lambda leader: leader.evaluate(DEAF))


if __name__ == "__main__":
    unittest.main()
