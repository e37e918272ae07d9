import { guarded } from './report.js';

/** @import { Connection } from './connection.js' */

/** The state of the connection, for those who want to be called. */
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

  /** Whether there is a session: requests can be made, and events come. */
  get isConnected() { return this.#connection.isLive; }

  /**
   * Has a handler called each time that a session begins.
   *
   * @param {() => void} handler
   * @returns {() => void}  ends it
   */
  onConnect(handler) { return this.#add(handler, true); }

  /**
   * Has a handler called each time that a session ends.
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
