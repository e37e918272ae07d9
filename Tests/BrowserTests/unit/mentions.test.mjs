import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChatClient } from '../../../Sources/Browser/chat-client.js';
import { ChatDataSource } from '../../../Sources/Browser/chat-data-source.js';
import { Conversation } from '../../../Sources/Browser/conversation.js';
import { ConversationList } from '../../../Sources/Browser/conversations.js';
import { History } from '../../../Sources/Browser/history.js';
import { ManagedMessageList } from '../../../Sources/Browser/managed-message-list.js';
import { mentionsUser } from '../../../Sources/Browser/mentions.js';
import { DraftStore } from './draft-store.mjs';
import { playedConnection, settled } from './fake-gateway.mjs';
import { connected, FakeLog } from './fake-log.mjs';
import { Timers } from './played-timers.mjs';
import { randomSource } from './random.mjs';

/** A client whose gateway answers from a log, not connected yet. */
function clientOf(log, store) {
  let client;
  const played = playedConnection({ store }, (options) => {
    client = new ChatClient(options);
    return client.connection;
  });
  client.connection.live.listen(() => log.serve(played.sockets.at(-1)));
  return { ...played, client };
}

/** A log that takes replies and mentions; `calls` are the params of sends and edits. */
function mentioning(length) {
  const log = new FakeLog(length);
  const answer = log.answer.bind(log);
  const saidOf = ({ mentions = [], mentionAll }) => ({
    ...(mentions.length > 0 && { mentions }), ...(mentionAll && { mentionAll }),
  });
  log.calls = [];
  log.answer = ({ method, params }) => {
    const { conversation, ...rest } = params;
    if (method === 'sendMessage') {
      const { id, body, metadata = {}, replyTo } = rest;
      log.calls.push(rest);
      const seq = log.head.seq + 1;
      const target = Number(replyTo?.slice(1));
      log.say({
        id, body, metadata, author: 'alice', ...saidOf(rest),
        ...(replyTo && { replyTo: { id: replyTo, ...(log.at(target) && { seq: target }) } }),
      });
      return { message: log.at(seq), head: log.head };
    }
    if (method === 'editMessage') {
      log.calls.push(rest);
      const seq = Array.from({ length: log.head.seq }, (_, at) => at + 1)
        .find((at) => log.at(at).id === rest.id);
      const { mentions, mentionAll } = saidOf({ ...log.at(seq), ...rest });
      log.edit(seq, rest.body, { mentions, mentionAll });
      return { message: log.at(seq), head: log.head };
    }
    if (method === 'fetchMentions') {
      log.calls.push(rest);
      const { after = 0, limit = 100 } = rest;
      const all = Array.from({ length: log.head.seq }, (_, at) => log.at(at + 1))
        .filter((message) => mentionsUser(message, 'alice'));
      const places = all.filter(({ seq }) => seq > after).map(({ id, seq }) => ({ id, seq }));
      return { places: places.slice(0, limit), total: all.length };
    }
    return answer({ method, params });
  };
  return log;
}

test('a message is about those whom it mentions, or about all, and never about its author', () => {
  const from = (more) => ({ author: 'bob', deleted: false, ...more });
  const about = [
    [{ mentions: ['alice'] }, true], [{ mentions: ['eve', 'alice'] }, true],
    [{ mentionAll: true }, true], [{ mentions: ['eve'], mentionAll: true }, true],
    [{}, false], [{ mentions: [] }, false], [{ mentions: ['Alice'] }, false],
    [{ mentions: ['alic', 'alicee'] }, false],
    [{ mentions: ['alice'], author: 'alice' }, false],
    [{ mentionAll: true, author: 'alice' }, false],
    [{ mentions: ['alice'], mentionAll: true, deleted: true }, false],
    // What an earlier version stored under these names.
    [{ mentions: 'alice' }, false], [{ mentions: { alice: 1 }, mentionAll: 'no' }, false],
  ];
  for (const [more, expected] of about) {
    assert.equal(mentionsUser(from(more), 'alice'), expected, JSON.stringify(more));
  }
  assert.equal(mentionsUser(from({ mentionAll: true }), null), false);
});

