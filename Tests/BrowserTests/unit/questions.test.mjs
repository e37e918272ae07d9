import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Questions } from '../../../Sources/Browser/questions.js';
import { FakeLog } from './fake-log.mjs';
import { playedConnection, settled } from './fake-gateway.mjs';

/** A store in memory; that of browsers is tested in one (`test_store.py`). */
class Kept {
  answers = new Map();
  list = null;
  saved = null;
  async load() { return this.saved; }
  async loadList() { return this.list; }
  async loadAnswer(key) { return this.answers.get(key)?.result ?? null; }
  async saveAnswer(key, conversation, result) {
    this.answers.set(key, { conversation, result, at: this.answers.size });
  }

  async loadAnswers(method, of) {
    return [...this.answers].flatMap(([key, { conversation, result, at }]) => {
      if (!key.startsWith(`${method} `) || conversation !== of) return [];
      return [{ params: Object.fromEntries(JSON.parse(key.slice(method.length + 1))), result, at }];
    }).sort((a, b) => b.at - a.at);
  }
  async removeAnswers(of) {
    for (const [key, { conversation }] of this.answers) {
      if (conversation === of) this.answers.delete(key);
    }
  }
}

async function asking() {
  const played = playedConnection();
  const socket = await played.begin();
  const store = new Kept();
  const questions = new Questions(played.connection, store);
  /** Asks, and collects what comes. */
  const ask = async (method, params) => {
    const cached = [];
    try {
      return { cached, result: await questions.ask(method, params, (one) => cached.push(one)) };
    } catch ({ code }) {
      return { cached, code };
    }
  };
  return { ...played, socket, store, ask };
}

/** What a store has of a log's newest messages. */
function savedOf(log, count) {
  const { messages, head, covers } = log.answer({
    method: 'fetchMessages', params: { limit: count, order: 'asc' },
  });
  return { have: { head, asOf: head.rev, runs: covers }, messages, record: log.record };
}

test('what was answered comes first, and alone where nobody can be asked', async () => {
  const { ask, socket, store } = await asking();
  const first = ask('fetchParticipants', { conversation: 'c1', limit: 2 });
  await settled();
  socket.reply(socket.take('fetchParticipants'), { total: 1 });
  assert.deepEqual(await first, { cached: [], result: { total: 1 } });
  await settled();
  const second = ask('fetchParticipants', { limit: 2, conversation: 'c1' });
  await settled();
  const request = socket.take('fetchParticipants');
  socket.frame({ id: request.id, cached: true, result: { total: 2 } });
  socket.reply(request, { total: 3 });
  const cached = [{ total: 1 }, { total: 2 }];
  assert.deepEqual(await second, { cached, result: { total: 3 } });
  socket.end(1006);
  await settled();
  const params = { conversation: 'c1', limit: 2 };
  assert.deepEqual(await ask('fetchParticipants', params), {
    cached: [{ total: 3 }], code: 'disconnected',
  });
  assert.deepEqual(await ask('fetchParticipants', { ...params, limit: 1 }), {
    cached: [], code: 'disconnected',
  });
  assert.equal(store.answers.size, 1);
});

test('an answer that came is not followed by what was known before', async () => {
  const { ask, socket, store } = await asking();
  let load;
  store.loadList = () => new Promise((resolve) => { load = resolve; });
  const asked = ask('fetchConversations', { limit: 5 });
  socket.reply(socket.take('fetchConversations'), { conversations: [], total: 0 });
  load({ records: [{ id: 'old' }] });
  assert.deepEqual((await asked).cached, []);
});

test('what is gone is not shown again', async () => {
  const { ask, socket, store } = await asking();
  await store.saveAnswer('fetchParticipants x', 'c1', { total: 1 });
  await store.saveAnswer('fetchParticipants y', 'c2', { total: 1 });
  const asked = ask('fetchConversation', { conversation: 'c1' });
  await settled();
  socket.fail(socket.take('fetchConversation'), { code: 'not_found' });
  assert.equal((await asked).code, 'not_found');
  assert.deepEqual([...store.answers.keys()], ['fetchParticipants y']);
});

