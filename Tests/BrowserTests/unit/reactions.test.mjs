import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChatClient } from '../../../Sources/Browser/chat-client.js';
import { ChatDataSource } from '../../../Sources/Browser/chat-data-source.js';
import { Conversation } from '../../../Sources/Browser/conversation.js';
import { History } from '../../../Sources/Browser/history.js';
import { ManagedMessageList } from '../../../Sources/Browser/managed-message-list.js';
import { applyDelta } from '../../../Sources/Browser/merge.js';
import { playedConnection, settled } from './fake-gateway.mjs';
import { connected, FakeLog, outage } from './fake-log.mjs';
import { Timers } from './played-timers.mjs';
import { randomSource } from './random.mjs';

const people = (count, from = 1) => Array.from({ length: count }, (_, at) => `user${at + from}`);

/** A log whose messages alice can react to; `calls` are those that came. */
function reactive(length) {
  const log = new FakeLog(length);
  const answer = log.answer.bind(log);
  log.calls = [];
  log.answer = ({ method, params }) => {
    const { id = 'm0', key, on, user = 'alice', after, before } = params;
    const seq = Number(id.slice(1));
    if (method === 'react') {
      log.calls.push(`${on ? '+' : '-'}${key} ${id}${user === 'alice' ? '' : ` of ${user}`}`);
      // A call that changes nothing is no change.
      if (log.keysOf(seq, user).includes(key) !== on) log.react(seq, key, [user], on);
      return { message: log.at(seq), own: log.keysOf(seq, 'alice') };
    }
    if (method === 'fetchOwnReactions') {
      log.calls.push(`own ${after} ${before}`);
      const own = [];
      for (let at = after + 1; at < before; at += 1) {
        const keys = log.keysOf(at, 'alice');
        if (keys.length > 0) own.push({ seq: at, keys });
      }
      return { own };
    }
    return answer({ method, params });
  };
  return log;
}

/** A conversation that is followed, and what it shows of reactions. */
async function followed(log, options = {}) {
  const played = await connected(log);
  const conversation = new Conversation(played.client.connection, 'c1', options);
  conversation.open();
  await settled();
  const socket = () => played.sockets.at(-1);
  const chips = (seq) => (conversation.at(seq).reactions ?? []).map(
    ({ key, count, users, own }) => [key, count, users.join(), own]);
  return { ...played, conversation, socket, chips };
}

/** Has requests of a method wait for the test to answer them. */
function held(log, method) {
  const { answer } = log;
  log.answer = (request) => (request.method === method ? undefined : answer(request));
  return () => { log.answer = answer; };
}

test('a reaction is shown at once, and is what the gateway says from its answer on', async () => {
  const log = reactive(3);
  log.react(2, 'ok', people(2));
  const { conversation, chips, socket } = await followed(log);
  const release = held(log, 'react');
  assert.deepEqual(chips(2), [['ok', 2, 'user1,user2', false]]);
  const done = conversation.react('m2', 'ok');
  conversation.react('m2', 'new');
  assert.deepEqual(chips(2), [
    ['ok', 3, 'user1,user2,alice', true], ['new', 1, 'alice', true],
  ]);
  assert.equal(conversation.message('m2').rev, log.at(2).rev, 'nothing else is other');
  assert.deepEqual(conversation.edits, []);
  await settled();
  release();
  // Somebody was faster.
  log.react(2, 'ok', ['eve']);
  socket().reply(socket().take('react'), log.answer({
    method: 'react', params: { id: 'm2', key: 'ok', on: true },
  }));
  await done;
  await settled();
  assert.deepEqual(chips(2)[0], ['ok', 4, 'user1,user2,eve,alice', true]);
  for (let n = 0; n < 3; n += 1) await settled();
  assert.deepEqual(chips(2)[1], ['new', 1, 'alice', true]);
  assert.deepEqual(log.calls, ['+ok m2', '+new m2']);
});

test('what is taken back goes at once, and its key with the last who had it', async () => {
  const log = reactive(3);
  log.react(2, 'ok', ['alice', 'bob']);
  log.react(2, 'no', ['alice']);
  const { conversation, chips } = await followed(log);
  held(log, 'react');
  conversation.react('m2', 'ok', false);
  conversation.react('m2', 'no', false);
  assert.deepEqual(chips(2), [['ok', 1, 'bob', false]]);
  conversation.react('m3', 'never there', false);
  assert.deepEqual(conversation.at(3), log.at(3));
});

