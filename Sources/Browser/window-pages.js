/** @import { Coverage } from './coverage.js' */
/** @import { PageRange } from './message-window.js' */
/** @import { PageKind } from './timeline-page.js' */
/** @import { Head } from './types.js' */

/**
 * Where a page belongs: before or after a place that is held, at the end, or anywhere: what touches
 * nothing that is held is a run of its own.
 *
 * @param {PageRange} range  what was asked for
 * @param {Coverage | null} coverage  what the window holds; null if it has not begun
 * @param {Head | null} head
 * @returns {PageKind}
 */
export function pageKind({ before, after, around, order }, coverage, head) {
  if (around !== undefined || coverage === null) return 'around';
  if (after !== undefined && order === 'asc') return coverage.contains(after) ? 'after' : 'around';
  if (before === undefined || before > (head?.seq ?? 0)) return 'latest';
  return coverage.contains(before) ? 'before' : 'around';
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
