import { comparePlaces } from './place.js';

/** @import { BlockList } from './block-list.js' */
/** @import { Coverage } from './coverage.js' */
/** @import { Place } from './place.js' */
/** @import { Entry, ListMessage } from './timeline.js' */

/**
 * How many messages of others nobody has read yet. The numbers are those of the conversation, not
 * of what happens to be loaded: loading or trimming changes none of them but `afterNewestLoaded`.
 * They begin with what the origin said and follow live messages; wherever the list holds everything
 * that matters, they are counted anew and so put right.
 */
export class UnreadCount {
  /** In the whole conversation. */
  total = 0;
  /** After the message that the view has passed. */
  afterView = 0;
  /** After the newest message in the list. */
  afterNewestLoaded = 0;
  /** What was read: everything up to here. @type {number | undefined} */
  lastRead;
  /** The newest message that the view has passed. @type {Place | undefined} */
  viewAnchor;

  /** @param {string | null} reader  whose own messages are never unread; null to count nothing */
  constructor(reader) { this.reader = reader; }

  /**
   * @param {ListMessage} message
   * @param {Place} place
   */
  isUnread(message, place) {
    return this.reader !== null && this.lastRead !== undefined && !message.deleted
      && message.author !== this.reader && place[0] > this.lastRead;
  }

  /**
   * Counts a message that became unread (1) or is so no more (-1).
   *
   * @param {Place} place
   * @param {1 | -1} by
   */
  count(place, by) {
    this.total = Math.max(0, this.total + by);
    if (this.viewAnchor !== undefined && comparePlaces(place, this.viewAnchor) > 0) {
      this.afterView = Math.max(0, this.afterView + by);
    }
  }

  /** Everything was read. */
  clear() { this.total = this.afterView = this.afterNewestLoaded = 0; }

  /**
   * The view has reached a place; what comes after it is `afterView`.
   *
   * @param {Place} place
   * @param {BlockList<Entry>} entries
   */
  pass(place, entries) {
    const after = (/** @type {Place} */ of) => unreadAfter(entries, of);
    this.afterView = this.viewAnchor === undefined
      ? after(place) + this.afterNewestLoaded
      : Math.max(0, this.afterView + after(place) - after(this.viewAnchor));
    this.viewAnchor = place;
  }

  /**
   * Counts anew what the list can tell for certain.
   *
   * @param {{entries: BlockList<Entry>, covered: Coverage, floor: number}} list
   * @param {boolean} isAtEnd  whether the list follows the end and holds all up to there
   */
  settle({ entries, covered, floor }, isAtEnd) {
    const newest = covered.last;
    if (this.lastRead === undefined || newest === undefined) return;
    const loaded = entries.total.unread;
    const isWhole = covered.contains(Math.max(this.lastRead + 1, floor), newest);
    if (isAtEnd) {
      this.afterNewestLoaded = 0;
      if (isWhole) this.total = loaded;
    } else if (isWhole) {
      this.total = Math.max(this.total, loaded);
      this.afterNewestLoaded = this.total - loaded;
    }
    if (this.viewAnchor === undefined) return;
    const [passed] = this.viewAnchor;
    if (passed <= newest && covered.contains(passed + 1, newest)) {
      this.afterView = unreadAfter(entries, this.viewAnchor) + this.afterNewestLoaded;
    }
  }
}

/**
 * How many unread messages of a list stand after a place.
 *
 * @param {BlockList<Entry>} entries
 * @param {Place} place
 */
export function unreadAfter(entries, place) {
  const from = entries.indexWhere((entry) => comparePlaces(entry.place, place) > 0);
  return entries.total.unread - entries.sumBefore(from).unread;
}
