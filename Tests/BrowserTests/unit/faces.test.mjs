import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChatDataSource } from '../../../Sources/Browser/chat-data-source.js';
import { chatItemChanges } from '../../../Sources/Browser/chat-item-changes.js';
import {
  decorateChatItems, indexOfChatItem,
} from '../../../Sources/Browser/chat-items-decorator.js';
import { ManagedMessageList } from '../../../Sources/Browser/managed-message-list.js';
import { settled } from './fake-gateway.mjs';
import { connected, FakeLog, outage } from './fake-log.mjs';
import { vectors } from './vectors.mjs';

/** A managed list that is online, with what its delegate was told. */
async function managed(log, options = {}) {
  const played = await connected(log);
  const told = [];
  const list = new ManagedMessageList(played.client, { id: 'c1' }, {
    managedMessageListDidChange: (deltas) => told.push(deltas),
  });
  Object.assign(list, options);
  list.online();
  await settled();
  const places = () => Array.from({ length: list.messageCount() }, (_, at) => (
    list.messageAt(at).seq
  ));
  return { ...played, list, told, places, socket: () => played.sockets.at(-1) };
}

const range = (low, high) => Array.from({ length: high - low + 1 }, (_, at) => low + at);

test('a managed list has the latest messages, and follows what happens', async () => {
  const log = new FakeLog(150);
  const { list, told, places, socket } = await managed(log);
  assert.deepEqual(places(), range(51, 150));
  assert.deepEqual(told[0].map(({ type }) => type), range(51, 150).map(() => 'inserted'));
  told.length = 0;
  socket().frame(log.say());
  socket().frame(log.delete(60));
  assert.deepEqual(told.map((deltas) => deltas.map(({ type, message }) => [type, message.seq])), [
    [['inserted', 151]], [['deleted', 60]],
  ]);
  assert.equal(list.messageAt(9).deleted, true);
});

test('a managed list fetches when the view comes near its end, and not before', async () => {
  const log = new FakeLog(250);
  const { list, places } = await managed(log, { fetchLimit: 80 });
  const pages = () => log.asked.filter((method) => method === 'fetchMessages').length;
  list.scrollViewDidScroll(60, 70);
  await settled();
  assert.equal(pages(), 0);
  list.scrollViewDidScroll(40, 50);
  list.scrollViewDidScroll(39, 49);
  await settled();
  assert.equal(pages(), 1);
  assert.deepEqual(places(), range(91, 250));
});

test('what was missed comes by itself, newest first, until the gap is closed', async () => {
  const log = new FakeLog(10);
  const { list, places, ...played } = await managed(log);
  await outage(played, () => { for (let n = 0; n < 130; n += 1) log.say(); });
  await settled();
  assert.deepEqual(places(), range(1, 140));
  assert.deepEqual(list.gaps, []);
});

test('with syncOnReconnect off what was missed waits for the reader', async () => {
  const log = new FakeLog(10);
  const { list, places, ...played } = await managed(log, { syncOnReconnect: false });
  await outage(played, () => log.say());
  assert.deepEqual(places(), range(1, 10));
  assert.equal(list.hasMore.after, true);
  const waiting = [{ after: 10, before: 12, missing: 1, cause: 'cold', since: '' }];
  assert.deepEqual(list.gaps, waiting);
  assert.equal(list.gaps, list.gaps, 'the same array until something changes');
  assert.deepEqual(list.rows.at(-1), { kind: 'gap', gap: waiting[0] });
  list.scrollViewDidReachBottom();
  assert.deepEqual(places(), range(1, 11));
  assert.deepEqual(list.gaps, []);
  assert.equal(list.rows.at(-1).kind, 'message');
});

test('the same where the list is taken offline and online by hand', async () => {
  const log = new FakeLog(10);
  const { list, places } = await managed(log, { syncOnReconnect: false });
  list.offline();
  log.say();
  list.online();
  await settled();
  assert.deepEqual(places(), range(1, 10));
  list.scrollViewDidReachBottom();
  assert.deepEqual(places(), range(1, 11));
});

for (const useCache of [true, false]) {
  test(`with useCache ${useCache} what was kept is ${useCache ? '' : 'not '}shown`, async () => {
    const log = new FakeLog(3);
    const { client, connection, sockets } = await connected(log);
    const { deltas, covers, ...answer } = log.answer({
      method: 'subscribeMessages', params: { limit: 2 },
    });
    const messages = deltas.map(({ message }) => message);
    const have = { head: answer.head, asOf: answer.asOf, runs: covers };
    client.store = { load: async () => ({ have, messages, record: null }), save() {} };
    sockets.at(-1).end(1006);
    await settled();
    assert.equal(connection.isLive, false);
    const list = new ManagedMessageList(client, { id: 'c1' });
    list.useCache = useCache;
    list.online();
    await settled();
    assert.equal(list.messageCount(), useCache ? 2 : 0);
  });
}