test('what is written in an outage keeps its reply and mentions over a reload', async () => {
  const log = mentioning(3);
  const store = new DraftStore();
  const first = clientOf(log, store).client;
  const mentions = ['bob', 'eve'];
  const id = first.send('c1', 'yes', { a: 1 }, undefined, {
    replyTo: 'm2', mentions, mentionAll: true,
  });
  first.outbox.edit('c1', 'm3', 'other', { mentions: ['bob'] });
  // Two edits of one moment and one text are two.
  first.outbox.edit('c1', 'm3', 'other', { mentions: [], mentionAll: true });
  // Its author goes on with the list that they gave.
  mentions.push('mallory');
  const { client, begin } = clientOf(log, store);
  const conversation = new Conversation(client.connection, 'c1', { store });
  await settled();
  const [{ replyTo, mentions: kept, mentionAll }] = conversation.drafts;
  assert.deepEqual([replyTo, kept, mentionAll], ['m2', ['bob', 'eve'], true]);
  await begin();
  for (let n = 0; n < 6; n += 1) await settled();
  assert.deepEqual(log.calls.map(({ ifRev, ...call }) => call), [
    {
      id, body: 'yes', metadata: { a: 1 }, replyTo: 'm2', mentions: ['bob', 'eve'],
      mentionAll: true,
    },
    { id: 'm3', body: 'other', mentions: ['bob'] },
    { id: 'm3', body: 'other', mentions: [], mentionAll: true },
  ]);
  assert.equal(store.drafts.size, 0);
  conversation.open();
  await settled();
  const { replyTo: answered, mentions: about, mentionAll: isAll } = conversation.message(id);
  assert.deepEqual([answered, about, isAll], [{ id: 'm2', seq: 2 }, ['bob', 'eve'], true]);
});

test('an edit names only what it changes, and a plain message none of it', async () => {
  const log = mentioning(1);
  const { client } = await connected(log);
  const conversation = new Conversation(client.connection, 'c1');
  conversation.open();
  await settled();
  const id = conversation.send('hi', undefined, undefined, {
    mentions: ['bob'], mentionAll: false,
  });
  await settled();
  await conversation.edit(id, 'hi all');
  assert.deepEqual(conversation.message(id).mentions, ['bob'], 'what is not named stays');
  await conversation.edit(id, 'hi all', { mentionAll: true });
  await conversation.edit(id, 'hi', { mentions: [], mentionAll: false });
  conversation.send('plain', undefined, undefined, { mentions: [] });
  await settled();
  const [sent, ...changes] = log.calls;
  assert.deepEqual(sent, { id, body: 'hi', mentions: ['bob'] });
  assert.deepEqual(changes.map(({ ifRev, id: of, ...rest }) => rest), [
    { body: 'hi all' }, { body: 'hi all', mentionAll: true },
    { body: 'hi', mentions: [], mentionAll: false }, { body: 'plain' },
  ]);
  const { mentions, mentionAll } = conversation.message(id);
  assert.deepEqual([mentions, mentionAll], [undefined, undefined]);
});

test('what was refused keeps what it said, and can be said with less', async () => {
  const log = mentioning(3);
  const { client } = await connected(log);
  const conversation = new Conversation(client.connection, 'c1');
  conversation.open();
  await settled();
  log.refuses = ({ method, params }) => (
    method === 'sendMessage' && (params.mentionAll || params.replyTo) ? 'forbidden' : null);
  const id = conversation.send('hi', undefined, undefined, {
    replyTo: 'm1', mentions: ['bob'], mentionAll: true,
  });
  await settled();
  const [{ state, replyTo, mentionAll }] = conversation.drafts;
  assert.deepEqual([state, replyTo, mentionAll], ['failed', 'm1', true]);
  conversation.resend(id);
  await settled();
  assert.equal(conversation.drafts[0].mentionAll, true);
  const other = conversation.rewrite(id, 'hi', { mentionAll: false, replyTo: undefined });
  await settled();
  assert.deepEqual(log.calls, [{ id: other, body: 'hi', mentions: ['bob'] }]);
  assert.deepEqual(conversation.drafts, []);
  const next = conversation.send('hi', undefined, undefined, { replyTo: 'm1', mentions: ['bob'] });
  await settled();
  const plain = conversation.rewrite(next, 'hi', { replyTo: undefined, mentions: undefined });
  await settled();
  assert.deepEqual(log.calls.at(-1), { id: plain, body: 'hi' });
});

