"""The seven scenarios of a chat's history, in Chromium against the program: what is shown, where
the banner stands, and what was asked for, as the table of clients.md has it."""

import unittest

from browser import UNREACHABLE, BrowserTestCase, chromium
from gateway import REPOSITORY, path

READ = 200
PAGE = 25
MISSED = (1, 150, 1000)
BEGIN = """async ([user, room]) => {
  const { ChatClient, History } = await import('/gapless.js');
  const client = new ChatClient({
    url: `ws://${location.host}/v1/ws`, credentials: () => ({ user }),
  });
  await new Promise((resolve) => { client.pubsub.onConnect(resolve); client.open(); });
  addEventListener('online', () => client.connection.wake());
  const moves = [];
  Object.assign(window, { client, moves });
  window.read = (seq) => client.connection.request('markRead', { conversation: room, seq });
  window.begin = async () => {
    const history = new History(client, await client.fetchConversation(room));
    history.delegate = {
      historyDidChange: () => {},
      historyMoveTo: (of, id, highlight) => moves.push([id, highlight]),
    };
    window.view = history;
    history.open();
    await window.rest();
  };
  // Nothing is under way.
  window.rest = async () => {
    const isBusy = () => {
      const { top, bottom, center } = window.view.loading;
      return top || bottom || center || window.view.conversation.phase !== 'live';
    };
    for (let calm = 0; calm < 5; calm += 1) {
      if (isBusy()) calm = 0;
      await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
  };
}"""
STATE = """() => {
  const { messages, gaps, requestCount, hasMore, unreadBannerAfter } = window.view;
  return {
    rows: messages.map(({ seq, id, rev }) => [seq, id, rev]), requests: requestCount, hasMore,
    gaps: gaps.map(({ after, before }) => [after, before]),
    banner: messages.find(({ id }) => id === unreadBannerAfter)?.seq ?? null,
  };
}"""


