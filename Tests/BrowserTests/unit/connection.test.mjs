import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onError } from '../../../Sources/Browser/report.js';
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

test('the client no longer listens to a socket that it gave up', async () => {
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

test('a frame that the gateway closes a connection for is not sent, and fails as too large', async () => {
  const { connection, sockets } = playedConnection();
  connection.open();
  await settled();
  await sockets[0].welcome({ limits: { inbound_frame: 200 } });
  const asked = (body) => connection.request('sendMessage', { conversation: 'c1', body });
  for (const body of ['x'.repeat(200), 'ü'.repeat(90)]) {
    await assert.rejects(asked(body), { code: 'too_large', retry: 'never' });
  }
  assert.deepEqual(sockets[0].requests, []);
  asked('ü'.repeat(60)).catch(() => {});
  assert.equal(sockets[0].take('sendMessage').params.body.length, 60);
});

test('what no UTF-8 can carry is refused before it is sent', async () => {
  const { connection, begin } = playedConnection();
  const socket = await begin();
  const half = 'well done 👍'.slice(0, 11);
  const circle = {};
  circle.of = circle;
  for (const params of [{ body: half }, { [half]: 1 }, { body: '\\\\' + half }, circle]) {
    await assert.rejects(connection.request('sendMessage', params), { code: 'bad_request' });
  }
  assert.deepEqual(socket.requests, []);
  connection.request('sendMessage', { body: 'a text of \\ud83d, and 👍' }).catch(() => {});
  socket.take('sendMessage');
});

test('an answer without an id fails the oldest request that it can belong to', async () => {
  const { connection, begin } = playedConnection();
  const socket = await begin();
  const [first, second, third] = ['a', 'b', 'c'].map((method) => connection.request(method, {}));
  // The gateway has read it: it is not what had no id.
  socket.reply(socket.take('a'), {}, { cached: true });
  socket.fail({ id: 0 }, { code: 'bad_request' });
  await assert.rejects(second, { code: 'bad_request' });
  socket.reply(socket.take('c'), { n: 3 });
  assert.deepEqual(await third, { n: 3 });
  socket.end(1006);
  await assert.rejects(first, { code: 'disconnected' });
});

test('a clock that is set back does not hide a dead connection', async () => {
  const { clock, connection, begin } = playedConnection();
  await begin();
  clock.skew = -3_600_000;
  await clock.advance(30_000);
  assert.equal(connection.state.phase, 'waiting');
  assert.equal(connection.state.retryAt, clock.now + clock.skew + 375);
});

test('a clock that is set ahead ends no connection', async () => {
  const { clock, connection, begin } = playedConnection();
  const socket = await begin();
  await clock.advance(10_000);
  clock.skew = 3_600_000;
  socket.frame({ event: 'ping' });
  await clock.advance(29_999);
  assert.equal(connection.isLive, true);
});

test('the connection itself follows what the device says of its network', async () => {
  const device = Object.assign(new EventTarget(), { document: new EventTarget() });
  const { connection: followed } = playedConnection({ environment: { device } });
  followed.open();
  await settled();
  device.dispatchEvent(new Event('offline'));
  assert.equal(followed.state.reason, 'this device is offline');
  for (const [target, name] of [[device, 'online'], [device.document, 'visibilitychange']]) {
    followed.cut();
    target.dispatchEvent(new Event(name));
    assert.equal(followed.state.phase, 'connecting', name);
    await settled();
  }
  followed.close();
  device.dispatchEvent(new Event('online'));
  assert.equal(followed.state.phase, 'closed');
});

test('what a listener throws is reported, and the others are told', async () => {
  const { connection, begin } = playedConnection();
  const [told, reported] = [[], []];
  const stop = onError((error) => reported.push(error.message));
  connection.live.listen(() => { throw new Error('of a listener'); });
  connection.live.listen(() => told.push('live'));
  connection.events.listen(() => { throw new Error('of another'); });
  connection.events.listen(({ event }) => told.push(event));
  const socket = await begin();
  socket.frame({ event: 'read' });
  const reply = connection.request('markRead', {}, {
    final: () => { throw new Error('of what takes an answer'); },
  });
  socket.reply(socket.take('markRead'), { n: 1 });
  assert.deepEqual(await reply, { n: 1 });
  assert.equal(connection.isLive, true);
  assert.deepEqual(told, ['live', 'read']);
  assert.deepEqual(reported, ['of a listener', 'of another', 'of what takes an answer']);
  stop();
});

test('a constructor that throws ends it with what it said', async () => {
  const reported = [];
  const stop = onError((error) => reported.push(error.message));
  const { connection } = playedConnection({
    environment: { WebSocket: function WebSocket() { throw new SyntaxError('no such address'); } },
  });
  connection.open();
  await settled();
  const { phase, reason } = connection.state;
  assert.deepEqual([phase, reason, reported], ['closed', 'no such address', ['no such address']]);
  stop();
});

test('what credentials throw is reported, and it tries again', async () => {
  const reported = [];
  const stop = onError((error) => reported.push(error.message));
  const { connection, clock } = playedConnection({
    credentials: () => { throw new Error('no token server'); },
  });
  connection.open();
  await settled();
  assert.equal(connection.state.phase, 'waiting');
  await clock.advance(400);
  assert.deepEqual(reported, ['no token server', 'no token server']);
  connection.close();
  stop();
});

test('fetches that are refused for now are asked again when the gateway says, few at a time', async () => {
  const { connection, clock, begin } = playedConnection();
  const socket = await begin();
  const replies = Array.from({ length: 20 }, (_, n) => connection.request('fetchConversation', { n }));
  const refused = socket.requests.splice(0);
  assert.equal(refused.length, 20);
  for (const request of refused) {
    socket.fail(request, { code: 'rate_limited', retry: 'later', after: 700 });
  }
  await settled();
  await clock.advance(699);
  assert.equal(socket.requests.length, 0);
  await clock.advance(1);
  const rounds = [];
  while (socket.requests.length > 0) {
    const asked = socket.requests.splice(0);
    rounds.push(asked.length);
    for (const request of asked) socket.reply(request, request.params);
    await settled();
  }
  assert.deepEqual((await Promise.all(replies)).map(({ n }) => n), Array.from({ length: 20 }, (_, n) => n));
  assert.deepEqual(rounds, [1, 2, 4, 8, 5]);
});

test('fetches that wait fail when the connection ends', async () => {
  const { connection, begin } = playedConnection();
  const socket = await begin();
  const reply = connection.request('fetchMessages', {});
  socket.fail(socket.take('fetchMessages'), { code: 'rate_limited', retry: 'later', after: 700 });
  await settled();
  socket.end(1006);
  await assert.rejects(reply, { code: 'disconnected' });
});

/** A head as a gateway writes it. */
const head = (rev, mark, epoch = 'e1') => ({ epoch, seq: rev, rev, mark, floor: 1 });

test('what was acknowledged is named by every question, over connections too', async () => {
  const { clock, connection, sockets, begin } = playedConnection();
  let socket = await begin();
  const asks = (method, params) => {
    connection.request(method, params).catch(() => {});
    return socket.take(method).params;
  };
  assert.equal(asks('fetchMessages', { conversation: 'c' }).atLeast, undefined);
  connection.request('sendMessage', { conversation: 'c', body: 'x' });
  socket.reply(socket.take('sendMessage'), { message: {}, head: head(7, 'm7') });
  const atLeast = { epoch: 'e1', rev: 7, mark: 'm7' };
  for (const method of ['subscribeMessages', 'fetchMessages', 'fetchConversation',
    'fetchParticipants']) {
    assert.deepEqual(asks(method, { conversation: 'c' }).atLeast, atLeast);
  }
  // Of another conversation nothing was written, and an older answer says less.
  assert.equal(asks('fetchMessages', { conversation: 'd' }).atLeast, undefined);
  connection.request('editMessage', { conversation: 'c', id: 'a', body: 'y' });
  socket.reply(socket.take('editMessage'), { message: {}, head: head(6, 'm6') });
  assert.deepEqual(asks('fetchMessages', { conversation: 'c' }).atLeast, atLeast);
  socket.onclose({ code: 1006 });
  await clock.advance(2_000);
  socket = await begin(sockets.at(-1));
  assert.deepEqual(asks('subscribeMessages', { conversation: 'c' }).atLeast, atLeast);
});

test('what the log has lost is not named again', async () => {
  const { connection, begin } = playedConnection();
  const socket = await begin();
  connection.request('updateConversation', { conversation: 'c', title: 'x' });
  const conversation = { id: 'c', head: head(7, 'm7') };
  socket.reply(socket.take('updateConversation'), { conversation });
  connection.request('fetchMessages', { conversation: 'c' });
  const asked = socket.take('fetchMessages');
  assert.equal(asked.params.atLeast.rev, 7);
  socket.reply(asked, { reset: true, messages: [], head: head(6, 'm6') });
  connection.request('fetchMessages', { conversation: 'c' });
  assert.equal(socket.take('fetchMessages').params.atLeast, undefined);
});