test('with subscribeNewMessages off news wait for the reader', async () => {
  const log = new FakeLog(10);
  const { list, places, told, socket } = await managed(log, { subscribeNewMessages: false });
  told.length = 0;
  socket().frame(log.say());
  // No message of the list is another, but there is a gap now.
  assert.deepEqual([told, places()], [[[]], range(1, 10)]);
  assert.deepEqual(list.gaps.map(({ after, before }) => [after, before]), [[10, 12]]);
  socket().frame(log.edit(3, 'changed'));
  assert.deepEqual(told.at(-1).map(({ message }) => message.body), ['changed']);
  list.scrollViewDidReachBottom();
  assert.deepEqual(places(), range(1, 11));
  socket().frame(log.say());
  assert.deepEqual(places(), range(1, 11));
});

test('a list that is offline shows what it had and hears nothing', async () => {
  const log = new FakeLog(3);
  const { list, places, told, socket } = await managed(log);
  list.offline();
  told.length = 0;
  socket().frame(log.say());
  assert.deepEqual([told, places()], [[], [1, 2, 3]]);
  list.online();
  await settled();
  assert.deepEqual(places(), [1, 2, 3, 4]);
});

/** A data source, with the types of the updates that its delegate was told of. */
async function source(log, options) {
  const played = await connected(log);
  const told = [];
  const data = new ChatDataSource(played.client, 'c1', options);
  data.delegate = { chatDataSourceDidUpdate: (of, type) => told.push(type) };
  await settled();
  return { ...played, data, told, socket: () => played.sockets.at(-1) };
}

const uids = (data) => data.chatItems.map(({ uid }) => uid);
const ids = (low, high) => range(low, high).map((seq) => `m${seq}`);

test('a data source says how each update should be taken', async () => {
  const log = new FakeLog(120);
  const { data, told, socket } = await source(log);
  assert.deepEqual(told, ['firstLoad']);
  assert.deepEqual(uids(data), ids(71, 120));
  assert.deepEqual([data.hasMorePrevious, data.hasMoreNext], [true, false]);
  socket().frame(log.say());
  assert.deepEqual(told, ['firstLoad', 'normal']);
  data.loadPrevious();
  await settled();
  assert.deepEqual(told, ['firstLoad', 'normal', 'pagination']);
  assert.deepEqual(uids(data), ids(21, 121));
  socket().frame(log.delete(100));
  assert.equal(data.chatItems[79].type, 'deleted message');
});

test('a window that was cut at its newest end grows there only by loading', async () => {
  const log = new FakeLog(200);
  const { data, told, socket } = await source(log, { pageSize: 100 });
  let didAdjust = false;
  const to = { preferredMaxCount: 60, focusPosition: 0 };
  data.adjustNumberOfMessages(to, (did) => { didAdjust = did; });
  assert.equal(didAdjust, true);
  assert.equal(told.at(-1), 'messageCountReduction');
  assert.deepEqual(uids(data), ids(101, 160));
  assert.equal(data.hasMoreNext, true);
  socket().frame(log.say());
  assert.deepEqual(uids(data), ids(101, 160));
  data.loadNext();
  await settled();
  assert.deepEqual(uids(data), ids(101, 201));
  assert.equal(data.hasMoreNext, false);
  data.adjustNumberOfMessages({ preferredMaxCount: null, focusPosition: 1 }, (did) => {
    didAdjust = did;
  });
  assert.equal(didAdjust, false);
});

test('focus decides from which end is cut', async () => {
  const cuts = [[0, 1, 60], [1, 41, 100], [0.5, 21, 80], [-1, 1, 60], [2, 41, 100], [NaN, 41, 100]];
  for (const [focus, low, high] of cuts) {
    const { data } = await source(new FakeLog(100), { pageSize: 100 });
    data.adjustNumberOfMessages({ preferredMaxCount: 60, focusPosition: focus });
    assert.deepEqual(uids(data), ids(low, high));
  }
});

test('decorated rows have a separator above each day, and uids that stay', () => {
  const item = (uid, author, createdAt) => (
    { uid, type: 'message', message: { author, createdAt } }
  );
  const items = [
    item('a', 'bob', '2026-11-20T10:00:00.000Z'), item('b', 'bob', '2026-11-20T10:01:00.000Z'),
    item('c', 'bob', '2026-11-20T10:05:00.000Z'), item('d', 'eve', '2026-11-21T10:05:01.000Z'),
  ];
  const rows = decorateChatItems(items);
  assert.deepEqual(rows.map(({ uid }) => uid), [
    'day 2026-11-20', 'a', 'b', 'c', 'day 2026-11-21', 'd',
  ]);
  assert.deepEqual(rows.map((row) => row.continuesAuthor),
    [false, false, true, false, false, false]);
  assert.equal(indexOfChatItem('c', rows), 3);
  assert.equal(indexOfChatItem('nobody', rows), -1);
});

for (const { name, old, new: now, ...expected } of vectors('items')) {
  test(`changes of items: ${name}`, () => {
    const items = (list) => list.map((item) => (
      typeof item === 'string' ? { uid: item, type: 'message' } : { uid: item[0], type: item[1] }
    ));
    const { insertions, deletions, moves } = chatItemChanges(items(old), items(now));
    const pairs = moves.map(({ from, to }) => [from, to]);
    assert.deepEqual({ insertions, deletions, moves: pairs }, expected);
  });
}
