import assert from 'node:assert/strict';
import test from 'node:test';
import { playedConnection, settled } from './fake-gateway.mjs';

test('what is unread is known by events and by answers, and may be behind while away', async () => {
  const { connection, sockets, clock } = playedConnection({ unread: true });
  const seen = [];
  const four = { messages: 4, conversations: 2, mentions: 2 };
  connection.changed.listen(() => seen.push(connection.unread));
  connection.open();
  await settled();
  sockets[0].onopen();
  assert.equal(sockets[0].requests[0].params.unread, true);
  sockets[0].reply(sockets[0].take('connect'), {
    user: 'alice', pingInterval: 20, upstream: { state: 'online', since: '' },
  });
  await settled();
  assert.equal(connection.unread, null);
  sockets[0].frame({ event: 'unread', messages: 3, conversations: 2, mentions: 1, of: [] });
  assert.deepEqual(
    connection.unread, { messages: 3, conversations: 2, mentions: 1, open: false });
  assert.deepEqual(seen.at(-1), connection.unread);
  const list = connection.request('fetchConversations');
  sockets[0].reply(sockets[0].take('fetchConversations'), {
    conversations: [], total: 0, unreadTotal: four, open: true,
  }, { cached: false });
  await list;
  assert.deepEqual(connection.unread, { ...four, open: true });
  sockets[0].frame({ event: 'unread', ...four, of: [] });
  sockets[0].end(1006);
  await settled();
  assert.deepEqual(connection.unread, { ...four, open: true });
  while (sockets.length < 2) await clock.advance(100);
  await sockets[1].welcome();
  assert.equal(connection.isLive, true);
  assert.deepEqual(connection.unread, { ...four, open: true });
  // A gateway of before counts no mentions.
  sockets[1].frame({ event: 'unread', messages: 0, conversations: 0 });
  assert.deepEqual(connection.unread, { messages: 0, conversations: 0, mentions: 0, open: false });
});

test('who does not ask sends no such param', async () => {
  const { connection, sockets } = playedConnection();
  connection.open();
  await settled();
  sockets[0].onopen();
  assert.equal('unread' in sockets[0].requests[0].params, false);
});
