import { RequestError } from './request-error.js';

/** @import { Taking } from './pending.js' */

/** Asked again after so long where the gateway does not say, in milliseconds. */
const AFTER = 1_000;

/** @typedef {{method: string, params: object, taking: Taking, resolve: (result: *) => void,
 *   reject: (error: unknown) => void}} Question */

/**
 * Questions that the gateway refuses for now, since this user asks for more than their budget, are
 * asked again when it said (`after`). They are asked one by one at first, and then, with each
 * answer, one more at a time. What changes something keeps its own order and is tried by its owner.
 */
export class Patience {
  #send;
  #environment;
  /** @type {Question[]} */
  #waiting = [];
  #underWay = 0;
  #most = Infinity;
  /** @type {*} */
  #timer = null;

  /**
   * @param {(method: string, params: object, taking: Taking) => Promise<*>} send
   * @param {{setTimeout: typeof setTimeout, clearTimeout: typeof clearTimeout}} environment
   */
  constructor(send, environment) {
    this.#send = send;
    this.#environment = environment;
  }

  /**
   * Whether a method only reads, so that it may be asked later and again.
   *
   * @param {string} method
   */
  static has(method) { return method.startsWith('fetch') || method === 'findBoundaries'; }

  /**
   * @param {string} method
   * @param {object} params
   * @param {Taking} taking
   * @returns {Promise<*>}
   */
  ask(method, params, taking) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ method, params, taking, resolve, reject });
      this.#go();
    });
  }

  /** The session is over: fails what waits. */
  end() {
    this.#environment.clearTimeout(this.#timer);
    this.#timer = null;
    this.#most = Infinity;
    for (const { reject } of this.#waiting.splice(0)) reject(RequestError.disconnected());
  }

  #go() {
    while (this.#timer === null && this.#underWay < this.#most) {
      const question = this.#waiting.shift();
      if (question === undefined) break;
      this.#try(question);
    }
  }

  /** @param {Question} question */
  async #try(question) {
    const { method, params, taking, resolve, reject } = question;
    this.#underWay += 1;
    try {
      const result = await this.#send(method, params, taking);
      this.#underWay -= 1;
      this.#most = this.#waiting.length + this.#underWay === 0 ? Infinity : this.#most + 1;
      resolve(result);
    } catch (error) {
      this.#underWay -= 1;
      if (RequestError.is(error, 'rate_limited')) this.#refused(question, error);
      else reject(error);
    }
    this.#go();
  }

  /**
   * @param {Question} question
   * @param {*} error
   */
  #refused(question, { after = AFTER }) {
    this.#waiting.push(question);
    this.#most = 1;
    this.#environment.clearTimeout(this.#timer);
    this.#timer = this.#environment.setTimeout(() => {
      this.#timer = null;
      this.#go();
    }, after);
  }
}
