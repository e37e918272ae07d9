import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConversationList } from '../../../Sources/Browser/conversations.js';
import { playedConnection, settled } from './fake-gateway.mjs';

const head = (seq, rev = seq + 1) => ({ epoch: 'e1', seq, rev, mark: 'm', floor: 1 });
const record = (id, seq, { author = 'bob', rev, ...more } = {}) => ({
  id, title: id, createdAt: '2026-11-20T09:00:00.000Z', updatedAt: '2026-11-20T09:00:00.000Z',
  rev: 1, head: head(seq, rev),
  lastMessage: {
    id: `m${seq}`, seq, author, body: 'hi', createdAt: `2026-11-20T10:00:${10 + seq}.000Z`,
  },
  ...more,
});
const event = (...deltas) => ({
  event: 'conversations',
  deltas: deltas.map(([type, conversation]) => ({ type, conversation })),
});

/** A list that is subscribed and holds `records`. */
async function listed(conversations, more = {}) {
  const played = playedConnection();
  const socket = await played.begin();
  const list = new ConversationList(played.connection);
  list.open();
  socket.reply(socket.take('subscribeConversations'), {
    conversations, removed: [], total: conversations.length, token: 't1', complete: false, ...more,
  });
  await settled();
  return { ...played, socket, list };
}

const ids = ({ records }) => records.map(({ id }) => id);

test('the latest activity comes first, and a new message moves its conversation up', async () => {
  const { socket, list } = await listed([record('a', 5), record('b', 9), record('c', 7)]);
  assert.deepEqual(ids(list), ['b', 'c', 'a']);
  socket.frame(event(['updated', record('a', 10)]));
  assert.deepEqual(ids(list), ['a', 'b', 'c']);
});

test("others' messages are counted, one's own is read", async () => {
  const { socket, list } = await listed([record('a', 5, { unreadCount: 1, lastReadSeq: 4 })]);
  socket.frame(event(['updated', record('a', 6)]));
  socket.frame(event(['updated', record('a', 7)]));
  assert.equal(list.unreadCount, 3);
  socket.frame(event(['updated', record('a', 8, { author: 'alice' })]));
  assert.equal(list.unreadCount, 0);
  assert.equal(list.record('a').lastReadSeq, 8);
});

test('what an event can not tell is asked, and the answer counts', async (t) => {
  const timers = t.mock.method(globalThis, 'setTimeout', () => 0);
  const { socket, list } = await listed([record('a', 5, { unreadCount: 2, lastReadSeq: 3 })]);
  socket.frame(event(['updated', record('a', 5, { rev: 9 })]));
  assert.equal(list.unreadCount, 2);
  for (const { arguments: [action] } of timers.mock.calls) action();
  const request = socket.take('fetchConversation');
  assert.equal(request.params.conversation, 'a');
  socket.reply(request, {
    conversation: record('a', 5, { rev: 9, unreadCount: 1, lastReadSeq: 3 }),
  });
  assert.equal(list.unreadCount, 1);
});

test('reading on another page counts here too', async () => {
  const { socket, list } = await listed([record('a', 5, { unreadCount: 2, lastReadSeq: 3 })]);
  socket.frame({ event: 'read', conversation: 'a', user: 'bob', seq: 5 });
  assert.equal(list.unreadCount, 2);
  socket.frame({ event: 'read', conversation: 'a', user: 'alice', seq: 5 });
  assert.equal(list.unreadCount, 0);
});

test('a conversation that was left goes', async () => {
  const { socket, list } = await listed([record('a', 5), record('b', 9)]);
  socket.frame(event(['deleted', { id: 'b' }]));
  assert.deepEqual(ids(list), ['a']);
});

test('a session resumes with the token, and what changed is merged', async () => {
  const { clock, list, sockets } = await listed([record('a', 5), record('b', 9)]);
  sockets[0].end(1006);
  await clock.advance(1000);
  await sockets[1].welcome();
  const request = sockets[1].take('subscribeConversations');
  assert.equal(request.params.since, 't1');
  sockets[1].reply(request, {
    conversations: [record('c', 20)], removed: ['a'], total: 2, token: 't2', complete: true,
  });
  assert.deepEqual(ids(list), ['c', 'b']);
});

