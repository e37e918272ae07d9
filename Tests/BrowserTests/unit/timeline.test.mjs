import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Timeline } from '../../../Sources/Browser/timeline.js';
import { carriedOut, messages, takeStep } from './timeline-vector.mjs';
import { vectors } from './vectors.mjs';

const ids = (timeline) => timeline.items.map(({ id }) => id);

/** The changes in the short form of the vectors. */
function short(changes) {
  const lists = {
    inserted: changes.inserted.map(({ index }) => index),
    deleted: changes.deleted.map(({ index }) => index),
    moved: changes.moved.map(({ from, to }) => [from, to]),
    updated: changes.updated.map(({ index }) => index),
  };
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

/** What a step of a vector says of a timeline, as the timeline has it. */
const readings = {
  ids,
  items: ids,
  held: (timeline) => timeline.entries.filter(({ isHeld }) => isHeld)
    .map(({ message: { seq } }) => seq),
  hasMore: (timeline) => timeline.hasMore,
  follows: (timeline) => timeline.followsEnd,
  unread: ({ unread: { total, afterView, afterNewestLoaded } }) => (
    { total, afterView, afterNewestLoaded }
  ),
  covered: (timeline) => timeline.coverage,
  gaps: (timeline) => timeline.gaps.map(({ places }) => places),
};

for (const { name, reader, steps } of vectors('timeline')) {
  test(`vector: ${name}`, () => {
    const timeline = new Timeline('c', { reader });
    steps.forEach((step, at) => {
      const before = ids(timeline);
      const changes = takeStep(timeline, step);
      if (changes) assert.deepEqual(carriedOut(before, changes), ids(timeline), `step ${at}`);
      if (step.changes) assert.deepEqual(short(changes), step.changes, `changes of step ${at}`);
      for (const [key, read] of Object.entries(readings)) {
        if (step[key] === undefined) continue;
        const expected = key === 'items'
          ? messages(step.items).map(({ id }) => id) : step[key];
        assert.deepEqual(read(timeline), expected, `${key} after step ${at}`);
      }
      for (const [id, rev] of Object.entries(step.revs ?? {})) {
        assert.equal(timeline.at(timeline.indexOf(id)).message.rev, rev, `rev after step ${at}`);
      }
    });
  });
}
