import { report } from './report.js';

/** @import { Ask, Credentials } from './connection.js' */

/** Replaces the token of a session before it runs out, as often as that takes. */
export class TokenRefresh {
  #ask;
  #send;
  #timer;
  #now;

  /**
   * @param {object} of
   * @param {Ask} of.ask
   * @param {(method: string, params: object) => Promise<*>} of.send
   * @param {(delay: number, action: () => void) => void} of.timer  one at a time
   * @param {() => number} of.now  milliseconds since 1970
   */
  constructor({ ask, send, timer, now }) {
    [this.#ask, this.#send, this.#timer, this.#now] = [ask, send, timer, now];
  }

  /**
   * Replaces it when nine tenths of what it has left are over.
   *
   * @param {string | undefined} expiresAt
   * @param {() => boolean} isCurrent  whether the session is the present one
   */
  before(expiresAt, isCurrent) {
    const left = Date.parse(expiresAt ?? '') - this.#now();
    if (!Number.isNaN(left)) {
      this.#timer(Math.max(1000, left * 0.9), () => this.#refresh(isCurrent));
    }
  }

  /** @param {() => boolean} isCurrent */
  async #refresh(isCurrent) {
    /** @type {Credentials | null} */
    let credentials;
    try {
      credentials = await this.#ask({ expired: false });
    } catch (error) {
      report(error);
      return;
    }
    if (!isCurrent() || !credentials || !('token' in credentials)) return;
    try {
      const { expiresAt } = await this.#send('refresh', { token: credentials.token });
      if (isCurrent()) this.before(expiresAt, isCurrent);
    } catch {
      // The gateway ends the session when the token runs out; that path asks for a new one.
    }
  }
}
