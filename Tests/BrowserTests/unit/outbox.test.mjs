import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChatClient } from '../../../Sources/Browser/chat-client.js';
import { ChatDataSource } from '../../../Sources/Browser/chat-data-source.js';
import { History } from '../../../Sources/Browser/history.js';
import { ManagedMessageList } from '../../../Sources/Browser/managed-message-list.js';
import { Outbox } from '../../../Sources/Browser/outbox.js';
import { DraftStore } from './draft-store.mjs';
import { playedConnection, settled } from './fake-gateway.mjs';
import { connected, FakeLog, outage } from './fake-log.mjs';
import { Timers } from './played-timers.mjs';

/** A client with a store, whose gateway is played by a test. */
function client(store) {
  let made;
  const played = playedConnection({ store }, (options) => {
    made = new ChatClient(options);
    return made.connection;
  });
  return { ...played, client: made };
}

/** A log that takes what is written. */
function writable(length) {
  const log = new FakeLog(length);
  const answer = log.answer.bind(log);
  log.written = [];
  log.answer = (request) => {
    const { method, params: { id, body, ifRev } } = request;
    if (!['sendMessage', 'editMessage', 'deleteMessage'].includes(method)) return answer(request);
    log.written.push({ method, body, ...(ifRev !== undefined && { ifRev }) });
    if (method === 'sendMessage') {
      return { message: log.say({ id, body, author: 'alice' }).deltas[0].message };
    }
    const change = method === 'editMessage' ? log.edit(Number(id.slice(1)), body)
      : log.delete(Number(id.slice(1)));
    return { message: change.deltas[0].message };
  };
  return log;
}

/** A managed list that is online. */
async function listed(log) {
  const played = await connected(log);
  const list = new ManagedMessageList(played.client, { id: 'c1' });
  list.online();
  await settled();
  return { ...played, list };
}

test('every face sends, and the client does without one', async () => {
  const log = writable(3);
  const { client: chat, list } = await listed(log);
  const history = new History(chat, log.record);
  history.open();
  const source = new ChatDataSource(chat, 'c1');
  await settled();
  list.send('of a list', { color: 'red' });
  history.send('of a history');
  source.send('of a source');
  chat.send('c1', 'of the client');
  chat.send({ id: 'c1' }, 'again');
  for (let n = 0; n < 8; n += 1) await settled();
  assert.deepEqual(log.written.map(({ body }) => body), [
    'of a list', 'of a history', 'of a source', 'of the client', 'again',
  ]);
  assert.deepEqual(chat.outbox.all, []);
  assert.equal(list.messageAt(list.messageCount() - 1).body, 'again');
});

test('what is written offline is shown, and sent in its order in the next session', async () => {
  const log = writable(5);
  const { list, client: chat, ...played } = await listed(log);
  await outage(played, () => {
    list.send('first');
    chat.send('c1', 'second');
    list.edit('m2', 'edited');
    list.delete('m3');
    assert.equal(list.messageAt(list.messageCount() - 1).body, 'second');
    assert.deepEqual(list.edits.map(({ kind }) => kind), ['edit', 'delete']);
  });
  for (let n = 0; n < 8; n += 1) await settled();
  assert.deepEqual(log.written, [
    { method: 'sendMessage', body: 'first' }, { method: 'sendMessage', body: 'second' },
    { method: 'editMessage', body: 'edited', ifRev: 3 },
    { method: 'deleteMessage', body: undefined, ifRev: 4 },
  ]);
  assert.deepEqual([list.drafts, list.edits], [[], []]);
});

test('the second edit of one message is of what the first one made', async () => {
  const log = writable(5);
  const { list, ...played } = await listed(log);
  await outage(played, () => {
    list.edit('m2', 'once');
    list.edit('m2', 'twice');
  });
  for (let n = 0; n < 8; n += 1) await settled();
  assert.deepEqual(log.written.map(({ ifRev }) => ifRev), [3, 7]);
});

