import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadMarker } from '../../../Sources/Browser/read-marker.js';
import { RequestError } from '../../../Sources/Browser/request-error.js';

const refusal = (retry, after) => new RequestError({
  code: retry === 'never' ? 'forbidden' : 'origin_unavailable', message: 'not now', retry, after,
});

/** A gateway that gives these answers in turn, and then moves the marker. */
function marked(...refusals) {
  const asked = [];
  let tell;
  const told = new Promise((resolve) => { tell = resolve; });
  const marker = new ReadMarker(async (seq) => {
    asked.push(seq);
    const error = refusals.shift();
    if (error) throw error;
    tell();
    return { lastReadSeq: seq };
  });
  return { marker, asked, told };
}

test('a marker that is refused for now is told again by itself', async () => {
  const { marker, asked, told } = marked(refusal('later', 1), refusal('later', 1));
  marker.move(7);
  await told;
  await new Promise(setImmediate);
  assert.deepEqual(asked, [7, 7, 7]);
  assert.equal(marker.seq, 7);
});

test('a marker that is refused for good is not told again', async () => {
  const { marker, asked } = marked(refusal('never'));
  marker.move(7);
  await marker.resume();
  await new Promise((resolve) => { setTimeout(resolve, 5); });
  await marker.resume();
  assert.deepEqual(asked, [7]);
});

test('a lost connection tells the marker with the next session', async () => {
  const { marker, asked, told } = marked(RequestError.disconnected());
  marker.move(7);
  await new Promise((resolve) => { setTimeout(resolve, 5); });
  assert.deepEqual(asked, [7]);
  marker.resume();
  await told;
  assert.deepEqual(asked, [7, 7]);
});
