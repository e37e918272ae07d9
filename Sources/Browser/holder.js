import { Coverage } from './coverage.js';
import { GapLedger } from './gaps.js';

/** @import { ConversationRecord, EventFrame, Gap, Have, Head, Message } from './types.js' */
/** @import { PageResult, SubscribeResult } from './types.js' */

/** @typedef {{message: Message, isHeld: boolean}} Value */

/** A `have` may name this many runs; a holder of more drops its oldest. */
const RUN_LIMIT = 1000;

/**
 * What a client holds of one conversation, by the rules of the protocol: `have`, the values held,
 * why the rest is missing, and values that are only *shown* (a cached answer, the answer to one's
 * own send, what a gap took away).
 *
 * Pure: frames go in, in the order in which they came. Invariant: a place has a held value only if
 * it lies in `runs`, and no shown value there is older than the held one.
 */
export class Holder {
  /** @type {Head | null} */
  #head = null;
  #asOf = 0;
  #runs = Coverage.empty;
  /** @type {Map<number, Message>} */
  #held = new Map();
  /** @type {Map<number, Message>} */
  #shown = new Map();
  /** @type {ConversationRecord | null} */
  #record = null;
  #gaps = new GapLedger();
  /** What was shown when the last subscription was answered. @type {Map<number, Message>} */
  #unproven = new Map();
  /** Whether a subscription tells of each change: then a page is of the same log as the rest. */
  #isSubscribed = false;
  /** The answer of `values` until the next change. @type {readonly Value[] | null} */
  #values = null;

