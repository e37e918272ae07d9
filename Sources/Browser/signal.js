import { guarded } from './report.js';

/**
 * Listeners for one kind of news. What one listener throws is reported (`onError`), and the others
 * are told.
 *
 * @template T
 */
export class Signal {
  /** @type {Set<{listener: (news: T) => void}>} */
  #entries = new Set();

  /**
   * Calls `listener` with each piece of news.
   *
   * @param {(news: T) => void} listener
   * @returns {() => void}  ends it
   */
  listen(listener) {
    // An entry of its own, so that one function listening twice is two listeners.
    const entry = { listener };
    this.#entries.add(entry);
    return () => { this.#entries.delete(entry); };
  }

  /**
   * Tells all listeners, in the order in which they began.
   *
   * @param {T} news
   */
  emit(news) {
    for (const entry of [...this.#entries]) {
      if (this.#entries.has(entry)) guarded(() => entry.listener(news));
    }
  }
}
