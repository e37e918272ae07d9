import { Coverage } from './coverage.js';
import { Grouping } from './grouping.js';
import { Holder } from './holder.js';
import { Timeline } from './timeline.js';

/** @import { Category } from './grouping.js' */
/** @import { Page } from './timeline-page.js' */
/** @import { Range } from './timeline.js' */
/** @import { EventFrame, Gap, Have, Head, Message } from './types.js' */
/** @import { ConversationRecord, PageResult, SubscribeResult } from './types.js' */

/**
 * What a page is asked for with; `around` takes any anchor of the protocol: a seq, an id, a moment.
 *
 * @typedef {number | string | {time: string}} Anchor
 * @typedef {{before?: number, after?: number, around?: Anchor, order?: 'asc' | 'desc'}} PageRange
 *
 * What a store keeps of a window: enough to show it again and to resume from there.
 *
 * @typedef {{have: Have, messages: Message[], record: ConversationRecord | null}} Saved
 */

/** A window that grew beyond this by live messages is trimmed to what is near the view. */
const LIMIT = 1000;

/**
 * The part of a conversation that is in memory: a `Timeline` for what is shown, and beside it a
 * `Holder` for what the protocol allows to claim when a subscription is resumed.
 *
 * Both take every frame. Invariant after each: they hold the same places. What the view leaves far
 * behind is trimmed from both, and is then history to be fetched again, or a `cold` gap.
 */
export class MessageWindow {
  #conversation;
  #holder = new Holder();
  #timeline;
  /** What the view shows, by the ids of its ends. @type {[string, string] | null} */
  #visible = null;

  /** @param {string} conversation */
  constructor(conversation) {
    this.#conversation = conversation;
    this.#timeline = new Timeline(conversation);
  }

