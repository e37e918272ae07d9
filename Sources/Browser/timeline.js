import { Coverage } from './coverage.js';
import { HeldList } from './held-list.js';
import { placeOf } from './place.js';
import { noChanges } from './timeline-changes.js';
import { anchorPlace, provenByDeltas, provenByPage } from './timeline-proof.js';
import { moveReadMarker } from './timeline-read.js';

/** @import { Place } from './place.js' */
/** @import { Changes } from './timeline-changes.js' */
/** @import { Page } from './timeline-page.js' */
/** @import { UnreadCount } from './timeline-unread.js' */
/** @import { Message } from './types.js' */

/**
 * @typedef {Omit<Message, 'seq' | 'rev'> & {seq?: number | null, rev?: number | null}} ListMessage
 * @typedef {'inserted' | 'updated' | 'deleted'} DeltaType
 * @typedef {{type: DeltaType, via?: string, message: ListMessage}} ListDelta
 *
 * @typedef {object} Entry  a message in the list
 * @property {ListMessage} message
 * @property {Place} place
 * @property {boolean} isHeld  false: only shown, it may be outdated
 * @property {boolean} isUnread
 *
 * @typedef {Map<string, Entry | null>} Edits  what the list will hold, by id
 *
 * @typedef {[number, number]} Range  the first index, and the one behind the last
 *
 * @typedef {{items: Range, places: [number, number]}} Run
 * @typedef {{items: Range, places: [number, number], missing: number}} ListGap
 */

/** How many messages beyond the view, and at the newest end, are kept when the rest is trimmed. */
export const KEPT_BESIDE = 200;

/**
 * The part of one conversation that a view shows: messages in order, and their holes, as the Swift
 * `Timeline`.
 *
 * Pages and deltas go in, in the order in which they came; each step gives the least that a view
 * has to change. It *holds* the messages of the places that it covers; others are only shown until
 * a page or delta covers them. Live messages extend it only if it *follows the end*: it was loaded
 * up to there and not trimmed since. Below its oldest run is no gap.
 */
export class Timeline {
  #list;
  #generation = 0;

  /**
   * @param {string} conversation
   * @param {object} [options]
   * @param {string | null} [options.reader]  whose own messages are never unread
   */
  constructor(conversation, { reader = null } = {}) {
    this.conversation = conversation;
    this.#list = new HeldList(reader);
  }

