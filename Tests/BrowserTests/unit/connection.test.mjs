import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playedConnection, settled } from './fake-gateway.mjs';

test('connect is the first request, with the credentials and the subprotocol', async () => {
  const { connection, sockets } = playedConnection({ client: 'test' });
  connection.open();
  await settled();
  assert.equal(sockets[0].protocol, 'gapless.v1');
  sockets[0].onopen();
  assert.deepEqual(sockets[0].requests, [
    { id: 1, method: 'connect', params: { user: 'alice', client: 'test' } },
  ]);
});

test('a two-phase reply is taken twice, in order with the events around it', async () => {
  const { connection, begin } = playedConnection();
  const socket = await begin();
  const taken = [];
  connection.events.listen(({ event }) => taken.push(event));
  const reply = connection.request('fetchMessages', {}, {
    cached: (result) => taken.push(`cached ${result.n}`),
    final: (result) => taken.push(`final ${result.n}`),
  });
  const request = socket.take('fetchMessages');
  socket.reply(request, { n: 1 }, { cached: true });
  socket.frame({ event: 'read' });
  socket.reply(request, { n: 2 }, { cached: false });
  socket.frame({ event: 'gap' });
  assert.deepEqual(await reply, { n: 2 });
  assert.deepEqual(taken, ['cached 1', 'read', 'final 2', 'gap']);
});

test('an error reply rejects with its code, its retry and its delay', async () => {
  const { connection, begin } = playedConnection();
  const socket = await begin();
  const reply = connection.request('markRead', {});
  socket.fail(socket.take('markRead'), { code: 'rate_limited', retry: 'later', after: 70 });
  await assert.rejects(reply, { code: 'rate_limited', retry: 'later', after: 70 });
});

test('nothing heard for one and a half ping intervals cuts the connection off', async () => {
  const { clock, connection, sockets, begin } = playedConnection();
  const socket = await begin();
  await clock.advance(29_000);
  socket.frame({ event: 'ping' });
  await clock.advance(29_999);
  assert.equal(connection.isLive, true);
  await clock.advance(1);
  assert.equal(connection.state.phase, 'waiting');
  assert.equal(socket.isClosed, true);
  await clock.advance(1000);
  assert.equal(sockets.length, 2);
});

test('waits double up to a limit, and begin again after a session that lasted', async () => {
  const { clock, connection, sockets, begin } = playedConnection();
  await begin();
  const waits = [];
  for (let tries = 0; tries < 9; tries += 1) {
    sockets.at(-1).end(1006);
    waits.push(connection.state.retryAt - clock.now);
    await clock.advance(waits.at(-1));
  }
  assert.deepEqual(waits, [375, 750, 1500, 3000, 6000, 12000, 22500, 22500, 22500]);
  await sockets.at(-1).welcome();
  await clock.advance(10_000);
  sockets.at(-1).end(1006);
  assert.equal(connection.state.retryAt - clock.now, 375);
});

test('codes from 3000 to 3499 come back, from 3500 to 3999 do not', async () => {
  for (const [code, phase] of [
    [1002, 'waiting'], [1006, 'waiting'], [1007, 'waiting'], [1009, 'waiting'], [3000, 'waiting'],
    [3001, 'waiting'], [3002, 'waiting'], [3003, 'waiting'], [3004, 'waiting'], [3499, 'waiting'],
    [3500, 'closed'], [3501, 'closed'], [3502, 'closed'], [3999, 'closed'],
  ]) {
    const { connection, begin } = playedConnection();
    const socket = await begin();
    socket.end(code);
    assert.equal(connection.state.phase, phase, `code ${code}`);
    assert.equal(connection.state.code, code);
    assert.ok(connection.state.reason);
  }
});

test('a draining gateway is left and met again in the slot that it gave', async () => {
  for (const closesFirst of [true, false]) {
    const { clock, connection, sockets, begin } = playedConnection();
    const socket = await begin();
    socket.frame({ event: 'goaway', reconnectIn: 4000, reason: 'draining' });
    await clock.advance(1000);
    assert.equal(connection.isLive, true);
    if (closesFirst) socket.end(3000);
    await clock.advance(2999);
    assert.equal(sockets.length, 1);
    await clock.advance(1);
    assert.equal(sockets.length, 2);
  }
});

test('an expired token is asked for anew, and without one it ends', async () => {
  const asked = [];
  const tokens = ['first', 'second', null];
  const credentials = (need) => {
    asked.push(need.expired);
    const token = tokens.shift();
    return token ? { token } : null;
  };
  const { clock, connection, sockets } = playedConnection({ credentials });
  connection.open();
  await settled();
  await sockets[0].welcome();
  sockets[0].end(3001);
  await clock.advance(1000);
  sockets[1].onopen();
  assert.equal(sockets[1].take('connect').params.token, 'second');
  sockets[1].end(3001);
  await clock.advance(2000);
  assert.deepEqual(asked, [false, true, true]);
  assert.deepEqual(connection.state.phase, 'closed');
});

test('a token is replaced before it runs out', async () => {
  const { clock, connection, sockets } = playedConnection({
    credentials: () => ({ token: 'secret', expiresAt: new Date(1_000_000 + 15_000).toISOString() }),
  });
  connection.open();
  await settled();
  await sockets[0].welcome();
  await clock.advance(13_500);
  const request = sockets[0].take('refresh');
  assert.deepEqual(request.params, { token: 'secret' });
  sockets[0].reply(request, { expiresAt: new Date(clock.now + 20_000).toISOString() });
  await settled();
  await clock.advance(18_000);
  sockets[0].take('refresh');
});

test('a refused connect ends for good, unless the gateway says later', async () => {
  for (const [retry, phase] of [['never', 'closed'], ['later', 'waiting']]) {
    const { clock, connection, sockets } = playedConnection();
    connection.open();
    await settled();
    sockets[0].onopen();
    sockets[0].fail(sockets[0].take('connect'), { code: 'unauthorized', message: 'no', retry });
    await settled();
    await clock.advance(1000);
    assert.equal(connection.state.phase, phase);
    assert.equal(connection.state.reason, 'no');
  }
});

test('what was asked fails when the connection ends, and what is asked then fails at once', async () => {
  const { connection, begin } = playedConnection();
  const socket = await begin();
  const asked = connection.request('markRead', {});
  socket.end(1006);
  await assert.rejects(asked, { code: 'disconnected', retry: 'later' });
  await assert.rejects(connection.request('markRead', {}), { code: 'disconnected' });
});

test('a socket that was given up is not listened to any more', async () => {
  const { clock, connection, sockets, begin } = playedConnection();
  const first = await begin();
  await clock.advance(30_000);
  await clock.advance(1000);
  await sockets[1].welcome({ user: 'alice' });
  let events = 0;
  connection.events.listen(() => { events += 1; });
  first.frame({ event: 'messages' });
  first.end(3502);
  assert.equal(events, 0);
  assert.equal(connection.isLive, true);
});