test('a conflict is told with the value as it is, and can be overruled or given up', async () => {
  const log = writable(5);
  const { list, sockets } = await listed(log);
  const socket = sockets.at(-1);
  const { serve } = log;
  socket.send = (text) => socket.requests.push(JSON.parse(text));
  const editing = list.edit('m2', 'mine');
  await settled();
  const current = { ...list.messageAt(1), body: 'theirs', rev: 99 };
  socket.fail(socket.take('editMessage'), {
    code: 'conflict', message: 'it is another one', current: { message: current },
  });
  await assert.rejects(editing, ({ code, current: now }) => (
    code === 'conflict' && now.message.body === 'theirs'
  ));
  assert.deepEqual(list.edits.map(({ state, current: now }) => [state, now.body]),
    [['conflict', 'theirs']]);
  serve.call(log, socket);
  list.retry('m2');
  for (let n = 0; n < 3; n += 1) await settled();
  assert.deepEqual(log.written, [{ method: 'editMessage', body: 'mine' }]);
  assert.deepEqual(list.edits, []);
});

test('across a reset an edit is not sent, but told as a conflict; a message is sent', async () => {
  const log = writable(5);
  const { list, ...played } = await listed(log);
  let editing;
  await outage(played, () => {
    editing = list.edit('m2', 'of the old log');
    list.send('a message');
    log.rewind(3);
    log.say();
  });
  await assert.rejects(editing, { code: 'conflict' });
  for (let n = 0; n < 4; n += 1) await settled();
  assert.deepEqual(log.written, [{ method: 'sendMessage', body: 'a message' }]);
  assert.deepEqual(list.edits.map(({ state }) => state), ['conflict']);
  list.discard('m2');
  assert.deepEqual(list.edits, []);
});

test('an answer of another log lets go of what is held where nobody follows to be told', async () => {
  const { list, sockets } = await listed(new FakeLog(5));
  const socket = sockets.at(-1);
  socket.send = (text) => socket.requests.push(JSON.parse(text));
  const id = list.send('into the log that began anew');
  list.offline();
  const message = { id, conversation: 'c1', seq: 2, rev: 2, author: 'alice', body: 'into it' };
  socket.reply(socket.take('sendMessage'), { message });
  await settled();
  assert.deepEqual([list.drafts, list.conversation.have], [[], null]);
  assert.deepEqual(list.conversation.items.map(({ message }) => message.id), [id]);
  list.online();
  await settled();
  assert.equal(socket.take('subscribeMessages').params.have, undefined);
});

test('drafts of all conversations are kept in the store and sent by the next program', async () => {
  const store = new DraftStore();
  const first = client(store);
  first.client.send('c1', 'one');
  first.client.send('c2', 'other');
  assert.equal(store.drafts.size, 2);
  const next = client(store);
  await settled();
  assert.deepEqual(next.client.outbox.all.map(({ body }) => body), ['one', 'other']);
  const socket = await next.begin();
  await settled();
  for (const [conversation, body] of [['c1', 'one'], ['c2', 'other']]) {
    const request = socket.take('sendMessage');
    assert.deepEqual([request.params.conversation, request.params.body], [conversation, body]);
    const { id } = request.params;
    socket.reply(request, { message: { id, conversation, seq: 1, rev: 2, author: 'alice', body } });
    await settled();
  }
  assert.deepEqual([store.drafts.size, next.client.outbox.all], [0, []]);
});

test('an edit that a store brought back is sent only if its log is the same', async () => {
  for (const reset of [false, true]) {
    const store = new DraftStore();
    const head = { epoch: 'e1', seq: 5, rev: 6, mark: 'm', floor: 1 };
    store.saveDraft('k', {
      kind: 'edit', id: 'm2', conversation: 'c1', body: 'edited', ifRev: 3, head,
      createdAt: '2026-11-20T10:00:00.000Z', state: 'sending',
    });
    const { client: chat, begin } = client(store);
    await settled();
    const socket = await begin();
    await settled();
    const asked = socket.take('subscribeMessages');
    assert.deepEqual(asked.params.have, { head, asOf: 6, runs: [] });
    socket.reply(asked, { ...(reset && { reset }), deltas: [], covers: [], gaps: [], head });
    await settled();
    socket.take('unsubscribeMessages');
    if (reset) {
      assert.throws(() => socket.take('editMessage'));
      assert.deepEqual(chat.outbox.all.map(({ state }) => state), ['conflict']);
    } else {
      assert.equal(socket.take('editMessage').params.ifRev, 3);
    }
  }
});

