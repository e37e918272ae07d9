import { guarded } from './report.js';
import { RequestError } from './request-error.js';

/**
 * How the two phases of a reply are taken. Both are called while the frame is being read, before
 * the next frame: what a reply says must be known before the event behind it.
 *
 * @typedef {object} Taking
 * @property {(result: *) => void} [cached]  takes the answer from the cache, if one comes first
 * @property {(result: *) => void} [final]  takes the final answer
 */

/** The requests of one connection that wait for their reply, by id. */
export class Pending {
  /** @type {Map<number, {taking: Taking, isRead: boolean, resolve: (r: *) => void,
   *   reject: (e: Error) => void}>} */
  #waiting = new Map();
  #lastId = 0;

  /** Whether nothing waits. */
  get isEmpty() { return this.#waiting.size === 0; }

  /** The id of the request that is added next. */
  get nextId() { return this.#lastId + 1; }

  /**
   * Adds a request.
   *
   * @param {Taking} taking
   * @returns {{id: number, reply: Promise<*>}}
   */
  add(taking) {
    this.#lastId += 1;
    const id = this.#lastId;
    const reply = new Promise((resolve, reject) => {
      this.#waiting.set(id, { taking, isRead: false, resolve, reject });
    });
    return { id, reply };
  }

  /**
   * Hands a reply to the request that waits for it. A frame with an id that nobody waits for is
   * ignored. An error without one (0) fails the oldest request that it can belong to: the gateway
   * has read no part of that, so it has no answer yet, not even from a cache.
   *
   * @param {{id: number, cached?: boolean, result?: *, error?: *}} frame
   */
  settle(frame) {
    const id = frame.id === 0 && frame.error ? this.#oldestUnread : frame.id;
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    if (frame.cached === true && !frame.error) {
      waiting.isRead = true;
      guarded(() => waiting.taking.cached?.(frame.result));
      return;
    }
    this.#waiting.delete(id);
    if (frame.error) {
      waiting.reject(new RequestError(frame.error));
    } else {
      guarded(() => waiting.taking.final?.(frame.result));
      waiting.resolve(frame.result);
    }
  }

  get #oldestUnread() {
    for (const [id, { isRead }] of this.#waiting) if (!isRead) return id;
    return 0;
  }

  /**
   * Fails everything that waits.
   *
   * @param {RequestError} error
   */
  failAll(error) {
    const failed = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of failed) reject(error);
  }
}
