"""What was written and not sent is kept by itself: whatever becomes of all else in the store."""

import unittest

from browser import UNREACHABLE, BrowserTestCase

#: Writes in a client without a session, closes it, and does something to what the browser keeps.
WRITE = """async ([user, conversation, act]) => {
  const { ChatClient, MessageStore } = await import('/gapless.js');
  const client = (credentials, store) => new ChatClient({
    url: `ws://${location.host}/v1/ws`, credentials: () => ({ user: credentials }), store,
  });
  const pause = (delay) => new Promise((resolve) => { setTimeout(resolve, delay); });
  const asked = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(request.error ?? new Error('blocked'));
  });
  const acts = {
    // What is put into a database fails, as where it is full, until something was taken out.
    full: async () => {
      const { put, clear } = IDBObjectStore.prototype;
      let isFull = true;
      IDBObjectStore.prototype.put = function (...value) {
        if (isFull) throw new DOMException('no room', 'QuotaExceededError');
        return put.apply(this, value);
      };
      IDBObjectStore.prototype.clear = function () {
        isFull = false;
        return clear.apply(this);
      };
    },
    busy: async () => {
      const { put } = IDBObjectStore.prototype;
      let failures = 2;
      IDBObjectStore.prototype.put = function (...value) {
        failures -= 1;
        if (failures >= 0) throw new DOMException('busy', 'UnknownError');
        return put.apply(this, value);
      };
    },
  };
  const store = await MessageStore.open(user);
  await acts[act]?.();
  client(user, store).send(conversation, 'Written before');
  await pause(2500);
  store.close();
  if (act === 'version') {
    const request = indexedDB.open(`gapless ${user}`, 99);
    request.onupgradeneeded = () => {
      for (const name of [...request.result.objectStoreNames]) {
        request.result.deleteObjectStore(name);
      }
    };
    (await asked(request)).close();
  }
}"""

#: Puts a draft where an earlier version of the client kept it.
EARLIER = """async ([user, conversation]) => {
  const { MessageStore } = await import('/gapless.js');
  (await MessageStore.open(user)).close();
  const request = indexedDB.open(`gapless ${user}`);
  await new Promise((resolve) => { request.onsuccess = resolve; });
  const transaction = request.result.transaction('lists', 'readwrite');
  const id = '01J00000000000000000000000';
  transaction.objectStore('lists').put({
    kind: 'send', id, conversation, body: 'Written before', state: 'sending',
    createdAt: '2026-11-20T10:00:00.000Z',
  }, `draft ${id}`);
  await new Promise((resolve) => { transaction.oncomplete = resolve; });
  request.result.close();
}"""

#: Connects with a user's store; what became of that.
CONNECT = """async ([user, credentials]) => {
  const { ChatClient, MessageStore } = await import('/gapless.js');
  const store = await MessageStore.open(user);
  const client = new ChatClient({
    url: `ws://${location.host}/v1/ws`, credentials: () => ({ user: credentials }), store,
  });
  const strangers = [];
  client.connection.stranger.listen((name) => strangers.push(name));
  client.open();
  const isOver = () => client.connection.state.phase === 'closed'
    || (client.connection.isLive && client.outbox.all.length === 0);
  const end = performance.now() + 10_000;
  // One turn more: drafts are read, and sent, by then.
  for (let turns = 0; turns < 20 && performance.now() < end; turns += isOver() ? 1 : 0) {
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
  const { state: { phase }, isLive } = client.connection;
  client.close();
  store.close();
  return { phase, isLive, strangers, waiting: client.outbox.all.map(({ body }) => body) };
}"""


class KeptDraftTests(BrowserTestCase):
    def setUp(self):
        super().setUp()
        self.expected = (UNREACHABLE, "Failed to load resource")
        self.user = self.room.replace("_", "-")
        self.gateway.converse(self.room, self.user, "bob")
        # Any page of the gateway, in which nobody is signed in.
        self.opened = self.open("nobody")

    def run_in_page(self, program, *arguments):
        return self.opened.page.evaluate(program, list(arguments))

    def expect_sent(self):
        came = self.run_in_page(CONNECT, self.user, self.user)
        self.assertEqual([], came["waiting"])
        self.assertEqual(["Written before"], self.gateway.said(self.room))

    def test_a_store_of_another_version_keeps_what_was_written(self):
        self.run_in_page(WRITE, self.user, self.room, "version")
        self.expect_sent()

    def test_a_full_disk_loses_nothing_that_was_written(self):
        self.run_in_page(WRITE, self.user, self.room, "full")
        self.opened.page.reload()
        self.expect_sent()

    def test_a_busy_disk_loses_nothing_that_was_written(self):
        self.run_in_page(WRITE, self.user, self.room, "busy")
        self.opened.page.reload()
        self.expect_sent()

    def test_what_an_earlier_version_kept_is_sent(self):
        self.run_in_page(EARLIER, self.user, self.room)
        self.expect_sent()

    def test_nothing_goes_out_under_another_name(self):
        self.run_in_page(WRITE, self.user, self.room, "nothing")
        came = self.run_in_page(CONNECT, self.user, "bob")
        self.assertEqual(["bob"], came["strangers"])
        self.assertEqual("closed", came["phase"])
        self.assertEqual([], self.gateway.said(self.room))
        self.expect_sent()


if __name__ == "__main__":
    unittest.main()
