import { Coverage } from './coverage.js';
import { GapLedger, isFillable, withOuterGaps } from './gaps.js';
import { Grouping } from './grouping.js';
import { MessageLog } from './message-log.js';
import { Timeline } from './timeline.js';
import { proofOf } from './timeline-proof.js';
import { fillingOf, pageKind } from './window-pages.js';

/** @import { Category } from './grouping.js' */
/** @import { Range } from './timeline.js' */
/** @import { Known } from './loading.js' */
/** @import { Taken } from './message-log.js' */
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
 * The part of a conversation that one view shows: a `Timeline` on the `MessageLog` that all views
 * of the conversation share. What the view leaves far behind is trimmed, and is then history to be
 * fetched again, or a `cold` gap.
 */
export class MessageWindow {
  /** Rises with each change of what can be read here. */
  version = 0;
  /** Whether it begins with the next answer; one that began follows its log for good. */
  isOpen = true;

  #conversation;
  #log;
  #timeline;
  #ledger = new GapLedger();
  /** What the view shows, by the ids of its ends. @type {[string, string] | null} */
  #visible = null;
  /** The answer of `gaps` until the next change. @type {{version: number, gaps: Gap[]} | null} */
  #gaps = null;

  /**
   * @param {string} conversation
   * @param {MessageLog} [log]  that of the other windows on the conversation
   */
  constructor(conversation, log = new MessageLog()) {
    this.#conversation = conversation;
    this.#log = log;
    this.#timeline = new Timeline(conversation);
    log.add(this);
  }

