import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coverage } from '../../../Sources/Browser/coverage.js';
import { heldAfter, loadFor, loadForGap } from '../../../Sources/Browser/loading.js';
import { vectors } from './vectors.mjs';

for (const { name, steps, closed = [], ...begin } of vectors('loading')) {
  test(`loading: ${name}`, () => {
    let { floor = 1, head = 400 } = begin;
    let runs = new Coverage(begin.runs);
    for (const { want, ask, covers = [], gaps = [], ...after } of steps) {
      const load = loadFor(want, { runs, floor, head, closed: new Coverage(closed) });
      assert.deepEqual(load, ask, JSON.stringify(want));
      floor = after.floor ?? floor;
      head = after.head ?? head;
      const answer = { covers: new Coverage(covers), gaps: new Coverage(gaps), floor };
      runs = heldAfter(runs, answer);
      if (after.runs) assert.deepEqual(runs.runs, after.runs, JSON.stringify(want));
    }
  });
}

test('a gap that a view names is asked for with its neighbour, from an end that joins', () => {
  const known = { runs: new Coverage([[1, 100]]), floor: 1, head: 400 };
  const gap = (after, before) => ({ after, before, missing: null, cause: 'cold', since: '' });
  const load = { after: 100, order: 'asc' };
  for (const end of ['newer', 'older']) {
    assert.deepEqual(loadForGap(gap(200, 401), end, known), load);
    assert.deepEqual(loadForGap(gap(100, 201), end, known), load);
  }
  assert.equal(loadForGap(gap(50, 60), 'newer', known), null);
  const closed = new Coverage([[101, 400]]);
  assert.equal(loadForGap(gap(100, 201), 'newer', { ...known, closed }), null);
});
