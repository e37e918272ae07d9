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
  /** @type {Map<number, {taking: Taking, resolve: (r: *) => void, reject: (e: Error) => void}>} */
  #waiting = new Map();
  #lastId = 0;

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
      this.#waiting.set(id, { taking, resolve, reject });
    });
    return { id, reply };
  }

  /**
   * Hands a reply to whoever waits for it. A frame with an id that nobody waits for is ignored.
   *
   * @param {{id: number, cached?: boolean, result?: *, error?: *}} frame
   */
  settle(frame) {
    const waiting = this.#waiting.get(frame.id);
    if (!waiting) return;
    if (frame.cached === true && !frame.error) {
      waiting.taking.cached?.(frame.result);
      return;
    }
    this.#waiting.delete(frame.id);
    if (frame.error) {
      waiting.reject(new RequestError(frame.error));
    } else {
      waiting.taking.final?.(frame.result);
      waiting.resolve(frame.result);
    }
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
