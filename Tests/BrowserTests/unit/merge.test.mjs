import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  distance, findBoundaries, findBoundariesOf, findBoundaryIndices,
} from '../../../Sources/Browser/find-boundaries.js';
import { applyDelta, merge } from '../../../Sources/Browser/merge.js';

const message = (seq, rev = seq, more = {}) => ({
  id: `m${seq}`, conversation: 'c1', seq, rev, body: `${seq} at ${rev}`,
  createdAt: `2026-11-20T10:00:${String(seq).padStart(2, '0')}.000Z`, deleted: false, ...more,
});
const bodies = (list) => list.map(({ body }) => body);

test('pages join in order, each message once, the newest change wins', () => {
  const list = merge([message(3), message(1)], [message(2), message(3, 9), message(1, 0)]);
  assert.deepEqual(bodies(list), ['1 at 1', '2 at 2', '3 at 9']);
});

test('an update may come before the insert, and a deletion before both', () => {
  const updated = applyDelta([{ type: 'updated', message: message(1, 5) }], []);
  const late = applyDelta([{ type: 'inserted', message: message(1, 1) }], updated);
  assert.deepEqual(bodies(late), ['1 at 5']);
  const deleted = applyDelta([{ type: 'deleted', message: message(1, 6) }], late);
  const later = applyDelta([{ type: 'updated', message: message(1, 5) }], deleted);
  assert.deepEqual([later[0].deleted, later[0].body], [true, undefined]);
});

test('neither the order nor the repetition of deltas matters', () => {
  const deltas = [
    { type: 'inserted', message: message(1, 1) }, { type: 'updated', message: message(1, 4) },
    { type: 'inserted', message: message(2, 2) }, { type: 'deleted', message: message(2, 5) },
    { type: 'inserted', message: message(3, 3) },
  ];
  const expected = applyDelta(deltas, []);
  for (let shift = 1; shift < deltas.length; shift += 1) {
    const turned = [...deltas.slice(shift), ...deltas.slice(0, shift)];
    assert.deepEqual(applyDelta([...turned, ...turned.reverse()], []), expected);
  }
});

test('what has no place yet stands at the end', () => {
  const draft = message(9, undefined, { id: 'draft', seq: undefined, body: 'draft' });
  assert.deepEqual(bodies(merge([draft], [message(1)])), ['1 at 1', 'draft']);
});

const conversation = (id, rev, more = {}) => ({
  id, title: `${id} at ${rev}`, rev, updatedAt: '2026-11-20T10:00:00.000Z', ...more,
});
const spoken = (seq) => ({
  lastMessage: { id: `m${seq}`, createdAt: `2026-11-20T11:00:0${seq}.000Z` },
  head: { epoch: 'e', seq, rev: seq },
});

test('record, activity and the reader\'s part of a conversation are merged by themselves', () => {
  const fetched = conversation('a', 1, { ...spoken(1), unreadCount: 1, lastReadSeq: 0 });
  const renamed = { type: 'updated', conversation: conversation('a', 2, { unreadCount: 7 }) };
  const talked = { type: 'updated', conversation: conversation('a', 1, spoken(2)) };
  // An older record that comes later brings nothing back.
  for (const deltas of [[talked, renamed], [renamed, talked]]) {
    const [result] = applyDelta(deltas, [fetched]);
    assert.equal(result.title, 'a at 2');
    assert.equal(result.head.seq, 2);
    assert.deepEqual([result.unreadCount, result.lastReadSeq], [1, 0]);
    assert.equal(merge([result], [fetched])[0].title, 'a at 2');
  }
});

test('conversations stand latest activity first, and a deleted one goes', () => {
  const list = merge([], [
    conversation('a', 1, spoken(1)), conversation('b', 1, spoken(3)), conversation('c', 1),
  ]);
  assert.deepEqual(list.map(({ id }) => id), ['b', 'a', 'c']);
  const rest = applyDelta([{ type: 'deleted', conversation: { id: 'b' } }], list);
  assert.deepEqual(rest.map(({ id }) => id), ['a', 'c']);
});

test('a read marker never moves back', () => {
  const read = conversation('a', 1, { ...spoken(2), unreadCount: 0, lastReadSeq: 2 });
  const late = conversation('a', 1, { ...spoken(2), unreadCount: 1, lastReadSeq: 1 });
  assert.deepEqual(merge([read], [late])[0].lastReadSeq, 2);
});

test('boundaries are the ends of each run, newest run first', () => {
  const ends = (list) => findBoundaries(list).map((pair) => pair.map(({ seq }) => seq));
  assert.deepEqual(ends([]), []);
  assert.deepEqual(ends([1, 2, 3].map((seq) => message(seq))), [[3, 1]]);
  assert.deepEqual(ends([7, 8, 1, 2, 3, 5].map((seq) => message(seq))), [[8, 7], [5, 5], [3, 1]]);
  assert.deepEqual(ends([message(2, 2, { deleted: true }), message(1), message(3)]), [[3, 1]]);
  assert.deepEqual(ends([message(1), message(2, 2, { seq: undefined })]), [[1, 1]]);
  const [first, second] = [message(1), message(1, 2, { id: 'other' })];
  assert.deepEqual(findBoundaries([first, second]), [[first, first]]);
});

test('boundaries as positions, and of what is held', () => {
  const list = [7, 8, 1, 2, 3, 5].map((seq) => message(seq));
  assert.deepEqual(findBoundaryIndices(list), [[1, 0], [5, 5], [4, 2]]);
  const ends = (runs) => findBoundariesOf(list, runs)
    .map(({ newest, oldest }) => [newest.seq, oldest.seq]);
  assert.deepEqual(ends([[1, 5], [7, 9]]), [[8, 7], [5, 1]]);
  assert.deepEqual(ends([[20, 30], [3, 3]]), [[3, 3]], 'a run without a message has no ends');
  assert.deepEqual(ends([]), []);
  assert.deepEqual(findBoundariesOf([message(1, 2, { seq: undefined })], [[1, 9]]), []);
});

test('distance counts places', () => {
  const three = message(3);
  assert.deepEqual([4, 3, 1].map((seq) => distance(three, message(seq))), [1, 0, -2]);
  assert.equal(distance(three, message(4, 2, { seq: undefined })), null);
  assert.equal(distance(three, message(4, 2, { conversation: 'other' })), null);
});

test('a last message that is gone is gone, and one that is not said stays', () => {
  const head = (rev) => ({ epoch: 'e1', seq: 1, rev, mark: 'm', floor: 1 });
  const lastMessage = { id: 'm1', conversation: 'c1', seq: 1, rev: 2, body: 'text' };
  const list = [{ id: 'c1', rev: 1, head: head(2), lastMessage }];
  const told = (conversation) => applyDelta([{ type: 'updated', conversation }], list)[0].lastMessage;
  assert.equal(told({ id: 'c1', rev: 1, head: head(3), lastMessage: null }), null);
  assert.equal(told({ id: 'c1', rev: 3, head: head(3) }), lastMessage);
});