class ScenarioTests(BrowserTestCase):
    lines = {}

    def begin(self, room, *people):
        self.gateway.converse(room, "alice", "bob")
        self.write(room, READ)
        context = chromium().new_context()
        self.addCleanup(context.close)
        self.page = context.new_page()
        self.page.goto(f"http://{self.gateway.address}/icon.svg")
        self.page.evaluate(BEGIN, ["alice", room])

    def write(self, room, count):
        """Messages, of which every tenth is edited and every seventeenth deleted afterwards."""
        messages = path(room, "messages")
        before = len(self.log(room))
        self.gateway.say(room, "bob", *[f"message {before + n + 1}" for n in range(count)])
        for seq, name, _ in self.log(room)[before:]:
            if seq % 10 == 0:
                self.gateway.call("PATCH", f"{messages}/{name}", {"body": f"edited {seq}"})
            if seq % 17 == 0:
                self.gateway.call("DELETE", f"{messages}/{name}")

    def log(self, room):
        """What the log holds, as the page shows it."""
        rows, after = [], 0
        while True:
            page = self.gateway.call(
                "GET", path(room, "messages") + f"?limit=1000&order=asc&after={after}")
            rows += [[each["seq"], each["id"], each["rev"]] for each in page["messages"]]
            if not page["hasMore"]["after"]:
                return rows
            after = rows[-1][0]

    def look(self, room):
        """What is shown now; it is the log, but for what a gap names."""
        state = self.page.evaluate(STATE)
        log = {seq: row for seq, *row in self.log(room)}
        places = [seq for seq, *_ in state["rows"]]
        for seq, *row in state["rows"]:
            if not any(after < seq < before for after, before in state["gaps"]):
                self.assertEqual(log[seq], row)
        for low, high in zip(places, places[1:]):
            missing = [seq for seq in range(low + 1, high) if not any(
                after < seq < before for after, before in state["gaps"])]
            self.assertEqual([], missing, "no hole is silent")
        return state

    def to_bottom(self):
        """Scrolls down until there is no more; how many requests that took."""
        return self.page.evaluate("""async () => {
          const before = window.view.requestCount;
          while (window.view.hasMore.after) await window.view.scrolledToBottom();
          return window.view.requestCount - before;
        }""")

    def note(self, line):
        """A line of the table in clients.md."""
        table = (REPOSITORY / "deploy/reference/clients.md").read_text()
        self.assertIn(line, table, f"clients.md has another line than\n{line}")

    def test_opening_with_unread_messages(self):
        for missed in MISSED:
            room = f"{self.room}-{missed}"
            self.begin(room)
            self.page.evaluate("(seq) => window.read(seq)", READ)
            self.write(room, missed)
            self.page.evaluate("() => window.begin()")
            opened = self.look(room)
            self.assertEqual(READ, opened["banner"])
            to_end = self.to_bottom()
            end = self.look(room)
            self.assertEqual([], end["gaps"])
            self.assertEqual(READ + missed, end["rows"][-1][0])
            self.assertEqual(READ, end["banner"])
            self.note(f"| 1, 4 | {missed} unread | after {READ} | {len(opened['rows'])} "
                      f"| {opened['requests']} | {to_end} |")

    def test_opening_with_nothing_unread_and_scrolling_up(self):
        self.begin(self.room)
        self.page.evaluate("(seq) => window.read(seq)", READ)
        self.page.evaluate("() => window.begin()")
        opened = self.look(self.room)
        self.assertIsNone(opened["banner"])
        self.assertEqual(READ, opened["rows"][-1][0])
        self.note(f"| 2 | nothing unread | none | {len(opened['rows'])} "
                  f"| {opened['requests']} | 0 |")
        self.page.evaluate("() => window.view.scrolledToTop()")
        scrolled = self.look(self.room)
        self.note(f"| 3 | scrolled to the top | none | {len(scrolled['rows'])} "
                  f"| {scrolled['requests']} | 0 |")

    def test_coming_back(self):
        self.expected = (UNREACHABLE,)
        for missed in MISSED:
            room = f"{self.room}-{missed}"
            self.begin(room)
            self.page.evaluate("(seq) => window.read(seq)", READ)
            self.page.evaluate("() => window.begin()")
            self.look(room)
            self.page.context.set_offline(True)
            self.gateway.kill()
            self.gateway.start()
            # What is held changes too.
            held = self.log(room)[-2][1]
            self.gateway.call("PATCH", f"{path(room, 'messages')}/{held}", {"body": "later"})
            self.write(room, missed)
            self.page.context.set_offline(False)
            self.page.evaluate("() => window.client.connection.wake()")
            self.page.evaluate("() => window.rest()")
            back = self.look(room)
            self.assertEqual(READ, back["banner"])
            above = [seq for seq, *_ in back["rows"] if seq > READ]
            self.assertEqual(READ + 1, above[0], "what is after the last message comes first")
            to_end = self.to_bottom()
            end = self.look(room)
            self.assertEqual([[], READ + missed], [end["gaps"], end["rows"][-1][0]])
            self.assertEqual(READ, end["banner"])
            self.note(f"| 5, 4 | {missed} missed | after {READ} | {len(back['rows'])} "
                      f"| {back['requests']} | {to_end} |")

    def test_jumping(self):
        self.begin(self.room)
        self.page.evaluate("(seq) => window.read(seq)", READ)
        self.write(self.room, 1000)
        log = self.log(self.room)
        self.page.evaluate("() => window.begin()")
        before = self.look(self.room)
        move = "async (to) => [await window.view.moveTo(to), window.moves.at(-1)]"
        self.assertEqual([True, [log[READ][1], True]], self.page.evaluate(move, log[READ][1]))
        here = self.look(self.room)
        self.note(f"| 6 | a jump to what is there | after {READ} | {len(here['rows'])} "
                  f"| {here['requests'] - before['requests']} | |")
        target = log[799][1]
        self.assertEqual([True, [target, True]], self.page.evaluate(move, target))
        there = self.look(self.room)
        self.assertIn(800, [seq for seq, *_ in there["rows"]])
        self.note(f"| 6 | a jump elsewhere | none | {len(there['rows'])} "
                  f"| {there['requests'] - here['requests']} | |")
        time = self.gateway.call(
            "GET", path(self.room, "messages") + "?limit=1&around=500")["messages"][0]["createdAt"]
        hasCome, (moved, _) = self.page.evaluate(move, {"time": time})
        at = self.look(self.room)
        self.assertTrue(hasCome)
        self.assertIn(moved, [name for _, name, _ in at["rows"]])
        self.note(f"| 7 | a move to a moment | none | {len(at['rows'])} "
                  f"| {at['requests'] - there['requests']} | |")


if __name__ == "__main__":
    unittest.main()
