import { guarded } from './report.js';

/**
 * A list of listeners for one kind of news. Its owner has the news; `listen` gives back the
 * function that ends the listening. What one listener throws is reported (`onError`), and the
 * others are told.
 *
 * @template T
 */
export class Signal {
  /** @type {Set<{listener: (news: T) => void}>} */
  #entries = new Set();

  /**
   * Calls `listener` with each piece of news from now on.
   *
   * @param {(news: T) => void} listener
   * @returns {() => void} ends it; calling it again does nothing
   */
  listen(listener) {
    // An entry of its own, so that one function listening twice is two listeners.
    const entry = { listener };
    this.#entries.add(entry);
    return () => { this.#entries.delete(entry); };
  }

  /**
   * Tells everybody who listens at this moment, in the order in which they began to.
   *
   * @param {T} news
   */
  emit(news) {
    for (const entry of [...this.#entries]) {
      if (this.#entries.has(entry)) guarded(() => entry.listener(news));
    }
  }
}
