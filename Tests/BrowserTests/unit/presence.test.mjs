import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { mergedWatch, Presence } from '../../../Sources/Browser/presence.js';
import { TabHub } from '../../../Sources/Browser/tab-hub.js';
import { playedConnection, settled } from './fake-gateway.mjs';

const SINCE = '2026-12-01T08:00:00.000Z';
const OPS = [{ conversation: 'ops' }];

/** Timers of the client's own, which a test lets run out. */
let due = [];
const { setTimeout, clearTimeout } = globalThis;

beforeEach(() => {
  due = [];
  globalThis.setTimeout = (action, delay) => {
    due.push({ action, delay });
    return due.at(-1);
  };
  globalThis.clearTimeout = (timer) => { due = due.filter((each) => each !== timer); };
});

afterEach(() => Object.assign(globalThis, { setTimeout, clearTimeout }));

async function pass() {
  for (const { action } of due.splice(0)) action();
  await settled();
}

/** A watch on a session that began. */
async function watching(watch = OPS) {
  const played = playedConnection();
  const presence = Presence.of(played.connection);
  const stop = presence.watch(watch);
  const socket = await played.begin();
  return { ...played, presence, socket, stop };
}

const answer = (socket, presence, more = {}) => {
  socket.reply(socket.take('watchPresence'), { presence, ...more });
  return settled();
};
const asked = (socket) => socket.requests.filter(({ method }) => method === 'watchPresence')
  .map(({ params }) => params.watch);
const bob = (state, since) => ({ user: 'bob', state, ...since && { since } });

test('how the user is there is said with connect, and when it changes', async () => {
  const { connection, sockets, clock } = playedConnection({ presence: 'hidden' });
  connection.open();
  await settled();
  sockets[0].onopen();
  const greeting = sockets[0].requests[0];
  assert.equal(greeting.params.presence, 'hidden');
  // It is known only when the session has begun.
  connection.setPresence('away');
  assert.equal(sockets[0].requests.length, 1);
  sockets[0].reply(sockets[0].take('connect'), { user: 'alice', pingInterval: 20 });
  await settled();
  const said = sockets[0].take('setPresence');
  assert.deepEqual(said.params, { state: 'away' });
  // While that is under way, only the latest waits.
  connection.setPresence('hidden');
  connection.setPresence('present');
  sockets[0].reply(said, {});
  await settled();
  const latest = sockets[0].take('setPresence');
  assert.deepEqual(latest.params, { state: 'present' });
  sockets[0].fail(latest, { code: 'rate_limited', retry: 'later', after: 300 });
  await settled();
  assert.equal(sockets[0].requests.length, 0);
  await clock.advance(300);
  const again = sockets[0].take('setPresence');
  assert.deepEqual(again.params, { state: 'present' });
  sockets[0].reply(again, {});
  await settled();
  connection.setPresence('present');
  assert.equal(sockets[0].requests.length, 0);
  sockets[0].end(1006);
  while (sockets.length < 2) await clock.advance(100);
  await sockets[1].welcome();
  assert.equal(sockets[1].requests.length, 0);
});

test('a gateway that keeps nobody hears it once in a session', async () => {
  const { connection, begin } = playedConnection();
  const socket = await begin();
  connection.setPresence('away');
  socket.fail(socket.take('setPresence'), {
    code: 'forbidden', reason: 'clients_presence_off', retry: 'never',
  });
  await settled();
  assert.equal(socket.requests.length, 0);
});

test('a gateway that refuses it with connect is connected to without it', async () => {
  const { connection, sockets, clock } = playedConnection({ presence: 'hidden' });
  const refusal = { code: 'forbidden', reason: 'clients_presence_off', retry: 'never' };
  connection.open();
  await settled();
  sockets[0].onopen();
  sockets[0].fail(sockets[0].take('connect'), refusal);
  await settled();
  while (sockets.length < 2) await clock.advance(100);
  sockets[1].onopen();
  assert.equal(sockets[1].requests[0].params.presence, undefined);
  sockets[1].reply(sockets[1].take('connect'), { user: 'alice', pingInterval: 20 });
  await settled();
  assert.equal(connection.state.phase, 'live');
  // It may be allowed by now: then nobody is shown who wants to be hidden.
  const said = sockets[1].take('setPresence');
  assert.deepEqual(said.params, { state: 'hidden' });
  sockets[1].reply(said, {});
  await settled();
  sockets[1].end(1006);
  while (sockets.length < 3) await clock.advance(100);
  sockets[2].onopen();
  assert.equal(sockets[2].requests[0].params.presence, 'hidden');
});

