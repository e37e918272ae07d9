import { guarded } from './report.js';

/** @import { Connection } from './connection.js' */

/** Tells handlers of the connection's state. */
export class Pubsub {
  #connection;
  #wasConnected = false;
  /** @type {Set<{handler: () => void, isConnected: boolean}>} */
  #handlers = new Set();

  /** @param {Connection} connection */
  constructor(connection) {
    this.#connection = connection;
    this.#wasConnected = connection.isLive;
    connection.changed.listen(() => this.#changed());
  }

  /** Whether there is a session. */
  get isConnected() { return this.#connection.isLive; }

  /**
   * Calls a handler when a session begins.
   *
   * @param {() => void} handler
   * @returns {() => void}  ends it
   */
  onConnect(handler) { return this.#add(handler, true); }

  /**
   * Calls a handler when a session ends.
   *
   * @param {() => void} handler
   * @returns {() => void}  ends it
   */
  onDisconnect(handler) { return this.#add(handler, false); }

  /**
   * @param {() => void} handler
   * @param {boolean} isConnected
   */
  #add(handler, isConnected) {
    const entry = { handler, isConnected };
    this.#handlers.add(entry);
    return () => { this.#handlers.delete(entry); };
  }

  #changed() {
    const { isConnected } = this;
    if (isConnected === this.#wasConnected) return;
    this.#wasConnected = isConnected;
    for (const entry of [...this.#handlers]) {
      if (entry.isConnected === isConnected) guarded(entry.handler);
    }
  }
}
