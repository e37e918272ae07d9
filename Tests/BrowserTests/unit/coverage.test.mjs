import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coverage } from '../../../Sources/Browser/coverage.js';
import { forSeeds } from './random.mjs';
import { vectors } from './vectors.mjs';

for (const { name, of, a, b, coarsened, contains = [], gives = {} } of vectors('coverage')) {
  test(`vector: ${name}`, () => {
    if (of) {
      const coverage = coarsened ? new Coverage(of).coarsened(coarsened) : new Coverage(of);
      if (gives.runs) assert.deepEqual(coverage.runs, gives.runs);
      if (gives.count !== undefined) assert.equal(coverage.count, gives.count);
      if (gives.holes) assert.deepEqual(coverage.holes.runs, gives.holes);
      for (const [low, high, held] of contains) assert.equal(coverage.contains(low, high), held);
    } else {
      const [left, right] = [new Coverage(a), new Coverage(b)];
      for (const operation of ['union', 'intersection', 'subtracting']) {
        assert.deepEqual(left[operation](right).runs, gives[operation], operation);
      }
      assert.deepEqual(left.runs, a, 'a value does not change');
    }
  });
}

const LAST = 40;

/** The runs of a set of places, the slow way. */
function naiveRuns(places) {
  const runs = [];
  for (let place = 0; place <= LAST; place += 1) {
    if (!places.has(place)) continue;
    if (places.has(place - 1)) runs.at(-1)[1] = place; else runs.push([place, place]);
  }
  return runs;
}

/** Random intervals and the set of places that they hold. */
function randomPlaces(random) {
  const intervals = [];
  const places = new Set();
  for (let count = random.int(0, 6); count > 0; count -= 1) {
    const low = random.int(0, LAST);
    const high = Math.min(LAST, low + random.int(0, 8));
    intervals.push([low, high]);
    for (let place = low; place <= high; place += 1) places.add(place);
  }
  return { coverage: new Coverage(intervals), places };
}

test('the algebra equals sets of places', () => {
  forSeeds(10_000, (random) => {
    const a = randomPlaces(random);
    const b = randomPlaces(random);
    const both = [...a.places].filter((place) => b.places.has(place));
    const rest = [...a.places].filter((place) => !b.places.has(place));
    assert.deepEqual(a.coverage.runs, naiveRuns(a.places));
    const either = new Set([...a.places, ...b.places]);
    assert.deepEqual(a.coverage.union(b.coverage).runs, naiveRuns(either));
    assert.deepEqual(a.coverage.intersection(b.coverage).runs, naiveRuns(new Set(both)));
    assert.deepEqual(a.coverage.subtracting(b.coverage).runs, naiveRuns(new Set(rest)));
    assert.equal(a.coverage.count, a.places.size);
    assert.equal(a.coverage.containsAll(b.coverage), both.length === b.places.size);
    const place = random.int(0, LAST);
    assert.equal(a.coverage.contains(place), a.places.has(place));
  });
});

test('coarsening gives a superset of at most so many runs', () => {
  forSeeds(5_000, (random) => {
    const { coverage } = randomPlaces(random);
    const limit = random.int(1, 6);
    const coarse = coverage.coarsened(limit);
    assert.ok(coarse.runCount <= limit);
    assert.ok(coarse.containsAll(coverage));
    assert.equal(coarse.first, coverage.first);
    assert.equal(coarse.last, coverage.last);
  });
});

test('a run that is none is refused', () => {
  for (const run of [[3, 2], [-1, 2], [1.5, 2], [1, Infinity]]) {
    assert.throws(() => new Coverage([run]), RangeError);
  }
});