test('a message that was sent once and trimmed since is dropped and not shown', async () => {
  const { list, sockets } = await listed(new FakeLog(2));
  const socket = sockets.at(-1);
  list.send('sent long ago');
  const request = socket.take('sendMessage');
  const { id } = request.params;
  socket.reply(request, {
    message: { id, conversation: 'c1', seq: 1, rev: 2, author: 'alice', trimmed: true },
  });
  await settled();
  assert.deepEqual([list.drafts, list.messageCount()], [[], 2]);
});

test('what was read offline is told in the next session', async () => {
  const log = writable(5);
  const { list, ...played } = await listed(log);
  await outage(played, () => list.markRead(4));
  await settled();
  assert.equal(log.lastReadSeq, 4);
});

test('an origin that is away is waited for, however often it is asked', async () => {
  const played = client(new DraftStore());
  const socket = await played.begin();
  const id = played.client.send('c1', 'Kept');
  const away = { code: 'origin_unavailable', message: 'no origin', retry: 'later', after: 1 };
  for (let time = 0; time < 8; time += 1) {
    while (!socket.requests.some(({ method }) => method === 'sendMessage')) {
      await new Promise((resolve) => { setTimeout(resolve, 1); });
    }
    socket.fail(socket.take('sendMessage'), away);
    await settled();
  }
  const states = Outbox.of(played.client.connection, null).all
    .map((draft) => [draft.id, draft.state]);
  assert.deepEqual(states, [[id, 'sending']]);
});

test('a draft that is too large fails at once, keeps no other waiting, and can be shortened', async () => {
  const log = writable(3);
  const { list, client: chat, sockets, clock } = await listed(log);
  sockets.at(-1).end(1006);
  await clock.advance(1000);
  await sockets.at(-1).welcome({ limits: { inbound_frame: 1000 } });
  await settled();
  const large = list.send('x'.repeat(2000));
  list.send('small');
  assert.deepEqual(list.drafts.map(({ state, code }) => [state, code]),
    [['failed', 'too_large'], ['sending', undefined]]);
  await assert.rejects(list.edit('m2', 'y'.repeat(2000)), { code: 'too_large' });
  for (let n = 0; n < 4; n += 1) await settled();
  list.rewrite(large, 'shortened');
  list.rewrite('m2', 'shortened too');
  for (let n = 0; n < 6; n += 1) await settled();
  assert.deepEqual(log.written.map(({ body }) => body), ['small', 'shortened', 'shortened too']);
  assert.deepEqual(chat.outbox.all, []);
});

test('a draft that was too large when nobody knew fails in the next session, and the next one goes', async () => {
  const store = new DraftStore();
  client(store).client.send('c1', 'x'.repeat(2000));
  const { client: chat, begin, sockets } = client(store);
  chat.send('c1', 'small');
  chat.open();
  await settled();
  await sockets[0].welcome({ limits: { inbound_frame: 1000 } });
  await settled();
  assert.equal(sockets[0].take('sendMessage').params.body, 'small');
  assert.deepEqual(chat.outbox.all.map(({ state }) => state), ['failed', 'sending']);
  assert.ok(begin);
});

test('a draft is what was written, whatever becomes of the objects, and can be kept', async () => {
  const store = new DraftStore();
  const { client: chat } = client(store);
  const metadata = { at: new Date(0), draw() {}, tags: ['one'] };
  chat.send('c1', 'text', metadata, { draw() {}, name: 'a.png' });
  metadata.tags.push('two');
  await settled();
  const [draft] = chat.outbox.all;
  const written = { at: '1970-01-01T00:00:00.000Z', tags: ['one'] };
  assert.deepEqual([draft.metadata, draft.attachment], [written, { name: 'a.png' }]);
  assert.deepEqual([...store.drafts.values()].map((kept) => kept.metadata), [written]);
});

test('what cannot be encoded is refused before it is queued', async () => {
  const { list, client: chat } = await listed(writable(3));
  const half = 'well done 👍'.slice(0, 11);
  assert.throws(() => list.send(half), { code: 'bad_request' });
  assert.throws(() => list.send('text', { half }), { code: 'bad_request' });
  await assert.rejects(list.edit('m2', half), { code: 'bad_request' });
  assert.deepEqual(chat.outbox.all, []);
});

