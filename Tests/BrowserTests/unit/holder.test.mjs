import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holder } from '../../../Sources/Browser/holder.js';
import { vectors } from './vectors.mjs';

const CONVERSATION = 'c1';
const logEvents = new Set(['messages', 'gap', 'conversation', 'reset', 'unsubscribed']);

/** Gives a holder one frame, as a connection and a conversation would. */
function take(holder, { request, frame, lost }) {
  if (lost) {
    holder.unsubscribed();
    return;
  }
  if (frame.event !== undefined) {
    const id = frame.conversation?.id ?? frame.conversation;
    if (id === CONVERSATION && logEvents.has(frame.event)) holder.event(frame);
    return;
  }
  const { result, cached, error } = frame;
  if (error) return;
  switch (request.method) {
    case 'subscribeMessages':
      holder.subscribed(result, request.params.have !== undefined);
      break;
    case 'fetchMessages':
      if (cached) holder.show(result.messages, result.head); else holder.fetched(result);
      break;
    case 'unsubscribeMessages':
      holder.unsubscribed();
      break;
    default:
      holder.show([result.message]);
  }
}

/** Rev by place, of the values that are held and of those that are shown instead. */
function revs(holder) {
  const held = {};
  const shown = {};
  for (const { message: { seq, rev } } of holder.values) {
    const heldRev = holder.heldValue(seq)?.rev;
    if (heldRev !== undefined) held[seq] = heldRev;
    if (heldRev !== rev) shown[seq] = rev;
  }
  return { held, shown };
}

for (const { name, steps } of vectors('holder')) {
  test(`vector: ${name}`, () => {
    const holder = new Holder();
    steps.forEach((step, at) => {
      if (step.request?.params.have) {
        assert.deepEqual(holder.resumable(), step.request.params.have, `have asked in step ${at}`);
      }
      take(holder, step);
      assert.deepEqual(holder.have, step.have, `have after step ${at}`);
      const { held, shown } = revs(holder);
      assert.deepEqual(held, step.held, `held after step ${at}`);
      assert.deepEqual(shown, step.shown, `shown after step ${at}`);
      if (step.record !== undefined) assert.equal(holder.record?.rev ?? null, step.record);
    });
  });
}

const head = (seq) => ({ epoch: 'e1', seq, rev: seq, mark: 'm', floor: 1 });

test('a have of more than 1,000 runs drops its oldest, and the holder with it', () => {
  const holder = new Holder();
  const covers = Array.from({ length: 1200 }, (_, at) => [at * 2 + 1, at * 2 + 1]);
  const deltas = covers.map(([seq]) => (
    { type: 'inserted', via: 'replay', message: { seq, rev: seq } }
  ));
  holder.subscribed({ deltas, covers, gaps: [], asOf: 2400, head: head(2400) }, false);
  const have = holder.resumable();
  assert.equal(have.runs.length, 1000);
  assert.deepEqual(have.runs[0], [401, 401]);
  assert.deepEqual(holder.have, have);
  assert.equal(holder.heldValue(399), undefined);
  assert.equal(holder.heldValue(401).seq, 401);
});

const gap = (after, before, cause) => (
  { after, before, missing: before - after - 1, cause, since: '' }
);

/** The answer of a subscription that brings places and no values. */
const answer = (covers, gaps, seq) => ({ deltas: [], covers, gaps, asOf: seq, head: head(seq) });

test('gaps carry the newest cause, and holes without one are cold', () => {
  const holder = new Holder();
  holder.subscribed(answer([[1, 5], [40, 50]], [gap(5, 20, 'upstream')], 50), false);
  assert.deepEqual(holder.gaps, [gap(5, 20, 'upstream'), gap(19, 40, 'cold')]);
  holder.event({ event: 'gap', gaps: [gap(10, 15, 'slow')], prev: 50, asOf: 50, head: head(50) });
  assert.deepEqual(holder.gaps, [
    gap(5, 11, 'upstream'), gap(10, 15, 'slow'), gap(14, 20, 'upstream'), gap(19, 40, 'cold'),
  ]);
  holder.event({
    event: 'messages', deltas: [], covers: [[6, 19]], prev: 50, asOf: 50, head: head(50),
  });
  assert.deepEqual(holder.gaps, [gap(19, 40, 'cold')]);
});

test('what is older than everything held is history, not a gap', () => {
  const holder = new Holder();
  holder.subscribed(answer([[90, 100]], [], 100), false);
  assert.deepEqual(holder.gaps, []);
  assert.equal(holder.oldest, 90);
});

test('a page without a subscription is only shown', () => {
  const holder = new Holder();
  holder.subscribed(answer([[1, 5]], [], 5), false);
  holder.unsubscribed();
  holder.fetched({ messages: [], hasMore: {}, covers: [[8, 9]], gaps: [], asOf: 9, head: head(9) });
  assert.equal(holder.head.seq, 5);
  assert.deepEqual(holder.have.runs, [[1, 5]]);
  assert.deepEqual(holder.gaps, []);
});

test('the gap above a message that is changed below all that is held is named at once', () => {
  const message = (seq, rev) => ({ id: `m${seq}`, seq, rev, author: 'bob', body: `${rev}` });
  const head = (rev) => ({ epoch: 'e1', seq: 52, rev, mark: `${rev}`, floor: 1 });
  const holder = new Holder();
  holder.subscribed({
    deltas: [50, 51, 52].map((seq) => ({ type: 'inserted', message: message(seq, seq + 1) })),
    covers: [[50, 52]], gaps: [], asOf: 53, head: head(53),
  }, false);
  assert.deepEqual(holder.gaps, []);
  holder.event({
    event: 'messages', deltas: [{ type: 'updated', message: message(2, 54) }], covers: [[2, 2]],
    prev: 53, asOf: 54, head: head(54),
  });
  assert.deepEqual(holder.gaps.map(({ after, before, missing, cause }) => (
    [after, before, missing, cause])), [[2, 50, 47, 'cold']]);
});
