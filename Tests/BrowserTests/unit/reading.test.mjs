import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reading, shownRuns } from '../../../Sources/Page/components/reading.js';

const row = (item) => ({ row: { kind: 'item', key: '', item } });
const said = (seq, isHeld = true) => row({ kind: 'message', message: { seq }, isHeld });
const gap = row({ kind: 'gap', gap: {} });
const day = { row: { kind: 'day' } };
const fold = (isHeld, ...seqs) => (
  row({ kind: 'fold', messages: seqs.map((seq) => ({ seq })), isHeld })
);
const missed = (after, upTo) => ({ after, upTo, isUnread: false });

test('what is shown is a run as far as nothing is missing in it', () => {
  const rows = [day, said(1), said(2), day, said(5), gap, said(9), fold(true, 10, 11)];
  assert.deepEqual(shownRuns(rows, 0, 4), [[1, 1], [2, 2], [3, 5]]);
  assert.deepEqual(shownRuns(rows, 4, 7), [[3, 5], [9, 9], [10, 11]]);
  assert.deepEqual(shownRuns(rows, 5, 6), [[9, 9]]);
});

test('nothing lies before the first message where the history begins', () => {
  assert.deepEqual(shownRuns([day, said(4)], 0, 1, { isFromStart: true }), [[1, 4]]);
  assert.deepEqual(shownRuns([day, said(4)], 0, 1), [[4, 4]]);
});

test('who has read nothing begins where they come in', () => {
  const rows = [said(1), gap, said(5), said(6), said(7)];
  assert.deepEqual(shownRuns(rows, 3, 4, { beginsHere: true }), [[1, 6], [7, 7]]);
});

test('what is in doubt is not seen, nor what lies beside it', () => {
  const rows = [said(1), said(2, false), said(4), fold(false, 5, 6), said(8)];
  assert.deepEqual(shownRuns(rows, 0, 4), [[1, 1], [4, 4], [8, 8]]);
});

test('a marker goes as far as everything was seen', () => {
  const reading = new Reading();
  reading.see([[205, 220]], { floor: 1, read: 200 });
  assert.equal(reading.upTo(200), 200);
  reading.see([[201, 204]], { floor: 1, read: 200 });
  assert.equal(reading.upTo(200), 220);
  assert.equal(reading.upTo(300), 300);
});

test('what was missed is named until all of it was seen', () => {
  const reading = new Reading();
  reading.miss(missed(10, 20));
  reading.see([[11, 19]], { floor: 1, read: 10 });
  reading.miss(missed(20, 22));
  assert.deepEqual(reading.missed, { after: 10, upTo: 22, isUnread: false });
  reading.see([[20, 22]], { floor: 1, read: 19 });
  assert.equal(reading.missed, null);
});

test('what is no longer kept need not be seen', () => {
  const reading = new Reading();
  reading.miss(missed(10, 20));
  reading.see([[15, 20]], { floor: 15, read: 14 });
  assert.equal(reading.missed, null);
});

test('what was unread at first is named until it was read anywhere', () => {
  const reading = new Reading();
  reading.miss({ ...missed(10, 20), isUnread: true });
  reading.see([], { floor: 1, read: 19 });
  assert.notEqual(reading.missed, null);
  reading.see([], { floor: 1, read: 20 });
  assert.equal(reading.missed, null);
});

test('in another log the numbers mean other messages', () => {
  const reading = new Reading();
  reading.follow(0);
  reading.see([[1, 20]], { floor: 1, read: 0 });
  reading.follow(0);
  assert.equal(reading.upTo(0), 20);
  reading.follow(1);
  assert.equal(reading.upTo(0), 0);
});

test('what was missed is counted anew as it is seen, read elsewhere, or deleted', () => {
  const reading = new Reading();
  reading.miss({ ...missed(10, 20), isUnread: true });
  assert.equal(reading.count({ read: 10, others: [] }), 10);
  assert.equal(reading.count({ read: 10, others: [5, 12, 19] }), 8);
  reading.see([[12, 14]], { floor: 1, read: 10 });
  assert.equal(reading.count({ read: 10, others: [5, 12, 19] }), 6);
  assert.equal(reading.count({ read: 16, others: [19] }), 3);
});
