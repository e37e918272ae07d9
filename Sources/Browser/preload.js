import { isFillable } from './gaps.js';

/** @import { Gap } from './types.js' */

/** More is fetched when fewer rows than this lie between the view and what is missing. */
export const UNTIL_PRELOAD = 50;

/**
 * What to fetch next: a page of a gap, from the end that is nearer to the view, or the page before
 * the oldest row.
 *
 * @typedef {{gap: Gap, end: 'newer' | 'older'} | 'older' | null} NextLoad
 *
 * @typedef {object} Viewed
 * @property {number} count  of rows
 * @property {(index: number) => Gap | undefined} gapAt  the gap that a row stands for
 * @property {number} first  the first row in view
 * @property {number} last
 * @property {boolean} isUpward  whether the view moved to older rows lately
 * @property {boolean} hasOlder  whether there is history before the first row
 * @property {(gap: Gap) => boolean} mayFill  false for a gap that is being filled, or failed to be
 */

/**
 * What a view needs next, first in the direction in which it moves. A gap in view is filled from
 * the side on which the reader came.
 *
 * @param {Viewed} view
 * @returns {NextLoad}
 */
export function nextLoad(view) {
  return view.isUpward
    ? olderThan(view.last, view) ?? newerThan(view.last + 1, view)
    : newerThan(view.first, view) ?? olderThan(view.first - 1, view);
}

/**
 * @param {number} from  the newest row to look at
 * @param {Viewed} view
 * @returns {NextLoad}
 */
function olderThan(from, { gapAt, first, hasOlder, mayFill }) {
  for (let at = from; at >= Math.max(0, first - UNTIL_PRELOAD); at -= 1) {
    const gap = gapAt(at);
    if (gap && isFillable(gap) && mayFill(gap)) return { gap, end: 'newer' };
    // What lies beyond a gap that can't be filled now is not next to what is in view.
    if (gap && at < first) return null;
  }
  return hasOlder && first < UNTIL_PRELOAD ? 'older' : null;
}

/**
 * @param {number} from  the oldest row to look at
 * @param {Viewed} view
 * @returns {NextLoad}
 */
function newerThan(from, { count, gapAt, last, mayFill }) {
  for (let at = from; at < Math.min(count, last + 1 + UNTIL_PRELOAD); at += 1) {
    const gap = gapAt(at);
    if (gap && isFillable(gap) && mayFill(gap)) return { gap, end: 'older' };
    if (gap && at > last) return null;
  }
  return null;
}