test('an incomplete answer drops what a whole walk did not meet', async () => {
  const { clock, list, sockets } = await listed([record('a', 5), record('b', 9), record('c', 3)]);
  sockets[0].end(1006);
  await clock.advance(1000);
  await sockets[1].welcome();
  sockets[1].reply(sockets[1].take('subscribeConversations'), {
    conversations: [record('b', 10)], removed: [], total: 2, token: 't2', complete: false,
  });
  assert.deepEqual(ids(list), ['b', 'a', 'c'], 'until the walk is over nothing is dropped');
  const first = sockets[1].take('fetchConversations');
  assert.equal(first.params.cursor, undefined);
  sockets[1].reply(first, { conversations: [record('b', 10)], next: 'n1', total: 2 });
  await settled();
  const second = sockets[1].take('fetchConversations');
  assert.equal(second.params.cursor, 'n1');
  sockets[1].reply(second, { conversations: [record('c', 3)], total: 2 });
  assert.deepEqual(ids(list), ['b', 'c']);
  assert.equal(list.hasMore, false);
});

test('unread messages of a list that is not here whole are those that the gateway counts', async () => {
  const { connection, begin } = playedConnection({ unread: true });
  const socket = await begin();
  const list = new ConversationList(connection);
  let told = 0;
  list.changed.listen(() => { told += 1; });
  list.open();
  const conversations = Array.from({ length: 100 }, (_, at) => (
    { id: `c${at}`, rev: 1, unreadCount: 1, updatedAt: `${at}` }));
  socket.reply(socket.take('subscribeConversations'), {
    token: 't', complete: false, total: 400, conversations,
    unreadTotal: { messages: 400, conversations: 400 },
  });
  for (let page = 1; page < 3; page += 1) {
    await settled();
    socket.reply(socket.take('fetchConversations'), {
      conversations: conversations.map(({ id, ...rest }) => ({ ...rest, id: `${page} ${id}` })),
      next: 'x', total: 400, unreadTotal: { messages: 400, conversations: 400 },
    });
  }
  await settled();
  assert.deepEqual([list.records.length, list.hasMore, list.unreadCount], [300, true, 400]);
  const before = told;
  socket.frame({ event: 'unread', messages: 401, conversations: 400 });
  assert.deepEqual([list.unreadCount, told], [401, before + 1]);
});

test('what events showed since a token that is confirmed counts no more', async () => {
  const { clock, list, socket, sockets } = await listed([record('stays', 5), record('left', 9)]);
  socket.frame(event(
    ['updated', record('stays', 6)], ['inserted', record('joined', 7)], ['deleted', { id: 'left' }],
  ));
  assert.deepEqual(ids(list), ['joined', 'stays']);
  sockets[0].end(1006);
  await clock.advance(1000);
  await sockets[1].welcome();
  sockets[1].reply(sockets[1].take('subscribeConversations'), {
    conversations: [], removed: [], total: 2, token: 't2', complete: true,
  });
  assert.deepEqual(ids(list), ['left', 'stays']);
  assert.equal(list.record('stays').head.seq, 5);
  sockets[1].end(1006);
  await clock.advance(1000);
  await sockets[2].welcome();
  sockets[2].reply(sockets[2].take('subscribeConversations'), {
    conversations: [record('stays', 8)], removed: ['left'], total: 1, token: 't3', complete: true,
  });
  assert.deepEqual(ids(list), ['stays']);
});

test('a walk that was cut off goes on, and drops what it does not meet', async () => {
  const { clock, list, sockets } = await listed([record('a', 5), record('b', 9), record('c', 3)]);
  const comeBack = async (number, answer) => {
    sockets[number - 1].end(1006);
    await clock.advance(1000);
    await sockets[number].welcome();
    sockets[number].reply(sockets[number].take('subscribeConversations'), {
      removed: [], total: 2, ...answer,
    });
  };
  await comeBack(1, { conversations: [record('b', 10)], token: 't2', complete: false });
  sockets[1].take('fetchConversations');
  await comeBack(2, { conversations: [], token: 't3', complete: true });
  await settled();
  sockets[2].reply(sockets[2].take('fetchConversations'), {
    conversations: [record('b', 10), record('c', 3)], total: 2,
  });
  assert.deepEqual(ids(list), ['b', 'c']);
});