test('a state that is none is refused by name', () => {
  const { connection } = playedConnection();
  assert.throws(() => connection.setPresence('gone'), {
    name: 'TypeError', message: 'presence: "gone" is none of present, away, hidden',
  });
  assert.throws(() => playedConnection({ presence: 'busy' }), /"busy" is none of/u);
});

test('what several views watch is one question, and a view drawn anew asks nothing', async () => {
  const { presence, socket, stop } = await watching([
    { conversation: 'ops', users: ['carol', 'bob'] }]);
  assert.deepEqual(asked(socket), [[{ conversation: 'ops', users: ['bob', 'carol'] }]]);
  presence.watch([{ conversation: 'ops', users: ['dave', 'bob'] }, { conversation: 'dev' }]);
  await settled();
  // One at a time.
  assert.equal(asked(socket).length, 1);
  await answer(socket, [bob('present', SINCE), { user: 'carol', state: 'absent' }]);
  assert.deepEqual(presence.get('bob'), { state: 'present', since: SINCE, isOpen: false });
  assert.deepEqual(presence.get('dave'), { state: 'unknown', isOpen: true });
  assert.deepEqual(asked(socket), [[
    { conversation: 'ops', users: ['bob', 'carol', 'dave'] }, { conversation: 'dev' }]]);
  await answer(socket, [bob('present', SINCE)]);
  const before = presence.get('bob');
  stop();
  const again = presence.watch([{ conversation: 'ops', users: ['carol'] }]);
  stop();
  await settled();
  assert.deepEqual(asked(socket), []);
  again();
  await settled();
  assert.deepEqual(asked(socket), [[
    { conversation: 'ops', users: ['bob', 'dave'] }, { conversation: 'dev' }]]);
  await answer(socket, [bob('present', SINCE)]);
  assert.equal(presence.get('bob'), before, 'what does not change is the same object');
});

test('events change it, and nobody is shown when nobody watches', async () => {
  const { presence, socket, stop } = await watching();
  let count = 0;
  presence.changed.listen(() => { count += 1; });
  await answer(socket, [bob('absent')]);
  assert.deepEqual(presence.get('bob'), { state: 'absent', isOpen: false });
  const one = presence.states;
  socket.frame({
    event: 'presence', changes: [bob('away', SINCE), { user: 'carol', state: 'absent' }],
  });
  assert.deepEqual([...presence.states], [
    ['bob', { state: 'away', since: SINCE, isOpen: false }],
    ['carol', { state: 'absent', isOpen: false }],
  ]);
  assert.notEqual(presence.states, one);
  assert.equal(count, 2);
  stop();
  await settled();
  assert.equal(presence.states.size, 0);
  assert.deepEqual(asked(socket), [[]]);
  socket.frame({ event: 'presence', changes: [bob('present')] });
  await answer(socket, []);
  assert.equal(presence.states.size, 0);
});

test('without a session it is as of then, and each session is asked again', async () => {
  const { presence, socket, sockets, clock } = await watching();
  await answer(socket, [bob('present', SINCE)]);
  socket.end(1006);
  await settled();
  const then = { state: 'present', since: SINCE, isOpen: true };
  assert.deepEqual(presence.get('bob'), then);
  while (sockets.length < 2) await clock.advance(100);
  await sockets[1].welcome();
  assert.deepEqual(presence.get('bob'), then, 'until it is answered');
  assert.deepEqual(asked(sockets[1]), [OPS]);
  await answer(sockets[1], [bob('absent', SINCE)]);
  assert.deepEqual(presence.get('bob'), { state: 'absent', since: SINCE, isOpen: false });
});

test('a question that the end of a session cut off is asked in the next', async () => {
  const { presence, socket, sockets, clock } = await watching();
  assert.equal(asked(socket).length, 1);
  socket.end(1006);
  while (sockets.length < 2) await clock.advance(100);
  await sockets[1].welcome();
  await answer(sockets[1], [bob('present')]);
  assert.equal(presence.get('bob').state, 'present');
});

test('without the origin it is as of then, and asked for when that is back', async () => {
  const { presence, socket } = await watching();
  await answer(socket, [bob('present', SINCE)]);
  socket.frame({ event: 'upstream', state: 'offline', since: SINCE });
  assert.equal(presence.get('bob').isOpen, true);
  socket.frame({ event: 'presence', changes: [bob('away', SINCE)] });
  assert.deepEqual(presence.get('bob'), { state: 'away', since: SINCE, isOpen: true });
  socket.frame({ event: 'upstream', state: 'syncing', since: SINCE });
  assert.deepEqual(asked(socket), []);
  socket.frame({ event: 'upstream', state: 'online', since: SINCE });
  assert.equal(presence.get('bob').isOpen, true, 'until it is answered');
  await answer(socket, [bob('away', SINCE)]);
  assert.deepEqual(presence.get('bob'), { state: 'away', since: SINCE, isOpen: false });
});

