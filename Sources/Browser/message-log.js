import { Coverage } from './coverage.js';
import { Holder } from './holder.js';

/** @import { MessageWindow, PageRange, Saved } from './message-window.js' */
/** @import { ListMessage } from './timeline.js' */
/** @import { Delta, EventFrame, Gap, Head, Message, PageResult } from './types.js' */
/** @import { SubscribeResult } from './types.js' */

/**
 * A frame as each window takes it.
 *
 * @typedef {object} Taken
 * @property {Delta[]} deltas
 * @property {[number, number][]} covers
 * @property {Gap[]} gaps
 * @property {number} asOf
 * @property {Head} head
 */

/**
 * What a client holds of one conversation, for all that look at it: one `Holder`, which alone says
 * what may be claimed when a subscription is resumed, and the windows, each of which shows a part.
 *
 * Invariant after each frame: what a window shows as held is held here, and what no window shows
 * any more is let go of.
 */
export class MessageLog {
  #holder = new Holder();
  /** A window that nobody refers to any more keeps nothing. @type {Set<WeakRef<MessageWindow>>} */
  #windows = new Set();

  /** Whether values that were shown before the subscription are still to be judged by it. */
  #isUnjudged = false;
  /** Those values, if the answer could not judge them. @type {Set<ListMessage>} */
  #unproven = new Set();

  /** Rises when what was held turned out to be of another log, or of a lost branch of it. */
  generation = 0;

