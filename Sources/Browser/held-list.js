import { BlockList } from './block-list.js';
import { Coverage } from './coverage.js';
import { comparePlaces, isGiven, placeOf } from './place.js';
import { carryOut, mergedMessage } from './timeline-changes.js';
import { UnreadCount, unreadAfter } from './timeline-unread.js';

/** @import { Place } from './place.js' */
/** @import { Changes } from './timeline-changes.js' */
/** @import { Page } from './timeline-page.js' */
/** @import { Edits, Entry, ListMessage, Range } from './timeline.js' */

/**
 * What a timeline stands on: its entries in order, which places are held, and what is unread. It
 * decides nothing; a timeline collects what is to change in `Edits` and commits that at once.
 */
export class HeldList {
  entries = /** @type {BlockList<Entry>} */ (new BlockList());
  covered = Coverage.empty;
  /** The oldest place that the origin has. */
  floor = 1;
  /** The place behind the newest message that anybody told of. */
  end = 1;
  /** The newest change that was not taken: a page from before it proves nothing. */
  changesFrom = 0;
  /** Whether a page has come since the beginning or the last reset. */
  isLoaded = false;
  /** Whether news belong into the list: it was loaded to the end, and not trimmed there. */
  followsEnd = false;
  /** @type {Map<string, Place>} */
  #places = new Map();

  /** @param {string | null} reader */
  constructor(reader) { this.unread = new UnreadCount(reader); }

  /** Whether the newest message that is known to be is held. */
  get touchesEnd() { return (this.covered.last ?? this.floor - 1) >= this.end - 1; }

  /** The number of entries that are not still being sent. */
  get sentCount() {
    const { entries } = this;
    if (entries.length === 0) return 0;
    if (isGiven(entries.at(entries.length - 1).place)) return entries.length;
    return entries.indexWhere((entry) => !isGiven(entry.place));
  }

  /** An empty one, with what is still being sent. */
  emptied() {
    const list = new HeldList(this.unread.reader);
    for (const entry of this.entries.all.filter(({ place }) => !isGiven(place))) {
      list.entries.set(entry);
      list.#places.set(entry.message.id, entry.place);
    }
    return list;
  }