test('every face sends, edits and tells of replies and mentions, as drafts too', async () => {
  const log = mentioning(3);
  const { client, sockets } = await connected(log);
  const list = new ManagedMessageList(client, 'c1');
  list.online();
  const history = new History(client, log.record);
  history.open();
  const source = new ChatDataSource(client, 'c1');
  await settled();
  const fields = { replyTo: 'm1', mentions: ['bob'], mentionAll: true };
  log.refuses = ({ method }) => (method === 'sendMessage' ? 'forbidden' : null);
  const faces = [list, history, source];
  const ids = faces.map((face) => face.send('hi', undefined, undefined, fields));
  const all = [history.messages, source.chatItems.map(({ message }) => message)];
  for (const messages of all) {
    const draft = messages.find(({ id }) => id === ids[0]);
    assert.deepEqual(
      [draft.replyTo, draft.mentions, draft.mentionAll], [{ id: 'm1' }, ['bob'], true]);
  }
  await settled();
  log.refuses = null;
  for (const id of ids) list.discard(id);
  const sent = list.send('hi', undefined, undefined, fields);
  await settled();
  assert.deepEqual(client.outbox.all, []);
  for (const face of faces) await face.edit(sent, 'hi', { mentions: ['eve'] });
  const told = await Promise.all([...faces.map((face) => face.fetchMentions({ after: 1 })),
    client.fetchMentions({ id: 'c1' }, { after: 1 })]);
  assert.deepEqual(told.map(({ total }) => total), [0, 0, 0, 0]);
  assert.deepEqual(history.messages.find(({ id }) => id === sent).mentions, ['eve']);
  assert.equal(sockets.length, 1);
});

test('the next mention is fetched with its neighbours, from where was read', async () => {
  const log = mentioning(0);
  for (let seq = 1; seq <= 400; seq += 1) {
    log.say(seq === 50 || seq === 120 ? { mentions: ['alice'] } : {});
  }
  log.say({ mentionAll: true });
  log.lastReadSeq = 40;
  const { client } = await connected(log);
  const conversation = new Conversation(client.connection, 'c1', { limit: 20 });
  conversation.open();
  await settled();
  assert.equal(conversation.message('m50'), undefined);
  assert.equal(await conversation.loadMention(), 'm50');
  assert.equal(conversation.message('m50').seq, 50);
  assert.equal(await conversation.loadMention(50), 'm120');
  assert.equal(conversation.message('m120').seq, 120);
  assert.equal(await conversation.loadMention(120), 'm401');
  assert.equal(await conversation.loadMention(401), null);
  assert.deepEqual(log.calls.map(({ after, limit }) => [after, limit]),
    [[40, 1], [50, 1], [120, 1], [401, 1]]);
  log.refuses = ({ method }) => (method === 'fetchMentions' ? 'forbidden' : null);
  await assert.rejects(conversation.loadMention(), { code: 'forbidden' });
});

/** The record of the one conversation of a list, at this message of bob. */
const record = (seq, more = {}) => ({
  id: 'a', rev: 1, head: { epoch: 'e', seq, rev: seq + 1, mark: 'm', floor: 1 },
  lastMessage: { id: `m${seq}`, seq, author: 'bob', mentions: ['alice'], createdAt: '' }, ...more,
});

/** An event of the list with it. */
const event = (of) => ({
  event: 'conversations', deltas: [{ type: 'updated', conversation: of }],
});

test('the gateway says how many mentions are unread, and no event of the list does', async () => {
  const { connection, begin } = playedConnection({ unread: true });
  const socket = await begin();
  const list = new ConversationList(connection);
  list.open();
  const own = () => {
    const { lastReadSeq, unreadCount, unreadMentions } = list.record('a');
    return [lastReadSeq, unreadCount, unreadMentions];
  };
  socket.reply(socket.take('subscribeConversations'), {
    conversations: [record(5, { lastReadSeq: 3, unreadCount: 2, unreadMentions: 1 })], total: 1,
    token: 't', complete: false, unreadTotal: { messages: 2, conversations: 1, mentions: 1 },
  });
  assert.deepEqual([own(), list.unreadMentions], [[3, 2, 1], 1]);
  socket.frame(event(record(6)));
  assert.deepEqual(own(), [3, 3, 1]);
  const unread = (lastReadSeq, unreadCount, unreadMentions) => ({
    event: 'unread', messages: unreadCount, conversations: 1, mentions: unreadMentions,
    of: [{ conversation: 'a', lastReadSeq, unreadCount, unreadMentions }, { conversation: 'else' }],
  });
  socket.frame(unread(3, 3, 2));
  assert.deepEqual([own(), list.unreadMentions], [[3, 3, 2], 2]);
  const stop = list.changed.listen(() => assert.fail('what is known is no change'));
  socket.frame(unread(3, 3, 2));
  stop();
  assert.equal(list.record('else'), undefined);
  socket.frame({ event: 'read', conversation: 'a', user: 'alice', seq: 6 });
  assert.deepEqual(own(), [6, 0, 0]);
  // It was on its way when the marker moved.
  socket.frame(unread(3, 3, 2));
  assert.deepEqual(own(), [6, 0, 0]);
  socket.frame(unread(6, 1, 1));
  const lastMessage = { id: 'm8', seq: 8, author: 'alice', createdAt: '' };
  socket.frame(event(record(8, { lastMessage })));
  assert.deepEqual(own(), [8, 0, 0], 'who writes has read');
});