test('a page comes from what is held, unless a newer one was answered', async () => {
  const { ask, socket, store } = await asking();
  const log = new FakeLog(20);
  store.saved = savedOf(log, 10);
  socket.end(1006);
  await settled();
  const latest = { conversation: 'c1', limit: 2, order: 'desc' };
  const seqs = ({ cached }) => cached.map(({ messages }) => messages.map(({ seq }) => seq));
  assert.deepEqual(seqs(await ask('fetchMessages', latest)), [[20, 19]]);
  // One that is farther back was answered before the newest change of what is held.
  const older = { conversation: 'c1', before: 12, limit: 3, order: 'desc' };
  const sorted = (params) => (
    `fetchMessages ${JSON.stringify(Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1)))}`);
  const answer = (params) => log.answer({ method: 'fetchMessages', params });
  await store.saveAnswer(sorted(older), 'c1', answer(older));
  log.edit(11, 'changed');
  store.saved = savedOf(log, 10);
  const { cached: [page] } = await ask('fetchMessages', older);
  assert.deepEqual(page.messages.map(({ body }) => body), ['changed']);
  store.saved.have.runs = [[14, 20]];
  const { cached: [kept] } = await ask('fetchMessages', older);
  assert.deepEqual(kept.messages.map(({ body }) => body), ['changed', 'message 10', 'message 9']);
  log.say();
  await store.saveAnswer(sorted(latest), 'c1', answer(latest));
  assert.deepEqual(seqs(await ask('fetchMessages', latest)), [[21, 20]]);
});

test('a conversation and the list come from what is kept of the list', async () => {
  const { ask, socket, store } = await asking();
  socket.end(1006);
  await settled();
  store.list = { records: [{ id: 'c1', rev: 3, title: 'New' }, { id: 'c2', rev: 1 }] };
  store.saved = { have: {}, messages: [], record: { id: 'c1', rev: 2, title: 'Old' } };
  const list = await ask('fetchConversations', { limit: 1 });
  assert.deepEqual(list.cached, [{ conversations: [store.list.records[0]], total: 2 }]);
  const one = await ask('fetchConversation', { conversation: 'c1' });
  assert.deepEqual(one.cached, [{ conversation: store.list.records[0] }]);
  assert.deepEqual((await ask('fetchConversations', { limit: 1, cursor: 'x' })).cached, []);
});

test('what was answered to one question answers others, by record', async () => {
  const { ask, socket, store } = await asking();
  const keyOf = (method, params) => (
    `${method} ${JSON.stringify(Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1)))}`);
  const answered = (method, params, result) => (
    store.saveAnswer(keyOf(method, params), params.conversation ?? '', result));
  const log = new FakeLog(30);
  const page = (params) => answered('fetchMessages', { conversation: 'c1', ...params },
    log.answer({ method: 'fetchMessages', params }));
  await page({ limit: 5, order: 'desc' });
  await page({ before: 26, limit: 10, order: 'desc' });
  const people = ['dora', 'carol', 'bob', 'alice'].map((id) => ({ id }));
  await answered('fetchParticipants', { conversation: 'c1', limit: 3 },
    { participants: people.slice(0, 3), total: 4, limit: 3, offset: 0 });
  await answered('fetchConversations', { limit: 2 }, {
    total: 3, next: 'x',
    conversations: [{ id: 'c3', rev: 1, updatedAt: '3' }, { id: 'c2', rev: 1, updatedAt: '2' }],
  });
  await answered('fetchConversations', { limit: 2, cursor: 'x' }, {
    total: 3, conversations: [{ id: 'c1', rev: 1, updatedAt: '1' }],
  });
  socket.end(1006);
  await settled();
  const messages = async (params) => (
    (await ask('fetchMessages', { conversation: 'c1', order: 'desc', ...params })).cached
      .map((one) => one.messages.map(({ seq }) => seq)));
  assert.deepEqual(await messages({ limit: 3 }), [[30, 29, 28]]);
  assert.deepEqual(await messages({ limit: 8 }), [[30, 29, 28, 27, 26, 25, 24, 23]]);
  assert.deepEqual(await messages({ before: 20, limit: 2 }), [[19, 18]]);
  assert.deepEqual(await messages({ before: 5, limit: 2 }), []);
  const known = async (params) => (
    (await ask('fetchParticipants', { conversation: 'c1', ...params })).cached
      .map(({ participants, total }) => [participants.map(({ id }) => id), total]));
  assert.deepEqual(await known({ limit: 2 }), [[['dora', 'carol'], 4]]);
  assert.deepEqual(await known({ limit: 2, offset: 1 }), [[['carol', 'bob'], 4]]);
  assert.deepEqual(await known({ limit: 2, order: 'asc', offset: 1 }), [[['bob', 'carol'], 4]]);
  assert.deepEqual(await known({ limit: 2, offset: 3 }), []);
  const listed = (await ask('fetchConversations', { limit: 10 })).cached;
  assert.deepEqual(listed.map(({ conversations, total }) => [conversations.map(({ id }) => id), total]),
    [[['c3', 'c2', 'c1'], 3]]);
});