  /** @param {string} id */
  place(id) { return this.#places.get(id); }

  /**
   * The indices of the messages at the places from `low` to `high`.
   *
   * @param {number} low
   * @param {number} high
   * @returns {Range}
   */
  indices(low, high) { return [this.#firstIndex(low), this.#firstIndex(high + 1)]; }

  /**
   * The entry of a message as it is after `edits`.
   *
   * @param {string} id
   * @param {Edits} [edits]
   */
  entry(id, edits) {
    const edit = edits?.get(id);
    if (edit !== undefined) return edit ?? undefined;
    const place = this.#places.get(id);
    return place === undefined ? undefined : this.entries.get(place);
  }

  /**
   * Merges one value into `edits`. A proven one replaces what was only shown whatever its number;
   * otherwise the newer of the two stays.
   *
   * @param {ListMessage} message
   * @param {'fetched' | 'inserted' | 'updated' | 'deleted'} origin
   * @param {boolean} isProven
   * @param {Edits} edits
   */
  take(message, origin, isProven, edits) {
    const known = this.entry(message.id, edits);
    // Messages keep their place: a late answer of another log can't move what is held.
    const isMoved = known?.isHeld && comparePlaces(known.place, placeOf(message)) !== 0;
    if (isMoved && !isProven) return;
    const base = isProven && !known?.isHeld ? undefined : known?.message;
    const value = mergedMessage(message, base, origin);
    const place = placeOf(value);
    edits.set(message.id, {
      message: value,
      place,
      isHeld: isProven || known?.isHeld === true,
      isUnread: this.unread.isUnread(value, place),
    });
  }

  /**
   * Holds what was proven: what is shown there and did not come is gone; what lies in `gaps` is
   * held no more, and only shown; what lies below the floor is dropped.
   *
   * @param {Coverage} proven
   * @param {readonly [number, number][]} gaps
   * @param {number} floor
   * @param {Edits} edits
   */
  hold(proven, gaps, floor, edits) {
    for (const [low, high] of proven.runs) {
      for (const entry of this.#entriesAt(low, high)) {
        const { id } = entry.message;
        if (!entry.isHeld && !edits.has(id)) edits.set(id, null);
      }
    }
    this.covered = this.covered.union(proven);
    if (floor > this.floor) {
      this.floor = floor;
      this.covered = this.covered.subtracting(Coverage.interval(0, floor - 1));
      for (const { message } of this.#entriesAt(0, floor - 1)) edits.set(message.id, null);
    }
    this.#lose(new Coverage(gaps), edits);
  }

  /**
   * Removes all messages but those that come again, whose value here may be the newer one, and
   * those still being sent: they outlive everything but their arrival.
   *
   * @param {readonly ListMessage[]} coming
   * @param {Edits} edits
   */
  removeSent(coming, edits) {
    const kept = new Set(coming.map(({ id }) => id));
    for (const { message, place } of this.entries.all) {
      if (isGiven(place) && !kept.has(message.id)) edits.set(message.id, null);
    }
  }

  /**
   * Takes out entries, and out of what is held with them.
   *
   * @param {number} from
   * @param {number} to
   * @param {Edits} edits
   * @returns {boolean}  whether the newest end went
   */
  trim(from, to, edits) {
    const sent = this.sentCount;
    const low = Math.max(from, 0);
    const high = Math.min(to, sent);
    if (low >= high) return false;
    for (let at = low; at < high; at += 1) edits.set(this.entries.at(at).message.id, null);
    const isEnd = high === sent;
    this.covered = this.covered.subtracting(Coverage.interval(
      low === 0 ? 0 : this.entries.at(low).place[0],
      isEnd ? Number.MAX_SAFE_INTEGER : this.entries.at(high - 1).place[0],
    ));
    return isEnd;
  }

  /**
   * Takes over how far a page says that the conversation reaches.
   *
   * @param {Page} page
   * @param {Coverage} proven
   */
  noteEnds(page, proven) {
    if (!page.hasMore.before && proven.first !== undefined) {
      // The log has what a gap of the page lacks, so the floor is not above it.
      const lacking = page.gaps?.[0]?.[0] ?? Infinity;
      this.floor = Math.max(this.floor, Math.min(proven.first, lacking));
    }
    if (page.head !== undefined) this.end = Math.max(this.end, page.head + 1);
    for (const message of page.messages) this.noteNewest(placeOf(message));
    const isLast = page.kind === 'latest' || !page.hasMore.after;
    this.followsEnd = isLast || (page.kind !== 'initial' && this.followsEnd);
  }

  /** @param {Place} place */
  noteNewest(place) {
    if (isGiven(place)) this.end = Math.max(this.end, place[0] + 1);
  }

  /**
   * Carries out `edits`, and says what changed.
   *
   * @param {Edits} edits
   * @returns {Changes}
   */
  commit(edits) {
    /** @type {Map<string, {entry: Entry, index: number}>} */
    const before = new Map();
    for (const [id, edit] of edits) {
      const entry = this.entry(id);
      if (entry === undefined) continue;
      before.set(id, { entry, index: /** @type {number} */ (this.entries.indexOf(entry.place)) });
      // A page that is older than a value that was given up can't bring it back.
      if (entry.isHeld && !edit?.isHeld) {
        this.changesFrom = Math.max(this.changesFrom, entry.message.rev ?? 0);
      }
    }
    const newest = this.newest;
    let beyond = newest === undefined ? 0 : unreadAfter(this.entries, newest);
    const changes = carryOut(this.entries, this.#places, edits, before);
    const now = this.newest;
    if (newest !== undefined && now !== undefined) {
      const isShorter = comparePlaces(now, newest) < 0;
      if (isShorter) {
        beyond = [...before.values()].filter(({ entry }) => (
          entry.isUnread && comparePlaces(entry.place, now) > 0
        )).length;
      }
      const { unread } = this;
      const loaded = unreadAfter(this.entries, isShorter ? now : newest);
      unread.afterNewestLoaded = Math.max(0, unread.afterNewestLoaded + beyond - loaded);
    }
    return changes;
  }

  /**
   * Counts a live message that nobody knew of before, or one that is deleted, once.
   *
   * @param {ListMessage} message
   * @param {Place} place
   */
  countArrival(message, place) {
    const { unread, end } = this;
    if (!this.isLoaded || unread.lastRead === undefined || !isGiven(place)) return;
    if (place[0] <= unread.lastRead) return;
    if (place[0] >= end) {
      this.noteNewest(place);
      if (!unread.isUnread(message, place)) return;
      unread.count(place, 1);
      unread.afterNewestLoaded += 1;
    } else if (message.deleted && this.entry(message.id)?.isUnread) {
      unread.count(place, -1);
    }
  }

  /**
   * Takes over what a page says of unread messages, and where a view begins.
   *
   * @param {Page} page
   * @param {boolean} opens
   */
  countUnread(page, opens) {
    const { unread } = this;
    if (page.unread && (opens || page.kind === 'around')) {
      unread.total = page.unread.total;
      unread.afterView = page.unread.after;
      if (opens) unread.afterNewestLoaded = page.unread.after;
      const places = page.messages.map((message) => placeOf(message));
      unread.viewAnchor = places.sort(comparePlaces).at(-1) ?? unread.viewAnchor;
    } else if (opens) {
      unread.viewAnchor = this.newest;
      unread.afterView = unread.afterNewestLoaded;
    }
    this.settle();
  }

  /** Counts anew what the list can tell for certain. */
  settle() {
    if (this.isLoaded) this.unread.settle(this, this.followsEnd && this.touchesEnd);
  }

  /** The place of the newest message that is not still being sent. */
  get newest() {
    const count = this.sentCount;
    return count === 0 ? undefined : this.entries.at(count - 1).place;
  }

  /**
   * Takes places out of what is held; their messages are only shown from here on.
   *
   * @param {Coverage} lost
   * @param {Edits} edits
   */
  #lose(lost, edits) {
    if (lost.isEmpty) return;
    this.covered = this.covered.subtracting(lost);
    for (const [low, high] of lost.runs) {
      for (const entry of this.#entriesAt(low, high)) {
        if (!edits.has(entry.message.id)) edits.set(entry.message.id, entry);
      }
    }
    for (const [id, entry] of edits) {
      if (entry && lost.contains(entry.place[0])) edits.set(id, { ...entry, isHeld: false });
    }
  }

  /** @param {number} number */
  #firstIndex(number) { return this.entries.indexWhere(({ place }) => place[0] >= number); }

  /**
   * @param {number} low
   * @param {number} high
   */
  #entriesAt(low, high) {
    const [from, to] = this.indices(low, high);
    return Array.from({ length: to - from }, (_, at) => this.entries.at(from + at));
  }
}