  get length() { return this.#list.entries.length; }

  /** Rises with each `reset`; pages of an earlier generation are ignored. */
  get generation() { return this.#generation; }

  /** Whether a page has come since the beginning or the last reset. */
  get isLoaded() { return this.#list.isLoaded; }

  get followsEnd() { return this.#list.followsEnd; }

  /** What is unread: see `UnreadCount`. @type {Readonly<UnreadCount>} */
  get unread() { return this.#list.unread; }

  /** The messages, oldest first. */
  get items() { return this.#list.entries.all.map((entry) => entry.message); }

  /** The entries, oldest first. @type {Entry[]} */
  get entries() { return this.#list.entries.all; }

  /** The places held, as the protocol writes them. */
  get coverage() { return this.#list.covered.runs; }

  /** Whether there is more beyond the two ends; false until the first page has come. */
  get hasMore() {
    if (!this.#list.isLoaded) return { before: false, after: false };
    return {
      before: (this.#list.covered.first ?? this.#list.end) > this.#list.floor,
      after: !this.#list.followsEnd || !this.#list.touchesEnd,
    };
  }

  /** The stretches without a hole, oldest first. @returns {Run[]} */
  get runs() {
    return this.#list.covered.runs.map(([low, high]) => ({
      items: this.#list.indices(low, high), places: [low, high],
    }));
  }

  /**
   * The holes between the runs, and up to the end if the list follows it, oldest first.
   *
   * @returns {ListGap[]}
   */
  get gaps() {
    const { covered, isLoaded, floor, followsEnd, end } = this.#list;
    const { runs } = covered.holes;
    const last = covered.last ?? (isLoaded ? floor - 1 : undefined);
    if (followsEnd && last !== undefined && last < end - 1) runs.push([last + 1, end - 1]);
    return runs.map(([low, high]) => ({
      items: this.#list.indices(low, high), places: [low, high], missing: high - low + 1,
    }));
  }

  /** @param {number} index @returns {Entry} */
  at(index) { return this.#list.entries.at(index); }

  /** @param {string} id */
  indexOf(id) {
    const place = this.#list.place(id);
    return place === undefined ? undefined : this.#list.entries.indexOf(place);
  }

  /**
   * Takes a page; ignored if it is of another conversation or an earlier generation, or was asked
   * from a message that left the list.
   *
   * @param {Page} page
   * @param {Range} [visible]  what the view shows; of what is far from it, a page before trims the
   *   newer messages, one after the older, one around the runs before the view
   * @returns {Changes}
   */
  apply(page, visible) {
    if (page.conversation !== this.conversation) return noChanges();
    if ((page.generation ?? this.#generation) !== this.#generation) return noChanges();
    const proven = this.#provenBy(page);
    if (proven === null) return noChanges();
    if (page.isCached || (page.asOf ?? Infinity) < this.#list.changesFrom) {
      return this.show(page.messages);
    }
    const opens = page.kind === 'initial' || !this.#list.isLoaded;
    /** @type {Edits} */
    const edits = new Map();
    if (page.kind === 'initial') {
      this.#list.covered = Coverage.empty;
      this.#list.removeSent(page.messages, edits);
    } else if (visible && this.#list.isLoaded) {
      this.#leave(page.kind, visible, edits);
    }
    for (const message of page.messages) {
      this.#list.take(message, 'fetched', proven.contains(placeOf(message)[0]), edits);
    }
    this.#list.hold(proven, page.gaps ?? [], page.floor ?? 1, edits);
    this.#list.noteEnds(page, proven);
    this.#list.isLoaded = true;
    const changes = this.#list.commit(edits);
    this.#list.countUnread(page, opens);
    return changes;
  }

  /**
   * Takes the changes of one event, or of the answer to a resumed subscription, but for what lies
   * outside of the window or is neither held nor shown.
   *
   * @param {readonly ListDelta[]} deltas
   * @param {object} [event]
   * @param {[number, number][]} [event.covers]  what it proves; else its own messages
   * @param {[number, number][]} [event.gaps]  the places that are held no longer
   * @param {number} [event.head]  the newest place given
   * @param {number} [event.floor]  the oldest place that the origin has
   * @param {number} [event.asOf]  the newest change, if pages may come late
   * @param {number} [event.from]  the oldest place of the window, if not held
   * @returns {Changes}
   */
  applyDeltas(deltas, { covers, gaps = [], head, floor = 1, asOf, from } = {}) {
    const ours = deltas.filter(({ message }) => message.conversation === this.conversation);
    /** @type {Edits} */
    const edits = new Map();
    const proven = provenByDeltas(ours, covers, this.#list, from);
    for (const { type, message } of ours) {
      const place = placeOf(message);
      this.#list.countArrival(type === 'deleted' ? { ...message, deleted: true } : message, place);
      const isProven = proven.contains(place[0]) || this.#list.covered.contains(place[0]);
      if (isProven || this.#list.entry(message.id, edits)) {
        this.#list.take(message, type, isProven, edits);
      }
      if (!isProven) this.#list.changesFrom = Math.max(this.#list.changesFrom, message.rev ?? 0);
    }
    this.#list.hold(proven, gaps, floor, edits);
    if (head !== undefined) this.#list.end = Math.max(this.#list.end, head + 1);
    for (const { message } of ours) this.#list.noteNewest(placeOf(message));
    if (gaps.length > 0) this.#list.changesFrom = Math.max(this.#list.changesFrom, asOf ?? 0);
    const changes = this.#list.commit(edits);
    this.#list.settle();
    return changes;
  }

  /**
   * Shows messages that are not held: of a cached answer, or of one's own send, edit or delete.
   * What is held at the same change or a later one stays.
   *
   * @param {readonly ListMessage[]} messages
   * @returns {Changes}
   */
  show(messages) {
    /** @type {Edits} */
    const edits = new Map();
    for (const message of messages) {
      const known = this.#list.entry(message.id, edits);
      const isNewer = (message.rev ?? 0) > (known?.message.rev ?? 0);
      const stays = known && !isNewer && (known.isHeld || known.message.rev != null);
      if (message.conversation === this.conversation && !stays) {
        this.#list.take(message, 'fetched', false, edits);
      }
    }
    return this.#list.commit(edits);
  }

  /**
   * Takes out a message that is only shown.
   *
   * @param {string} id
   * @returns {Changes}
   */
  hide(id) {
    const entry = this.#list.entry(id, new Map());
    return this.#list.commit(new Map(entry && !entry.isHeld ? [[id, null]] : []));
  }

  /** Forgets everything but what is being sent; pages under way are ignored. */
  reset() {
    /** @type {Edits} */
    const edits = new Map();
    this.#list.removeSent([], edits);
    const changes = this.#list.commit(edits);
    this.#list = this.#list.emptied();
    this.#generation += 1;
    return changes;
  }

  /**
   * Takes out what is far from the view on both sides; the newest messages stay where the list
   * follows the end.
   *
   * @param {Range} visible
   */
  trim(visible) {
    /** @type {Edits} */
    const edits = new Map();
    this.#leave('before', visible, edits);
    this.#leave('after', visible, edits);
    return this.#list.commit(edits);
  }

  /**
   * Takes out messages from both ends, down to `count`.
   *
   * @param {number} count
   * @param {number} focus  where the view stands, from 0 (the oldest message) to 1 (the newest,
   *   also for what is no number)
   */
  trimTo(count, focus) {
    const excess = this.length - Math.max(count, 0);
    if (!(excess > 0)) return noChanges();
    const place = Number.isNaN(focus) ? 1 : focus;
    const older = Math.min(excess, Math.max(0, Math.trunc(place * excess)));
    /** @type {Edits} */
    const edits = new Map();
    this.#cut(this.length - (excess - older), this.length, edits);
    this.#cut(0, older, edits);
    return this.#list.commit(edits);
  }

  /**
   * Sets the read marker, and `count` of unread messages if the origin said it. A marker never
   * moves back; before the first one nothing is unread.
   *
   * @param {number} seq
   * @param {number} [count]
   * @returns {Changes}  the messages that changed, as updates
   */
  setRead(seq, count) {
    return moveReadMarker(this.#list, seq, count);
  }

  /**
   * The view has reached a message; what comes after it is `unread.afterView`.
   *
   * @param {number} index
   */
  viewPassed(index) {
    this.#list.unread.pass(this.at(index).place, this.#list.entries);
    this.#list.settle();
  }

  /**
   * What a page proves, or null where it has lost its place.
   *
   * @param {Page} page
   */
  #provenBy(page) {
    const anchor = page.anchor === undefined ? undefined : anchorPlace(page.anchor, this.#list);
    if (anchor === undefined && (page.kind === 'before' || page.kind === 'after')) return null;
    return page.covers ? new Coverage(page.covers) : provenByPage(page, anchor);
  }

  /**
   * Trims what a walk in one direction leaves behind.
   *
   * @param {string} kind
   * @param {Range} visible
   * @param {Edits} edits
   */
  #leave(kind, [first, end], edits) {
    if (kind === 'before') {
      const kept = this.#list.followsEnd ? KEPT_BESIDE - 1 : 0;
      this.#cut(end + KEPT_BESIDE, this.length - kept, edits);
    } else if (kind === 'after') {
      this.#cut(0, first - KEPT_BESIDE, edits);
    } else if (kind === 'around') {
      const left = this.runs.slice(0, -1).filter(({ items: [from, to] }) => (
        from < to && to <= first
      ));
      this.#cut(0, left.at(-1)?.items[1] ?? 0, edits);
    }
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {Edits} edits
   */
  #cut(from, to, edits) { if (this.#list.trim(from, to, edits)) this.#list.followsEnd = false; }
}
