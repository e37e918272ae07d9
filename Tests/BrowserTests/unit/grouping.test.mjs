import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Grouping } from '../../../Sources/Browser/grouping.js';
import { Timeline } from '../../../Sources/Browser/timeline.js';
import { noChanges } from '../../../Sources/Browser/timeline-changes.js';
import { takeStep } from './timeline-vector.mjs';
import { vectors } from './vectors.mjs';

const category = ({ body, deleted }) => (deleted ? 'deleted' : body ?? null);

/** Compares rows with what a vector says of them. */
function check(grouping, timeline, expected, where) {
  const rows = grouping.rows.map(({ items: [from, to] }) => (
    timeline.items.slice(from, to).map(({ id }) => id).reverse()
  ));
  const found = {
    rows,
    revealed: grouping.rows.filter(({ isRevealed }) => isRevealed).map(({ id }) => id),
    runs: grouping.runs.map(({ id, rows: [from, to] }) => [id, from, to - 1]),
    unreadBefore: rows.map((_, row) => grouping.unreadBefore(row)),
  };
  for (const key of Object.keys(found)) {
    if (expected[key]) assert.deepEqual(found[key], expected[key], `${key} ${where}`);
  }
  rows.forEach((ids, row) => {
    for (const id of ids) assert.equal(grouping.rowOf(id), row, `row of ${id} ${where}`);
    assert.deepEqual(grouping.at(row), grouping.rows[row]);
  });
}

for (const vector of vectors('grouping')) {
  test(`vector: ${vector.name}`, () => {
    const { reader, steps, reveal = [], hide = [], then = [] } = vector;
    const timeline = new Timeline('c', { reader });
    const grown = new Grouping(timeline, category);
    for (const step of steps) {
      grown.apply(takeStep(timeline, step) ?? noChanges(), timeline);
    }
    for (const grouping of [grown, new Grouping(timeline, category)]) {
      for (const id of reveal) grouping.reveal(grouping.rowOf(id));
      for (const id of hide) grouping.hide(grouping.rowOf(id));
      check(grouping, timeline, vector, 'at first');
    }
    then.forEach((step, at) => {
      grown.apply(takeStep(timeline, step) ?? noChanges(), timeline);
      check(grown, timeline, step, `then ${at}`);
    });
  });
}
