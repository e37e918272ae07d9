"""A conversation of 100,000 messages, scrolled from its end to its start and back."""

import json
import re
import unittest

from browser import FLAGS, SCREENSHOTS
from long_conversation import LongConversationTestCase
from playwright.sync_api import expect

# A frame comes as soon as it is drawn, and not at the next sixtieth of a second: thousands are
# looked at, and what one takes is what it costs.
FLAGS += ["--disable-frame-rate-limit", "--disable-gpu-vsync"]

LENGTH = 100_000
#: More than a screen, so that every row is drawn in some frame and none is waited for.
STEP = 1_000
#: The window holds the rows around the view and the newest ones; all the rest must go.
LARGEST_WINDOW = 1_000


class LongConversationTests(LongConversationTestCase):
    conversation = "years"
    length = LENGTH

    def held(self, page):
        summary = page.page.locator(".truth .summary").inner_text()
        return int(re.search(r"You have ([\d,]+) of", summary)[1].replace(",", ""))

    def test_all_of_it_is_scrolled_through_with_few_rows_and_without_a_jump(self):
        alice = self.open_long()
        report = {}
        for name, direction in (("up", -1), ("down", 1)):
            seen = alice.walk(direction, LENGTH, STEP)
            report[name] = seen
            self.assertEqual((LENGTH, []), (seen["seen"], seen["missing"]))
            self.assertLess(seen["mostRows"], 150)
            # Where it began and where it went are both rounded to pixels; a row has twenty and more.
            self.assertLess(seen["drift"], 2, seen["notices"])
            self.picture(alice, f"100000-{name}")
        alice.page.get_by_role("button", name="What this page holds").click()
        expect(alice.page.locator(".truth .summary")).to_contain_text("of 100,000 messages")
        self.assertLess(self.held(alice), LARGEST_WINDOW)
        file = SCREENSHOTS / "long-conversation.json"
        file.write_text(json.dumps(report, indent=2) + "\n")
        for name, seen in report.items():
            print(f"\n{LENGTH} messages {name}: {seen['frames']} frames, "
                  f"{seen['mostRows']} rows at most, ms {seen['milliseconds']}", end="")

    def test_a_jump_anywhere_shows_what_is_there(self):
        carol = self.open("carol", "years")
        for share in (0.5, 0.01, 0.99, 0.25):
            carol.reveal(share)
            row = carol.page.locator(".message[data-found]")
            expect(row).to_be_in_viewport()
            seq = int(row.get_attribute("data-seq"))
            self.assertAlmostEqual(share, seq / LENGTH, delta=0.005)
            expect(row.locator(".body")).to_have_text(f"Message {seq}")
            expect(row).to_have_count(0)
        self.picture(carol, "100000-jumped")


if __name__ == "__main__":
    unittest.main()
