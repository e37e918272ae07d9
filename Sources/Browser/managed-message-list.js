import { Conversation } from './conversation.js';
import { Face } from './face.js';
import { messageDeltas, messagesOf } from './message-deltas.js';
import { nextLoad, UNTIL_PRELOAD } from './preload.js';
import { guarded } from './report.js';

/** @import { ChatClient } from './chat-client.js' */
/** @import { ConversationName } from './conversation-id.js' */
/** @import { Item } from './items.js' */
/** @import { MessageDelta } from './merge.js' */
/** @import { ListMessage } from './timeline.js' */
/** @import { Gap, Reason } from './types.js' */

/**
 * What is said beside the changes: `reset`, the log is another one, and all that was in the list
 * leaves it; `gaps`, what is missing now: what lies in one may be outdated.
 *
 * @typedef {{reset: boolean, gaps: readonly Gap[]}} ListNews
 *
 * Who is told when the list changed. The changes say what: a message that was deleted in the
 * conversation is `deleted` and keeps its row, as a tombstone; one that left the list is `trimmed`.
 * There are none where only the gaps are others.
 *
 * @typedef {object} ManagedMessageListDelegate
 * @property {(deltas: MessageDelta[], news: ListNews) => void} managedMessageListDidChange
 * @property {(reason: string) => void} [managedMessageListDidEnd]  it no longer follows its
 *   conversation
 */

/**
 * A row: a message, or a gap.
 *
 * @typedef {{kind: 'message', message: ListMessage, isHeld: boolean, gap?: undefined}
 *   | {kind: 'gap', gap: Gap, message?: undefined}} ListRow
 */

/**
 * The message list of one conversation, ready for a table: it fetches as the reader scrolls,
 * follows what happens, and knows after an outage what it missed.
 *
 * Position 0 is the oldest message; deleted ones keep their row, drafts stand at the end.
 */
export class ManagedMessageList extends Face {
  /** Messages fetched at once, from 1 to 1,000. */
  fetchLimit = 100;
  /** Whether what the client kept is shown before the gateway answers. */
  useCache = true;
  /** Whether new messages come into the list by themselves. */
  subscribeNewMessages = true;
  /**
   * Whether what was missed in an outage comes by itself to a reader at the newest end. If not, it
   * comes when they scroll there.
   */
  syncOnReconnect = true;

  #client;
  /** @type {ManagedMessageListDelegate | null} */
  #delegate;
  /** @type {(() => void) | null} */
  #stop = null;
  #isAnswered = false;
  /** Messages above this place wait for the reader to come to the end. */
  #limit = Infinity;
  #isAtEnd = true;
  #isUpward = true;
  /** The first position that was visible last. */
  #first = 0;
  /** The newest place when the connection went, or the view. @type {number | null} */
  #before = null;
  #generation = 0;
  /** The messages that were shown before they were sent. @type {Set<string>} */
  #written = new Set();
  /** What was said of gaps last. @type {readonly Gap[]} */
  #toldGaps = [];
  /**
   * The gaps of the conversation, and what was made of them while messages wait.
   *
   * @type {{from: readonly Gap[], gaps: readonly Gap[]} | null}
   */
  #waiting = null;
  /** @type {{message: ListMessage, isHeld: boolean}[]} */
  #shown = [];
  /** @type {readonly ListRow[]} */
  #listRows = [];

  /**
   * @param {ChatClient} client
   * @param {ConversationName} conversation
   * @param {ManagedMessageListDelegate | null} [delegate]
   */
  constructor(client, conversation, delegate = null) {
    super(new Conversation(client.connection, conversation, { store: client.store }));
    this.#client = client;
    this.#delegate = delegate;
  }

