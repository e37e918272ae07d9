/** @import { Connection } from './connection.js' */
/** @import { ConversationLog } from './conversation-log.js' */
/** @import { Draft } from './drafts.js' */
/** @import { Head } from './types.js' */

/**
 * Whether an edit that waited is still about the log in which it was written: the number of a value
 * says nothing across a reset, and within one epoch too there may have been one.
 */
export class WrittenLater {
  #connection;
  /**
   * Where each was written. What a store brought back is not here.
   *
   * @type {WeakMap<Head, {log: ConversationLog, generation: number}>}
   */
  #written = new WeakMap();

  /** @param {Connection} connection */
  constructor(connection) { this.#connection = connection; }

  /**
   * Notes where an edit was begun.
   *
   * @param {{head?: Head}} seen
   * @param {ConversationLog | undefined} log
   */
  note({ head }, log) {
    if (head && log) this.#written.set(head, { log, generation: log.messages.generation });
  }

  /**
   * Whether the log that an edit was written in is the one that there is.
   *
   * @param {Draft} draft
   * @param {ConversationLog | undefined} log
   * @returns {Promise<boolean>}  rejects with a `RequestError`
   */
  async isOfLog({ conversation, head }, log) {
    if (head === undefined) return true;
    const written = this.#written.get(head);
    if (log && log.phase === 'live' && written?.log === log) {
      return written.generation === log.messages.generation;
    }
    // Only a subscription says whether a log still has a change.
    const have = { head, asOf: head.rev, runs: [] };
    const params = { conversation, have, limit: 1 };
    const { reset = false } = await this.#connection.request('subscribeMessages', params);
    if (!log?.isFollowed) {
      this.#connection.request('unsubscribeMessages', { conversation }).catch(() => {});
    }
    return !reset;
  }
}