test('what is refused is as it was before, and is no draft', async () => {
  const log = reactive(3);
  log.react(2, 'ok', ['bob']);
  const { conversation, chips, client } = await followed(log);
  const told = [];
  for (const code of ['forbidden', 'too_large', 'conflict', 'not_found']) {
    log.refuses = ({ method }) => method === 'react' && code;
    const stop = conversation.changed.listen(() => told.push(chips(2).length));
    await assert.rejects(conversation.react('m2', 'new'), { code });
    stop();
    assert.deepEqual(chips(2), [['ok', 1, 'bob', false]]);
    assert.deepEqual([client.outbox.all, conversation.edits], [[], []]);
  }
  assert.ok(told.includes(2) && told.at(-1) === 1, 'it was shown, and taken back');
  await assert.rejects(conversation.react('m2', '\ud800'), { code: 'bad_request' });
  assert.deepEqual(client.outbox.all, []);
});

test('a message keeps its object until something of it changes', async () => {
  const log = reactive(3);
  log.react(2, 'ok', people(12));
  const { conversation, socket } = await followed(log);
  const [items, shown] = [conversation.items, conversation.at(2)];
  socket().frame(log.react(3, 'ok', ['bob']));
  assert.notEqual(conversation.items, items);
  assert.equal(conversation.at(2), shown);
  const { drafts, edits } = conversation;
  held(log, 'react');
  conversation.react('m3', 'ok');
  assert.equal(conversation.at(2), shown);
  assert.equal(conversation.drafts, drafts);
  assert.equal(conversation.edits, edits);
});

test('what is wanted offline is shown, and only what is wanted at last is sent', async () => {
  const log = reactive(3);
  const { conversation, chips, ...played } = await followed(log);
  const answers = [];
  await outage(played, () => {
    for (const on of [true, false, true]) {
      conversation.react('m2', 'ok', on).then(() => answers.push(on));
    }
    conversation.react('m2', 'no').then(() => answers.push('no'));
    conversation.react('m2', 'no', false).then(() => answers.push('not'));
    assert.deepEqual(chips(2), [['ok', 1, 'alice', true]]);
  });
  for (let n = 0; n < 6; n += 1) await settled();
  assert.deepEqual(log.calls, ['+ok m2', '-no m2']);
  assert.deepEqual(answers, [true, false, true, 'no', 'not']);
  assert.deepEqual(chips(2), [['ok', 1, 'alice', true]]);
});

test('of a reaction under way the contrary waits, and goes if nobody wants it', async () => {
  const log = reactive(3);
  const { conversation, chips, socket } = await followed(log);
  const release = held(log, 'react');
  const answers = [];
  conversation.react('m2', 'ok').then(() => answers.push(1));
  conversation.react('m2', 'ok', false).then(() => answers.push(2));
  assert.deepEqual(chips(2), []);
  conversation.react('m2', 'ok').then(() => answers.push(3));
  assert.deepEqual(chips(2), [['ok', 1, 'alice', true]]);
  release();
  const request = socket().take('react');
  socket().reply(request, log.answer(request));
  for (let n = 0; n < 4; n += 1) await settled();
  assert.deepEqual([log.calls, answers], [['+ok m2'], [1, 2, 3]]);
  held(log, 'react');
  conversation.react('m2', 'no').then(() => answers.push('on'));
  conversation.react('m2', 'no', false).then(() => answers.push('off'));
  const first = socket().take('react');
  socket().reply(first, { message: log.react(2, 'no', ['alice']).deltas[0].message, own: ['no'] });
  for (let n = 0; n < 4; n += 1) await settled();
  assert.deepEqual(answers.slice(3), ['on'], 'what was carried out is answered');
  assert.equal(socket().take('react').params.on, false);
  assert.deepEqual(chips(2), [['ok', 1, 'alice', true]]);
});

test('a reaction whose answer is lost is sent again, and counts once', async () => {
  const log = reactive(3);
  const { conversation, chips, ...played } = await followed(log);
  const release = held(log, 'react');
  const done = conversation.react('m2', 'ok');
  await outage(played, () => {
    release();
    log.react(2, 'ok', ['alice']);
  });
  await done;
  assert.deepEqual(log.calls, ['+ok m2']);
  assert.deepEqual(chips(2), [['ok', 1, 'alice', true]]);
});