  /** The newest head seen, `null` if nothing is held. */
  get head() { return this.#log.head; }

  /** Rises when what was held turned out to be of another log, or of a lost branch of it. */
  get generation() { return this.#log.generation; }

  /** What is held by all windows, as the protocol writes it; `null` if nothing is. */
  get have() { return this.#log.have; }

  /** The conversation's own record. */
  get record() { return this.#log.record; }

  get isLoaded() { return this.#timeline.isLoaded; }

  /** The places that are held and shown here. */
  get coverage() { return new Coverage(this.#timeline.coverage); }

  /**
   * The gaps from the oldest place shown or declared up to the head, oldest first. Between two
   * messages that are not neighbours in the log there always is one.
   */
  get gaps() {
    if (this.#gaps?.version !== this.version) {
      const { coverage } = this;
      const gaps = this.isLoaded ? this.#ledger.list(coverage, this.head) : [];
      const all = withOuterGaps(gaps, coverage, this.values);
      const known = this.#gaps?.gaps;
      // The same array while nothing changed, for those who compare.
      const same = known !== undefined && JSON.stringify(known) === JSON.stringify(all);
      this.#gaps = { version: this.version, gaps: same ? known : all };
    }
    return this.#gaps.gaps;
  }

  /** The messages, oldest first, each with whether its place is held. */
  get values() { return this.#timeline.entries; }

  /** The oldest place that is held, shown or a gap; `undefined` if there is none. */
  get oldest() {
    const oldest = Math.min(this.#low, (this.gaps[0]?.after ?? Infinity) + 1);
    return oldest === Infinity ? undefined : oldest;
  }

  get hasMore() { return this.#timeline.hasMore; }

  /** Whether it shows the newest end of the log, and news come into it. */
  get followsEnd() { return this.#timeline.followsEnd; }

  /** What is held here and what could be, for `loadFor`. @returns {Known | null} */
  get known() {
    const { head, coverage: runs } = this;
    if (head === null) return null;
    const closed = this.gaps.filter((gap) => !isFillable(gap) && gap.before - gap.after > 1)
      .map(({ after, before }) => /** @type {const} */ ([after + 1, before - 1]));
    return {
      runs, floor: head.floor, head: Math.max(head.seq, runs.last ?? 0),
      closed: new Coverage(closed),
    };
  }

  /** The places of the first and the last message in view; `null` if none is known to be. */
  get visiblePlaces() {
    const range = this.#visibleRange;
    if (range === undefined) return null;
    const places = [range[0], range[1] - 1].map((at) => this.#timeline.at(at).place[0]);
    return /** @type {[number, number]} */ (places);
  }

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

  /** @param {string} id */
  message(id) {
    const at = this.#timeline.indexOf(id) ?? -1;
    return at < 0 ? undefined : /** @type {Message} */ (this.#timeline.at(at).message);
  }

  /**
   * Says what the view shows, so that what is far from it can go.
   *
   * @param {string} first  the id of a message
   * @param {string} last
   */
  noteVisible(first, last) { this.#visible = [first, last]; }

  /** Lets go of all messages, to begin elsewhere in the log. */
  clear() {
    this.#empty();
    this.#log.reconcile();
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
    this.#trimming(() => this.#timeline.trimTo(count, focus));
    this.#log.reconcile();
    return this.#timeline.length < length;
  }

  unsubscribed() { this.#log.unsubscribed(); }

  resumable() { return this.#log.resumable(); }

  /**
   * Takes the answer of `subscribeMessages`, for all windows.
   *
   * @param {SubscribeResult} result
   * @param {boolean} resumed  whether the request named a `have`
   */
  subscribed(result, resumed) { this.#log.subscribed(result, resumed); }

  /**
   * Takes the final answer of `fetchMessages`.
   *
   * @param {PageResult} result
   * @param {PageRange} range  what was asked for
   */
  fetched(result, range) { this.#log.fetched(result, range, this); }

  /**
   * The same, in place of all that the window shows: nothing of it goes before this.
   *
   * @param {PageResult} result
   * @param {PageRange} range
   */
  fetchedElsewhere(result, range) {
    this.#empty();
    this.fetched(result, range);
  }

  /**
   * Takes an event of a subscription, for all windows.
   *
   * @param {EventFrame} event
   */
  event(event) { this.#log.event(event); }

  /**
   * Begins with the newest messages that the log holds.
   *
   * @param {number} limit  of messages
   * @returns {boolean}  whether it could
   */
  join(limit) {
    const newest = this.#log.newest(limit);
    const { head } = this;
    if (newest === null || head === null || this.isLoaded) return false;
    const asOf = this.#log.have?.asOf ?? 0;
    this.#begin(newest.messages, { covers: newest.covers, gaps: [], asOf, head });
    return true;
  }

  /**
   * Shows values that are not held.
   *
   * @param {Message[]} messages
   * @param {Head} [head]  the head that came with them; values of another epoch are not shown
   */
  show(messages, head) {
    if (head && this.#log.isForeign(head)) return;
    const floor = this.head?.floor ?? 1;
    // Where another message stands, it is of a log that nobody told of yet.
    const isOther = (/** @type {Message} */ { id, seq }) => (this.at(seq)?.id ?? id) !== id;
    this.#timeline.show(messages.filter((each) => each.seq >= floor && !isOther(each)));
    this.version += 1;
  }

  /**
   * The messages as the rows of a view, in which neighbours of one category are one.
   *
   * @param {Category} category
   * @param {Iterable<string>} [revealed]  the ids of messages that are rows of their own
   */
  grouping(category, revealed) { return new Grouping(this.#timeline, category, revealed); }

  /** @param {number} count */
  saved(count) { return this.#log.saved(count); }

  /**
   * Begins with what a store kept; only while nothing is held.
   *
   * @param {Saved} saved
   */
  restore(saved) { this.#log.restore(saved); }

  /** For the log: what was held is gone. */
  forget() {
    this.#empty();
    this.#ledger.forget();
  }

  /**
   * For the log: takes the answer of a subscription, or an event.
   *
   * @param {Taken} frame
   * @param {boolean} begins  whether a window may begin with it
   */
  take(frame, begins) {
    if (!this.isLoaded) {
      if (this.isOpen && begins) this.#begin(frame.deltas.map(({ message }) => message), frame);
      return;
    }
    const { oldest = Infinity } = this;
    this.#ledger.note(frame.gaps.filter(({ before }) => before > oldest), frame.covers);
    // A gap below all that is held is of the window too: what heals it belongs there.
    this.#timeline.applyDeltas(frame.deltas, { ...proofOf(frame), from: oldest });
    const visible = this.#visibleRange;
    this.version += 1;
    const isLong = visible && this.#timeline.length > LIMIT;
    if (isLong) this.#trimming(() => this.#timeline.trim(visible));
  }

  /** For the log: the gateway stands at the present again, see `GapLedger.renew`. */
  renew() {
    this.#ledger.renew();
    this.version += 1;
  }

  /**
   * For the log: takes a page that it asked for.
   *
   * @param {PageResult} result
   * @param {PageRange} range
   */
  takePage(result, range) {
    this.#ledger.note(result.gaps, result.covers);
    const kind = pageKind(range, this.isLoaded ? this.coverage : null, this.head);
    const proof = this.#proofOfPage(result.messages, result);
    const page = { ...kind, ...proof, hasMore: result.hasMore };
    this.#trimming(() => this.#timeline.apply(page, this.#visibleRange));
  }

  /**
   * For the log: takes what fills its holes out of a page that another window asked for.
   *
   * @param {PageResult} result
   */
  takeOthersPage(page) {
    const filling = this.isLoaded ? fillingOf(page, this) : null;
    this.#ledger.note([], page.covers);
    this.version += 1;
    if (filling) this.#timeline.applyDeltas(filling.deltas, filling.proof);
  }

  /**
   * For the log: values that it does not have are taken back.
   *
   * @param {ReadonlyMap<string, Message | undefined>} values  what is there instead, by id
   * @param {number} end  the newest change of the log
   */
  takeBack(values, end) {
    this.#timeline.takeBack(values, end);
    this.version += 1;
  }

  /**
   * For the log: holds nothing outside of `runs`.
   *
   * @param {Coverage} runs
   */
  loseAllBut(runs) {
    const lost = this.coverage.subtracting(runs);
    if (lost.isEmpty) return;
    this.#timeline.applyDeltas([], { gaps: lost.runs });
    this.version += 1;
  }

  /** The oldest place that is held or shown; `Infinity` if there is none. */
  get #low() {
    const shown = this.#timeline.length > 0 ? this.#timeline.at(0).place[0] : Infinity;
    return Math.min(this.coverage.first ?? Infinity, shown);
  }

  /**
   * Does what may let go of the oldest messages: what is missing below them is history then.
   *
   * @param {() => void} trim
   */
  #trimming(trim) {
    const before = this.#low;
    trim();
    const low = this.#low;
    if (low > before && low !== Infinity) this.#ledger.forgetBelow(low);
    this.version += 1;
  }

  #empty() {
    this.#timeline.reset();
    [this.#visible, this.version] = [null, this.version + 1];
  }

  /**
   * @param {Message[]} messages
   * @param {{covers: [number, number][], gaps: Gap[], asOf: number, head: Head}} result
   */
  #begin(messages, result) {
    const low = result.covers[0]?.[0] ?? result.head.seq + 1;
    this.#ledger.note(result.gaps);
    this.#timeline.apply({
      kind: 'initial', ...this.#proofOfPage(messages, result),
      hasMore: { before: low > result.head.floor, after: false },
    });
    this.version += 1;
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
}
