import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldPage } from '../../../Sources/Browser/held-page.js';
import { vectors } from './vectors.mjs';

const head = { epoch: 'e1', seq: 40, rev: 41, mark: 'm', floor: 1 };

for (const { name, runs, empty = [], page, seqs, covers, hasMore } of vectors('held-page')) {
  test(`vector: ${name}`, () => {
    const messages = runs.flatMap(([low, high]) => (
      Array.from({ length: high - low + 1 }, (_, at) => low + at)
    )).filter((seq) => !empty.includes(seq))
      .map((seq) => ({ id: `m${seq}`, seq, rev: seq + 1 }));
    const answer = heldPage({ have: { head, asOf: 41, runs }, messages, record: null }, page);
    if (seqs === null) {
      assert.equal(answer, null);
      return;
    }
    const [before, after] = hasMore;
    assert.deepEqual(answer.messages.map(({ seq }) => seq), seqs);
    assert.deepEqual(answer.covers, [covers]);
    assert.deepEqual(answer.hasMore, { before, after });
    assert.deepEqual([answer.head, answer.asOf, answer.gaps], [head, 41, []]);
    const [newest, oldest] = [Math.max(...seqs), Math.min(...seqs)];
    assert.deepEqual(answer.boundaries, [{
      newest: { id: `m${newest}`, seq: newest }, oldest: { id: `m${oldest}`, seq: oldest },
    }]);
  });
}
