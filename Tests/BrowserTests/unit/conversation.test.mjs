import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation } from '../../../Sources/Browser/conversation.js';
import { playedConnection, settled } from './fake-gateway.mjs';
import { connected, FakeLog } from './fake-log.mjs';

const TIME = '2026-11-20T10:00:00.000Z';
const message = (seq, more = {}) => ({
  id: `m${seq}`, conversation: 'c1', seq, rev: seq + 1, author: 'bob', body: `message ${seq}`,
  createdAt: TIME, deleted: false, ...more,
});
const head = (seq) => ({ epoch: 'e1', seq, rev: seq + 1, mark: 'm', floor: 1 });
const answer = (low, high, more = {}) => {
  const deltas = [];
  for (let seq = low; seq <= high; seq += 1) {
    deltas.push({ type: 'inserted', via: 'replay', message: message(seq) });
  }
  return {
    deltas, covers: low <= high ? [[low, high]] : [], gaps: [], asOf: high + 1, head: head(high),
    boundaries: [], conversation: { id: 'c1', title: 'Ops', participantCount: 500, rev: 1 }, ...more,
  };
};
const live = (seq, more = {}) => ({
  event: 'messages', conversation: 'c1', covers: [[seq, seq]], prev: seq, asOf: seq + 1,
  deltas: [{ type: 'inserted', via: 'live', message: message(seq, more) }], head: head(seq),
});
const page = (low, high, top) => ({
  messages: answer(low, high).deltas.map((delta) => delta.message).reverse(),
  hasMore: { before: low > 1, after: true }, covers: [[low, high]], gaps: [], asOf: top + 1,
  head: head(top), boundaries: [],
});

/** A conversation that is subscribed and holds the places from `low` to `high`. */
async function subscribed(low, high) {
  const played = playedConnection();
  const socket = await played.begin();
  const conversation = new Conversation(played.connection, 'c1');
  conversation.open();
  socket.reply(socket.take('subscribeMessages'), answer(low, high));
  await settled();
  return { ...played, socket, conversation };
}

/** Breaks the connection and begins the next session. */
async function reconnected({ clock, sockets }) {
  sockets.at(-1).end(1006);
  await settled();
  await clock.advance(1000);
  await sockets.at(-1).welcome();
  return sockets.at(-1);
}

const places = ({ items }) => items.map((item) => {
  if (item.kind === 'message') return item.message.seq;
  return item.kind === 'gap' ? `${item.gap.after}…${item.gap.before}` : item.draft.body;
});

test('a new session resumes with what is held', async () => {
  const played = await subscribed(1, 3);
  played.socket.frame(live(4));
  const socket = await reconnected(played);
  const request = socket.take('subscribeMessages');
  assert.deepEqual(request.params.have, { head: head(4), asOf: 5, runs: [[1, 4]] });
  socket.reply(request, answer(5, 6));
  assert.deepEqual(places(played.conversation), [1, 2, 3, 4, 5, 6]);
});

test('a reset subscribes again without what was held', async () => {
  const { socket, conversation } = await subscribed(1, 3);
  socket.frame({ event: 'reset', conversation: 'c1', head: { ...head(0), epoch: 'e2' } });
  assert.deepEqual(places(conversation), []);
  assert.equal(socket.take('subscribeMessages').params.have, undefined);
});

test('being removed ends it, and the next session does not bring it back', async () => {
  const played = await subscribed(1, 3);
  played.socket.frame({ event: 'unsubscribed', conversation: 'c1', reason: 'removed' });
  assert.equal(played.conversation.phase, 'ended');
  assert.deepEqual(places(played.conversation), []);
  const socket = await reconnected(played);
  assert.throws(() => socket.take('subscribeMessages'));
});

test('a page that was asked for before the subscription was renewed is only shown', async () => {
  const played = await subscribed(11, 13);
  const { socket, conversation } = played;
  conversation.loadOlder();
  const asked = socket.take('fetchMessages');
  assert.equal(asked.params.before, 11);
  // Another one that looks makes it ask again, since the newest place is not held.
  socket.frame({ event: 'gap', conversation: 'c1', prev: 14, asOf: 14, head: head(13), gaps: [
    { after: 12, before: 14, missing: 1, cause: 'slow', since: TIME },
  ] });
  new Conversation(played.connection, 'c1').open();
  await settled();
  socket.reply(socket.take('subscribeMessages'), answer(13, 13));
  socket.reply(asked, page(9, 10, 13));
  assert.deepEqual(conversation.have.runs, [[11, 13]]);
  assert.deepEqual(places(conversation), [9, 10, 11, 12, 13]);
});

