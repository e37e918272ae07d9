"""What tests of a long history share: the conversation, and a page that has it open."""

from browser import BrowserTestCase
from playwright.sync_api import expect


class LongConversationTestCase(BrowserTestCase):
    """One conversation of alice, bob and carol, in which bob wrote "Message 1", "Message 2", …"""

    #: The id of the conversation; its title is the same with a capital.
    conversation = "long"
    #: How many messages there are.
    length = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        title = cls.conversation.capitalize()
        cls.gateway.converse(cls.conversation, "alice", "bob", "carol", title=title)
        cls.gateway.say(
            cls.conversation, "bob", *(f"Message {n}" for n in range(1, cls.length + 1)))

    def open_long(self, user="alice", **more):
        """A page of a user who has read it, and has it open at its newest message."""
        page = self.open(user, **more)
        page.expect_live()
        page.mark_read(self.conversation, self.length)
        page.page.goto(
            f"http://{self.gateway.address}/?user={user}&conversation={self.conversation}")
        expect(page.message(f"Message {self.length}")).to_be_in_viewport()
        return page