test('a list that is not here whole has the total of the mentions from the gateway', async () => {
  const { connection, begin } = playedConnection({ unread: true });
  const socket = await begin();
  const list = new ConversationList(connection);
  list.open();
  const mentions = (count) => ({ messages: 9, conversations: 9, mentions: count });
  socket.reply(socket.take('subscribeConversations'), {
    conversations: [{ id: 'a', rev: 1, unreadCount: 1, unreadMentions: 1 }], total: 400,
    token: 't', complete: false, unreadTotal: mentions(7),
  });
  assert.equal(list.unreadMentions, 7);
  let told = 0;
  list.changed.listen(() => { told += 1; });
  socket.frame({ event: 'unread', ...mentions(8), of: [] });
  assert.deepEqual([list.unreadMentions, told], [8, 1]);
  socket.frame({ event: 'unread', ...mentions(8), of: [] });
  assert.equal(told, 1);
});

const CONVERSATIONS = ['a', 'b', 'c', 'd'];

/**
 * The conversations of alice, how a gateway answers from them, and what it told the connection: an
 * `unread` event names what differs from that.
 */
class Inbox {
  #logs = new Map(CONVERSATIONS.map((id) => [id, new FakeLog(0)]));
  #told = new Map();
  #changed = new Map();
  #tick = 0;

