"""The client against the gateway: what it sends, asks again, and knows of people and edits."""

import unittest

from browser import UNREACHABLE, BrowserTestCase
from gateway import path

#: What each program below begins with.
PRELUDE = """
  const { ChatClient, Conversation, ConversationList } = await import('/gapless.js');
  const clientOf = (user) => new ChatClient({
    url: `ws://${location.host}/v1/ws`, credentials: () => ({ user }),
  });
  const until = async (isSo, what = isSo) => {
    const end = performance.now() + 20000;
    while (!isSo()) {
      if (performance.now() > end) throw new Error(`waited for ${what}`);
      await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
  };
  const opened = async (client, id) => {
    const conversation = new Conversation(client.connection, id);
    conversation.open();
    await until(() => conversation.phase === 'live', 'live');
    return conversation;
  };
"""


class ClientTests(BrowserTestCase):
    settings = {"limits__requests_per_second": "100"}

    def setUp(self):
        super().setUp()
        self.expected = (UNREACHABLE,)
        self.page = self.open("nobody").page

    def run_client(self, program, *arguments):
        return self.page.evaluate(f"async (given) => {{ {PRELUDE} {program} }}", list(arguments))

    def test_a_text_that_no_frame_holds_fails_and_nothing_else_does(self):
        self.gateway.converse(self.room, "alice")
        came = self.run_client("""
          const client = clientOf('alice');
          client.open();
          const conversation = await opened(client, given[0]);
          const large = conversation.send('x'.repeat(66000));
          conversation.send('after it');
          await until(() => !conversation.drafts.some(({ state }) => state === 'sending'));
          const [draft] = conversation.drafts;
          conversation.rewrite(large, 'shortened');
          await until(() => conversation.drafts.length === 0);
          const refusals = [];
          try {
            conversation.send('well done 👍'.slice(0, 11));
          } catch ({ code }) {
            refusals.push(code);
          }
          const { session } = client.connection;
          client.close();
          return { state: draft.state, code: draft.code, session, refusals };
        """, self.room)
        self.assertEqual(
            {"state": "failed", "code": "too_large", "session": 1, "refusals": ["bad_request"]},
            came)
        self.assertEqual(["after it", "shortened"], self.gateway.said(self.room))

    def test_250_conversations_that_open_at_once_know_all_that_the_gateway_does(self):
        rooms = [f"{self.room} {number}" for number in range(250)]
        for room in rooms:
            self.gateway.converse(room, "carol", "bob")
            self.gateway.say(room, "bob", "One", "Two")
        came = self.run_client("""
          const reader = clientOf('carol');
          reader.open();
          await until(() => reader.connection.isLive);
          const all = given[0].map((id) => new Conversation(reader.connection, id));
          for (const conversation of all) conversation.open();
          const isKnown = ({ phase, people, lastReadSeq }) => (
            phase === 'live' && people.size === 2 && lastReadSeq !== null
          );
          await until(() => all.every(isKnown), 'all are known');
          reader.close();
          return all.map(({ people }) => people.get('bob')?.lastReadSeq);
        """, rooms)
        self.assertEqual([2] * 250, came)

    def test_people_of_an_open_conversation_are_those_of_the_log(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.page.evaluate(f"""async (room) => {{ {PRELUDE}
          const client = clientOf('alice');
          client.open();
          window.conversation = await opened(client, room);
          window.known = () => [...conversation.people.values()].map((person) => (
            [person.id, person.name ?? null, person.lastReadSeq]
          )).sort();
        }}""", self.room)

        def expect(*people, title=self.room):
            wanted = [list(person) for person in people]
            ids = [person[0] for person in wanted]
            self.page.wait_for_function(f"""([people, ids, title]) => (
              JSON.stringify(known()) === JSON.stringify(people)
                && JSON.stringify(conversation.record.participants) === JSON.stringify(ids)
                && conversation.record.title === title
            )""", arg=[wanted, ids, title])

        expect(["alice", None, 0], ["bob", None, 0])
        self.gateway.call("PUT", path(self.room, "participants", "carol"), {"name": "Carol"})
        expect(["alice", None, 0], ["bob", None, 0], ["carol", "Carol", 0])
        self.gateway.call("PUT", path(self.room, "participants", "carol"), {"name": "Caroline"})
        expect(["alice", None, 0], ["bob", None, 0], ["carol", "Caroline", 0])
        self.gateway.say(self.room, "bob", "One")
        expect(["alice", None, 0], ["bob", None, 1], ["carol", "Caroline", 0])
        self.page.evaluate("conversation.markRead(1)")
        expect(["alice", None, 1], ["bob", None, 1], ["carol", "Caroline", 0])
        self.page.evaluate("conversation.send('Two')")
        expect(["alice", None, 2], ["bob", None, 1], ["carol", "Caroline", 0])
        self.assertEqual(2, self.page.evaluate("conversation.lastReadSeq"))
        self.gateway.call("DELETE", path(self.room, "participants", "carol"))
        expect(["alice", None, 2], ["bob", None, 1])
        self.gateway.call("PUT", path(self.room), {"title": "Renamed"})
        expect(["alice", None, 2], ["bob", None, 1], title="Renamed")

    def test_a_list_knows_who_takes_part_after_a_change(self):
        self.gateway.converse(self.room, "dora", "bob")
        self.page.evaluate(f"""async (room) => {{ {PRELUDE}
          const client = clientOf('dora');
          window.list = new ConversationList(client.connection);
          list.open();
          client.open();
          await until(() => list.record(room), 'the record');
        }}""", self.room)
        self.gateway.call("PUT", path(self.room, "participants", "carol"), {})
        self.page.wait_for_function("""(room) => (
          list.record(room).participants.toSorted().join() === 'bob,carol,dora'
        )""", arg=self.room)

    def test_an_edit_is_of_the_value_that_its_author_saw_when_it_began(self):
        self.gateway.converse(self.room, "alice", "bob")
        came = self.run_client("""
          const client = clientOf('alice');
          client.open();
          const conversation = await opened(client, given[0]);
          const id = conversation.send('first');
          await until(() => conversation.message(id));
          const seen = conversation.see(id);
          await conversation.edit(id, 'of another device');
          await until(() => conversation.message(id).body === 'of another device');
          let code = null;
          await conversation.edit(seen, 'late').catch((error) => { ({ code } = error); });
          client.close();
          return code;
        """, self.room)
        self.assertEqual("conflict", came)
        self.assertEqual(["of another device"], self.gateway.said(self.room))

    def test_a_conversation_is_administered_by_public_methods(self):
        came = self.run_client("""
          const client = clientOf('alice');
          client.open();
          await until(() => client.connection.isLive);
          const made = await client.createConversation({
            id: given[0], title: 'First', participants: ['bob'],
          });
          const { administration } = new Conversation(client.connection, made);
          const renamed = await administration.update({ title: 'Second' });
          await administration.addParticipants(['carol', 'dora']);
          await administration.removeParticipants(['dora']);
          const { admins } = await administration.addAdmins(['bob']);
          await administration.removeAdmins(['bob']);
          const conversation = await opened(client, made);
          const attachment = { url: 'https://example.org/a.png' };
          const id = conversation.send('with it', {}, attachment);
          await until(() => conversation.message(id));
          const people = (await client.fetchConversation(made)).participants;
          await client.administration(made).leave();
          await until(() => conversation.endingReason === 'removed');
          client.close();
          return {
            title: renamed.title, admins, people, attachment: conversation.drafts.length,
          };
        """, self.room)
        self.assertEqual("Second", came["title"])
        self.assertEqual(["alice", "bob"], sorted(came["admins"]))
        self.assertEqual(["alice", "bob", "carol"], sorted(came["people"]))
        said = self.gateway.call("GET", path(self.room, "messages"))["messages"]
        self.assertEqual({"url": "https://example.org/a.png"}, said[0]["attachment"])


if __name__ == "__main__":
    unittest.main()
