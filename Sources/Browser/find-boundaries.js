/** @import { ListMessage } from './timeline.js' */

/**
 * The runs of a densely numbered list as pairs of messages, the newest and the oldest of each,
 * newest run first.
 *
 * `[[A, Z]]` is a list without a hole: load what is newer than A and what is older than Z.
 * `[[A, D], [G, Z]]` has one, between D and G. The list may stand in any order. Tombstones count:
 * their place is known. Of messages with the same `seq` the first in the list is named; one without
 * `seq` belongs to no run, since nothing says what lies beside it.
 *
 * @param {readonly ListMessage[]} list
 * @returns {[ListMessage, ListMessage][]}
 */
export function findBoundaries(list) {
  const placed = list.filter(({ seq }) => seq != null);
  // A stable sort: of two with one place, the first in the list stays first.
  placed.sort((a, b) => Number(b.seq) - Number(a.seq));
  /** @type {[ListMessage, ListMessage][]} */
  const runs = [];
  for (const message of placed) {
    const run = runs.at(-1);
    const distance = run ? Number(run[1].seq) - Number(message.seq) : Infinity;
    if (distance > 1) runs.push([message, message]);
    else if (run && distance === 1) run[1] = message;
  }
  return runs;
}
