import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../../Sources/Browser/history.js';
import { historyScenario } from '../../../Sources/Browser/history-scenario.js';
import { settled } from './fake-gateway.mjs';
import { connected, FakeLog, outage, timeOf } from './fake-log.mjs';
import { vectors } from './vectors.mjs';

/** A history that was opened, with where its view was moved to. */
async function opened(log, record = log.record) {
  const played = await connected(log);
  const moves = [];
  const history = new History(played.client, record);
  const loadings = [];
  history.delegate = {
    historyDidChange: ({ loading }) => loadings.push({ ...loading }),
    historyMoveTo: (of, message, highlight) => moves.push([message, highlight]),
  };
  history.open();
  await settled();
  const places = () => history.messages.map(({ seq }) => seq);
  return { ...played, history, moves, loadings, places };
}

const range = (low, high) => Array.from({ length: high - low + 1 }, (_, at) => low + at);
/** A log of which so much was read. */
const readLog = (length, lastReadSeq) => Object.assign(new FakeLog(length), { lastReadSeq });

test('1: with unread messages it opens where reading goes on, with a banner', async () => {
  const { history, moves, places } = await opened(readLog(100, 90));
  assert.deepEqual([history.unreadBannerAfter, moves], ['m90', [['m90', false]]]);
  assert.deepEqual(places(), range(76, 100));
  assert.equal(history.requestCount, 0);
});

test('1: many unread messages are loaded around the last one seen', async () => {
  const { history, moves, places } = await opened(readLog(300, 100));
  assert.deepEqual([history.unreadBannerAfter, moves], ['m100', [['m100', false]]]);
  assert.deepEqual(places(), range(75, 125));
  assert.deepEqual([history.requestCount, history.hasMore], [1, { before: true, after: true }]);
});

test('2: with nothing unread it opens at the end, without a banner', async () => {
  const { history, moves } = await opened(readLog(100, 100));
  assert.deepEqual([history.unreadBannerAfter, moves], [null, [['m100', false]]]);
  assert.equal(history.hasMore.after, false);
});

test('3 and 4: scrolling loads above and below, but not while the view moves itself', async () => {
  const { history, places, loadings } = await opened(readLog(300, 100));
  history.isProgrammaticallyScrolling = true;
  await history.scrolledToTop();
  await history.scrolledToBottom();
  assert.deepEqual(places(), range(75, 125));
  history.isProgrammaticallyScrolling = false;
  const loading = history.scrolledToTop();
  assert.deepEqual(history.loading, { top: true, bottom: false, center: false });
  await loading;
  assert.deepEqual(places(), range(50, 125));
  await history.scrolledToBottom();
  assert.deepEqual(places(), range(50, 150));
  assert.ok(loadings.some(({ bottom }) => bottom));
  assert.deepEqual(history.loading, { top: false, bottom: false, center: false });
});

test('5: back after an outage the old banner gives way to one above what is new', async () => {
  const log = readLog(100, 90);
  const { history, places, ...played } = await opened(log);
  await outage(played, () => { for (let n = 0; n < 60; n += 1) log.say(); });
  await settled();
  assert.equal(history.unreadBannerAfter, 'm100');
  assert.deepEqual(places(), [...range(76, 125), ...range(136, 160)]);
  await history.scrolledToBottom();
  assert.deepEqual(places(), range(76, 160));
});

test('5: an outage in which nothing was said changes no banner', async () => {
  const { history, ...played } = await opened(readLog(100, 100));
  await outage(played);
  assert.equal(history.unreadBannerAfter, null);
});

test('6: a jump to a message that is here asks for nothing', async () => {
  const { history, moves } = await opened(readLog(100, 100));
  assert.equal(await history.moveTo('m80'), true);
  assert.deepEqual([history.requestCount, moves.at(-1)], [0, ['m80', true]]);
});

test('6: a jump elsewhere clears the list and loads around the message', async () => {
  const { history, moves, places, loadings } = await opened(readLog(300, 300));
  const moving = history.moveTo('m100');
  assert.deepEqual([places(), history.loading.center], [[], true]);
  assert.equal(await moving, true);
  assert.deepEqual(places(), range(75, 125));
  assert.deepEqual([history.requestCount, moves.at(-1)], [1, ['m100', true]]);
  assert.ok(loadings.some(({ center }) => center));
});

test('6: news do not come into a list that was left for another place', async () => {
  const log = readLog(300, 300);
  const { history, places, sockets } = await opened(log);
  await history.moveTo('m100');
  sockets.at(-1).frame(log.say());
  assert.deepEqual(places(), range(75, 125));
  assert.equal(history.hasMore.after, true);
});

test('6: a page that was under way when the list was left is not taken', async () => {
  const { history, places } = await opened(readLog(300, 300));
  const older = history.scrolledToTop();
  await history.moveTo('m100');
  await older;
  assert.deepEqual(places(), range(75, 125));
  assert.deepEqual(history.loading, { top: false, bottom: false, center: false });
});

test('7: a last message below the last one seen is moved to by its time', async () => {
  const log = readLog(300, 400);
  const { history, moves, places } = await opened(log);
  assert.deepEqual(history.scenario, { kind: 'moveToTime', time: timeOf(300) });
  assert.deepEqual([moves, places().at(-1)], [[['m300', false]], 300]);
});

test('never opened, it begins at the first message', async () => {
  const { moves, places } = await opened(readLog(300, 0));
  assert.deepEqual([moves, places()], [[['m1', false]], range(1, 26)]);
});

for (const { name, scenario, bannerAfter, moveTo, ...of } of vectors('history')) {
  test(`scenario: ${name}`, () => {
    const { kind, lastSeen, time } = historyScenario(of);
    const names = {
      1: 'unread', 2: 'seen', 7: 'moveToTime', 'never opened': 'neverOpened', empty: 'empty',
    };
    assert.deepEqual([kind, lastSeen, time], [names[scenario], bannerAfter, moveTo]);
  });
}

test('what was sent is among the messages at once', async () => {
  const { history, sockets } = await opened(readLog(30, 30));
  sockets.at(-1).send = () => {};
  const id = history.send('written here');
  assert.deepEqual(history.messages.at(-1).id, id);
  assert.equal(history.messages.at(-1).seq, undefined);
  assert.equal(history.messages.at(-1).author, 'alice');
});

test('there is no banner over nothing but deleted messages, or one\'s own', async () => {
  const log = readLog(30, 27);
  log.delete(28);
  log.delete(29);
  log.delete(30);
  log.say({ author: 'alice' });
  const { history } = await opened(log);
  assert.deepEqual([history.unreadBannerAfter, history.unreadBannerBefore], [null, null]);
  const other = readLog(30, 27);
  other.delete(28);
  assert.equal((await opened(other)).history.unreadBannerAfter, 'm27');
});
