"""A log that was restored from a copy: nothing that nobody saw is read, and the reader is told."""

import pathlib
import re
import shutil
import unittest

from browser import UNREACHABLE, BrowserTestCase
from playwright.sync_api import expect
from test_store import KEPT


#: Reads all of a conversation, as another device of the user does.
READ = """async (room) => {
  const { ChatClient } = await import('/gapless.js');
  const client = new ChatClient({
    url: `ws://${location.host}/v1/ws`, credentials: () => ({ user: 'alice' }),
  });
  await new Promise((resolve) => { client.pubsub.onConnect(resolve); client.open(); });
  await client.connection.request('markRead', { conversation: room, seq: 200 });
  client.close();
}"""


class RestoredTests(BrowserTestCase):
    def setUp(self):
        super().setUp()
        self.expected = (UNREACHABLE, "Failed to load resource")

    def copy(self):
        """Copies what the gateway keeps, as a backup does."""
        self.gateway.stop()
        for file in pathlib.Path(self.gateway.folder.name).glob("gapless.db*"):
            shutil.copy(file, f"{file}.copy")
        self.gateway.start()

    def put_back(self):
        folder = pathlib.Path(self.gateway.folder.name)
        self.gateway.kill()
        for file in folder.glob("gapless.db*"):
            if file.suffix != ".copy":
                file.unlink()
        for file in folder.glob("gapless.db*.copy"):
            file.rename(file.with_suffix(""))
        self.gateway.start()

    def read_by(self, user):
        people = self.gateway.call("GET", f"/v1/conversations/{self.room}/participants")
        return {each["id"]: each["lastReadSeq"] for each in people["participants"]}[user]

    def begin(self):
        """200 messages that were read, a copy, and 12 that were read after it."""
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Early {n}" for n in range(1, 201)))
        self.copy()
        alice = self.open("alice")
        alice.page.evaluate(READ, self.room)
        alice.entry(self.room).click()
        alice.expect_last("Early 200")
        self.gateway.say(self.room, "bob", *(f"Lost {n}" for n in range(1, 13)))
        alice.expect_last("Lost 12")
        alice.page.wait_for_function("document.querySelector('.missed').hidden")
        return alice

    def wait_until_kept(self, page):
        """Waits until the page's store has the log that the gateway has: until then a reload
        begins with the one before."""
        known = self.gateway.call("GET", f"/v1/conversations/{self.room}")
        epoch = known["conversation"]["head"]["epoch"]
        page.page.evaluate(f"""async ([of, epoch]) => {{
          while ((await ({KEPT})(of))?.have.head.epoch !== epoch) {{
            await new Promise((resolve) => {{ setTimeout(resolve, 50); }});
          }}
        }}""", [[page.user, self.room], epoch])

    def test_what_nobody_saw_is_not_read_and_the_reader_is_told_what_is_gone(self):
        alice = self.begin()
        self.put_back()
        self.gateway.say(self.room, "bob", *(f"New {n}" for n in range(1, 201)))
        alice.expect_live()
        notice = alice.page.locator(".restored")
        expect(notice).to_contain_text(re.compile(
            r"The log was restored to \d\d:\d\d; 12 messages that you had seen are no longer in "
            "it"), timeout=30_000)
        self.picture(alice, "restored-log")
        # What nobody saw is not read: the marker stands where the restored log has it, or below.
        alice.walk(1, 400)
        self.assertLessEqual(self.read_by("alice"), 400)
        alice.page.reload()
        alice.expect_live()
        expect(notice).to_contain_text("12 messages")
        notice.get_by_role("button", name="Dismiss").click()
        expect(notice).to_be_hidden()
        self.wait_until_kept(alice)
        alice.page.reload()
        alice.expect_live()
        expect(notice).to_be_hidden()

    def test_new_messages_at_lost_places_are_unread(self):
        alice = self.begin()
        alice.page.wait_for_timeout(500)
        self.put_back()
        self.gateway.say(self.room, "bob", *(f"New {n}" for n in range(1, 201)))
        alice.expect_live()
        expect(alice.page.locator(".restored")).to_be_visible(timeout=30_000)
        # As long as nobody scrolls, no more is read than fits below the line.
        self.assertLess(self.read_by("alice"), 260)
        expect(alice.page.locator(".missed")).to_contain_text("unread")

    def test_the_reader_stays_at_what_they_read(self):
        alice = self.begin()
        alice.reveal(0.4)
        place = alice.scroller.evaluate("""(scroller) => {
          const { top, bottom } = scroller.getBoundingClientRect();
          return [...scroller.querySelectorAll('.message')].map((row) => (
            [row.getBoundingClientRect(), row.querySelector('.body').textContent]
          )).filter(([box]) => box.top >= top && box.bottom <= bottom).map(([, text]) => text);
        }""")
        self.put_back()
        self.gateway.say(self.room, "bob", *(f"New {n}" for n in range(1, 201)))
        alice.expect_live()
        expect(alice.page.locator(".restored")).to_be_visible(timeout=30_000)
        # The notice covers the topmost rows, and moves none.
        expect(alice.message(place[len(place) // 2]).first).to_be_in_viewport()


if __name__ == "__main__":
    unittest.main()
