import { Coverage } from './coverage.js';
import { Holder } from './holder.js';

/** @import { MessageWindow, PageRange } from './message-window.js' */
/** @import { Delta, EventFrame, Gap, Have, Head, Message, PageResult } from './types.js' */
/** @import { ConversationRecord, SubscribeResult } from './types.js' */

/**
 * A frame as each window takes it.
 *
 * @typedef {object} Taken
 * @property {Delta[]} deltas
 * @property {[number, number][]} covers
 * @property {Gap[]} gaps
 * @property {number} end  the newest place that was known before
 *
 * What a store keeps of a log: enough to show it again and to resume from there.
 *
 * @typedef {{have: Have, messages: Message[], record: ConversationRecord | null}} Saved
 */

/**
 * What a client holds of one conversation, for all that look at it. It alone takes frames, and its
 * `Holder` alone says which places are held and what stands there. A window only says which places
 * it shows.
 *
 * Invariant after each frame: what no window shows is let go of.
 */
export class MessageLog {
  /** Rises with each change of what is held or shown. */
  version = 0;
  /** Rises when what was held turned out to be of another log, or of a lost branch of it. */
  generation = 0;
  /**
   * A message as windows show it; the same object for as long as it says the same.
   *
   * @type {(message: Message) => Message}
   */
  shown = (message) => message;

  #holder = new Holder();
  /** A window to which no reference is left keeps nothing. @type {Set<WeakRef<MessageWindow>>} */
  #windows = new Set();
  /** The newest change that this log has dropped: a page from before it proves nothing. */
  #givenUp = 0;

