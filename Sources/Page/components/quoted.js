/** @import { Connection } from '../../Browser/connection.js' */
/** @import { Conversation } from '../../Browser/conversation.js' */
/** @import { Message } from '../../Browser/types.js' */
/** @import { Quote } from './quote.js' */

/**
 * What is known of a quoted message: the message as it is now; `unknown` until it came, or while it
 * can't be had; `none`: at that place stands no message of that id; `gone`: the log does not have
 * it.
 *
 * @typedef {Message | 'unknown' | 'none' | 'gone'} Quoted
 */

/** So many messages outside of the window are kept for those that quote them. */
const LIMIT = 200;

/**
 * The messages that others quote, as they are now: those of the window, and those beyond it, which
 * are asked for when a row that quotes them is drawn, and follow each change from there on.
 */
export class QuotedMessages {
  #connection;
  #conversation;
  #changed;
  /** By place; `null` while it is asked for. @type {Map<number, Message | null | 'none'>} */
  #known = new Map();
  /** @type {(() => void)[]} */
  #stops;

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {Conversation} options.conversation
   * @param {() => void} options.changed  a quote may look different now
   */
  constructor({ connection, conversation, changed }) {
    this.#connection = connection;
    this.#conversation = conversation;
    this.#changed = changed;
    this.#stops = [
      connection.events.listen((event) => this.#event(event)),
      // What changed meanwhile was not heard.
      connection.live.listen(() => this.#forget()),
    ];
  }

  /** Stops following. */
  dispose() { for (const stop of this.#stops) stop(); }

  /**
   * @param {Quote} quote
   * @returns {Quoted}
   */
  at({ id, seq, isSent }) {
    if (seq === undefined) return this.#conversation.message(id) ?? (isSent ? 'gone' : 'unknown');
    if (seq < (this.#conversation.have?.head.floor ?? 0)) return 'gone';
    const found = this.#conversation.at(seq) ?? this.#known.get(seq) ?? 'unknown';
    return typeof found === 'object' && found.id !== id ? 'none' : found;
  }

  /**
   * Asks for a quoted message, unless it is known.
   *
   * @param {Quote} quote
   */
  async want({ seq }) {
    if (seq === undefined || seq < (this.#conversation.have?.head.floor ?? 0)) return;
    if (this.#conversation.at(seq) || this.#known.has(seq) || !this.#connection.isLive) return;
    for (const known of this.#known.keys()) {
      if (this.#known.size < LIMIT) break;
      this.#known.delete(known);
    }
    this.#known.set(seq, null);
    try {
      const { id: conversation } = this.#conversation;
      const params = { conversation, after: seq - 1, before: seq + 1, limit: 1, cached: false };
      const { messages, covers } = await this.#connection.request('fetchMessages', params);
      const isThere = covers.some((/** @type {[number, number]} */ [low, high]) => (
        low <= seq && seq <= high));
      this.#take(seq, messages[0] ?? (isThere ? 'none' : null));
    } catch {
      // Another row, or the next session, asks again.
      this.#known.delete(seq);
    }
  }

  /**
   * @param {number} seq
   * @param {Message | null | 'none'} found
   */
  #take(seq, found) {
    const known = this.#known.get(seq);
    if (known && known !== 'none' && found && found !== 'none' && known.rev > found.rev) return;
    this.#known.set(seq, found);
    this.#changed();
  }

  /** @param {import('../../Browser/types.js').EventFrame} event */
  #event(event) {
    if (event.conversation !== this.#conversation.id) return;
    if (event.event === 'reset') this.#forget();
    for (const { message } of event.event === 'messages' ? event.deltas : []) {
      if (this.#known.has(message.seq)) this.#take(message.seq, message);
    }
  }

  #forget() {
    this.#known.clear();
    this.#changed();
  }
}
