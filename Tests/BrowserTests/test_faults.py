"""The client library under faults, against the truth: what it claims to hold, it holds."""

import os
import random
import unittest

from browser import BrowserTestCase, chromium
from gateway import path

STEPS = 40
SEED = int(os.environ.get("TEST_SEED", "1"))
#: A client without a page around it, and what it holds.
BEGIN = """async ([address, room]) => {
  const { ChatClient, Conversation } = await import('/gapless.js');
  const url = `ws://${address}/v1/ws`;
  const client = new ChatClient({ url, credentials: () => ({ user: 'alice' }) });
  const conversation = new Conversation(client.connection, room);
  window.followed = { client, conversation };
  addEventListener('online', () => client.connection.wake());
  conversation.open();
  client.open();
}"""
STATE = """() => {
  const { have, items, isOpen, phase, gaps } = window.followed.conversation;
  const held = items.filter((item) => item.kind === 'message' && item.isHeld);
  return {
    have, isOpen, phase, gaps,
    held: held.map(({ message: { id, seq, rev, body, deleted } }) => (
      { id, seq, rev, body: body ?? null, deleted }
    )),
  };
}"""
#: Live, and nothing left that a page of history could bring.
SETTLE = """async (rev) => {
  const { client, conversation } = window.followed;
  for (;;) {
    client.connection.wake();
    const { have, gaps, phase } = conversation;
    if (phase === 'live' && have?.asOf === rev) {
      if (gaps.length === 0) return;
      await conversation.loadNewer();
    }
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}"""


class FaultTests(BrowserTestCase):
    def setUp(self):
        super().setUp()
        self.gateway.converse(self.room, "alice", "bob")
        context = chromium().new_context()
        self.addCleanup(context.close)
        self.page = context.new_page()
        self.page.goto(f"http://{self.gateway.address}/icon.svg")
        self.page.evaluate(BEGIN, [self.gateway.address, self.room])
        self.messages = path(self.room, "messages")

    def truth(self):
        """The log as the gateway has it: its head, and the value of each place."""
        head, values, after = None, {}, 0
        while True:
            page = self.gateway.call(
                "GET", f"{self.messages}?limit=1000&order=asc&after={after}")
            head = page["head"]
            for message in page["messages"]:
                values[message["seq"]] = {
                    "id": message["id"], "seq": message["seq"], "rev": message["rev"],
                    "body": message.get("body"), "deleted": message.get("deleted", False)}
                after = message["seq"]
            if not page["hasMore"]["after"]:
                return head, values

    def assert_true(self, state, head, values):
        """No held place is without its value, and none has one older than `asOf` says."""
        if state["have"] is None:
            return
        held = {message["seq"]: message for message in state["held"]}
        for low, high in state["have"]["runs"]:
            for seq in range(low, high + 1):
                self.assertIn(seq, held)
                if values[seq]["rev"] <= state["have"]["asOf"]:
                    self.assertEqual(values[seq], held[seq])

    def change(self, choice, names):
        """One thing that happens; `names` are the ids of the messages so far."""
        kind = choice.choice(["say", "say", "burst", "edit", "delete", "kill", "offline", "stall"])
        if kind in ("edit", "delete") and not names:
            kind = "say"
        if kind in ("say", "burst"):
            count = 1 if kind == "say" else choice.randint(50, 400)
            said = self.gateway.call("POST", self.messages, [
                {"author": "bob", "body": f"{len(names) + at}"} for at in range(count)])
            names.extend(message["id"] for message in said["messages"])
        elif kind == "edit":
            self.gateway.call(
                "PATCH", f"{self.messages}/{choice.choice(names)}", {"body": f"{choice.random()}"})
        elif kind == "delete":
            name = names.pop(choice.randrange(len(names)))
            self.gateway.call("DELETE", f"{self.messages}/{name}")
        elif kind == "kill":
            self.gateway.kill()
            self.gateway.start()
        elif kind == "offline":
            self.page.context.set_offline(True)
            self.change(random.Random(choice.random()), names)
            self.page.context.set_offline(False)
        else:
            self.gateway.suspend()
            self.gateway.resume()

    def test_what_is_held_is_true_after_each_fault_and_whole_in_the_end(self):
        choice, names = random.Random(SEED), []
        for step in range(STEPS):
            with self.subTest(seed=SEED, step=step):
                self.change(choice, names)
                self.assert_true(self.page.evaluate(STATE), *self.truth())
        head, values = self.truth()
        self.page.evaluate(SETTLE, head["rev"])
        state = self.page.evaluate(STATE)
        self.assert_true(state, head, values)
        self.assertEqual(head["seq"], state["have"]["runs"][-1][1])
        self.assertFalse(state["isOpen"])
        self.assertGreater(head["seq"], 100)


if __name__ == "__main__":
    unittest.main()
