import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowHeights } from '../../../Sources/Browser/row-heights.js';
import { randomSource } from './random.mjs';

/** The same, counted one by one. */
const before = (heights, index) => heights.slice(0, index).reduce((sum, each) => sum + each, 0);

test('sums and rows are those that counting gives, whatever changes', () => {
  const random = randomSource(7);
  for (const length of [0, 1, 2, 3, 64, 100, 257]) {
    const heights = Array.from({ length }, () => random.int(0, 49));
    const rows = new RowHeights(heights);
    for (let step = 0; step < 60 && length > 0; step += 1) {
      const index = random.int(0, length - 1);
      heights[index] = random.int(0, 49);
      rows.set(index, heights[index]);
      const at = random.int(0, length);
      assert.equal(rows.before(at), before(heights, at));
      const top = random.int(0, rows.total + 20);
      const found = rows.indexAt(top);
      assert.ok(before(heights, found) <= top);
      assert.ok(found === length - 1 || before(heights, found + 1) > top);
    }
    assert.equal(rows.total, before(heights, length));
  }
});

test('what lies outside belongs to the first and the last row', () => {
  const rows = new RowHeights([10, 20, 30]);
  assert.deepEqual([-5, 0, 9, 10, 59, 60, 1000].map((top) => rows.indexAt(top)),
    [0, 0, 0, 1, 2, 2, 2]);
  assert.equal(new RowHeights([]).indexAt(0), -1);
});
