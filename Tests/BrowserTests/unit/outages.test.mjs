import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChatDataSource } from '../../../Sources/Browser/chat-data-source.js';
import { Conversation } from '../../../Sources/Browser/conversation.js';
import { History } from '../../../Sources/Browser/history.js';
import { ManagedMessageList } from '../../../Sources/Browser/managed-message-list.js';
import { applyDelta, merge } from '../../../Sources/Browser/merge.js';
import { settled } from './fake-gateway.mjs';
import { connected, FakeLog, outage } from './fake-log.mjs';

const range = (low, high) => Array.from({ length: high - low + 1 }, (_, at) => low + at);
const readLog = (length, lastReadSeq) => Object.assign(new FakeLog(length), { lastReadSeq });
const say = (log, count) => { for (let n = 0; n < count; n += 1) log.say(); };

/** A history that was opened, with where its view was moved to and what it was told. */
async function opened(log, record = log.record) {
  const played = await connected(log);
  const history = new History(played.client, record);
  const told = { moves: [], endings: [] };
  history.delegate = {
    historyDidChange: () => {},
    historyMoveTo: (of, message) => told.moves.push(message),
    historyDidEnd: (reason) => told.endings.push(reason),
  };
  history.open();
  await settled();
  const places = () => history.messages.map(({ seq }) => seq);
  return { ...played, history, places, told };
}

/** A managed list that is online, with what its delegate was told. */
async function managed(log, options = {}) {
  const played = await connected(log);
  const told = [];
  const endings = [];
  const list = new ManagedMessageList(played.client, { id: 'c1' }, {
    managedMessageListDidChange: (deltas, news) => told.push({ deltas, ...news }),
    managedMessageListDidEnd: (reason) => endings.push(reason),
  });
  Object.assign(list, options);
  list.online();
  await settled();
  return { ...played, list, told, endings, places: () => placesOf(list) };
}

const placesOf = (list) => (
  Array.from({ length: list.messageCount() }, (_, at) => list.messageAt(at).seq)
);
const itemPlaces = (source) => source.chatItems.map(({ message }) => message.seq);

test('away from the end an outage does not stop the history from loading', async () => {
  const log = readLog(300, 100);
  const { history, places, ...played } = await opened(log);
  assert.deepEqual(places(), range(75, 125));
  await outage(played, () => say(log, 60));
  await settled();
  assert.equal(history.unreadBannerAfter, 'm100', 'the banner stays above what is unread');
  for (let n = 0; n < 10; n += 1) await history.scrolledToBottom();
  assert.deepEqual(places(), range(75, 360));
  assert.deepEqual([history.hasMore.after, history.gaps], [false, []]);
});

test('the same for a data source', async () => {
  const log = new FakeLog(300);
  const played = await connected(log);
  const source = new ChatDataSource(played.client, 'c1', { pageSize: 100 });
  await settled();
  source.adjustNumberOfMessages({ preferredMaxCount: 60, focusPosition: 0 });
  await outage(played, () => say(log, 300));
  for (let n = 0; n < 5; n += 1) {
    source.loadNext();
    await settled();
  }
  assert.deepEqual(itemPlaces(source), range(201, 600));
  assert.equal(source.hasMoreNext, false);
});

test('the same for a managed list', async () => {
  const log = new FakeLog(900);
  const { list, places, ...played } = await managed(log);
  for (let n = 0; n < 7; n += 1) {
    list.scrollViewDidScroll(0, 10);
    await settled();
  }
  assert.ok(list.hasMore.after, 'what is far from the view was let go of');
  await outage(played, () => say(log, 300));
  for (let n = 0; n < 16; n += 1) {
    list.scrollViewDidReachBottom();
    await settled();
    list.scrollViewDidScroll(list.messageCount() - 10, list.messageCount() - 1);
    await settled();
  }
  assert.equal(places().at(-1), 1200);
  assert.deepEqual([list.gaps, list.hasMore.after], [[], false]);
});

