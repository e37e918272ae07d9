import { Conversation } from './conversation.js';
import { messageDeltas, messagesOf } from './message-deltas.js';
import { nextLoad, UNTIL_PRELOAD } from './preload.js';

/** @import { ChatClient } from './chat-client.js' */
/** @import { Item } from './items.js' */
/** @import { MessageDelta } from './merge.js' */
/** @import { ListMessage } from './timeline.js' */
/** @import { Gap, Reason } from './types.js' */

/**
 * Who is told when the list changed. The deltas say what: a message that left the list (not one
 * that was deleted in the conversation: that is an update, a tombstone) is `deleted`.
 *
 * @typedef {object} ManagedMessageListDelegate
 * @property {(deltas: MessageDelta[]) => void} managedMessageListDidChange
 */

/**
 * The message list of one conversation, ready for a table: it fetches as the reader scrolls,
 * follows what happens, and after an outage knows what it missed.
 *
 * Position 0 is the oldest message; deleted ones keep their row, as tombstones. Messages that are
 * not sent yet stand at the end.
 */
export class ManagedMessageList {
  /** How many messages are fetched at once, from 1 to 1,000. */
  fetchLimit = 100;
  /** Whether what the client kept is shown before the gateway has answered. */
  useCache = true;
  /** Whether new messages come into the list by themselves. */
  subscribeNewMessages = true;
  /**
   * Whether what was missed in an outage comes into the list by itself, as far as the reader is at
   * the newest end. If not, it comes when the reader scrolls there.
   */
  syncOnReconnect = true;

  #client;
  #conversation;
  /** @type {ManagedMessageListDelegate | null} */
  #delegate;
  /** @type {(() => void) | null} */
  #stop = null;
  #isAnswered = false;
  /** Messages above this place wait for the reader to come to the end. */
  #limit = Infinity;
  #isAtEnd = true;
  /** @type {{message: ListMessage, isHeld: boolean}[]} */
  #shown = [];

  /**
   * @param {ChatClient} client
   * @param {{id: string}} conversation
   * @param {ManagedMessageListDelegate | null} [delegate]
   */
  constructor(client, conversation, delegate = null) {
    this.#client = client;
    this.#delegate = delegate;
    this.#conversation = new Conversation(client.connection, conversation.id, {
      store: client.store,
    });
  }

  /** Call it when the view appears and the connection is there; again it does nothing. */
  online() {
    if (this.#stop) return;
    this.#stop = this.#conversation.changed.listen((reason) => this.#changed(reason));
    this.#conversation.open();
  }

  /** Call it when the view goes, or the connection. What is shown stays. */
  offline() {
    if (!this.#stop) return;
    if (!this.syncOnReconnect) this.#hold();
    this.#stop();
    this.#stop = null;
    this.#conversation.close();
  }

  /** How many messages there are. */
  messageCount() { return this.#shown.length; }

  /**
   * The message at a position, 0 being the oldest.
   *
   * @param {number} position
   */
  messageAt(position) { return this.#shown[position].message; }

  /**
   * Whether the message at a position is the present value, as far as anybody knows; if not, it is
   * from a cache, or not sent yet.
   *
   * @param {number} position
   */
  isHeldAt(position) { return this.#shown[position].isHeld; }

  /** What is missing in the list, oldest first. */
  get gaps() { return this.#conversation.gaps; }

  /** Whether there are older messages, and newer ones that are not in the list. */
  get hasMore() {
    return { before: this.#conversation.hasOlder, after: this.#isHolding || this.gaps.length > 0 };
  }

  /**
   * Call it whenever the view has scrolled or was laid out: decides what is fetched next.
   *
   * @param {number} first  the first position that is visible
   * @param {number} last  the last one
   */
  scrollViewDidScroll(first, last) {
    if (first > last || last >= this.#shown.length) return;
    const conversation = this.#conversation;
    const [from, to] = [this.messageAt(first), this.messageAt(last)];
    this.#isAtEnd = last >= this.#shown.length - UNTIL_PRELOAD;
    conversation.noteVisible(from.id, to.id);
    const { rows, rowOf } = this.#rows();
    const load = nextLoad({
      count: rows.length, gapAt: (index) => rows[index], first: rowOf[first], last: rowOf[last],
      isUpward: true, hasOlder: conversation.hasOlder && conversation.older === 'idle',
      mayFill: (gap) => conversation.filling(gap) === 'idle',
    });
    if (load === 'older') this.scrollViewDidReachTop();
    else if (load) conversation.fill(load.gap, load.end, this.fetchLimit);
  }

  /** The view has come to its upper edge. */
  scrollViewDidReachTop() { this.#conversation.loadOlder(this.fetchLimit); }

  /** The view has come to its lower edge: what waited is shown, what is missing fetched. */
  scrollViewDidReachBottom() {
    this.#isAtEnd = true;
    if (this.#isHolding) {
      this.#limit = this.subscribeNewMessages ? Infinity : this.#newest;
      this.#changed(undefined);
    }
    this.#conversation.loadNewer(this.fetchLimit);
  }

  /** The gap that each row of the list stands for, and the row of each position. */
  #rows() {
    /** @type {(Gap | undefined)[]} */
    const rows = [];
    /** @type {number[]} */
    const rowOf = [];
    for (const item of this.#conversation.items) {
      if (item.kind !== 'gap') rowOf.push(rows.length);
      rows.push(item.kind === 'gap' ? item.gap : undefined);
    }
    return { rows, rowOf };
  }

  get #isHolding() { return this.#newest > this.#limit; }

  /** The place of the newest message that is here. */
  get #newest() {
    const last = this.#conversation.items.findLast(({ kind }) => kind === 'message');
    return last?.kind === 'message' ? last.message.seq : 0;
  }

  /** From here on, news wait. */
  #hold() { this.#limit = Math.min(this.#limit, this.#newest); }

  /** @param {Reason} reason */
  #changed(reason) {
    const { phase } = this.#conversation;
    if (reason === 'began') this.#limit = Infinity;
    if (phase === 'live') this.#isAnswered = true;
    if (!this.#isAnswered && !this.useCache) return;
    const old = this.#shown;
    const items = this.#conversation.items.filter((item) => this.#isShown(item));
    this.#shown = messagesOf(items, this.#conversation.id, this.#client.connection.user);
    if (phase === 'live' && !this.subscribeNewMessages && this.#limit === Infinity) this.#hold();
    if (phase === 'waiting' && !this.syncOnReconnect) this.#hold();
    const deltas = messageDeltas(old.map(messageIn), this.#shown.map(messageIn));
    if (deltas.length > 0) this.#delegate?.managedMessageListDidChange(deltas);
    if (reason === 'resumed' && this.syncOnReconnect && this.#isAtEnd) {
      this.#conversation.loadNewer(this.fetchLimit);
    }
  }

  /** @param {Item} item */
  #isShown(item) { return item.kind !== 'message' || item.message.seq <= this.#limit; }
}

/** @param {{message: ListMessage}} shown */
function messageIn({ message }) { return message; }