test('a reaction is kept in the store, and sent by the next program', async () => {
  const drafts = new Map();
  const store = {
    load: async () => null, save() {}, remove() {},
    loadDrafts: async () => structuredClone([...drafts.values()]),
    saveDraft: async (key, draft) => { drafts.set(key, structuredClone(draft)); },
    removeDraft: async (key) => { drafts.delete(key); },
  };
  const client = () => {
    let made;
    const played = playedConnection({ store }, (options) => {
      made = new ChatClient(options);
      return made.connection;
    });
    return { ...played, client: made };
  };
  const first = client();
  new Conversation(first.connection, 'c1', { store }).react('m1', 'ok');
  await settled();
  assert.equal(drafts.size, 1);
  const next = client();
  const socket = await next.begin();
  await settled();
  const request = socket.take('react');
  assert.deepEqual(request.params, { conversation: 'c1', id: 'm1', key: 'ok', on: true });
  socket.fail(request, { code: 'not_found' });
  await settled();
  assert.deepEqual([drafts.size, next.client.outbox.all], [0, []]);
});

test('an edit that began before a reaction is of the value that its author saw', async () => {
  const log = reactive(3);
  const { conversation, socket } = await followed(log);
  const seen = conversation.see('m2');
  socket().frame(log.react(2, 'ok', ['bob']));
  const reacted = conversation.react('m2', 'ok');
  for (let n = 0; n < 3; n += 1) await settled();
  await reacted;
  held(log, 'editMessage');
  conversation.edit(seen, 'other');
  await settled();
  assert.equal(socket().take('editMessage').params.ifRev, 3);
  conversation.react('m2', 'no');
  conversation.discard('m2');
  assert.deepEqual(conversation.edits, []);
  assert.deepEqual(conversation.at(2).reactions.map(({ key }) => key), ['ok', 'no']);
});

test('a reaction queued beside edits takes nothing of their conditions', async () => {
  const log = reactive(3);
  const { conversation, socket, ...played } = await followed(log);
  const asked = [];
  await outage(played, () => {
    conversation.react('m2', 'ok');
    conversation.edit('m2', 'one');
    held(log, 'editMessage');
  });
  for (let n = 0; n < 4; n += 1) await settled();
  asked.push(socket().take('editMessage').params.ifRev);
  assert.deepEqual(asked, [3]);
});

test('an edit of a message that is not here stays without a condition', async () => {
  const log = reactive(3);
  const { conversation, socket, ...played } = await followed(log, { limit: 1 });
  await outage(played, () => {
    conversation.react('m1', 'ok');
    conversation.edit('m1', 'one');
    held(log, 'editMessage');
  });
  for (let n = 0; n < 4; n += 1) await settled();
  assert.deepEqual(log.calls, ['+ok m1']);
  assert.equal(socket().take('editMessage').params.ifRev, undefined);
});

test('across a reset a reaction goes into the new log', async () => {
  const log = reactive(5);
  const { conversation, ...played } = await followed(log);
  await outage(played, () => {
    conversation.react('m2', 'ok');
    log.rewind(3);
    log.say();
  });
  for (let n = 0; n < 4; n += 1) await settled();
  assert.deepEqual(log.calls, ['+ok m2']);
  assert.deepEqual(conversation.at(2).reactions.map(({ users }) => users), [['alice']]);
});

test('an admin takes back what somebody else reacted', async () => {
  const log = reactive(3);
  log.react(2, 'ok', ['alice', 'bob']);
  const { conversation, chips } = await followed(log);
  const done = conversation.react('m2', 'ok', false, { user: 'bob' });
  assert.deepEqual(chips(2), [['ok', 1, 'alice', true]]);
  await done;
  assert.deepEqual(log.calls, ['-ok m2 of bob']);
  assert.deepEqual(chips(2), [['ok', 1, 'alice', true]]);
});

