import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageLog } from '../../../Sources/Browser/message-log.js';
import { MessageWindow } from '../../../Sources/Browser/message-window.js';
import { FakeLog } from './fake-log.mjs';

/** A window on a log, and how it asks for pages. */
function windowOn(log, limit = 100) {
  const messages = new MessageLog();
  const view = new MessageWindow(messages);
  messages.subscribed(log.answer({ method: 'subscribeMessages', params: { limit } }), false);
  const fetch = (range) => {
    const params = { limit: 100, ...range };
    messages.fetched(log.answer({ method: 'fetchMessages', params }), range, view);
  };
  return { messages, view, fetch };
}

const places = (view) => view.values.map(({ message }) => message.seq);
const held = (messages) => messages.have.runs;
const idsOf = (low, high) => [`m${low}`, `m${high}`];

test('what the view has left far behind is let go of, and is a gap then', () => {
  const { messages, view, fetch } = windowOn(new FakeLog(1000));
  for (let low = 901; low > 1; low -= 100) {
    view.noteVisible(...idsOf(low, low + 20));
    fetch({ before: low });
  }
  assert.deepEqual(held(messages), [[1, 321], [802, 1000]]);
  assert.deepEqual(view.gaps.map(({ after, before, cause }) => [after, before, cause]),
    [[321, 802, 'cold']]);
  assert.ok(view.values.every(({ isHeld }) => isHeld));
  for (let high = 321; high < 801; high += 100) {
    view.noteVisible(...idsOf(high - 20, high));
    fetch({ after: high, before: 802, order: 'asc' });
  }
  assert.deepEqual(view.gaps, []);
  assert.equal(held(messages)[0][1], 1000);
  assert.ok(held(messages)[0][0] > 400);
});

test('a window that follows the end does not grow for ever', () => {
  const log = new FakeLog(50);
  const { messages, view } = windowOn(log);
  for (let seq = 51; seq <= 1500; seq += 1) {
    messages.event(log.say());
    view.noteVisible(...idsOf(seq - 20, seq));
  }
  assert.ok(places(view).length <= 1001);
  assert.equal(held(messages).at(-1)[1], 1500);
});

test('a gap that reaches the head or the beginning is filled from that end too', () => {
  const log = new FakeLog(300);
  const { messages, view, fetch } = windowOn(log, 10);
  const { head } = log;
  const frame = { event: 'gap', conversation: 'c1', prev: head.rev, asOf: head.rev, head };
  messages.event({ ...frame, gaps: [{ after: 292, before: 301, missing: 8, cause: 'slow' }] });
  fetch({ after: 292, before: 301, order: 'desc' });
  assert.deepEqual(held(messages), [[291, 300]]);
  messages.event({ ...frame, gaps: [{ after: 0, before: 291, missing: 290, cause: 'slow' }] });
  fetch({ after: 0, before: 291, order: 'asc' });
  assert.deepEqual(held(messages), [[1, 100], [291, 300]]);
});

test('of more runs than may be named, the oldest are neither held nor shown as held', () => {
  const log = new FakeLog(2402);
  const { messages, view } = windowOn(log, 2402);
  const { head } = log;
  const gaps = Array.from({ length: 1200 }, (_, at) => (
    { after: at * 2 + 1, before: at * 2 + 3, missing: 1, cause: 'slow' }
  ));
  messages.event({ event: 'gap', conversation: 'c1', gaps, prev: head.rev, asOf: head.rev, head });
  assert.equal(held(messages).length, 1201);
  assert.equal(messages.resumable().runs.length, 1000);
  assert.deepEqual(
    view.values.filter(({ isHeld }) => isHeld).map(({ message }) => message.seq),
    held(messages).flatMap(([low, high]) => (low === high ? [low] : [low, high])));
});

test('what a store kept is shown and resumed from', () => {
  const log = new FakeLog(300);
  const { messages, view } = windowOn(log);
  const saved = structuredClone(messages.saved(40));
  const restored = new MessageLog();
  const shown = new MessageWindow(restored);
  restored.restore(saved);
  assert.deepEqual(held(restored), [[261, 300]]);
  assert.equal(places(shown).length, 40);
  log.say();
  const have = restored.resumable();
  restored.subscribed(log.answer({
    method: 'subscribeMessages', params: { have, limit: 100 },
  }), true);
  assert.deepEqual(held(restored), [[261, 301]]);
});

test('a window that was cleared begins elsewhere and still hears of its log', () => {
  const log = new FakeLog(300);
  const { messages, view, fetch } = windowOn(log);
  view.clear();
  assert.deepEqual([places(view), held(messages)], [[], []]);
  fetch({ around: 100 });
  messages.event(log.edit(100, 'changed'));
  messages.event(log.say());
  assert.equal(view.at(100).body, 'changed');
  assert.deepEqual(held(messages), [[1, 200]]);
  assert.equal(messages.have.asOf, log.head.rev);
});

test('a page of another log does not end the subscription', () => {
  const { messages, view } = windowOn(new FakeLog(10));
  const other = new FakeLog(10);
  other.epoch = 'e2';
  const take = (range) => messages.fetched(
    other.answer({ method: 'fetchMessages', params: { limit: 3, ...range } }), range, view,
  );
  take({});
  assert.deepEqual([held(messages), places(view)], [[[8, 10]], [8, 9, 10]]);
  other.say();
  take({});
  assert.equal(messages.head.seq, 11);
  messages.unsubscribed();
  other.say();
  take({});
  assert.equal(messages.head.seq, 11);
  assert.deepEqual(held(messages), [[8, 11]]);
});

test('what a store brought back is not a subscription', () => {
  const log = new FakeLog(10);
  const { messages, view } = windowOn(log);
  const restored = new MessageLog();
  const shown = new MessageWindow(restored);
  restored.restore(messages.saved(10));
  log.say();
  const page = log.answer({ method: 'fetchMessages', params: { limit: 3 } });
  restored.fetched(page, {}, shown);
  assert.equal(restored.head.seq, 10);
});

/** A window on places 1 to 9, of which the gateway said that 3 to 6 are missing. */
function withUpstreamGap() {
  const log = new MessageLog();
  const window = new MessageWindow(log);
  const seqs = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const messages = seqs.map((seq) => ({ id: `m${seq}`, conversation: 'c1', seq, rev: seq }));
  const head = { epoch: 'e', seq: 9, rev: 9, mark: 'm', floor: 1 };
  const deltas = messages.map((message) => ({ type: 'inserted', message }));
  log.subscribed({ deltas, covers: [[1, 9]], gaps: [], asOf: 9, head }, false);
  const gaps = [{ after: 2, before: 7, missing: 4, cause: 'upstream', since: '' }];
  log.event({ event: 'gap', gaps, prev: 9, asOf: 9, head, open: true });
  return { log, window, head };
}

const causes = ({ gaps }) => gaps.map(({ after, before, cause }) => [after, before, cause]);

test('what the gateway had to heal can be asked for when it is back', () => {
  const { log, window } = withUpstreamGap();
  assert.deepEqual(causes(window), [[2, 7, 'upstream']]);
  log.renew();
  assert.deepEqual(causes(window), [[2, 7, 'cold']]);
});

test('a resumed subscription says anew why something is missing', () => {
  const { log, window, head } = withUpstreamGap();
  const answer = { deltas: [], covers: [], gaps: [], asOf: 9, head };
  log.subscribed({ ...answer, open: true }, true);
  assert.deepEqual(causes(window), [[2, 7, 'upstream']]);
  log.subscribed(answer, true);
  assert.deepEqual(causes(window), [[2, 7, 'cold']]);
});
