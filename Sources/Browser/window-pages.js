import { Coverage } from './coverage.js';
import { proofOf } from './timeline-proof.js';

/** @import { PageRange } from './message-window.js' */
/** @import { Page } from './timeline-page.js' */
/** @import { Head, PageResult } from './types.js' */

/**
 * Where a page belongs: before or after a place that is held, at the end, or anywhere: what touches
 * nothing that is held is a run of its own.
 *
 * @param {PageRange} range  what was asked for
 * @param {Coverage | null} coverage  what the window holds; null if it has not begun
 * @param {Head | null} head
 * @returns {Pick<Page, 'kind' | 'anchor'>}
 */
export function pageKind({ before, after, around, order }, coverage, head) {
  if (around !== undefined || coverage === null) return { kind: 'around' };
  if (after !== undefined && order === 'asc') {
    return coverage.contains(after) ? { kind: 'after', anchor: after } : { kind: 'around' };
  }
  if (before === undefined || before > (head?.seq ?? 0)) return { kind: 'latest' };
  return coverage.contains(before) ? { kind: 'before', anchor: before } : { kind: 'around' };
}

/**
 * How many messages may be asked for at once: what the gateway takes that is nearest to what an app
 * said, since it refuses all else.
 *
 * @param {number} limit
 */
export function pageLimit(limit) {
  return Math.min(Math.max(Number.isNaN(limit) ? 1 : Math.trunc(limit), 1), 1000);
}

/**
 * What fills the holes of a window out of a page that another one asked for; null for nothing.
 *
 * @param {PageResult} page
 * @param {{coverage: Coverage, oldest: number | undefined, followsEnd: boolean}} window
 */
export function fillingOf({ messages, covers, asOf, head }, { coverage, oldest, followsEnd }) {
  if (oldest === undefined) return null;
  const last = followsEnd ? head.seq : Math.min(coverage.last ?? 0, head.seq);
  const holes = Coverage.interval(oldest, last)
    .intersection(new Coverage(covers)).subtracting(coverage);
  if (holes.isEmpty) return null;
  const deltas = messages.filter(({ seq }) => holes.contains(seq))
    .map((message) => ({ type: /** @type {const} */ ('inserted'), via: 'fill', message }));
  return { deltas, proof: { ...proofOf({ head, asOf }), covers: holes.runs, from: oldest } };
}