for (const missed of [150, 1000]) {
  test(`with ${missed} missed, what is below the banner is here at once`, async () => {
    const log = readLog(100, 100);
    const { history, places, ...played } = await opened(log);
    await outage(played, () => say(log, missed));
    await settled();
    assert.equal(history.unreadBannerAfter, 'm100');
    assert.deepEqual(places().slice(0, 50), range(76, 125));
    assert.deepEqual(log.pages.map(({ after, limit }) => [after, limit]), [[100, 25]]);
    assert.equal(history.gaps.length, 1, 'and the hole is named');
  });

  test(`the same for a managed list, ${missed} missed`, async () => {
    const log = new FakeLog(100);
    const { list, places, ...played } = await managed(log);
    await outage(played, () => say(log, missed));
    await settled();
    assert.deepEqual(places().slice(0, 150), range(1, 150));
    assert.equal(log.pages.length, 1);
    const between = list.rows.filter(({ kind }) => kind === 'gap').map(({ gap }) => gap);
    assert.deepEqual(between, list.gaps);
    assert.equal(list.rows.length, list.messageCount() + list.gaps.length);
  });
}

test('two that look at one conversation are one subscription, which the last one ends', async () => {
  const log = new FakeLog(50);
  const { client, sockets } = await connected(log);
  const [one, other] = [1, 2].map(() => new ManagedMessageList(client, { id: 'c1' }));
  one.online();
  other.online();
  await settled();
  assert.equal(log.asked.filter((method) => method === 'subscribeMessages').length, 1);
  assert.deepEqual(placesOf(other), range(1, 50));
  one.offline();
  await settled();
  assert.ok(!log.asked.includes('unsubscribeMessages'));
  sockets.at(-1).frame(log.say());
  assert.deepEqual([placesOf(one), placesOf(other)], [range(1, 50), range(1, 51)]);
  one.online();
  await settled();
  assert.deepEqual(placesOf(one), range(1, 51));
  one.offline();
  other.offline();
  await settled();
  assert.equal(log.asked.filter((method) => method === 'unsubscribeMessages').length, 1);
});

test('one that comes later begins at the end, and the place of each is its own', async () => {
  const log = readLog(300, 100);
  const { client, sockets } = await connected(log);
  const history = new History(client, log.record);
  history.open();
  await settled();
  const list = new ManagedMessageList(client, { id: 'c1' });
  list.online();
  await settled();
  await settled();
  assert.deepEqual(history.messages.map(({ seq }) => seq), range(75, 125));
  assert.equal(placesOf(list).at(-1), 300);
  sockets.at(-1).frame(log.edit(100, 'changed'));
  sockets.at(-1).frame(log.say());
  assert.equal(history.messages[25].body, 'changed');
  assert.equal(history.messages.at(-1).seq, 125);
  assert.equal(placesOf(list).at(-1), 301);
});

test('two lists of conversations are one subscription, which the last one ends', async () => {
  const { client, sockets } = await connected(new FakeLog(0));
  const heard = [[], []];
  const [first] = heard.map((deltas) => client.subscribeConversations((now) => deltas.push(now)));
  const socket = sockets.at(-1);
  for (let n = 0; n < 2; n += 1) {
    socket.reply(socket.take('subscribeConversations'), {
      conversations: [], removed: [], total: 0, token: 't', complete: false,
    });
  }
  await settled();
  first();
  assert.throws(() => socket.take('unsubscribeConversations'));
  const conversation = { id: 'c1', rev: 1, head: { epoch: 'e', seq: 0, rev: 1 } };
  socket.frame({ event: 'conversations', deltas: [{ type: 'inserted', conversation }] });
  assert.deepEqual(heard.map(({ length }) => length), [0, 1]);
});

