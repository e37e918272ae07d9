/** @import { Coverage } from './coverage.js' */
/** @import { PageRange } from './message-window.js' */
/** @import { Page } from './timeline-page.js' */
/** @import { Head } from './types.js' */

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
