import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextLoad } from '../../../Sources/Browser/preload.js';

const gap = { after: 10, before: 20, missing: 9, cause: 'cold', since: '' };
/** A view of 20 rows in a list of 400, with a gap at some row. */
const viewed = (first, more = {}, at = undefined) => ({
  count: 400, first, last: first + 19, isUpward: true, hasOlder: false, mayFill: () => true,
  gapAt: (index) => (index === at ? gap : undefined), ...more,
});

test('history is fetched when fewer than 50 rows are left above the view', () => {
  assert.equal(nextLoad(viewed(50, { hasOlder: true })), null);
  assert.equal(nextLoad(viewed(49, { hasOlder: true })), 'older');
  assert.equal(nextLoad(viewed(49)), null);
});

test('a gap is filled from the end that is nearer when fewer than 50 rows are left', () => {
  assert.equal(nextLoad(viewed(200, {}, 149)), null);
  assert.deepEqual(nextLoad(viewed(200, {}, 150)), { gap, end: 'newer' });
  assert.deepEqual(nextLoad(viewed(200, {}, 269)), { gap, end: 'older' });
  assert.equal(nextLoad(viewed(200, {}, 270)), null);
});

test('a gap in view is filled from the side on which the reader came', () => {
  assert.deepEqual(nextLoad(viewed(200, { isUpward: true }, 210)), { gap, end: 'newer' });
  assert.deepEqual(nextLoad(viewed(200, { isUpward: false }, 210)), { gap, end: 'older' });
});

test('of two, the one that the view moves to comes first', () => {
  const gapAt = (index) => ({ 180: { ...gap, after: 1 }, 230: { ...gap, after: 2 } })[index];
  const after = (isUpward) => nextLoad(viewed(200, { isUpward, gapAt })).gap.after;
  assert.deepEqual([after(true), after(false)], [1, 2]);
});

test('what only the gateway can heal, or is under way, is not asked for', () => {
  const trimmed = { gapAt: (index) => (index === 190 ? { ...gap, cause: 'trimmed' } : undefined) };
  assert.equal(nextLoad(viewed(200, trimmed)), null);
  assert.equal(nextLoad(viewed(200, { mayFill: () => false }, 190)), null);
});

test('history beyond a gap that can\'t be filled is not fetched for those below it', () => {
  const more = { hasOlder: true, mayFill: () => false };
  assert.equal(nextLoad(viewed(40, more, 30)), null);
  assert.equal(nextLoad(viewed(40, more, 45)), 'older');
});
