/** @import { Signal } from './signal.js' */

/**
 * Something that changes, and may have to be opened for that: a `Conversation`, a
 * `ConversationList`, a `Connection`.
 *
 * @typedef {{changed: Signal<*>, open: () => void, close: () => void}} Target
 */

/**
 * What views see of a target: it is open while one of them listens, and what they read is the same
 * object for as long as each of its members is.
 *
 * @template Of
 * @template {object} Snapshot
 */
export class Followed {
  #read;
  #opens;
  #count = 0;
  /** @type {Snapshot | null} */
  #last = null;

  /**
   * @param {Of} target
   * @param {(target: Of) => Snapshot} read
   * @param {{opens?: boolean}} [options]  `opens`: it is open while somebody listens; if not, that
   *   is for its owner to do
   */
  constructor(target, read, { opens = true } = {}) {
    /** What is followed. */
    this.target = target;
    this.#read = read;
    this.#opens = opens;
  }

  /**
   * Has a view told of each change.
   *
   * @param {() => void} changed
   * @returns {() => void}  ends it
   */
  subscribe = (changed) => {
    const target = /** @type {Target} */ (/** @type {unknown} */ (this.target));
    const stop = target.changed.listen(() => changed());
    this.#count += 1;
    if (this.#opens && this.#count === 1) target.open();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      stop();
      this.#count -= 1;
      // A view that is drawn anew listens again at once.
      queueMicrotask(() => { if (this.#opens && this.#count === 0) target.close(); });
    };
  };

  /**
   * What can be read now.
   *
   * @returns {Snapshot}
   */
  snapshot = () => {
    const now = this.#read(this.target);
    if (this.#last === null || !isSame(this.#last, now)) this.#last = now;
    return this.#last;
  };
}

/**
 * @param {object} one
 * @param {object} other  with the same members
 */
function isSame(one, other) {
  const known = /** @type {Record<string, unknown>} */ (one);
  return Object.entries(other).every(([name, value]) => Object.is(known[name], value));
}
