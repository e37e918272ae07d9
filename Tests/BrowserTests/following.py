"""The client library in a browser without a page around it, and what it holds against the log."""

from browser import BrowserTestCase, chromium
from gateway import path

#: How long the client may take until it holds everything, in milliseconds.
PATIENCE = 60_000
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
SETTLE = """async ([rev, patience]) => {
  const { client, conversation } = window.followed;
  const deadline = Date.now() + patience;
  for (;;) {
    client.connection.wake();
    const { have, gaps, phase } = conversation;
    if (phase === 'live' && have?.asOf === rev) {
      if (gaps.length === 0) return;
      await conversation.loadNewer();
    }
    if (Date.now() > deadline) {
      throw new Error(`${phase}, ${JSON.stringify(have)}, ${JSON.stringify(gaps)}`);
    }
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}"""


class FollowingTestCase(BrowserTestCase):
    """`self.page` follows the conversation of the test, which is alice's and bob's, as alice."""

    def setUp(self):
        super().setUp()
        self.gateway.converse(self.room, "alice", "bob")
        self.messages = path(self.room, "messages")
        context = chromium().new_context()
        self.addCleanup(context.close)
        self.page = context.new_page()

    def follow(self, address):
        """Begins, by way of what listens at `address`."""
        self.page.goto(f"http://{address}/icon.svg")
        self.page.evaluate(BEGIN, [address, self.room])

    def settle(self):
        """Has it close its gaps, and gives what it then holds, the log's head and its values."""
        head, values = self.truth()
        self.page.evaluate(SETTLE, [head["rev"], PATIENCE])
        return self.page.evaluate(STATE), head, values

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