  /** The newest head seen, or `null`. */
  get head() { return this.#head; }

  /** Each slot held has every change up to this one. */
  get asOf() { return this.#asOf; }

  /** The places held. */
  get runs() { return this.#runs; }

  /** The conversation's own record: slot 0. */
  get record() { return this.#record; }

  /** What is held, as the protocol writes it, or `null`. */
  get have() {
    return this.#head === null
      ? null
      : { head: this.#head, asOf: this.#asOf, runs: this.#runs.runs };
  }

  /** The gaps from the oldest place held or declared to the head, oldest first. */
  get gaps() { return this.#gaps.list(this.#runs, this.#head); }

  /**
   * The gaps of a part, oldest first.
   *
   * @param {Coverage} runs
   * @param {number} from  the oldest place that the part speaks of
   */
  gapsIn(runs, from) { return this.#gaps.list(runs, this.#head, from); }

  /** The places of all values, held or only shown. */
  get places() {
    if (this.#shown.size === 0) return this.#runs;
    const shown = [...this.#shown.keys()].map((seq) => /** @type {const} */ ([seq, seq]));
    return this.#runs.union(new Coverage(shown));
  }

  /** The oldest place that is held, shown or a gap. */
  get oldest() {
    const gap = this.gaps[0];
    const oldest = Math.min(
      this.#runs.first ?? Infinity,
      this.values[0]?.message.seq ?? Infinity,
      gap === undefined ? Infinity : gap.after + 1,
    );
    return oldest === Infinity ? undefined : oldest;
  }

  /** All values, oldest first, each with whether its place is held. */
  get values() {
    if (this.#values === null) {
      const places = new Set([...this.#held.keys(), ...this.#shown.keys()]);
      this.#values = [...places].sort((a, b) => a - b).map((seq) => ({
        message: /** @type {Message} */ (this.value(seq)),
        isHeld: this.#runs.contains(seq),
      }));
    }
    return this.#values;
  }

  /** The subscription or its connection ended; what is held stays. */
  unsubscribed() { this.#isSubscribed = false; }

  /** The gateway stands at the present again. */
  renew() { this.#gaps.renew(); }

  /** Forgets everything, and the subscription with it. */
  forget() {
    this.#isSubscribed = false;
    this.#values = null;
    this.#gaps.forget();
    this.#unproven.clear();
    this.#head = null;
    this.#asOf = 0;
    this.#runs = Coverage.empty;
    this.#held.clear();
    this.#shown.clear();
    this.#record = null;
  }

  /**
   * What to resume a subscription with. Runs above the limit are dropped for good.
   *
   * @returns {Have | null}
   */
  resumable() {
    if (this.#runs.runCount > RUN_LIMIT) {
      this.#runs = this.#runs.newestRuns(RUN_LIMIT);
      this.#demote();
    }
    return this.have;
  }

  /**
   * Takes the answer of `subscribeMessages`. A value that was only shown, and does not come in an
   * answer that lacks nothing, is of a lost branch of the log and goes.
   *
   * @param {SubscribeResult} result
   * @param {boolean} resumed  whether the request named a `have`
   */
  subscribed(result, resumed) {
    if (!resumed || result.reset || this.#isForeign(result.head)) this.forget();
    this.#isSubscribed = true;
    this.#take(result.deltas.map((delta) => delta.message), result);
    this.#unproven = new Map(this.#shown);
    if (!result.open) this.#dropUnproven();
    this.#asOf = result.asOf;
    if (result.conversation) this.#record = result.conversation;
  }

  /**
   * Takes the final answer of `fetchMessages`. Without a subscription it may be of another log, or
   * of another branch of it, than what is held: then it is only shown.
   *
   * @param {PageResult} result
   */
  fetched(result) {
    if (!this.#isSubscribed) {
      this.show(result.messages, result.head);
      return;
    }
    this.#forgetIfForeign(result.head);
    // Where nothing is held there is only one `asOf`, and it is the smaller.
    const asOf = this.#head === null ? result.asOf : Math.min(this.#asOf, result.asOf);
    this.#take(result.messages, result);
    this.#asOf = asOf;
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
    // In a new epoch nothing is held yet, so `asOf` is 0 and only a chain from 0 can raise it.
    this.#forgetIfForeign(event.head);
    const deltas = /** @type {{message: Message}[]} */ (event.deltas ?? []);
    this.#take(deltas.map((delta) => delta.message), /** @type {*} */ (event));
    if (!event.open) this.#dropUnproven();
    if (event.prev <= this.#asOf) this.#asOf = event.asOf;
    const record = event.event === 'conversation' ? event.conversation : null;
    if (record && (record.rev ?? 0) >= (this.#record?.rev ?? 0)) this.#record = record;
  }

  /**
   * Shows values that are not held: of a cached answer, or of one's own send, edit or delete. What
   * is held at the same change or a later one stays.
   *
   * @param {Message[]} messages
   * @param {Head} [head]  that came with them; values of another epoch are not shown
   */
  show(messages, head) {
    if (head && this.#isForeign(head)) return;
    this.#values = null;
    for (const message of messages) {
      const known = this.value(message.seq);
      // Where another message stands, it is of a log that nobody told of yet.
      if (known && (known.id !== message.id || known.rev >= message.rev)) continue;
      if (message.seq >= (this.#head?.floor ?? 1)) this.#shown.set(message.seq, message);
    }
  }

  /**
   * Drops everything outside of `places`.
   *
   * @param {Coverage} places
   * @returns {number}  the newest change dropped
   */
  retain(places) {
    if (places.containsAll(this.places)) return 0;
    this.#runs = this.#runs.intersection(places);
    this.#values = null;
    let newest = 0;
    for (const [seq, { rev }] of this.#held) {
      if (places.contains(seq)) continue;
      this.#held.delete(seq);
      newest = Math.max(newest, rev);
    }
    for (const seq of this.#shown.keys()) if (!places.contains(seq)) this.#shown.delete(seq);
    return newest;
  }

  /**
   * The value held at a place.
   *
   * @param {number} seq
   */
  heldValue(seq) { return this.#held.get(seq); }

  /**
   * The value at a place, shown or held.
   *
   * @param {number} seq
   */
  value(seq) { return this.#shown.get(seq) ?? this.#held.get(seq); }

  /**
   * Whether `head` is of another log than the one held.
   *
   * @param {Head} head
   */
  #isForeign(head) { return this.#head !== null && head.epoch !== this.#head.epoch; }

  /**
   * Forgets what is of another log than `head`; a subscription goes on.
   *
   * @param {Head} head
   */
  #forgetIfForeign(head) {
    if (!this.#isForeign(head)) return;
    const wasSubscribed = this.#isSubscribed;
    this.forget();
    this.#isSubscribed = wasSubscribed;
  }

  /**
   * Applies a covering frame: values, then `((runs ∪ covers) \ gaps) \ [1, floor − 1]`.
   *
   * @param {Message[]} messages
   * @param {{covers?: [number, number][], gaps?: Gap[], head: Head}} frame
   */
  #take(messages, { covers = [], gaps = [], head }) {
    this.#values = null;
    const covered = new Coverage(covers);
    for (const seq of [...this.#shown.keys()]) {
      if (covered.contains(seq)) this.#shown.delete(seq);
    }
    for (const message of messages) {
      this.#shown.delete(message.seq);
      const held = this.#held.get(message.seq);
      if (!held || message.rev >= held.rev) this.#held.set(message.seq, message);
    }
    // Floors only rise, also where nothing else is newer.
    const floor = Math.max(this.#head?.floor ?? 1, head.floor);
    const isNewest = this.#head === null || head.rev >= this.#head.rev;
    this.#head = { .../** @type {Head} */ (isNewest ? head : this.#head), floor };
    const lost = new Coverage(gaps.filter((gap) => gap.before - gap.after > 1)
      .map((gap) => [gap.after + 1, gap.before - 1]));
    const below = Coverage.interval(0, floor - 1);
    this.#gaps.note(gaps, covered, floor);
    this.#runs = this.#runs.union(covered).subtracting(lost).subtracting(below);
    if (!lost.isEmpty || !below.isEmpty || messages.some(({ seq }) => !this.#runs.contains(seq))) {
      this.#demote();
    }
  }

  /** Drops what was shown before the subscription, where the log is known to be another. */
  #dropUnproven() {
    const end = this.#head?.seq ?? 0;
    for (const [seq, message] of this.#unproven) {
      const isRefuted = this.#runs.contains(seq) || seq > end;
      if (isRefuted && this.#shown.get(seq) === message) this.#shown.delete(seq);
    }
    this.#unproven.clear();
    this.#values = null;
  }

  /**
   * Moves the values whose place is held no more to those that are only shown, and drops what lies
   * below the floor: a reader should not see rows vanish while a gap is being filled.
   */
  #demote() {
    this.#values = null;
    const floor = this.#head?.floor ?? 1;
    for (const [seq, message] of this.#held) {
      if (this.#runs.contains(seq)) continue;
      this.#held.delete(seq);
      if (!this.#shown.has(seq)) this.#shown.set(seq, message);
    }
    for (const seq of this.#shown.keys()) {
      if (seq < floor) this.#shown.delete(seq);
    }
  }
}
