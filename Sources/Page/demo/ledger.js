/** @import { Item } from '../../Browser/items.js' */
/** @import { Gap, Have, Head } from '../../Browser/types.js' */

/**
 * What somebody was told of a log, counted in the rows that are on their page.
 *
 * @typedef {object} Ledger
 * @property {number} sent  places of the log, as far as they were told, without the history that
 *   nobody asked for: what is older than the oldest row, and gaps of cause `cold`
 * @property {number} held  messages that they have
 * @property {number} missing  places that a row or a banner of theirs says are not here
 * @property {number} silent  places that are in no row, and of which nothing is said
 * @property {number} unasked  places that nobody asked for, or that were let go of far from view
 * @property {number} tail  of those missing, how many are above all rows
 * @property {number} onTheWay  places they were not told of yet, over a connection that stands
 * @property {boolean} isEqual  `sent` is `held` and `missing` together, and no place is in both
 */

/**
 * Counts place by place. A person who is not connected, or hears that there may be more, sees a
 * banner. That banner declares everything above what they were told.
 *
 * @param {object} of
 * @param {Have | null} of.have
 * @param {readonly Item[]} of.items
 * @param {boolean} of.isAtPresent  connected, and nothing says that there may be more
 * @param {Head | null} of.log  the log itself, as its origin has it
 * @returns {Ledger}
 */
export function ledgerOf({ have, items, isAtPresent, log }) {
  const above = log === null ? 0 : aboveOf(have, log);
  const tail = isAtPresent ? 0 : above;
  if (have === null) {
    return {
      sent: tail, held: 0, missing: tail, silent: 0, unasked: 0, tail, onTheWay: above - tail,
      isEqual: true,
    };
  }
  const { floor, seq } = have.head;
  // In each place: how often it is held, and whether it is declared to be missing.
  const held = new Uint8Array(Math.max(0, seq - floor + 1));
  const declared = new Uint8Array(held.length);
  const unasked = new Uint8Array(held.length);
  let oldest = seq + 1;
  for (const item of items) {
    if (item.kind === 'message') {
      // What is shown and not held is drawn as doubtful.
      if (item.isHeld) held[item.message.seq - floor] += 1;
      else declared[item.message.seq - floor] = 1;
      oldest = Math.min(oldest, item.message.seq);
    } else if (item.kind === 'gap') {
      const { after, before, cause } = /** @type {Gap} */ (item.gap);
      const places = cause === 'cold' ? unasked : declared;
      places.fill(1, Math.max(0, after + 1 - floor), Math.max(0, before - floor));
      oldest = Math.min(oldest, after + 1);
    }
  }
  const counts = { held: 0, missing: 0, silent: 0, twice: 0, unasked: 0 };
  // The first row says that there is history above it, which is not missing.
  unasked.fill(1, 0, Math.max(0, oldest - floor));
  held.forEach((count, at) => {
    if (count + Math.max(declared[at], unasked[at]) > 1) counts.twice += 1;
    if (count > 0) counts.held += 1;
    else if (unasked[at] > 0) counts.unasked += 1;
    else if (declared[at] > 0) counts.missing += 1;
    else counts.silent += 1;
  });
  const sent = held.length - counts.unasked + tail;
  const missing = counts.missing + tail;
  return {
    sent, held: counts.held, missing, silent: counts.silent, unasked: counts.unasked, tail,
    onTheWay: above - tail,
    isEqual: sent === counts.held + missing && counts.twice === 0,
  };
}

/**
 * How many places the log has above what somebody was told; of another log they know nothing yet.
 *
 * @param {Have | null} have
 * @param {Head} log
 */
function aboveOf(have, log) {
  if (have === null) return log.seq - log.floor + 1;
  return have.head.epoch === log.epoch ? Math.max(0, log.seq - have.head.seq) : 0;
}
