import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDelta } from '../../../Sources/Browser/merge.js';
import { settled } from './fake-gateway.mjs';
import { connected, FakeLog, outage } from './fake-log.mjs';

const seqs = (messages) => messages.map(({ seq }) => seq);

test('a fetch calls back with what is cached, and resolves with what counts', async () => {
  const played = await connected(new FakeLog(0));
  const { client, sockets } = played;
  const socket = sockets.at(-1);
  const phases = [];
  const take = (conversations, cached = false) => phases.push([conversations, cached]);
  const fetching = client.fetchConversations(take).then(take);
  const request = socket.take('fetchConversations');
  assert.equal(request.params.cached, undefined);
  socket.frame({ id: request.id, cached: true, result: { conversations: [{ id: 'old' }] } });
  socket.reply(request, { conversations: [{ id: 'new' }], total: 1 });
  await fetching;
  assert.deepEqual(phases, [[[{ id: 'old' }], true], [[{ id: 'new' }], false]]);
});

test('without a cached callback only the answer that counts is asked for', async () => {
  const { client, sockets } = await connected(new FakeLog(0));
  const fetching = client.getParticipants('c1', { limit: 2, order: 'asc' });
  const request = sockets.at(-1).take('fetchParticipants');
  assert.deepEqual(request.params, { conversation: 'c1', limit: 2, order: 'asc', cached: false });
  const response = { participants: [{ id: 'alice' }], total: 10, limit: 2, offset: 0 };
  sockets.at(-1).reply(request, response);
  assert.deepEqual(await fetching, response);
});

test('pages lie before a message, after one, and where else is said', async () => {
  const { client } = await connected(new FakeLog(20));
  assert.deepEqual(seqs(await client.fetchMessages('c1', null, 3)), [20, 19, 18]);
  assert.deepEqual(seqs(await client.fetchMessages({ id: 'c1' }, { id: 'm10' }, 3)), [9, 8, 7]);
  const next = await client.fetchMessages('c1', { after: 'm10' }, 3, 'asc');
  assert.deepEqual(seqs(next), [11, 12, 13]);
  assert.deepEqual(seqs(await client.fetchMessages('c1', { around: 5 }, 1)), [6, 5, 4]);
});

test('the boundaries of what the gateway has, or of what is named', async () => {
  const { client, sockets } = await connected(new FakeLog(0));
  const answer = { boundaries: [], gaps: [], head: { epoch: 'e1', seq: 0 } };
  const have = { head: answer.head, asOf: 0, runs: [] };
  for (const [of, params] of [
    [client.findBoundaries({ id: 'c1' }), { conversation: 'c1' }],
    [client.findBoundaries('c1', have), { conversation: 'c1', have }],
  ]) {
    const request = sockets.at(-1).take('findBoundaries');
    assert.deepEqual(request.params, params);
    sockets.at(-1).reply(request, answer);
    assert.deepEqual(await of, answer);
  }
});

test('as a sequence each answer comes, and a failure is thrown', async () => {
  const { client, sockets } = await connected(new FakeLog(0));
  const socket = sockets.at(-1);
  const sequence = client.participants('c1');
  const first = sequence.next();
  await settled();
  const request = socket.take('fetchParticipants');
  socket.frame({ id: request.id, cached: true, result: { total: 1 } });
  assert.deepEqual((await first).value, { value: { total: 1 }, isCached: true });
  const second = sequence.next();
  socket.reply(request, { total: 2 });
  assert.deepEqual((await second).value, { value: { total: 2 }, isCached: false });
  assert.equal((await sequence.next()).done, true);
  const failing = assert.rejects(client.participants('c1').next(), { code: 'disconnected' });
  await settled();
  socket.end(1006);
  await failing;
});

test('deltas of a subscription make up the list, over an outage too', async () => {
  const log = new FakeLog(5);
  const played = await connected(log);
  let messages = [];
  const stop = played.client.subscribeMessages('c1', (deltas) => {
    messages = applyDelta(deltas, messages);
  });
  await settled();
  assert.deepEqual(seqs(messages), [1, 2, 3, 4, 5]);
  played.sockets.at(-1).frame(log.say());
  played.sockets.at(-1).frame(log.edit(2, 'changed'));
  assert.deepEqual(seqs(messages), [1, 2, 3, 4, 5, 6]);
  assert.equal(messages[1].body, 'changed');
  await outage(played, () => {
    log.say();
    log.delete(3);
  });
  assert.deepEqual(seqs(messages), [1, 2, 3, 4, 5, 6, 7]);
  assert.equal(messages[2].deleted, true);
  stop();
  await settled();
  assert.ok(log.asked.includes('unsubscribeMessages'));
});

test('another log begins a new list', async () => {
  const log = new FakeLog(3);
  const played = await connected(log);
  const resets = [];
  let messages = [];
  played.client.subscribeMessages('c1', (deltas, { reset }) => {
    resets.push(reset);
    messages = applyDelta(deltas, reset ? [] : messages);
  });
  await settled();
  log.epoch = 'e2';
  await outage(played, () => log.edit(1, 'of the other log'));
  assert.ok(resets.includes(true));
  assert.deepEqual(messages.map(({ body }) => body), [
    'of the other log', 'message 2', 'message 3',
  ]);
});

test('handlers are called when a session begins and ends, each time once', async () => {
  const played = await connected(new FakeLog(0));
  const { pubsub } = played.client;
  const calls = [];
  pubsub.onConnect(() => calls.push('connected'));
  const stop = pubsub.onDisconnect(() => calls.push('disconnected'));
  assert.equal(pubsub.isConnected, true);
  await outage(played);
  assert.deepEqual(calls, ['disconnected', 'connected']);
  stop();
  await outage(played);
  assert.deepEqual(calls, ['disconnected', 'connected', 'connected']);
});
