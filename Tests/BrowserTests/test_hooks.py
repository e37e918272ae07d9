"""The hooks in React's StrictMode, which mounts each component twice."""

import re
import shutil
import unittest
from urllib.parse import urlencode

from browser import BrowserTestCase, chromium
from gateway import REPOSITORY
from playwright.sync_api import expect
from site_of_ours import bundle, project, serve

PATIENCE = 30_000


class HookTests(BrowserTestCase):
    @classmethod
    def setUpClass(cls):
        folder = project(cls)
        for name in ("hooks.jsx", "hooks.html"):
            shutil.copy(REPOSITORY / "Tests/BrowserTests" / name, folder)
        bundle(folder, "hooks.jsx")
        cls.site = serve(cls, folder)
        cls.settings = {"listen__allowed_origins": cls.site, "limits__requests_per_second": "200",
                        # Of a gateway that began a moment ago, who left may be coming back.
                        "presence__linger": "1s", "presence__grace": "1s"}
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.expected = ("React DevTools",)

    def visit(self, **query):
        context = chromium().new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        query["url"] = f"ws://{self.gateway.address}/v1/ws"
        page.goto(f"{self.site}/hooks.html?{urlencode(query)}")
        return page

    def test_a_client_that_is_opened_closed_and_opened_again_connects(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", "One", "Two")
        page = self.visit(user="alice", conversation=self.room)
        expect(page.locator("#phase")).to_have_text("live", timeout=PATIENCE)
        expect(page.locator("#room")).to_contain_text("live 2", timeout=PATIENCE)
        page.evaluate("toggle()")
        expect(page.locator("#room")).to_have_count(0)
        self.gateway.say(self.room, "bob", "Three")
        page.evaluate("toggle()")
        expect(page.locator("#room")).to_contain_text("live 3", timeout=PATIENCE)

    def test_a_reaction_is_shown_at_once_and_kept(self):
        self.gateway.converse(self.room, "alice", "bob")
        self.gateway.say(self.room, "bob", "Lunch?")
        pages = [self.visit(user=user, conversation=self.room) for user in ("alice", "bob")]
        for page in pages:
            expect(page.locator("#room")).to_contain_text("live 1", timeout=PATIENCE)
        shown = "room.items[0].message.reactions?.map(({ key, own }) => `${key} ${own}`).join()"
        alice, bob = pages
        self.assertEqual("ok true", alice.evaluate(f"""async () => {{
          const done = room.react(room.items[0].message.id, 'ok');
          await new Promise(requestAnimationFrame);
          const now = {shown};
          await done;
          return now;
        }}"""))
        bob.wait_for_function(f"{shown} === 'ok false'")
        self.assertEqual([["alice", "ok"]], bob.evaluate("""async () => {
          const { reactions } = await room.fetchReactions(room.items[0].message.id);
          return reactions.map(({ user, key }) => [user, key]);
        }"""))
        alice.evaluate("room.react(room.items[0].message.id, 'ok', false)")
        bob.wait_for_function(f"{shown} === undefined")

    def test_a_mention_is_sent_counted_and_found(self):
        self.gateway.converse(self.room, "fay", "gus")
        self.gateway.say(self.room, "gus", "Lunch?", *(f"Line {n}" for n in range(60)))
        told = self.visit(user="fay", unread="true")
        fay, gus = (self.visit(user=user, conversation=self.room) for user in ("fay", "gus"))
        for page in (fay, gus):
            expect(page.locator("#room")).to_contain_text("live 20", timeout=PATIENCE)
        told.wait_for_function("mentions.join() === '0,0'")
        written = gus.evaluate("""() => room.send('Noon, @fay', undefined, undefined, {
          replyTo: room.items[0].message.id, mentions: ['fay'],
        })""")
        told.wait_for_function("mentions.join() === '1,1'")
        self.assertEqual([written, 1], fay.evaluate("""async () => [
          await room.loadMention(), (await room.fetchMentions()).total,
        ]"""))
        shown = fay.evaluate("""() => room.items.at(-1).message""")
        self.assertEqual(["fay"], shown["mentions"])
        self.assertEqual(42, shown["replyTo"]["seq"])
        gus.evaluate("(id) => room.edit(id, 'Noon', { mentions: [] })", written)
        told.wait_for_function("mentions.join() === '0,0'")
        fay.wait_for_function("room.items.at(-1).message.mentions === undefined")
        self.assertEqual(42, fay.evaluate("room.items.at(-1).message.replyTo.seq"))

    def test_who_is_there_is_watched_while_the_component_is(self):
        self.gateway.converse(self.room, "alice", "bob")
        alice = self.visit(user="alice", conversation=self.room, watched="bob")
        person = alice.locator("#person")
        # This gateway began lately, and bob may still be coming back.
        expect(person).to_have_text(re.compile("absent|unknown"), timeout=PATIENCE)
        bob = self.visit(user="bob", conversation=self.room)
        expect(person).to_have_text("present", timeout=PATIENCE)
        bob.evaluate("client.setPresence('away')")
        expect(person).to_have_text("away", timeout=PATIENCE)
        alice.evaluate("toggle()")
        expect(person).to_have_count(0)
        self.assertEqual(0, alice.evaluate("client.presence.states.size"))
        bob.evaluate("client.setPresence('present')")
        alice.evaluate("toggle()")
        expect(person).to_have_text("present", timeout=PATIENCE)
        bob.evaluate("client.close()")
        expect(person).to_have_text("absent", timeout=PATIENCE)

    def test_a_conversation_opens_at_the_first_unread_message(self):
        self.gateway.converse(self.room, "carol", "bob")
        self.gateway.say(self.room, "bob", *(f"Said {n}" for n in range(1, 301)))
        page = self.visit(user="carol", conversation=self.room, opensAt="unread")
        expect(page.locator("#room")).to_contain_text("live", timeout=PATIENCE)
        page.wait_for_function("room.firstUnread !== null")
        self.assertEqual("Said 1", page.evaluate("""() => (
          room.items.find(({ message }) => message?.id === room.firstUnread).message.body
        )"""))

    def test_unread_messages_are_counted_in_all_conversations(self):
        for number in range(400):
            room = f"{self.room} {number}"
            self.gateway.converse(room, "dora", "erin", "bob")
            self.gateway.say(room, "bob", "Unread")
        page = self.visit(user="dora")
        expect(page.locator("#list")).to_have_text("400 false unknown", timeout=PATIENCE)
        page = self.visit(user="erin", unread="true")
        expect(page.locator("#list")).to_have_text("400 true 400", timeout=PATIENCE)


if __name__ == "__main__":
    unittest.main()