test('an answer that is open says so, and is asked for again', async () => {
  const { presence, socket } = await watching();
  await answer(socket, [bob('unknown')], { open: true });
  assert.deepEqual(presence.get('bob'), { state: 'unknown', isOpen: true });
  await pass();
  await answer(socket, [bob('present')]);
  assert.deepEqual(presence.get('bob'), { state: 'present', isOpen: false });
  assert.deepEqual(due, []);
});

test('a question that is refused for now is asked when the gateway says', async () => {
  const { presence, socket } = await watching();
  socket.fail(socket.take('watchPresence'), { code: 'rate_limited', retry: 'later', after: 700 });
  await settled();
  assert.deepEqual(due.map(({ delay }) => delay), [700]);
  assert.equal(presence.error, null);
  await pass();
  assert.deepEqual(asked(socket), [OPS]);
});

test('above the limit what came last is left out, told, and tried again in a minute', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const { presence, socket } = await watching(names.map((conversation) => ({ conversation })));
  const refuse = async () => {
    socket.fail(socket.take('watchPresence'), {
      code: 'too_large', reason: 'limit_presence', message: 'at most 1000 users', retry: 'never',
    });
    await settled();
  };
  await refuse();
  assert.deepEqual(asked(socket), [[{ conversation: 'a' }, { conversation: 'b' }]]);
  await refuse();
  assert.deepEqual(asked(socket), [[{ conversation: 'a' }]]);
  await answer(socket, [bob('present')]);
  assert.equal(presence.get('bob').state, 'present');
  assert.equal(presence.error.reason, 'limit_presence');
  assert.deepEqual(due.map(({ delay }) => delay), [60_000]);
  await pass();
  assert.equal(asked(socket)[0].length, 5);
  // Another tab's answer is not the one to this question.
  socket.frame({ event: 'presence', presence: [bob('away')] });
  assert.equal(presence.error.reason, 'limit_presence');
  await answer(socket, [bob('present')]);
  assert.equal(presence.error, null);
  presence.watch([{ conversation: 'f' }]);
  await settled();
  for (const count of [6, 3, 1]) {
    assert.equal(asked(socket)[0].length, count);
    await refuse();
  }
  // Not even one: nothing is watched, and nothing of before is shown as if it were.
  assert.deepEqual(asked(socket), [[]]);
  await answer(socket, []);
  assert.equal(presence.get('bob').state, 'unknown');
});

test('a gateway that tells nobody is asked once in a session', async () => {
  const { presence, socket, sockets, clock } = await watching();
  const off = { code: 'forbidden', reason: 'clients_presence_off', retry: 'never' };
  socket.fail(socket.take('watchPresence'), off);
  await settled();
  assert.equal(presence.error.reason, 'clients_presence_off');
  presence.watch([{ conversation: 'dev' }]);
  await pass();
  assert.deepEqual(asked(socket), []);
  socket.end(1006);
  while (sockets.length < 2) await clock.advance(100);
  await sockets[1].welcome();
  await answer(sockets[1], [bob('present')]);
  assert.equal(presence.error, null);
});

test('of several watches what was asked for last stands last', () => {
  const [ops, dev, all] = [
    { conversation: 'ops', users: ['bob'] }, { conversation: 'dev', users: ['bob'] },
    { conversation: 'ops' },
  ];
  assert.deepEqual(mergedWatch([[ops], [dev], [ops]]), [ops, dev]);
  assert.deepEqual(mergedWatch([[ops], [dev], [all]]), [dev, all]);
  assert.deepEqual(mergedWatch([[all], [dev], [ops]]), [all, dev]);
  assert.deepEqual(mergedWatch([[{ conversation: 'ops', users: [] }]]), []);
});

/** A session that two tabs share, and what each of them was told. */
async function twoTabs() {
  const played = playedConnection();
  const told = { one: [], two: [] };
  const hub = new TabHub(played.connection, () => {});
  const ask = (tab, watch, id = 1) => {
    hub.ask(tab, { id, method: 'watchPresence', params: { watch } });
    return settled();
  };
  hub.attach('one', 'n1', (message) => told.one.push(message), 'away');
  hub.attach('two', 'n2', (message) => told.two.push(message), 'hidden');
  const socket = await played.begin();
  const heard = (tab) => told[tab].splice(0).map(({ kind, event, frame }) => (
    kind === 'event' ? { event } : { id: frame.id, ...frame.result ?? { code: frame.error.code } }
  ));
  return { ...played, hub, ask, socket, heard };
}

const watch = (...users) => [{ conversation: 'ops', users }];

