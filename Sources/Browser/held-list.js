import { BlockList } from './block-list.js';
import {
  compareCuts, comparePlaces, cutBefore, cutBehind, earlierCut, laterCut, placeOf,
} from './place.js';
import { Spans } from './spans.js';
import { carryOut, mergedMessage } from './timeline-changes.js';
import { UnreadCount, unreadAfter } from './timeline-unread.js';

/** @import { Cut, Place } from './place.js' */
/** @import { Changes } from './timeline-changes.js' */
/** @import { Page } from './timeline-page.js' */
/** @import { Edits, Entry, ListMessage, Numbering, Range } from './timeline.js' */

/**
 * What a timeline stands on: its entries in order, which places are held, and what is unread. It
 * decides nothing; a timeline collects what is to change in `Edits` and commits that at once.
 */
export class HeldList {
  entries = /** @type {BlockList<Entry>} */ (new BlockList());
  covered = new Spans();
  /** The newest change that was not taken: a page from before it proves nothing. */
  changesFrom = 0;
  /** Whether a page has come since the beginning or the last reset. */
  isLoaded = false;
  /** Whether news belong into the list: it was loaded to the end, and not trimmed there. */
  followsEnd = false;
  /** Whether the feed has been whole since the last message that it told of. */
  isFed = true;
  /** @type {Map<string, Place>} */
  #places = new Map();

  /**
   * @param {Numbering} numbering
   * @param {string | null} reader
   */
  constructor(numbering, reader) {
    this.numbering = numbering;
    /** Before the oldest message that the origin has. @type {Cut} */
    this.floor = numbering === 'unnumbered' ? -Infinity : 1;
    /** Behind the newest message that anybody told of. @type {Cut} */
    this.end = this.floor;
    this.unread = new UnreadCount(reader);
  }

  get isUnnumbered() { return this.numbering === 'unnumbered'; }

  /** Whether the newest message that is known to be is held, and no feed broke since. */
  get touchesEnd() {
    const high = this.covered.high ?? this.floor;
    return this.isUnnumbered ? high === Infinity : compareCuts(high, this.end) >= 0;
  }

  /** The number of entries that are not still being sent. */
  get sentCount() {
    const { entries } = this;
    if (this.isUnnumbered || entries.length === 0) return entries.length;
    if (this.hasPlace(entries.at(entries.length - 1).place)) return entries.length;
    return entries.indexWhere((entry) => !this.hasPlace(entry.place));
  }

  /** An empty one, with what is still being sent. */
  emptied() {
    const list = new HeldList(this.numbering, this.unread.reader);
    list.isFed = this.isFed;
    for (const entry of this.entries.all.filter(({ place }) => !this.hasPlace(place))) {
      list.entries.set(entry);
      list.#places.set(entry.message.id, entry.place);
    }
    return list;
  }

  /** @param {ListMessage} message */
  placeOf(message) { return placeOf(message, this.numbering); }

  /** @param {Place} place */
  hasPlace(place) { return this.isUnnumbered || place[0] !== Infinity; }

  /** @param {string} id */
  place(id) { return this.#places.get(id); }

  /**
   * The indices between two cuts.
   *
   * @param {Cut} low
   * @param {Cut} high
   * @returns {Range}
   */
  between(low, high) {
    const from = this.#behind(low);
    return [from, Math.max(from, this.#behind(high))];
  }

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
    const isMoved = known?.isHeld && comparePlaces(known.place, this.placeOf(message)) !== 0;
    if (isMoved && !isProven) return;
    const base = isProven && !known?.isHeld ? undefined : known?.message;
    const value = mergedMessage(message, base, origin);
    const place = this.placeOf(value);
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
   * @param {Spans} proven
   * @param {readonly [number, number][]} gaps
   * @param {number} floor
   * @param {Edits} edits
   */
  hold(proven, gaps, floor, edits) {
    for (const { low, high } of proven.list) {
      for (const entry of this.#entriesBetween(low, high)) {
        const { id } = entry.message;
        if (!entry.isHeld && !edits.has(id)) edits.set(id, null);
      }
    }
    this.covered.insertAll(proven);
    if (!this.isUnnumbered && compareCuts(floor, this.floor) > 0) {
      this.floor = floor;
      this.covered.remove(-Infinity, floor);
      for (const { message } of this.#entriesBetween(-Infinity, floor)) edits.set(message.id, null);
    }
    this.#lose(Spans.ofRuns(gaps), edits);
  }

  /**
   * Puts other values in the place of what was shown, or nothing.
   *
   * @param {ReadonlyMap<string, ListMessage | undefined>} values  by id
   * @param {Edits} edits
   */
  takeBack(values, edits) {
    for (const [id, message] of values) {
      const entry = this.entry(id);
      if (entry === undefined) continue;
      if (message?.id === id) {
        const isUnread = this.unread.isUnread(message, entry.place);
        edits.set(id, { ...entry, message, isUnread });
      } else if (!entry.isHeld) {
        edits.set(id, null);
      }
    }
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
      if (this.hasPlace(place) && !kept.has(message.id)) edits.set(message.id, null);
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
    this.covered.remove(
      low === 0 ? -Infinity : cutBefore(this.entries.at(low).place),
      isEnd ? Infinity : cutBehind(this.entries.at(high - 1).place),
    );
    return isEnd;
  }

  /**
   * Takes over how far a page says that the conversation reaches.
   *
   * @param {Page} page
   * @param {Spans} proven
   */
  noteEnds(page, proven) {
    if (!this.isUnnumbered) {
      if (!page.hasMore.before && proven.low !== undefined) {
        // What the page lacks is there all the same.
        const lacking = page.gaps?.[0]?.[0] ?? Infinity;
        this.floor = laterCut(this.floor, earlierCut(proven.low, lacking));
      }
      if (page.head !== undefined) this.end = laterCut(this.end, page.head + 1);
    }
    for (const message of page.messages) this.noteNewest(this.placeOf(message));
    const isLast = page.kind === 'latest' || !page.hasMore.after;
    this.followsEnd = isLast || (page.kind !== 'initial' && this.followsEnd);
  }

  /** @param {Place} place */
  noteNewest(place) {
    if (this.hasPlace(place)) this.end = laterCut(this.end, cutBehind(place));
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
    if (!this.isLoaded || unread.lastRead === undefined || !this.hasPlace(place)) return;
    if (comparePlaces(place, unread.lastRead) <= 0) return;
    if (compareCuts(cutBefore(place), end) >= 0) {
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
      const places = page.messages.map((message) => this.placeOf(message));
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
   * @param {Spans} lost
   * @param {Edits} edits
   */
  #lose(lost, edits) {
    if (lost.isEmpty) return;
    this.covered.removeAll(lost);
    for (const { low, high } of lost.list) {
      for (const entry of this.#entriesBetween(low, high)) {
        if (!edits.has(entry.message.id)) edits.set(entry.message.id, entry);
      }
    }
    for (const [id, entry] of edits) {
      if (entry && lost.holds(entry.place)) edits.set(id, { ...entry, isHeld: false });
    }
  }

  /** @param {Cut} cut */
  #behind(cut) {
    return this.entries.indexWhere((entry) => compareCuts(cutBefore(entry.place), cut) >= 0);
  }

  /**
   * @param {Cut} low
   * @param {Cut} high
   */
  #entriesBetween(low, high) {
    const [from, to] = this.between(low, high);
    return Array.from({ length: to - from }, (_, at) => this.entries.at(from + at));
  }
}
