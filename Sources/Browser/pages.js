import { RequestError } from './request-error.js';

/** @import { PageResult } from './types.js' */

/**
 * The pages of history that one conversation is fetching, each under a key of its own, so that no
 * page is asked for twice at once, and a failure stays known until somebody asks again.
 */
export class Pages {
  /** @type {Map<string, 'busy' | string>} */
  #states = new Map();
  #fetch;
  #changed;

  /**
   * @param {object} options
   * @param {(range: object) => Promise<*>} options.fetch
   * @param {() => void} options.changed  called after each change of a state
   */
  constructor({ fetch, changed }) {
    this.#fetch = fetch;
    this.#changed = changed;
  }

  /**
   * `idle`, `busy`, or why the last try failed.
   *
   * @param {string} key
   */
  state(key) { return this.#states.get(key) ?? 'idle'; }

  /** Forgets what failed: a new session may do better. */
  clear() { this.#states.clear(); }

  /**
   * Fetches a page, unless one is under way for the key.
   *
   * @param {string} key
   * @param {object} range  the anchors of `fetchMessages`
   */
  async fetch(key, range) {
    if (this.state(key) === 'busy') return;
    this.#states.set(key, 'busy');
    this.#changed();
    try {
      await this.#fetch(range);
      this.#states.delete(key);
    } catch (error) {
      if (RequestError.is(error, 'disconnected')) this.#states.delete(key);
      else this.#states.set(key, /** @type {Error} */ (error).message);
    }
    this.#changed();
  }
}