test('a list of conversations is whole, however long it is', async () => {
  const { client, sockets } = await connected(new FakeLog(0));
  let list = [];
  client.subscribeConversations((deltas) => { list = applyDelta(deltas, list); });
  const all = range(1, 450).map((n) => (
    { id: `c${n}`, rev: 1, head: { epoch: 'e', seq: 0, rev: 1 } }
  ));
  const socket = sockets.at(-1);
  socket.reply(socket.take('subscribeConversations'), {
    conversations: all.slice(0, 100), removed: [], total: 450, token: 't', complete: false,
  });
  for (let from = 0; from < 450; from += 100) {
    await settled();
    const next = from + 100 < 450 ? { next: `n${from}` } : {};
    socket.reply(socket.take('fetchConversations'), {
      conversations: all.slice(from, from + 100), total: 450, ...next,
    });
  }
  assert.equal(list.length, 450);
});

test('a refused list of conversations ends', async () => {
  const { client, sockets } = await connected(new FakeLog(0));
  const endings = [];
  client.subscribeConversations((deltas, { ending }) => endings.push(ending));
  sockets.at(-1).fail(sockets.at(-1).take('subscribeConversations'), { code: 'forbidden' });
  await settled();
  assert.deepEqual(endings, ['forbidden']);
});

test('a reset within one epoch is told, and nothing of the lost branch stays', async () => {
  const log = new FakeLog(10);
  const { list, told, ...played } = await managed(log);
  let messages = [];
  const resets = [];
  played.client.subscribeMessages('c1', (deltas, { reset }) => {
    resets.push(reset);
    messages = applyDelta(deltas, messages);
  });
  await settled();
  told.length = 0;
  let shown = range(0, 9).map((at) => list.messageAt(at));
  await outage(played, () => {
    log.rewind(8);
    log.say({ id: 'other', body: 'of the other branch' });
  });
  await settled();
  assert.deepEqual(messages.map(({ id }) => id), [...range(1, 8).map((n) => `m${n}`), 'other']);
  assert.ok(resets.includes(true));
  assert.ok(told.some(({ reset }) => reset));
  for (const { deltas } of told) shown = applyDelta(deltas, shown);
  assert.deepEqual(shown.map(({ id }) => id), messages.map(({ id }) => id));
});

for (const [why, prepare, target] of [
  ['offline', (played) => played.sockets.at(-1).end(1006), 'm100'],
  ['of an unknown id', (played, log) => {
    log.refuses = ({ method }) => (method === 'fetchMessages' ? 'not_found' : null);
  }, 'nobody'],
]) {
  test(`a jump that fails, ${why}, keeps the list`, async () => {
    const log = readLog(300, 300);
    const { history, places, ...played } = await opened(log);
    prepare(played, log);
    await settled();
    assert.equal(await history.moveTo(target), false);
    assert.deepEqual(places(), range(276, 300));
    assert.equal(history.loading.center, false);
  });
}

test('a jump whose link is lost keeps the list', async () => {
  const log = readLog(300, 300);
  const { history, places, ...played } = await opened(log);
  played.sockets.at(-1).send = () => {};
  const moving = history.moveTo('m100');
  assert.deepEqual(places(), []);
  played.sockets.at(-1).end(1006);
  assert.equal(await moving, false);
  assert.deepEqual(places(), range(276, 300));
});

test('a deletion is told as one, and what was let go of as trimmed', async () => {
  const log = new FakeLog(700);
  const { list, told, sockets } = await managed(log);
  sockets.at(-1).frame(log.delete(650));
  assert.deepEqual(told.at(-1).deltas.map(({ type, message }) => [type, message.seq]),
    [['deleted', 650]]);
  told.length = 0;
  for (let n = 0; n < 5; n += 1) {
    list.scrollViewDidScroll(0, 10);
    await settled();
  }
  const gone = told.flatMap(({ deltas }) => deltas).filter(({ type }) => type === 'trimmed');
  assert.ok(gone.length > 0);
  const deleted = told.flatMap(({ deltas }) => deltas).filter(({ type }) => type === 'deleted');
  assert.deepEqual(deleted, []);
  let plain = [];
  plain = applyDelta([{ type: 'inserted', message: log.say().deltas[0].message }], plain);
  assert.deepEqual(applyDelta([{ type: 'trimmed', message: plain[0] }], plain), []);
});

