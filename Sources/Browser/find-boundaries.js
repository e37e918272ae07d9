import { Coverage } from './coverage.js';

/** @import { ListMessage } from './timeline.js' */

/**
 * The two ends of one run of messages that are held without a hole.
 *
 * @typedef {{id: string | null, seq: number}} BoundaryEnd
 * @typedef {{newest: BoundaryEnd, oldest: BoundaryEnd}} Boundary
 */

/**
 * The runs of a list as pairs of messages, the newest and the oldest of each, newest run first.
 *
 * `[[A, Z]]` is a list without a hole, `[[A, D], [G, Z]]` has one, between D and G. The list may
 * stand in any order. Tombstones count. Of messages with the same `seq` the first is named; one
 * without `seq` belongs to no run.
 *
 * @param {readonly ListMessage[]} list
 * @returns {[ListMessage, ListMessage][]}
 */
export function findBoundaries(list) {
  return findBoundaryIndices(list).map(([newest, oldest]) => [list[newest], list[oldest]]);
}

/**
 * As `findBoundaries`, as positions in the list.
 *
 * @param {readonly ListMessage[]} list
 * @returns {[number, number][]}
 */
export function findBoundaryIndices(list) {
  const places = list.flatMap(({ seq }, at) => (seq == null ? [] : [{ seq, at }]));
  // A stable sort: of two with one place, the first in the list stays first.
  places.sort((a, b) => b.seq - a.seq);
  /** @type {[number, number][]} */
  const runs = [];
  let last = Infinity;
  for (const { seq, at } of places) {
    const run = runs.at(-1);
    if (run !== undefined && last - seq === 1) run[1] = at;
    else if (last !== seq) runs.push([at, at]);
    last = seq;
  }
  return runs;
}

/**
 * The newest and the oldest message held of each run of a coverage, newest run first. A run without
 * a message is left out.
 *
 * @param {readonly ListMessage[]} messages  in any order
 * @param {readonly (readonly [number, number])[]} runs  the places held, as `have.runs` names them
 * @returns {Boundary[]}
 */
export function findBoundariesOf(messages, runs) {
  const placed = messages.flatMap(({ id, seq }) => (seq == null ? [] : [{ id, seq }]))
    .sort((a, b) => a.seq - b.seq);
  return [...new Coverage(runs).runs].reverse().flatMap(([low, high]) => {
    const held = placed.filter(({ seq }) => low <= seq && seq <= high);
    return held.length === 0 ? [] : [{ newest: held[held.length - 1], oldest: held[0] }];
  });
}

/**
 * How many places `to` lies behind `from`: 1 for the next message, negative for an older one; null
 * without places in one conversation.
 *
 * @param {ListMessage} from
 * @param {ListMessage} to
 * @returns {number | null}
 */
export function distance(from, to) {
  const isKnown = from.conversation === to.conversation && from.seq != null && to.seq != null;
  return isKnown ? Number(to.seq) - Number(from.seq) : null;
}
