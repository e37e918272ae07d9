"""What a page keeps over a reload, and what it does not."""

import json
import unittest

from browser import BrowserTestCase
from gateway import path
from playwright.sync_api import expect

#: What the store has kept of the conversation of a test, or null.
KEPT = """async ([user, conversation]) => {
  const databases = await indexedDB.databases();
  if (!databases.some(({ name }) => name === `gapless ${user}`)) return null;
  const { MessageStore } = await import('/message-store.js');
  const store = await MessageStore.open(user);
  const kept = await store.load(conversation);
  store.close();
  return kept;
}"""

#: The text of the last message of a conversation in the kept list, or undefined.
LISTED = """async ([user, conversation]) => {
  const { MessageStore } = await import('/message-store.js');
  const store = await MessageStore.open(user);
  const list = await store.loadList();
  store.close();
  return list?.records.find(({ id }) => id === conversation)?.lastMessage?.body;
}"""

#: What fetching gives in a library of its own on a page: each cached answer, the answer, the error.
FETCH = """async ([user, conversation, isConnected]) => {
  const { ChatClient, MessageStore } = await import('/gapless.js');
  const store = await MessageStore.open(user);
  const credentials = () => ({ user });
  const url = `ws://${location.host}/v1/ws`;
  const client = new ChatClient({ url, credentials, store });
  if (isConnected) {
    await new Promise((resolve) => { client.pubsub.onConnect(resolve); client.open(); });
  }
  const fetched = {};
  const ask = async (name, fetch) => {
    const came = { cached: [] };
    try {
      came.answer = await fetch((value) => came.cached.push(value));
    } catch (error) {
      came.error = error.code;
    }
    fetched[name] = came;
  };
  await ask('list', (cached) => client.fetchConversations(cached));
  await ask('one', (cached) => client.fetchConversation(conversation, cached));
  await ask('page', (cached) => (
    client.fetchMessages(conversation, { before: 3 }, 5, 'asc', cached)));
  await ask('people', (cached) => client.getParticipants(conversation, { limit: 1 }, cached));
  const phases = [];
  try {
    for await (const { isCached } of client.conversation(conversation)) phases.push(isCached);
  } catch (error) {
    phases.push(error.code);
  }
  client.close();
  // What was answered is written by now: another transaction is behind it.
  await store.loadAnswer('');
  store.close();
  return { ...fetched, phases };
}"""


class StoreTests(BrowserTestCase):
    def kept(self, page, count):
        """Waits until so many messages of the conversation are kept."""
        page.page.evaluate(f"""async (of) => {{
          while ((await ({KEPT})(of))?.messages.length !== {count}) {{
            await new Promise((resolve) => {{ setTimeout(resolve, 50); }});
          }}
        }}""", [page.user, self.room])

    def listed(self, page, body):
        """Waits until the kept list has the conversation with this last message."""
        page.page.evaluate(f"""async ([of, body]) => {{
          while (await ({LISTED})(of) !== body) {{
            await new Promise((resolve) => {{ setTimeout(resolve, 50); }});
          }}
        }}""", [[page.user, self.room], body])

    def test_a_reload_shows_what_was_held_before_the_gateway_answers(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", "One", "Two", "Three")
        alice = self.open("alice", self.room)
        alice.expect_messages(["One", "Two", "Three"])
        self.kept(alice, 3)
        self.listed(alice, "Three")
        haves, silent = [], []

        def socket_opened(socket):
            if not silent:
                silent.append(socket)
                return
            gateway = socket.connect_to_server()

            def asked(text):
                request = json.loads(text)
                if request["method"] == "subscribeMessages":
                    haves.append(request["params"].get("have"))
                gateway.send(text)

            socket.on_message(asked)

        # The first socket is one that nobody answers.
        alice.page.route_web_socket("**/v1/ws", socket_opened)
        alice.page.reload()
        alice.expect_messages(["One", "Two", "Three"])
        expect(alice.entry(self.room)).to_contain_text("bob: Three")
        expect(alice.light).to_contain_text("Connecting")
        self.picture(alice, "shown-from-the-store")
        self.gateway.say(self.room, "bob", "Four")
        silent[0].close()
        alice.expect_messages(["One", "Two", "Three", "Four"])
        self.assertEqual([[1, 3]], haves[0]["runs"])

    def test_what_was_missed_while_the_page_was_closed_is_there_with_it(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", *(f"Before {n}" for n in range(20)))
        alice = self.open("alice", self.room)
        alice.expect_last("Before 19")
        self.kept(alice, 20)
        address = alice.page.url
        alice.page.goto("about:blank")
        self.gateway.say(self.room, "bob", *(f"Missed {n}" for n in range(400)))
        alice.page.goto(address)
        # Reading goes on where it was left; what did not fit the answer is a gap, and is filled.
        expect(alice.page.locator(".divider[data-unread]")).to_be_in_viewport()
        expect(alice.message("Before 19")).to_be_in_viewport()
        alice.walk(1, 420)
        alice.expect_last("Missed 399")
        expect(alice.gaps).to_have_count(0)

    def test_another_user_finds_nothing_of_the_first(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", "For alice")
        alice = self.open("alice", self.room)
        alice.expect_messages(["For alice"])
        self.kept(alice, 1)
        alice.page.locator(".who").click()
        alice.dialog.get_by_label("Name").fill("mallory")
        alice.dialog.get_by_label("Name").press("Enter")
        expect(alice.page.locator(".who")).to_have_text("mallory")
        self.assertIsNone(alice.page.evaluate(KEPT, ["alice", self.room]))

    def test_what_was_fetched_is_shown_offline(self):
        self.gateway.converse(self.room, "carol", "bob")
        self.gateway.say(self.room, "bob", "One", "Two", "Three")
        alice = self.open("alice")
        online = alice.page.evaluate(FETCH, ["carol", self.room, True])
        for name in ("list", "one", "page", "people"):
            self.assertEqual([], online[name]["cached"], name)
            self.assertIn("answer", online[name], name)
        self.assertIs(False, online["phases"][-1])
        offline = alice.page.evaluate(FETCH, ["carol", self.room, False])
        for name in ("list", "one", "page", "people"):
            self.assertEqual([online[name]["answer"]], offline[name]["cached"], name)
            self.assertEqual("disconnected", offline[name]["error"], name)
        self.assertEqual(["One", "Two"], [each["body"] for each in offline["page"]["cached"][0]])
        self.assertEqual(2, offline["people"]["cached"][0]["total"])
        self.assertEqual([True, "disconnected"], offline["phases"])

    def test_what_is_no_longer_ones_own_is_not_shown_offline(self):
        self.gateway.converse(self.room, "dave", "bob")
        alice = self.open("alice")
        alice.page.evaluate(FETCH, ["dave", self.room, True])
        self.gateway.call("DELETE", path(self.room, "participants", "dave"))
        gone = alice.page.evaluate(FETCH, ["dave", self.room, True])
        self.assertEqual("not_found", gone["one"]["error"])
        offline = alice.page.evaluate(FETCH, ["dave", self.room, False])
        for name in ("one", "page", "people"):
            self.assertEqual([], offline[name]["cached"], name)
        self.assertEqual([[]], offline["list"]["cached"])


if __name__ == "__main__":
    unittest.main()