test('where users are not named, the gateway is asked once for all that is here', async (t) => {
  const timers = new Timers();
  t.after(timers.install());
  const log = reactive(2_500);
  log.react(10, 'ok', people(30));
  for (const seq of [2_400, 2_405, 2_500]) log.react(seq, 'ok', people(30));
  log.react(2_405, 'ok', ['alice']);
  log.react(2_450, 'ok', ['alice', ...people(20)]);
  log.react(2_460, 'ok', people(10));
  const { conversation, chips, socket } = await followed(log, { limit: 200 });
  assert.equal(chips(2_405)[0][3], undefined, 'not known yet');
  assert.equal(chips(2_450)[0][3], true, 'named');
  assert.equal(chips(2_460)[0][3], false, 'all are named');
  timers.fire();
  await settled();
  assert.deepEqual(log.calls, ['own 2399 2501']);
  assert.deepEqual([2_400, 2_405, 2_500].map((seq) => chips(seq)[0][3]), [false, true, false]);
  timers.fire();
  await settled();
  assert.equal(log.calls.length, 1);
  // What comes by a page later is asked for with the next question.
  await conversation.loadAround(10);
  timers.fire();
  await settled();
  assert.deepEqual(log.calls.slice(1), ['own 9 11']);
  assert.equal(chips(10)[0][3], false);
  // Another device of alice's.
  socket().frame(log.react(2_400, 'ok', ['alice']));
  assert.equal(chips(2_400)[0][3], false, 'as far as is known');
  timers.fire();
  await settled();
  assert.deepEqual(log.calls.slice(2), ['own 2399 2401']);
  assert.equal(chips(2_400)[0][3], true);
  socket().frame(log.react(2_400, 'ok', ['somebody else']));
  const shown = conversation.at(2_400);
  timers.fire();
  await settled();
  assert.equal(log.calls.length, 4);
  assert.equal(conversation.at(2_400), shown, 'an answer that says the same changes nothing');
});

test('one question is about a thousand places at most', async (t) => {
  const timers = new Timers();
  t.after(timers.install());
  const log = reactive(1_500);
  for (const seq of [450, 501, 1_400, 1_449, 1_450, 1_500]) log.react(seq, 'ok', people(11));
  const { conversation } = await followed(log, { limit: 1_000 });
  await conversation.loadOlder(400);
  timers.fire();
  await settled();
  assert.deepEqual(log.calls, ['own 449 1450', 'own 1449 1501']);
});

test('the answer to a reaction says which are the user\'s own', async (t) => {
  const timers = new Timers();
  t.after(timers.install());
  const log = reactive(3);
  log.react(2, 'ok', people(30));
  log.react(3, 'ok', people(30));
  const { conversation, chips } = await followed(log);
  conversation.react('m3', 'ok');
  const counted = ['ok', 30, people(10).join(), true];
  assert.deepEqual(chips(3), [counted], 'it may be among those that are counted');
  for (let n = 0; n < 3; n += 1) await settled();
  timers.fire();
  await settled();
  const done = conversation.react('m2', 'ok');
  assert.deepEqual(chips(2), [['ok', 31, people(10).join(), true]]);
  await done;
  assert.deepEqual(chips(2), [['ok', 31, people(10).join(), true]]);
  timers.fire();
  await settled();
  assert.deepEqual(log.calls, ['+ok m3', 'own 1 3', '+ok m2']);
});

test('a gateway that knows no reactions is asked once', async (t) => {
  const timers = new Timers();
  t.after(timers.install());
  const log = reactive(3);
  log.react(2, 'ok', people(30));
  const { chips, socket } = await followed(log);
  log.refuses = ({ method }) => method === 'fetchOwnReactions' && 'unknown_method';
  for (let n = 0; n < 3; n += 1) {
    timers.fire();
    await settled();
    socket().frame(log.react(2, 'ok', [`more${n}`]));
  }
  assert.equal(log.asked.filter((method) => method === 'fetchOwnReactions').length, 1);
  assert.equal(chips(2)[0][3], undefined);
});

