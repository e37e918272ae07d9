/** @import { ListMessage } from './timeline.js' */

/**
 * What was asked for: `initial`, what the list begins with, replaces everything; `latest` are the
 * newest messages; `before` and `after` the nearest to an anchor; `around` is a place in the
 * history, such as a quoted message with its neighbours.
 *
 * @typedef {'initial' | 'latest' | 'before' | 'after' | 'around'} PageKind
 */

/**
 * One page of messages on its way into a timeline, with what it proves.
 *
 * @typedef {object} Page
 * @property {PageKind} kind
 * @property {number | string} [anchor]  a seq or an id, for `before` and `after`
 * @property {string} conversation
 * @property {number} [generation]  of the timeline in which it was asked for; else whichever
 * @property {readonly ListMessage[]} messages  in any order
 * @property {{before: boolean, after: boolean}} hasMore  beyond its ends
 * @property {[number, number][]} [covers]  the places that it proves; else the page rule counts
 * @property {[number, number][]} [gaps]  the places in it that are missing or outdated
 * @property {number} [head]  the newest place that the origin had given, if it said so
 * @property {number} [floor]  the oldest place that the origin has
 * @property {number} [asOf]  as of which change; left out where it came in one order with deltas
 * @property {boolean} [isCached]  the real one follows: it is only shown
 * @property {boolean} [isNextToAnchor]  false: there may be more between the anchor and it
 * @property {{total: number, after: number}} [unread]  unread messages, and those after the page
 */

/**
 * A page of an origin that returns up to `limit` messages and says no more. It goes by the number
 * of messages as they came, with duplicates. A full page may have been the last.
 *
 * @param {Omit<Page, 'hasMore'> & {limit: number, newestFirst?: boolean}} page  `newestFirst`: the
 *   origin answers `after` with the newest messages after the anchor, not with the next
 * @returns {Page}
 */
export function pageByLimit({ limit, newestFirst = false, ...page }) {
  const isFull = page.messages.length >= limit;
  const hasMore = {
    initial: { before: isFull, after: false },
    latest: { before: isFull, after: false },
    before: { before: isFull, after: true },
    after: { before: true, after: isFull && !newestFirst },
    around: { before: true, after: true },
  }[page.kind];
  return { ...page, hasMore, isNextToAnchor: !(page.kind === 'after' && newestFirst && isFull) };
}