test('the user is present if any tab is, else away if any is, else hidden', async () => {
  const { connection, sockets } = playedConnection();
  const hub = new TabHub(connection, () => {});
  hub.attach('one', 'n1', () => {}, 'hidden');
  connection.open();
  await settled();
  sockets[0].onopen();
  assert.equal(sockets[0].requests[0].params.presence, 'hidden');
  sockets[0].reply(sockets[0].take('connect'), { user: 'alice', pingInterval: 20 });
  await settled();
  const says = async (state) => {
    await settled();
    if (state === null) {
      assert.equal(sockets[0].requests.length, 0);
      return;
    }
    const said = sockets[0].take('setPresence');
    assert.equal(said.params.state, state);
    sockets[0].reply(said, {});
    await settled();
  };
  hub.attach('two', 'n2', () => {}, 'away');
  await says('away');
  hub.setPresence('one', 'present');
  await says('present');
  hub.setPresence('two', 'hidden');
  await says(null);
  // Loaded anew it is the same tab.
  hub.attach('one', 'n3', () => {}, 'present');
  await says(null);
  hub.detach('one');
  await says('hidden');
});

test('tabs are one watch, and each of them gets each answer', async () => {
  const { ask, socket, heard, hub } = await twoTabs();
  await ask('one', watch('bob'));
  await answer(socket, [bob('present')]);
  assert.deepEqual(heard('one'), [{ id: 1, presence: [bob('present')] }]);
  heard('two');
  await ask('two', watch('carol'), 5);
  assert.deepEqual(asked(socket), [watch('bob', 'carol')]);
  const both = [bob('away'), { user: 'carol', state: 'absent' }];
  await answer(socket, both);
  assert.deepEqual(heard('two'), [{ id: 5, presence: both }]);
  // That bob went away is in no event: the answer had it.
  assert.deepEqual(heard('one'), [{ event: { event: 'presence', presence: both } }]);
  hub.detach('two');
  assert.deepEqual(asked(socket), [watch('bob')]);
});

test('an answer to a tab that is gone leaves nothing watched', async () => {
  const { ask, socket, hub } = await twoTabs();
  await ask('two', watch('carol'));
  hub.attach('two', 'n3', () => {}, 'present');
  await answer(socket, []);
  assert.deepEqual(asked(socket), [[]]);
});

test('what one tab asks too much of does not end what the other watches', async () => {
  const { ask, socket, heard } = await twoTabs();
  await ask('one', watch('bob'));
  await answer(socket, [bob('present')]);
  await ask('two', watch('carol', 'dave'), 7);
  heard('one');
  heard('two');
  socket.fail(socket.take('watchPresence'), { code: 'too_large' });
  await settled();
  assert.deepEqual(heard('two'), [{ id: 7, code: 'too_large' }]);
  assert.deepEqual(asked(socket), [watch('bob')]);
  await answer(socket, [bob('away')]);
  assert.deepEqual(heard('one'), [{ event: { event: 'presence', presence: [bob('away')] } }]);
  // So many joined meanwhile that not even that is possible: each tab asks for what it can have.
  await ask('two', watch('carol', 'dave'), 8);
  for (let n = 0; n < 2; n += 1) {
    socket.fail(socket.take('watchPresence'), { code: 'too_large' });
    await settled();
  }
  assert.deepEqual(heard('one').at(-1), { event: { event: 'presence', isLost: true } });
  await ask('one', watch('bob'), 9);
  assert.deepEqual(asked(socket), [watch('bob')]);
});

test('a tab whose watch was lost asks again', async () => {
  const { presence, socket } = await watching();
  await answer(socket, [bob('present')]);
  socket.frame({ event: 'presence', isLost: true });
  assert.deepEqual(asked(socket), [OPS]);
  // The whole of it, said to another tab: who is not in it is not watched.
  socket.frame({ event: 'presence', presence: [{ user: 'carol', state: 'away' }] });
  assert.deepEqual([...presence.states.keys()], ['carol']);
});

test('questions of all tabs after an outage of the origin are one', async () => {
  const { ask, socket, heard } = await twoTabs();
  for (const [tab, user] of [['one', 'bob'], ['two', 'carol']]) {
    await ask(tab, watch(user));
    await answer(socket, []);
  }
  await ask('one', watch('bob'), 11);
  await ask('two', watch('carol'), 12);
  await ask('one', watch('bob'), 13);
  assert.equal(asked(socket).length, 1);
  await answer(socket, []);
  heard('one');
  heard('two');
  assert.equal(asked(socket).length, 1);
  await answer(socket, []);
  assert.deepEqual(heard('two').map(({ id }) => id).filter(Boolean), [12]);
  assert.deepEqual(heard('one').map(({ id }) => id).filter(Boolean), [13]);
  assert.deepEqual(asked(socket), []);
});