  /** Call it when the view appears and the connection is there. */
  online() {
    if (this.#stop) return;
    this.conversation.limit = this.fetchLimit;
    this.#stop = this.conversation.changed.listen((reason) => this.#changed(reason));
    this.conversation.open();
  }

  /** Call it when the view or the connection goes. What is shown stays, and the reader's place. */
  offline() {
    if (!this.#stop) return;
    this.#leave();
    this.#stop();
    this.#stop = null;
    this.conversation.close();
  }

  /**
   * What is missing in the list, oldest first.
   *
   * @returns {readonly Gap[]}
   */
  get gaps() { return this.#stop ? this.#gaps() : this.#toldGaps; }

  /** The messages and the gaps between them, oldest first; the same array until they change. */
  get rows() { return this.#listRows; }

  /** @param {string} id */
  shownRev(id) {
    if (this.#generation !== this.conversation.generation) return 0;
    return this.#shown.find(({ message }) => message.id === id)?.message.rev ?? undefined;
  }

  /** How many messages there are. */
  messageCount() { return this.#shown.length; }

  /**
   * The message at a position.
   *
   * @param {number} position
   */
  messageAt(position) { return this.#shown[position].message; }

  /**
   * Whether the message is the present value as far as known; if not, it is from a cache, or a
   * draft.
   *
   * @param {number} position
   */
  isHeldAt(position) { return this.#shown[position].isHeld; }

  /** Whether there are older messages, and newer ones or holes. */
  get hasMore() {
    const { before, after } = this.conversation.hasMore;
    return { before, after: after || this.#isHolding };
  }

  /**
   * Call it whenever the view scrolled or was laid out.
   *
   * @param {number} first  the first visible position
   * @param {number} last  the last one
   */
  scrollViewDidScroll(first, last) {
    if (first > last || last >= this.#shown.length) return;
    const { conversation } = this;
    if (first !== this.#first) this.#isUpward = first < this.#first;
    this.#first = first;
    const [from, to] = [this.messageAt(first), this.messageAt(last)];
    this.#isAtEnd = last >= this.#shown.length - UNTIL_PRELOAD;
    conversation.noteVisible(from.id, to.id);
    const { rows, rowOf } = this.#rows();
    const load = nextLoad({
      count: rows.length, gapAt: (index) => rows[index], first: rowOf[first], last: rowOf[last],
      isUpward: this.#isUpward, hasOlder: conversation.hasOlder && conversation.older === 'idle',
      mayFill: (gap) => conversation.filling(gap) === 'idle',
    });
    if (load === 'older') this.scrollViewDidReachTop();
    else if (load) conversation.fill(load.gap, load.end, this.fetchLimit);
  }

  /** The view is at its upper edge. */
  scrollViewDidReachTop() { this.conversation.loadOlder(this.fetchLimit); }

  /** The view is at its lower edge: shows what waited, fetches what is missing. */
  scrollViewDidReachBottom() {
    this.#isAtEnd = true;
    if (this.#isHolding) {
      this.#limit = this.subscribeNewMessages ? Infinity : this.#newest;
      this.#show();
    }
    this.conversation.loadNewer(this.fetchLimit);
  }

  /** The gap that each row of the list stands for, and the row of each position. */
  #rows() {
    /** @type {(Gap | undefined)[]} */
    const rows = [];
    /** @type {number[]} */
    const rowOf = [];
    for (const item of this.conversation.items) {
      if (item.kind !== 'gap') rowOf.push(rows.length);
      rows.push(item.kind === 'gap' ? item.gap : undefined);
    }
    return { rows, rowOf };
  }

  get #isHolding() { return this.#newest > this.#limit; }

  /** The place of the newest message that is here. */
  get #newest() {
    const last = this.conversation.items.findLast(({ kind }) => kind === 'message');
    return last?.kind === 'message' ? last.message.seq : 0;
  }

  /**
   * The gaps of the list: those of the conversation, and one for the messages at the end that wait
   * for the reader. The same array until something changes.
   *
   * @returns {readonly Gap[]}
   */
  #gaps() {
    const { gaps } = this.conversation;
    if (!this.#isHolding) return gaps;
    const after = this.#limit;
    const above = gaps.filter((gap) => gap.after >= after);
    const before = Math.max(this.#newest + 1, ...above.map((gap) => gap.before));
    const last = this.#waiting?.gaps.at(-1);
    if (this.#waiting?.from !== gaps || last?.after !== after || last.before !== before) {
      /** @type {Gap} */
      const gap = { after, before, missing: before - after - 1, cause: 'cold', since: '' };
      this.#waiting = { from: gaps, gaps: [...gaps.filter((one) => !above.includes(one)), gap] };
    }
    return this.#waiting.gaps;
  }

  /** From here on, news wait. */
  #hold() { this.#limit = Math.min(this.#limit, this.#newest); }

  /** What comes from here on was missed. */
  #leave() {
    this.#before ??= this.#newest;
    if (!this.syncOnReconnect) this.#hold();
  }

  /** @param {Reason} reason */
  #changed(reason) {
    const { phase, endingReason } = this.conversation;
    if (phase === 'live') this.#isAnswered = true;
    if (phase === 'waiting') this.#leave();
    if (!this.#isAnswered && !this.useCache && endingReason === null) return;
    const missed = this.#missed(reason);
    this.#show();
    if (phase === 'live' && !this.subscribeNewMessages && this.#limit === Infinity) this.#hold();
    if (missed !== null) this.conversation.loadAbove(missed, this.fetchLimit);
    if (endingReason === null) return;
    this.#stop?.();
    this.#stop = null;
    guarded(() => this.#delegate?.managedMessageListDidEnd?.(endingReason));
  }

  /**
   * The place above which the list has to be brought up to date; null for none.
   *
   * @param {Reason} reason
   */
  #missed(reason) {
    if (reason === 'began') this.#limit = Infinity;
    if (reason !== 'began' && reason !== 'resumed') return null;
    const before = this.#before;
    this.#before = null;
    if (before === null || reason === 'began' || !this.syncOnReconnect) return null;
    if (this.#limit !== Infinity) {
      this.#limit = Math.max(this.#limit, this.conversation.have?.head.seq ?? 0);
    }
    return this.#isAtEnd ? before : null;
  }

  /** Reads what the list shows, and tells what is other than before. */
  #show() {
    const { items, id, generation } = this.conversation;
    const old = this.#shown.map(messageIn);
    const { user } = this.#client.connection;
    for (const item of items) {
      if (item.kind === 'draft') this.#written.add(item.draft.id);
      // Who writes is at the end: one's own message is not held back, nor what stands before it.
      if (item.kind === 'message' && this.#written.has(item.message.id)) {
        this.#limit = Math.max(this.#limit, item.message.seq);
      }
    }
    const gaps = this.#gaps();
    const shown = items.filter((item) => this.#isShown(item));
    if (this.#isHolding) {
      // Before what is not sent yet, which stands at the end.
      const drafts = shown.findIndex(({ kind }) => kind === 'draft');
      /** @type {Item} */
      const waiting = { kind: 'gap', gap: gaps[gaps.length - 1] };
      shown.splice(drafts < 0 ? shown.length : drafts, 0, waiting);
    }
    this.#shown = messagesOf(shown, id, user);
    let next = 0;
    this.#listRows = shown.map((item) => {
      if (item.kind === 'gap') return { kind: 'gap', gap: item.gap };
      next += 1;
      return { kind: 'message', ...this.#shown[next - 1] };
    });
    const reset = generation !== this.#generation && old.length > 0;
    const now = this.#shown.map(messageIn);
    const deltas = reset ? [...messageDeltas(old, []), ...messageDeltas([], now)]
      : messageDeltas(old, now);
    const hasOtherGaps = gaps !== this.#toldGaps && gaps.length + this.#toldGaps.length > 0;
    const isTold = deltas.length > 0 || hasOtherGaps || reset;
    this.#generation = generation;
    this.#toldGaps = gaps;
    if (isTold) guarded(() => this.#delegate?.managedMessageListDidChange(deltas, { reset, gaps }));
  }

  /** @param {Item} item */
  #isShown(item) {
    if (item.kind === 'gap') return item.gap.after < this.#limit;
    return item.kind !== 'message' || item.message.seq <= this.#limit;
  }
}

/** @param {{message: ListMessage}} shown */
function messageIn({ message }) { return message; }