test('every face reacts, and tells of it, refused or not', async () => {
  const log = reactive(3);
  const { client } = await connected(log);
  /** What an app makes of the deltas. */
  let shown = [];
  let kept = [];
  const list = new ManagedMessageList(client, 'c1', {
    managedMessageListDidChange: (deltas) => { shown = applyDelta(deltas, shown); },
  });
  list.online();
  client.subscribeMessages('c1', (deltas) => { kept = applyDelta(deltas, kept); });
  const history = new History(client, log.record);
  history.open();
  const source = new ChatDataSource(client, 'c1');
  const updates = [];
  source.delegate = { chatDataSourceDidUpdate: (of, type) => updates.push(type) };
  await settled();
  const keys = () => [
    shown[1], kept[1], list.messageAt(1), history.messages[1], source.chatItems[1].message,
  ].map(({ reactions = [] }) => reactions.map(({ key, own }) => `${key} ${own}`).join());
  const count = updates.length;
  const all = [list.react('m2', 'a'), history.react('m2', 'b'), source.react('m2', 'c')];
  assert.deepEqual(new Set(keys()), new Set(['a true,b true,c true']));
  assert.equal(updates.length, count + 3);
  await Promise.all(all);
  for (let n = 0; n < 3; n += 1) await settled();
  assert.deepEqual(new Set(keys()), new Set(['a true,b true,c true']));
  log.refuses = ({ method }) => method === 'react' && 'forbidden';
  const refused = list.react('m2', 'd');
  assert.deepEqual(new Set(keys()), new Set(['a true,b true,c true,d true']));
  await assert.rejects(refused, { code: 'forbidden' });
  assert.deepEqual(new Set(keys()), new Set(['a true,b true,c true']));
});

test('who reacted is asked for in pages', async () => {
  const log = reactive(3);
  const { conversation, client, socket } = await followed(log);
  const page = { reactions: [{ user: 'bob', key: 'ok', at: '' }], total: 2, next: 'n' };
  const asked = [
    () => conversation.fetchReactions('m2', { key: 'ok', limit: 1 }),
    () => client.fetchReactions({ id: 'c1' }, 'm2', { key: 'ok', limit: 1, cursor: 'n' }),
  ];
  const params = [];
  for (const ask of asked) {
    const answer = ask();
    const request = socket().take('fetchReactions');
    params.push(request.params);
    socket().reply(request, page);
    assert.deepEqual(await answer, page);
  }
  assert.deepEqual(params, [
    { conversation: 'c1', id: 'm2', key: 'ok', limit: 1 },
    { conversation: 'c1', id: 'm2', key: 'ok', limit: 1, cursor: 'n' },
  ]);
});

test('a reaction to what somebody said does not end that they type', async () => {
  const log = reactive(3);
  const { conversation, socket } = await followed(log);
  socket().frame({ event: 'typing', conversation: 'c1', user: 'bob', state: 'begin' });
  socket().frame(log.react(2, 'ok', ['eve']));
  assert.deepEqual(conversation.typists, ['bob']);
  socket().frame(log.say());
  assert.deepEqual(conversation.typists, []);
});

test('at rest each message shows what the log has, whatever happened', async (t) => {
  const timers = new Timers();
  t.after(timers.install());
  for (let seed = 1; seed <= 150; seed += 1) {
    const random = randomSource(seed);
    const log = reactive(6);
    const { conversation, socket, chips, ...played } = await followed(log);
    const calls = [];
    const cut = async (meanwhile = () => {}) => {
      const { length } = played.sockets;
      socket().end(1006);
      await settled();
      meanwhile();
      while (played.sockets.length === length) await played.clock.advance(500);
      await socket().welcome();
      await settled();
    };
    const happen = [
      () => calls.push(conversation.react(
        `m${random.below(6) + 1}`, random.pick(['a', 'b']), random.below(2) === 0)),
      // Of others, of alice at another device, of more than are named: several changes at once.
      () => {
        const users = random.pick([['bob'], ['alice'], people(12), people(3, random.below(9))]);
        const event = log.react(
          random.below(6) + 1, random.pick(['a', 'b']), users, random.below(3) > 0);
        if (!played.connection.isLive) return;
        socket().frame(event);
      },
      () => { log.refuses = ({ method }) => (
        method === 'react' && random.below(2) === 0 ? 'forbidden' : null); },
      () => { log.refuses = null; },
      () => cut(() => random.pick(happen.slice(0, 2))()),
      () => timers.fire(),
      () => settled(),
    ];
    for (let step = 0; step < 40; step += 1) await random.pick(happen)();
    log.refuses = null;
    await cut();
    for (let n = 0; n < 60; n += 1) {
      timers.fire();
      await settled();
    }
    await Promise.allSettled(calls);
    for (let seq = 1; seq <= 6; seq += 1) {
      const own = new Set(log.keysOf(seq, 'alice'));
      const expected = (log.at(seq).reactions ?? []).map(
        ({ key, count, users }) => [key, count, users.join(), own.has(key)]);
      assert.deepEqual(chips(seq), expected, `seed ${seed}, message ${seq}`);
    }
    played.client.close();
  }
});