test('handlers are told of gaps, so that nobody takes an outdated edit for the present', async () => {
  const log = new FakeLog(20);
  const played = await connected(log);
  const told = [];
  played.client.subscribeMessages('c1', (deltas, news) => told.push(news.gaps));
  await settled();
  const { head } = log;
  const gap = { after: 3, before: 7, missing: 3, cause: 'slow', since: '' };
  played.sockets.at(-1).frame({
    event: 'gap', conversation: 'c1', gaps: [gap], prev: head.rev, asOf: head.rev, head,
  });
  assert.deepEqual(told.at(-1), [gap]);
});

test('a handler is told that what is shown below all that is held may be outdated', async () => {
  const log = new FakeLog(200);
  const played = await connected(log);
  const told = [];
  let messages = [];
  played.client.subscribeMessages('c1', (deltas, { gaps }) => {
    messages = applyDelta(deltas, messages);
    told.push(gaps);
  });
  await settled();
  assert.equal(messages[0].seq, 101);
  // The answer to a message that had been sent already: it stands where it was.
  const id = played.client.send('c1', 'sent before');
  const socket = played.sockets.at(-1);
  const own = { id, conversation: 'c1', seq: 50, rev: 51, author: 'alice', body: 'sent before' };
  socket.reply(socket.take('sendMessage'), { message: own });
  await settled();
  assert.equal(messages[0].seq, 50);
  assert.ok(told.at(-1).some(({ after, before }) => after < 50 && 50 < before));
});

test('merge takes messages, and the changes of both kinds', () => {
  const message = { id: 'm1', conversation: 'c1', seq: 1, rev: 2, author: 'bob', createdAt: '' };
  const edited = { ...message, rev: 3, body: 'changed' };
  assert.deepEqual(merge([message], [{ type: 'updated', message: edited }]), [edited]);
  const record = { id: 'c1', rev: 1 };
  assert.deepEqual(merge([], [{ type: 'inserted', conversation: record }]).map(({ id }) => id),
    ['c1']);
  assert.deepEqual(merge([record], [{ type: 'deleted', conversation: { id: 'c1' } }]), []);
});

test('a history that was closed opens again', async () => {
  const log = readLog(100, 100);
  const { history, places, told } = await opened(log);
  history.close();
  say(log, 5);
  history.open(log.record);
  await settled();
  assert.deepEqual([history.loading.center, places().at(-1)], [false, 105]);
  assert.equal(history.unreadBannerAfter, 'm100');
  assert.equal(told.moves.at(-1), 'm100');
});

test('a refused conversation ends every face, and can be opened again', async () => {
  const log = new FakeLog(5);
  log.refuses = ({ method }) => (method === 'subscribeMessages' ? 'forbidden' : null);
  const { list, endings, client } = await managed(log);
  assert.deepEqual([endings, list.ending], [['forbidden'], 'forbidden']);
  const { history, told } = await opened(Object.assign(readLog(5, 5), { refuses: log.refuses }));
  assert.deepEqual([told.endings, history.loading.center], [['forbidden'], false]);
  const source = new ChatDataSource(client, 'c1');
  const sourceEndings = [];
  source.delegate = {
    chatDataSourceDidUpdate: () => {},
    chatDataSourceDidEnd: (reason) => sourceEndings.push(reason),
  };
  const news = [];
  client.subscribeMessages('c1', (deltas, { ending }) => news.push(ending));
  await settled();
  assert.deepEqual([sourceEndings, news], [['forbidden'], ['forbidden']]);
  log.refuses = null;
  list.online();
  await settled();
  assert.deepEqual([list.ending, list.messageCount()], [null, 5]);
});

for (const reason of ['removed', 'deleted', 'forbidden']) {
  test(`being ${reason} ends what looks at the conversation`, async () => {
    const { endings, sockets } = await managed(new FakeLog(5));
    sockets.at(-1).frame({ event: 'unsubscribed', conversation: 'c1', reason });
    assert.deepEqual(endings, [reason]);
  });
}