test('a page that was asked for before a reset is not even shown', async () => {
  const { socket, conversation } = await subscribed(11, 13);
  conversation.loadOlder();
  const asked = socket.take('fetchMessages');
  socket.frame({ event: 'reset', conversation: 'c1', head: head(13) });
  socket.reply(socket.take('subscribeMessages'), answer(12, 13));
  socket.reply(asked, page(9, 10, 13));
  assert.deepEqual(conversation.have.runs, [[12, 13]]);
  assert.deepEqual(places(conversation), [12, 13]);
});

test('a gap stands in its place and is filled from the end that is asked for', async () => {
  const { socket, conversation } = await subscribed(1, 9);
  const gap = { after: 3, before: 7, missing: 3, cause: 'slow', since: TIME };
  socket.frame({
    event: 'gap', conversation: 'c1', gaps: [gap], prev: 10, asOf: 10, head: head(9),
  });
  assert.deepEqual(places(conversation), [1, 2, 3, '3…7', 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(conversation.gaps, [gap]);
  conversation.fill(gap, 'older');
  assert.equal(conversation.filling(gap), 'busy');
  const asked = socket.take('fetchMessages');
  const { after, before, order } = asked.params;
  assert.deepEqual({ after, before, order }, { after: 3, before: 7, order: 'asc' });
  socket.reply(asked, page(4, 6, 9));
  assert.deepEqual(conversation.gaps, []);
});

test('a gap that could not be filled says why', async () => {
  const { socket, conversation } = await subscribed(1, 9);
  const gap = { after: 3, before: 7, missing: 3, cause: 'slow', since: TIME };
  socket.frame({
    event: 'gap', conversation: 'c1', gaps: [gap], prev: 10, asOf: 10, head: head(9),
  });
  conversation.fill(gap);
  socket.fail(socket.take('fetchMessages'), { code: 'origin_unavailable', message: 'no origin' });
  await settled();
  assert.equal(conversation.filling(gap), 'no origin');
});

test('a message that is sent keeps its key when the real one comes', async () => {
  const { socket, conversation } = await subscribed(1, 2);
  conversation.send('hello');
  const [draft] = conversation.items.slice(-1);
  assert.equal(draft.kind, 'draft');
  const request = socket.take('sendMessage');
  const real = { id: request.params.id, author: 'alice', body: 'hello' };
  socket.frame(live(3, real));
  assert.deepEqual(places(conversation), [1, 2, 3]);
  assert.equal(conversation.items.at(-1).key, draft.key);
  socket.reply(request, { message: message(3, real) });
  assert.deepEqual(places(conversation), [1, 2, 3]);
});

test('a draft that the log has trimmed since it was sent is gone, and nothing is shown', async () => {
  const { socket, conversation } = await subscribed(3, 4);
  conversation.send('hello');
  const request = socket.take('sendMessage');
  const { id, author, conversation: of, seq, rev, createdAt } = message(1, {
    id: request.params.id, author: 'alice',
  });
  socket.reply(request, {
    message: { id, conversation: of, seq, rev, author, createdAt, trimmed: true },
  });
  await settled();
  assert.deepEqual(conversation.items.map(({ kind }) => kind), ['message', 'message']);
  assert.deepEqual(places(conversation), [3, 4]);
});

test('what was not confirmed goes out again under its id, in its order', async () => {
  const played = await subscribed(1, 2);
  played.conversation.send('first');
  played.conversation.send('second');
  const { id } = played.socket.take('sendMessage').params;
  assert.throws(() => played.socket.take('sendMessage'), 'one is under way at a time');
  const socket = await reconnected(played);
  assert.deepEqual(places(played.conversation), [1, 2, 'first', 'second']);
  socket.reply(socket.take('subscribeMessages'), answer(3, 2, { asOf: 3, head: head(2) }));
  await settled();
  const first = socket.take('sendMessage');
  assert.equal(first.params.id, id);
  socket.reply(first, { message: message(3, { id, author: 'alice', body: 'first' }) });
  await settled();
  assert.equal(socket.take('sendMessage').params.body, 'second');
});

test('what arrived although its reply was lost is not sent again', async () => {
  const played = await subscribed(1, 2);
  played.conversation.send('hello');
  const { id } = played.socket.take('sendMessage').params;
  const socket = await reconnected(played);
  const resumed = answer(3, 3);
  resumed.deltas[0].message = message(3, { id, author: 'alice', body: 'hello' });
  socket.reply(socket.take('subscribeMessages'), resumed);
  await settled();
  assert.throws(() => socket.take('sendMessage'));
  assert.deepEqual(places(played.conversation), [1, 2, 3]);
});

test('a message that is refused stays as failed, and the next one goes', async () => {
  const { socket, conversation } = await subscribed(1, 2);
  conversation.send('too long');
  conversation.send('short');
  socket.fail(socket.take('sendMessage'), { code: 'too_large', message: 'body: too large' });
  await settled();
  const draft = conversation.items.at(-2);
  assert.deepEqual([draft.draft.state, draft.draft.error], ['failed', 'body: too large']);
  assert.equal(socket.take('sendMessage').params.body, 'short');
  conversation.discard(draft.draft.id);
  assert.deepEqual(places(conversation), [1, 2, 'short']);
});

test('upstream trouble opens a conversation, and the frames say when it closes', async () => {
  const { socket, conversation } = await subscribed(1, 2);
  const upstream = (state) => socket.frame({ event: 'upstream', state, since: TIME });
  upstream('offline');
  assert.equal(conversation.isOpen, true);
  socket.frame(live(3));
  assert.equal(conversation.isOpen, false, 'a frame without open closes it');
  socket.frame({ ...live(4), open: true });
  upstream('online');
  assert.equal(conversation.isOpen, true, 'online does not close what the last frame left open');
  socket.frame(live(5));
  assert.equal(conversation.isOpen, false);
});

test('up to where was read is asked for where the subscription does not say it', async () => {
  const { socket, conversation } = await subscribed(1, 3);
  assert.equal(conversation.lastReadSeq, null);
  const record = { id: 'c1', lastReadSeq: 2, unreadCount: 1 };
  socket.reply(socket.take('fetchConversation'), { conversation: record });
  assert.equal(conversation.lastReadSeq, 2);
  socket.frame({ event: 'reset', conversation: 'c1', head: { ...head(0), epoch: 'e2' } });
  assert.equal(conversation.lastReadSeq, null);
  socket.reply(socket.take('subscribeMessages'), answer(1, 1, { conversation: record }));
  assert.equal(conversation.lastReadSeq, 2);
  assert.throws(() => socket.take('fetchConversation'));
});

test('a read marker moves forward only, and the farthest wish is what is sent', async () => {
  const { socket, conversation } = await subscribed(1, 9);
  conversation.markRead(3);
  conversation.markRead(5);
  conversation.markRead(4);
  const first = socket.take('markRead');
  assert.equal(first.params.seq, 3);
  socket.reply(first, { lastReadSeq: 3, unreadCount: 6 });
  await settled();
  const second = socket.take('markRead');
  assert.equal(second.params.seq, 5);
  socket.reply(second, { lastReadSeq: 5, unreadCount: 4 });
  await settled();
  conversation.markRead(2);
  assert.equal(conversation.lastReadSeq, 5);
  assert.throws(() => socket.take('markRead'));
});

test('the first message that is not read is found, and fetched where it is not here', async () => {
  const log = new FakeLog(300);
  log.lastReadSeq = 120;
  log.delete(121);
  const { client } = await connected(log);
  const conversation = new Conversation(client.connection, 'c1', { limit: 20 });
  conversation.open();
  await settled();
  assert.equal(conversation.firstUnread, null);
  assert.equal(await conversation.loadUnread(), 'm122');
  assert.equal(conversation.firstUnread, 'm122');
  conversation.markRead(300);
  await settled();
  assert.deepEqual([conversation.firstUnread, await conversation.loadUnread()], [null, null]);
});

test('a page that failed says with which code', async () => {
  const log = new FakeLog(300);
  const { client } = await connected(log);
  const conversation = new Conversation(client.connection, 'c1', { limit: 20 });
  conversation.open();
  await settled();
  log.refuses = ({ method }) => (method === 'fetchMessages' ? 'origin_unavailable' : null);
  await conversation.loadOlder();
  assert.deepEqual([conversation.older, conversation.olderError.code],
    ['origin_unavailable', 'origin_unavailable']);
});