  /** The newest head seen, or `null`. */
  get head() { return this.#holder.head; }

  /** What is held, as the protocol writes it, or `null`. */
  get have() {
    this.#settle();
    return this.#holder.have;
  }

  /** The places held. */
  get runs() { return this.#holder.runs; }

  /** The conversation's own record. */
  get record() { return this.#holder.record; }

  /** All values, oldest first, each with whether its place is held. */
  get values() { return this.#holder.values; }

  /**
   * The value at a place, held or only shown.
   *
   * @param {number} seq
   */
  value(seq) { return this.#holder.value(seq); }

  /**
   * A message, if it is here.
   *
   * @param {string} id
   */
  message(id) { return this.values.find(({ message }) => message.id === id)?.message; }

  /**
   * The gaps of a part, oldest first.
   *
   * @param {Coverage} runs
   * @param {number} from  the oldest place that the part speaks of
   */
  gapsIn(runs, from) { return this.#holder.gapsIn(runs, from); }

  /** What is here is shown otherwise: see `shown`. */
  shownAnew() { this.version += 1; }

  /** @param {MessageWindow} window */
  add(window) { this.#windows.add(new WeakRef(window)); }

  /** The subscription or its connection ended; what is held stays. */
  unsubscribed() { this.#holder.unsubscribed(); }

  /** The gateway stands at the present again. */
  renew() {
    this.#holder.renew();
    this.version += 1;
  }

  /** Forgets everything. */
  forget() {
    this.#beginAnew();
    this.#holder.forget();
  }

  /** What a subscription may be resumed with, as `Holder.resumable` says. */
  resumable() {
    this.#settle();
    this.version += 1;
    return this.#holder.resumable();
  }

  /**
   * Takes the answer of `subscribeMessages`.
   *
   * @param {SubscribeResult} result
   * @param {boolean} resumed  whether the request named a `have`
   */
  subscribed(result, resumed) {
    if (!resumed || result.reset || this.#isForeign(result.head)) this.forget();
    if (!result.open) this.renew();
    const end = this.#end;
    this.#holder.subscribed(result, resumed);
    this.#tell(result, end, true);
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
    if (this.#isForeign(event.head)) this.#beginAnew();
    const end = this.#end;
    this.#holder.event(event);
    this.#tell(/** @type {*} */ (event), end, false);
  }

  /**
   * Takes the final answer of `fetchMessages` that a window asked for.
   *
   * @param {PageResult} result
   * @param {PageRange} range  what was asked for
   * @param {MessageWindow} asker
   */
  fetched(result, range, asker) {
    if (this.#isForeign(result.head)) this.#beginAnew();
    if (asker.isLoaded && result.asOf < this.#givenUp) {
      this.show(result.messages, { asker });
      return;
    }
    const end = this.#end;
    this.#holder.fetched(result);
    this.version += 1;
    asker.takePage(result, range);
    const page = { deltas: [], covers: result.covers, gaps: [], end };
    for (const window of this.#all) if (window !== asker) window.take(page, false);
    this.#settle();
  }

  /**
   * Shows values that are not held: of a cached answer, or of one's own send, edit or delete.
   *
   * @param {Message[]} messages
   * @param {object} [options]
   * @param {Head} [options.head]  that came with them; values of another epoch are not shown
   * @param {MessageWindow} [options.asker]  the one that shows them; else all do
   */
  show(messages, { head, asker } = {}) {
    if (head && this.#isForeign(head)) return;
    this.#holder.show(messages);
    this.version += 1;
    const seqs = messages.filter(({ id, seq }) => this.value(seq)?.id === id)
      .map(({ seq }) => /** @type {const} */ ([seq, seq]));
    for (const window of asker ? [asker] : this.#all) window.add(new Coverage(seqs));
    this.#settle();
  }

  /**
   * Whether a message can be shown where it stands: nothing else does, and the log begins below.
   *
   * @param {Message} message
   */
  hasRoomFor({ id, seq }) {
    return seq >= (this.head?.floor ?? 1) && (this.value(seq)?.id ?? id) === id;
  }

  /**
   * The newest messages of the newest run, for a window that comes later than the others.
   *
   * @param {number} limit
   * @returns {[number, number][] | null}  their places; null if the newest place of the log is not
   *   held
   */
  newest(limit) {
    const { head } = this;
    if (head === null) return null;
    if (head.seq < head.floor) return [];
    const run = this.runs.runAt(head.seq);
    if (run === undefined) return null;
    let low = run[1] + 1;
    for (let count = 0; low > run[0] && count < limit;) {
      low -= 1;
      if (this.#holder.heldValue(low)) count += 1;
    }
    return [[low, run[1]]];
  }

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

  /** The newest place that is known. */
  get #end() { return Math.max(this.head?.seq ?? 0, this.runs.last ?? 0); }

  /**
   * Whether `head` is of another log than the one held.
   *
   * @param {Head} head
   */
  #isForeign(head) { return this.head !== null && head.epoch !== this.head.epoch; }

  /** What windows show is of another log. */
  #beginAnew() {
    if (this.head !== null) this.generation += 1;
    this.#givenUp = 0;
    this.version += 1;
    for (const window of this.#all) window.clear();
  }

  /**
   * @param {SubscribeResult} frame
   * @param {number} end
   * @param {boolean} begins  whether a window may begin with it
   */
  #tell({ deltas = [], covers = [], gaps = [], asOf, open }, end, begins) {
    this.version += 1;
    for (const window of this.#all) window.take({ deltas, covers, gaps, end }, begins);
    this.#settle();
    for (const { message: { seq, rev } } of deltas) {
      if (!this.runs.contains(seq)) this.#giveUp(rev);
    }
    if (gaps.length > 0) this.#giveUp(asOf);
    // What was given up may have been of a branch that is lost.
    if (!open) this.#givenUp = Math.min(this.#givenUp, this.head?.rev ?? 0);
  }

  /** @param {number} rev */
  #giveUp(rev) { this.#givenUp = Math.max(this.#givenUp, rev); }

  /** Lets go of what no window shows, and has no window show what is not here. */
  #settle() {
    const windows = this.#all;
    if (windows.length === 0) return;
    const { places } = this.#holder;
    let shown = Coverage.empty;
    for (const window of windows) shown = shown.union(window.settle(places));
    this.#giveUp(this.#holder.retain(shown));
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