test('the banner stays where nothing is new, and stands at the floor below it', async () => {
  const log = readLog(100, 90);
  const { history, ...played } = await opened(log);
  await outage(played, () => log.edit(95, 'changed'));
  assert.equal(history.unreadBannerAfter, 'm90');
  const trimmed = readLog(300, 50);
  trimmed.floor = 120;
  const other = await opened(trimmed);
  assert.deepEqual([other.history.unreadBannerAfter, other.history.unreadBannerBefore],
    [null, 'm120']);
  assert.equal(other.places()[0], 120);
});

test('a jump, an outage, a jump to the end: then up is asked from what is here', async () => {
  const log = readLog(300, 300);
  const { history, ...played } = await opened(log);
  await history.moveTo('m100');
  await outage(played, () => say(log, 100));
  await history.moveTo('m400');
  log.pages.length = 0;
  await history.scrolledToTop();
  await history.scrolledToTop();
  const asked = log.pages.map(({ before }) => before);
  assert.equal(new Set(asked).size, 2, `${asked}`);
});

test("the document's own recipe subscribes once a session, and keeps the reader's place", async () => {
  const log = new FakeLog(500);
  const { list, places, client, ...played } = await managed(log);
  client.pubsub.onConnect(() => list.online());
  client.pubsub.onDisconnect(() => list.offline());
  list.scrollViewDidScroll(0, 10);
  await settled();
  const before = places();
  log.asked.length = 0;
  await outage(played);
  await settled();
  assert.equal(log.asked.filter((method) => method === 'subscribeMessages').length, 1);
  assert.deepEqual(places(), before);
});

test('what is asked for without a session is loaded when there is one', async () => {
  const log = new FakeLog(300);
  const { client, ...played } = await connected(log);
  const source = new ChatDataSource(client, 'c1');
  await settled();
  played.sockets.at(-1).end(1006);
  await settled();
  source.loadPrevious();
  await played.clock.advance(1000);
  await played.sockets.at(-1).welcome();
  await settled();
  assert.deepEqual(itemPlaces(source), range(201, 300));
});

test('the first page is as long as fetchLimit says', async () => {
  const { places } = await managed(new FakeLog(300), { fetchLimit: 30 });
  assert.deepEqual(places(), range(271, 300));
});

test('as many are asked for as a gateway gives at once, whatever an app says', async () => {
  const limits = [[0, 1], [-5, 1], [NaN, 1], [2.5, 2], [5000, 1000], [Infinity, 1000]];
  for (const [said, asked] of limits) {
    const log = new FakeLog(3000);
    const heard = [];
    log.refuses = ({ params }) => {
      if (params.limit !== undefined) heard.push(params.limit);
      return null;
    };
    const { list } = await managed(log, { fetchLimit: said });
    list.scrollViewDidReachTop();
    await settled();
    assert.deepEqual(heard, [asked, asked], `${said}`);
  }
});

test('with subscribeNewMessages off what an outage missed still comes', async () => {
  const log = new FakeLog(10);
  const { list, places, ...played } = await managed(log, { subscribeNewMessages: false });
  await outage(played, () => say(log, 2));
  assert.deepEqual(places(), range(1, 12));
  played.sockets.at(-1).frame(log.say());
  assert.deepEqual(places(), range(1, 12));
});

test('what is read stays the same object while nothing changed', async () => {
  const log = new FakeLog(10);
  const { connection, sockets } = await connected(log);
  const conversation = new Conversation(connection, 'c1');
  conversation.open();
  await settled();
  const names = ['items', 'gaps', 'typists', 'drafts', 'people'];
  const before = names.map((name) => conversation[name]);
  names.forEach((name, at) => assert.equal(conversation[name], before[at], name));
  sockets.at(-1).frame(log.say());
  assert.notEqual(conversation.items, before[0]);
  sockets.at(-1).end(1006);
  await settled();
  assert.equal(conversation.items.length, 11);
  conversation.send('offline');
  assert.equal(conversation.items.at(-1).kind, 'draft');
});