test('a draft whose sessions all end without an answer fails at last, and the waits grow', async () => {
  const played = client(new DraftStore());
  await played.begin();
  played.client.send('c1', 'swallowed');
  const waits = [];
  for (let session = 0; session < 5; session += 1) {
    await played.clock.advance(30_000);
    waits.push(played.connection.state.retryAt - played.clock.now);
    assert.equal(played.connection.state.phase, 'waiting');
    await played.clock.advance(waits.at(-1));
    await played.sockets.at(-1).welcome();
    await settled();
  }
  assert.deepEqual(waits.slice(1).map((wait, at) => wait > waits[at]), [true, true, true, true]);
  assert.deepEqual(played.client.outbox.all.map(({ state, code }) => [state, code]),
    [['failed', 'unanswered']]);
  assert.deepEqual(played.sockets.at(-1).requests, []);
});

/** A store whose writes and reads fail as often as a test says. */
class FailingStore extends DraftStore {
  failures = 0;
  #fail() {
    if (this.failures === 0) return;
    this.failures -= 1;
    throw new Error('the store is busy, or full');
  }

  async loadDrafts() {
    this.#fail();
    return super.loadDrafts();
  }

  async saveDraft(key, draft) {
    this.#fail();
    super.saveDraft(key, draft);
  }

  async removeDraft(key) {
    this.#fail();
    super.removeDraft(key);
  }
}

test('a draft that could not be kept is kept later, and one that went goes later', async () => {
  const timers = new Timers();
  const restore = timers.install();
  try {
    const store = new FailingStore();
    const { client: chat, begin } = client(store);
    await settled();
    store.failures = 3;
    chat.send('c1', 'one');
    for (let n = 0; n < 3; n += 1) {
      await settled();
      assert.equal(store.drafts.size, 0, `after ${n + 1} failures`);
      timers.fire();
    }
    await settled();
    assert.deepEqual([...store.drafts.values()].map(({ body }) => body), ['one']);
    store.failures = 2;
    const socket = await begin();
    await settled();
    const request = socket.take('sendMessage');
    socket.reply(request, { message: { ...request.params, seq: 1, rev: 2, author: 'alice' } });
    for (let n = 0; n < 4; n += 1) {
      await settled();
      timers.fire();
    }
    await settled();
    assert.deepEqual([store.drafts.size, chat.outbox.all], [0, []]);
  } finally {
    restore();
  }
});

test('drafts that could not be read are read later', async () => {
  const timers = new Timers();
  const restore = timers.install();
  try {
    const store = new FailingStore();
    client(store).client.send('c1', 'of the last program');
    await settled();
    store.failures = 2;
    const { client: chat } = client(store);
    for (let n = 0; n < 4; n += 1) {
      await settled();
      timers.fire();
    }
    await settled();
    assert.deepEqual(chat.outbox.all.map(({ body }) => body), ['of the last program']);
  } finally {
    restore();
  }
});

test('drafts keep their order, whatever the clock says', async () => {
  const store = new DraftStore();
  const { now } = Date;
  const { client: chat } = client(store);
  chat.send('c1', 'one');
  try {
    Date.now = () => now() - 3_600_000;
    chat.send('c1', 'two');
    // Ids and moments are of the clock that was set back.
    for (const [key, draft] of store.drafts) {
      if (draft.body === 'two') store.drafts.set(key, { ...draft, createdAt: '2020-01-01T00:00:00.000Z' });
    }
  } finally {
    Date.now = now;
  }
  const next = client(store);
  await settled();
  assert.deepEqual(next.client.outbox.all.map(({ body }) => body), ['one', 'two']);
});

test('what is of one user is neither sent nor read by another', async () => {
  const store = Object.assign(new DraftStore(), { user: 'alice' });
  client(store).client.send('c1', 'of alice');
  const { client: chat, sockets, connection } = client(store);
  const strangers = [];
  connection.stranger.listen((user) => strangers.push(user));
  chat.open();
  await settled();
  await sockets[0].welcome({ user: 'bob' });
  assert.deepEqual([strangers, connection.state.phase], [['bob'], 'closed']);
  assert.deepEqual(sockets[0].requests, []);
  assert.equal(store.drafts.size, 1);
  const bob = playedConnection({ user: 'bob' }).connection;
  assert.throws(() => Outbox.of(bob, store), /of alice.*of bob/u);
});