  /** The newest head seen, `null` if nothing is held. */
  get head() { return this.#holder.head; }

  /** What is held, as the protocol writes it; `null` if nothing is. */
  get have() { return this.#holder.have; }

  /** The places held. */
  get runs() { return this.#holder.runs; }

  /** The conversation's own record. */
  get record() { return this.#holder.record; }

  /** @param {MessageWindow} window */
  add(window) { this.#windows.add(new WeakRef(window)); }

  /** The subscription is over, or its connection; what is held stays. */
  unsubscribed() { this.#holder.unsubscribed(); }

  /** Forgets everything. */
  forget() {
    if (this.#holder.head !== null) this.generation += 1;
    this.#holder.forget();
    this.#isUnjudged = false;
    for (const window of this.#all) window.forget();
  }

  /** What a subscription may be resumed with, as `Holder.resumable` says. */
  resumable() {
    const have = this.#holder.resumable();
    this.reconcile();
    return have;
  }

  /**
   * Takes the answer of `subscribeMessages`.
   *
   * @param {SubscribeResult} result
   * @param {boolean} resumed  whether the request named a `have`
   */
  subscribed(result, resumed) {
    if (!resumed || result.reset || this.isForeign(result.head)) this.forget();
    this.#holder.subscribed(result, resumed);
    if (!result.open) this.renew();
    this.#tell(result, true);
    this.#isUnjudged = true;
    this.#unproven = new Set(this.#all.flatMap((window) => this.#aheadIn(window)));
    if (!result.open) this.#judge();
  }

  /**
   * Takes the final answer of `fetchMessages` that a window asked for.
   *
   * @param {PageResult} result
   * @param {PageRange} range  what was asked for
   * @param {MessageWindow} asker
   */
  fetched(result, range, asker) {
    if (this.isForeign(result.head)) {
      this.generation += 1;
      for (const window of this.#all) window.forget();
    }
    this.#holder.fetched(result);
    asker.takePage(result, range);
    for (const window of this.#all) if (window !== asker) window.takeOthersPage(result);
    this.reconcile();
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
    if (this.isForeign(event.head)) {
      this.generation += 1;
      for (const window of this.#all) window.forget();
    }
    this.#holder.event(event);
    this.#tell(/** @type {*} */ (event), false);
    if (!event.open) this.#judge();
  }

  /** The gateway stands at the present again: see `GapLedger.renew`. */
  renew() { for (const window of this.#all) window.renew(); }

  /**
   * Shows values that are not held, in each window.
   *
   * @param {Message[]} messages
   */
  show(messages) { for (const window of this.#all) window.show(messages); }

  /**
   * Whether `head` is of another log than the one held.
   *
   * @param {Head} head
   */
  isForeign(head) { return this.head !== null && head.epoch !== this.head.epoch; }

  /**
   * Whether a message can be shown where it stands: nothing else does, and the log begins below.
   *
   * @param {Message} message
   */
  hasRoomFor({ id, seq }) {
    const others = this.#all.map((window) => window.at(seq)?.id ?? id);
    return seq >= (this.head?.floor ?? 1) && others.every((other) => other === id);
  }

  /**
   * A message, if a window shows it.
   *
   * @param {string} id
   * @returns {Message | undefined}
   */
  message(id) {
    for (const window of this.#all) {
      const message = window.message(id);
      if (message) return message;
    }
    return undefined;
  }

  /**
   * The value held at a place.
   *
   * @param {number} seq
   */
  heldValue(seq) { return this.#holder.heldValue(seq); }

  /**
   * The newest messages of the newest run, for a window that comes later than the others.
   *
   * @param {number} limit
   * @returns {{messages: Message[], covers: [number, number][]} | null}  null if the newest place
   *   of the log is not held
   */
  newest(limit) {
    const { head } = this;
    if (head === null) return null;
    if (head.seq < head.floor) return { messages: [], covers: [] };
    const run = this.runs.runAt(head.seq);
    if (run === undefined) return null;
    const [, high] = run;
    const messages = [];
    let low = high + 1;
    while (low > run[0] && messages.length < limit) {
      low -= 1;
      const message = this.heldValue(low);
      if (message) messages.unshift(message);
    }
    return { messages, covers: [[low, high]] };
  }

  /**
   * What a store should keep: the newest messages held, and what they prove.
   *
   * @param {number} count
   * @returns {Saved | null}
   */
  saved(count) {
    const { have, record } = this;
    const held = this.#holder.values.filter(({ isHeld }) => isHeld).slice(-count);
    if (have === null || held.length === 0) return null;
    const runs = this.runs.clipped(held[0].message.seq, have.head.seq).runs;
    return { have: { ...have, runs }, messages: held.map(({ message }) => message), record };
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

  /** Has the holder hold what the windows hold, and each window no more than the holder. */
  reconcile() {
    const windows = this.#all;
    if (windows.length === 0) return;
    let kept = Coverage.empty;
    for (const { coverage } of windows) kept = kept.union(coverage);
    this.#holder.retain(kept);
    for (const window of windows) window.loseAllBut(this.runs);
  }

  /**
   * @param {Taken} frame
   * @param {boolean} begins  whether a window may begin with it
   */
  #tell({ deltas = [], covers = [], gaps = [], asOf, head }, begins) {
    const windows = this.#all;
    const all = windows.length > 1 ? [...deltas, ...this.#unnamed(deltas, covers)] : deltas;
    for (const window of windows) {
      window.take({ deltas: all, covers, gaps, asOf, head }, begins);
    }
    this.reconcile();
  }

  /**
   * What a window shows that is newer than what is held there, or beyond the end of the log.
   *
   * @param {MessageWindow} window
   * @returns {ListMessage[]}
   */
  #aheadIn(window) {
    const end = this.head?.seq ?? 0;
    return window.values.map(({ message }) => message).filter(({ seq, rev }) => {
      if (seq == null) return false;
      const held = this.heldValue(seq);
      return held ? (rev ?? 0) > held.rev : seq > end;
    });
  }

  /** Takes back what was shown before the subscription and its log does not have: see `Holder`. */
  #judge() {
    if (!this.#isUnjudged) return;
    this.#isUnjudged = false;
    const end = this.head?.rev ?? 0;
    for (const window of this.#all) {
      const lost = this.#aheadIn(window).filter((message) => this.#unproven.has(message));
      window.takeBack(new Map(lost.map(({ id, seq }) => (
        [id, this.heldValue(/** @type {number} */ (seq))]
      ))), end);
    }
    this.#unproven.clear();
  }

  /**
   * What lies in `covers` and is held here, but not in every window.
   *
   * @param {Delta[]} deltas
   * @param {[number, number][]} covers
   * @returns {Delta[]}
   */
  #unnamed(deltas, covers) {
    const named = new Set(deltas.map(({ message }) => message.seq));
    /** @type {Delta[]} */
    const more = [];
    for (const [low, high] of this.runs.intersection(new Coverage(covers)).runs) {
      for (let seq = low; seq <= high; seq += 1) {
        const message = named.has(seq) ? undefined : this.heldValue(seq);
        if (message) more.push({ type: 'inserted', via: 'replay', message });
      }
    }
    return more;
  }

  get #all() {
    const windows = [];
    for (const ref of this.#windows) {
      const window = ref.deref();
      if (window) windows.push(window); else this.#windows.delete(ref);
    }
    return windows;
  }
}