  constructor() { for (const [id, log] of this.#logs) Object.assign(log, { id }); }

  own(id) {
    const log = this.#logs.get(id);
    const { lastReadSeq } = log;
    const unread = Array.from({ length: log.head.seq - lastReadSeq }, (_, at) => (
      log.at(lastReadSeq + at + 1)))
      .filter(({ author, deleted }) => author !== 'alice' && !deleted);
    const about = unread.filter((message) => mentionsUser(message, 'alice'));
    return { lastReadSeq, unreadCount: unread.length, unreadMentions: about.length };
  }

  get totals() {
    const all = CONVERSATIONS.map((id) => this.own(id));
    const sum = (name) => all.reduce((total, own) => total + own[name], 0);
    return {
      messages: sum('unreadCount'), mentions: sum('unreadMentions'),
      conversations: all.filter(({ unreadCount }) => unreadCount > 0).length,
    };
  }

  /** A record without what is the user's own, as an event has it. */
  shared(id) {
    const { lastReadSeq, unreadCount, ...record } = this.#logs.get(id).record;
    return record;
  }

  /** A record of an answer; one that shows the list tells it. */
  record(id, isTold = true) {
    if (isTold) this.#told.set(id, JSON.stringify(this.own(id)));
    return { ...this.shared(id), ...this.own(id) };
  }

  change(id, act) {
    const log = this.#logs.get(id);
    const { seq } = log.head;
    act(log);
    // Sending moves one's own marker.
    if (log.head.seq > seq && log.at(seq + 1).author === 'alice') log.lastReadSeq = seq + 1;
    this.#tick += 1;
    this.#changed.set(id, this.#tick);
    return { event: 'conversations', deltas: [{ type: 'updated', conversation: this.shared(id) }] };
  }

  read(id, part) {
    const log = this.#logs.get(id);
    log.lastReadSeq = Math.max(log.lastReadSeq, Math.floor(log.head.seq * part));
    this.#tick += 1;
    this.#changed.set(id, this.#tick);
    return { event: 'read', conversation: id, user: 'alice', seq: log.lastReadSeq };
  }

  /** A new connection was told nothing. */
  begin() { this.#told.clear(); }

  /** What is due, two conversations at most; null for nothing. */
  unread() {
    const due = CONVERSATIONS.filter((id) => this.#told.get(id) !== JSON.stringify(this.own(id)));
    if (due.length === 0) return null;
    const of = due.slice(0, 2).map((id) => {
      this.#told.set(id, JSON.stringify(this.own(id)));
      return { conversation: id, ...this.own(id) };
    });
    return { event: 'unread', ...this.totals, of };
  }

  answer({ method, params: { since, conversation } }) {
    if (method === 'fetchConversation') return { conversation: this.record(conversation, false) };
    const isComplete = method === 'subscribeConversations' && since !== undefined;
    const ids = CONVERSATIONS.filter((id) => (
      !isComplete || (this.#changed.get(id) ?? 0) > Number(since)));
    return {
      conversations: ids.map((id) => this.record(id)), total: CONVERSATIONS.length,
      unreadTotal: this.totals, removed: [], token: String(this.#tick), complete: isComplete,
    };
  }
}

test('at rest each list shows what is unread as the gateway counts it', async (t) => {
  const timers = new Timers();
  t.after(timers.install());
  for (let seed = 1; seed <= 150; seed += 1) {
    const random = randomSource(seed);
    const inbox = new Inbox();
    const { connection, begin, sockets, clock } = playedConnection({ unread: true });
    const socket = () => sockets.at(-1);
    const serve = async () => {
      await settled();
      for (const request of socket().requests.splice(0)) {
        socket().reply(request, inbox.answer(request));
      }
      await settled();
    };
    connection.live.listen(() => inbox.begin());
    await begin();
    const lists = [new ConversationList(connection), new ConversationList(connection)];
    for (const list of lists) list.open();
    await serve();
    const tell = (event) => { if (connection.isLive && event) socket().frame(event); };
    const place = (log) => random.below(log.head.seq) + 1;
    const author = () => random.pick(['bob', 'bob', 'alice']);
    const change = (act) => tell(inbox.change(random.pick(CONVERSATIONS), act));
    const happen = [
      () => change((log) => log.say({ author: author() })),
      () => change((log) => log.say({ author: author(), mentions: ['eve', 'alice'] })),
      () => change((log) => log.say({ author: author(), mentionAll: true })),
      // An edit may take a mention away, or add one, also to what was read.
      () => change((log) => {
        if (log.head.seq === 0) return;
        const seq = place(log);
        if (log.at(seq).deleted) return;
        log.edit(seq, 'other', {
          mentions: random.pick([undefined, ['alice'], ['eve']]), mentionAll: undefined,
        });
      }),
      () => change((log) => { if (log.head.seq > 0) log.delete(place(log)); }),
      () => tell(inbox.read(random.pick(CONVERSATIONS), random.pick([0.5, 1]))),
      () => tell(inbox.unread()),
      // Somebody else asks over the same connection: the gateway says it once.
      () => { connection.request('fetchConversations').catch(() => {}); },
      () => timers.fire(),
      serve,
      async () => {
        const { length } = sockets;
        socket().end(1006);
        await settled();
        random.pick(happen.slice(0, 6))();
        while (sockets.length === length) await clock.advance(500);
        await socket().welcome();
      },
    ];
    for (let step = 0; step < 60; step += 1) await random.pick(happen)();
    for (let n = 0; n < 6; n += 1) {
      timers.fire();
      await serve();
      tell(inbox.unread());
    }
    for (const list of lists) {
      for (const id of CONVERSATIONS) {
        const { lastReadSeq, unreadCount, unreadMentions } = list.record(id);
        assert.deepEqual(
          { lastReadSeq, unreadCount, unreadMentions }, inbox.own(id), `seed ${seed}, ${id}`);
      }
      assert.equal(list.unreadMentions, inbox.totals.mentions, `seed ${seed}`);
    }
    assert.deepEqual(connection.unread, { ...inbox.totals, open: false }, `seed ${seed}`);
    connection.close();
  }
});

test('at rest each message has the reply and the mentions that were written last', async (t) => {
  const timers = new Timers();
  t.after(timers.install());
  const fieldsOf = ({ body, replyTo, mentions, mentionAll }) => (
    { body, replyTo, mentions, mentionAll: mentionAll || undefined });
  let arrived = 0;
  for (let seed = 1; seed <= 100; seed += 1) {
    const source = randomSource(seed);
    const pick = (all) => all[source.int(0, all.length - 1)];
    const log = mentioning(4);
    const { answer } = log;
    const events = [];
    // Who follows is told of each change, after its answer.
    log.answer = (request) => {
      const before = log.head.rev;
      const result = answer(request);
      if (log.head.rev !== before) events.push(log.told);
      return result;
    };
    const { client, sockets, clock, connection } = await connected(log);
    const conversation = new Conversation(connection, 'c1');
    conversation.open();
    await settled();
    const socket = () => sockets.at(-1);
    const deliver = () => {
      for (const event of events.splice(0)) if (connection.isLive) socket().frame(event);
    };
    /** What was written last of each message, as its author wants it. */
    const wanted = new Map();
    const users = () => pick([[], ['bob'], ['eve', 'bob'], ['bob', 'carol', 'eve']]);
    const target = () => pick([undefined, 'm1', 'm3', 'nobody']);
    const cut = async () => {
      const { length } = sockets;
      socket().end(1006);
      events.length = 0;
      await settled();
      while (sockets.length === length) await clock.advance(500);
      await socket().welcome();
      await settled();
    };
    const happen = [
      () => {
        const [mentions, mentionAll, replyTo] = [users(), pick([true, undefined]), target()];
        const body = `own ${wanted.size}`;
        const id = conversation.send(body, undefined, undefined, { replyTo, mentions, mentionAll });
        const seq = { m1: 1, m3: 3 }[replyTo];
        wanted.set(id, {
          body, mentions: mentions.length > 0 ? mentions : undefined, mentionAll,
          replyTo: replyTo && { id: replyTo, ...(seq && { seq }) },
        });
      },
      () => {
        const ids = [...wanted.keys()].filter((id) => conversation.message(id));
        if (ids.length === 0) return;
        const id = pick(ids);
        const said = wanted.get(id);
        const change = pick([
          {}, { mentions: users() }, { mentionAll: pick([true, false]) },
          { mentions: users(), mentionAll: pick([true, false]) },
        ]);
        const body = `${said.body}+`;
        conversation.edit(id, body, change);
        if ('mentions' in change) {
          said.mentions = change.mentions.length > 0 ? change.mentions : undefined;
        }
        if ('mentionAll' in change) said.mentionAll = change.mentionAll || undefined;
        said.body = body;
      },
      () => {
        const event = log.say({ mentions: ['alice'], replyTo: { id: 'm1', seq: 1 } });
        deliver();
        if (connection.isLive) socket().frame(event);
      },
      deliver, cut, () => settled(),
    ];
    for (let step = 0; step < 40; step += 1) await pick(happen)();
    await cut();
    for (let n = 0; n < 60; n += 1) {
      timers.fire();
      await settled();
      deliver();
    }
    assert.deepEqual([conversation.drafts, conversation.edits], [[], []], `seed ${seed}`);
    for (const [id, expected] of wanted) {
      const shown = conversation.message(id);
      assert.deepEqual(fieldsOf(shown), expected, `seed ${seed}, ${id}`);
      assert.deepEqual(fieldsOf(log.at(shown.seq)), expected, `seed ${seed}, ${id} in the log`);
      arrived += 1;
    }
    client.close();
  }
  assert.ok(arrived > 300, `${arrived}`);
});

test('a message is counted once, whichever event tells of it first', async () => {
  const { connection, begin } = playedConnection({ unread: true });
  const socket = await begin();
  const list = new ConversationList(connection);
  list.open();
  const unread = (unreadCount) => ({
    event: 'unread', messages: unreadCount, conversations: 1, mentions: 0,
    of: [{ conversation: 'a', lastReadSeq: 3, unreadCount, unreadMentions: 0 }],
  });
  socket.reply(socket.take('subscribeConversations'), {
    conversations: [record(3, { lastReadSeq: 3, unreadCount: 0, unreadMentions: 0 })], total: 1,
    token: 't', complete: false, unreadTotal: { messages: 0, conversations: 0, mentions: 0 },
  });
  socket.frame(unread(1));
  socket.frame(event(record(4)));
  assert.equal(list.record('a').unreadCount, 1);
  socket.frame(event(record(5)));
  assert.equal(list.record('a').unreadCount, 2);
  socket.frame(unread(2));
  socket.frame(event(record(6)));
  assert.equal(list.record('a').unreadCount, 3);
});
