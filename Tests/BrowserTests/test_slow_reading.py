"""The client library behind a network that takes nothing for a while: it is told what it missed."""

import unittest

from following import PATIENCE, STATE, FollowingTestCase
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from tcp_proxy import TCPProxy

#: More than the soft limit at once. The largest number of them, 32 MiB, is more than any kernel
#: keeps for the sockets between the gateway and the proxy.
BATCH, BODY, MOST_BATCHES = 64, "0123456789abcdef" * 256, 128
#: Places that the client holds before the network stops.
HELD = 60
#: Of these, the ones that change behind its back.
EDITED, DELETED = (5, 30, 55), 40
#: A list of conversations beside the messages, and the gaps that frames declare of them.
BEGIN_MORE = """async () => {
  const { ConversationList } = await import('/gapless.js');
  const { client, conversation } = window.followed;
  const list = new ConversationList(client.connection);
  const declared = [];
  client.connection.events.listen((event) => {
    if (event.conversation === conversation.id) declared.push(...(event.gaps ?? []));
  });
  Object.assign(window.followed, { list, declared });
  list.open();
}"""
IS_CAUGHT_UP = "(rev) => window.followed.conversation.have?.asOf === rev"
LIST = """() => window.followed.list.records.map(({ id, head, unreadCount, lastMessage }) => (
  { id, rev: head.rev, unreadCount, lastMessage: [lastMessage.rev, lastMessage.body] }
))"""
IS_LISTED = f"(wanted) => JSON.stringify(({LIST})()) === JSON.stringify(wanted)"


class SlowReadingTests(FollowingTestCase):
    settings = {
        "limits__outbox_soft": "32KiB", "limits__outbox_hard": "256MiB",
        # Neither side is to find the other silent, however long the machine takes.
        "limits__ping_interval": "5m", "limits__pong_timeout": "10m",
    }

    def setUp(self):
        super().setUp()
        self.gateway.converse("quiet", "alice", "bob")
        self.gateway.say("quiet", "bob", "Quiet")
        self.proxy = TCPProxy(self.gateway.address)
        self.addCleanup(self.proxy.close)
        self.sockets = []
        self.page.on("websocket", lambda socket: self.sockets.append(socket))
        self.gateway.say(self.room, "bob", *(f"{place}" for place in range(1, HELD + 1)))
        self.follow(self.proxy.address)
        self.page.evaluate(BEGIN_MORE)
        state, *_ = self.settle()
        self.assertEqual([[1, HELD]], state["have"]["runs"])
        self.assert_listed()

    def pour(self):
        """Writes until the gateway has once more made a gap of what waits for the client."""
        before = self.gateway.metric("gapless_sheds_total")
        for _ in range(MOST_BATCHES):
            self.gateway.say(self.room, "bob", *[BODY] * BATCH)
            if self.gateway.metric("gapless_sheds_total") > before:
                return
        self.fail("the gateway keeps everything for a client that takes nothing")

    def change(self):
        """Edits and deletes what the client holds."""
        _, values = self.truth()
        for seq in EDITED:
            self.edit(values[seq], f"{seq}, edited")
        self.gateway.call("DELETE", f"{self.messages}/{values[DELETED]['id']}")

    def edit(self, message, body):
        self.gateway.call("PATCH", f"{self.messages}/{message['id']}", {"body": body})

    def assert_listed(self):
        """The client's list of conversations comes to be what the server API says."""
        reply = self.gateway.call("GET", "/v1/conversations?user=alice")
        wanted = [{
            "id": record["id"], "rev": record["head"]["rev"],
            "unreadCount": record["unreadCount"],
            "lastMessage": [record["lastMessage"]["rev"], record["lastMessage"]["body"]],
        } for record in reply["conversations"]]
        try:
            self.page.wait_for_function(IS_LISTED, arg=wanted, timeout=PATIENCE)
        except PlaywrightTimeout:
            self.assertEqual(wanted, self.page.evaluate(LIST))

    def test_what_a_client_was_too_slow_for_is_a_gap_that_it_closes(self):
        self.proxy.stop_reading()
        self.pour()
        self.change()
        self.gateway.say("quiet", "bob", "Not so quiet")
        self.pour()
        head, values = self.truth()
        self.edit(values[head["seq"]], "The last one, edited")
        head, values = self.truth()
        self.proxy.go_on()
        self.page.wait_for_function(IS_CAUGHT_UP, arg=head["rev"], timeout=PATIENCE)

        # It knows what it lacks, what changed behind its back too, and why.
        slow = places(
            gap for gap in self.page.evaluate("() => window.followed.declared")
            if gap["cause"] == "slow")
        self.assertLessEqual({*EDITED, DELETED}, slow)
        state = self.page.evaluate(STATE)
        self.assert_true(state, head, values)
        held, lacking = {message["seq"] for message in state["held"]}, places(state["gaps"])
        self.assertEqual(set(values), held | lacking)
        self.assertEqual(set(), held & lacking)
        self.assertEqual({"slow"}, {gap["cause"] for gap in state["gaps"]})

        # It makes itself whole, over the connection that it had.
        state, head, values = self.settle()
        self.assertEqual(list(values.values()), state["held"])
        self.assertEqual([[1, head["seq"]]], state["have"]["runs"])
        self.assertFalse(state["isOpen"])
        self.assert_listed()
        self.assertEqual([False], [socket.is_closed() for socket in self.sockets])


def places(gaps):
    """The places that lie in gaps."""
    return {seq for gap in gaps for seq in range(gap["after"] + 1, gap["before"])}


if __name__ == "__main__":
    unittest.main()