  /** The newest head seen, `null` if nothing is held. */
  get head() { return this.#holder.head; }

  /** What is held, as the protocol writes it; `null` if nothing is. */
  get have() { return this.#holder.have; }

  /** The conversation's own record. */
  get record() { return this.#holder.record; }

  /** The gaps from the oldest place held or declared up to the head, oldest first. */
  get gaps() { return this.#holder.gaps; }

  /** The messages, oldest first, each with whether its place is held. */
  get values() { return this.#timeline.entries; }

  /** The oldest place that is held, shown or a gap; `undefined` if there is none. */
  get oldest() {
    const shown = this.#timeline.length > 0 ? this.#timeline.at(0).place[0] : Infinity;
    const oldest = Math.min(this.#holder.runs.first ?? Infinity, shown,
      (this.gaps[0]?.after ?? Infinity) + 1);
    return oldest === Infinity ? undefined : oldest;
  }

  /** Whether there is more beyond the two ends of the window. */
  get hasMore() { return this.#timeline.hasMore; }

  /**
   * Whether what an anchor names is in the window; of a moment nobody can say that.
   *
   * @param {Anchor} anchor
   */
  holds(anchor) {
    if (typeof anchor === 'number') return this.at(anchor) !== undefined;
    return typeof anchor === 'string' && this.#timeline.indexOf(anchor) !== undefined;
  }

  /**
   * The message at a place, if it is in the window.
   *
   * @param {number} seq
   */
  at(seq) { return this.#timeline.entryAt(seq)?.message; }

  /**
   * Says what the view shows, so that what is far from it can go.
   *
   * @param {string} first  the id of a message
   * @param {string} last
   */
  noteVisible(first, last) { this.#visible = [first, last]; }

  /** Lets go of all messages, to begin elsewhere in the same log. */
  clear() {
    this.#timeline.reset();
    this.#visible = null;
    this.#reconcile();
  }

  /**
   * Lets go of as many messages as it takes to keep `count`, from both ends.
   *
   * @param {number} count
   * @param {number} focus  where the view stands, from 0 (the oldest message) to 1 (the newest)
   * @returns {boolean}  whether any went
   */
  trimTo(count, focus) {
    const { length } = this.#timeline;
    this.#timeline.trimTo(count, focus);
    this.#reconcile();
    return this.#timeline.length < length;
  }

  /** Forgets everything. */
  forget() {
    this.#holder.forget();
    this.#timeline.reset();
    this.#visible = null;
  }

  /** The subscription is over, or its connection; what is held stays. */
  unsubscribed() { this.#holder.unsubscribed(); }

  /** What a subscription may be resumed with, as `Holder.resumable` says. */
  resumable() {
    const have = this.#holder.resumable();
    this.#reconcile();
    return have;
  }

  /**
   * Takes the answer of `subscribeMessages`.
   *
   * @param {SubscribeResult} result
   * @param {boolean} resumed  whether the request named a `have`
   */
  subscribed(result, resumed) {
    if (!resumed || result.reset || this.#isForeign(result.head)) this.forget();
    this.#holder.subscribed(result, resumed);
    if (this.#timeline.isLoaded) {
      this.#timeline.applyDeltas(result.deltas, proofOf(result));
    } else {
      this.#begin(result.deltas.map(({ message }) => message), result);
    }
    this.#reconcile();
  }

  /**
   * Takes the final answer of `fetchMessages`.
   *
   * @param {PageResult} result
   * @param {PageRange} range  what was asked for
   */
  fetched(result, range) {
    this.#resetIfForeign(result.head);
    this.#holder.fetched(result);
    this.#timeline.apply({
      ...this.#placeOf(range), ...this.#proofOfPage(result.messages, result),
      hasMore: result.hasMore,
    }, this.#visibleRange);
    this.#reconcile();
  }

  /**
   * Takes an event of a subscription: `messages`, `gap`, `conversation`, `reset` or `unsubscribed`.
   *
   * @param {EventFrame} event
   */
  event(event) {
    if (event.event === 'reset' || event.event === 'unsubscribed') {
      this.forget();
      return;
    }
    this.#resetIfForeign(event.head);
    this.#holder.event(event);
    this.#timeline.applyDeltas(event.deltas ?? [], proofOf(/** @type {*} */ (event)));
    const visible = this.#visibleRange;
    if (visible && this.#timeline.length > LIMIT) this.#timeline.trim(visible);
    this.#reconcile();
  }

  /**
   * Shows values that are not held.
   *
   * @param {Message[]} messages
   * @param {Head} [head]  the head that came with them; values of another epoch are not shown
   */
  show(messages, head) {
    if (head && this.#isForeign(head)) return;
    const floor = this.head?.floor ?? 1;
    this.#timeline.show(messages.filter(({ seq }) => seq >= floor));
  }

  /**
   * The messages as the rows of a view, in which neighbours of one category are one.
   *
   * @param {Category} category
   * @param {Iterable<string>} [revealed]  the ids of messages that are rows of their own
   */
  grouping(category, revealed) { return new Grouping(this.#timeline, category, revealed); }

  /**
   * What a store should keep: the newest messages held, and what they prove.
   *
   * @param {number} count
   * @returns {Saved | null}
   */
  saved(count) {
    const { have, record } = this;
    const held = this.values.filter(({ isHeld }) => isHeld).slice(-count);
    if (have === null || held.length === 0) return null;
    const low = held[0].place[0];
    const runs = this.#holder.runs.clipped(low, have.head.seq).runs;
    const messages = held.map(({ message }) => /** @type {Message} */ (message));
    return { have: { ...have, runs }, messages, record };
  }

  /**
   * Begins with what a store kept; only while nothing is held.
   *
   * @param {Saved} saved
   */
  restore({ have: { head, asOf, runs }, messages, record }) {
    const deltas = messages.map((message) => (
      { type: /** @type {const} */ ('inserted'), via: 'cache', message }
    ));
    const conversation = record ?? undefined;
    this.subscribed({ deltas, covers: runs, gaps: [], asOf, head, conversation }, false);
    this.unsubscribed();
  }

  /**
   * @param {Message[]} messages
   * @param {SubscribeResult} result
   */
  #begin(messages, result) {
    const low = result.covers[0]?.[0] ?? result.head.seq + 1;
    this.#timeline.apply({
      kind: 'initial', ...this.#proofOfPage(messages, result),
      hasMore: { before: low > result.head.floor, after: false },
    });
  }

  /**
   * Where a page belongs: before or after a place, at the end, or anywhere.
   *
   * @param {PageRange} range
   * @returns {Pick<Page, 'kind' | 'anchor'>}
   */
  #placeOf({ before, after, around, order }) {
    const { seq, floor } = /** @type {Head} */ (this.head);
    const isEmpty = !this.#timeline.isLoaded;
    if (around !== undefined || isEmpty) return { kind: 'around' };
    if (after !== undefined && order === 'asc') {
      // Before the floor there is no message that it could be next to.
      return after < floor ? { kind: 'around' } : { kind: 'after', anchor: after };
    }
    return before === undefined || before > seq
      ? { kind: 'latest' } : { kind: 'before', anchor: before };
  }

  /**
   * @param {Message[]} messages
   * @param {{covers: [number, number][], gaps?: Gap[], head: Head, asOf: number}} frame
   */
  #proofOfPage(messages, frame) {
    return { conversation: this.#conversation, messages, ...proofOf(frame) };
  }

  /** What the view shows, in indices of the timeline. @returns {Range | undefined} */
  get #visibleRange() {
    if (this.#visible === null) return undefined;
    const [first, last] = this.#visible.map((id) => this.#timeline.indexOf(id));
    return first === undefined || last === undefined ? undefined : [first, last + 1];
  }

  /** @param {Head} head */
  #isForeign(head) { return this.head !== null && head.epoch !== this.head.epoch; }

  /**
   * Shows nothing of another log than `head`; the holder forgets by itself, and stays subscribed.
   *
   * @param {Head} head
   */
  #resetIfForeign(head) {
    if (!this.#isForeign(head)) return;
    this.#timeline.reset();
    this.#visible = null;
  }

  /** Makes both hold what both hold. */
  #reconcile() {
    const covered = new Coverage(this.#timeline.coverage);
    this.#holder.retain(covered);
    const lost = covered.subtracting(this.#holder.runs);
    if (!lost.isEmpty) this.#timeline.applyDeltas([], { gaps: lost.runs });
  }
}

/**
 * What a frame proves, as a timeline takes it.
 *
 * @param {{covers?: [number, number][], gaps?: Gap[], head: Head, asOf: number}} frame
 */
function proofOf({ covers = [], gaps = [], head, asOf }) {
  return {
    covers, head: head.seq, floor: head.floor, asOf,
    gaps: gaps.filter(({ after, before }) => before - after > 1)
      .map(({ after, before }) => /** @type {[number, number]} */ ([after + 1, before - 1])),
  };
}
