/** @import { RequestError } from './request-error.js' */

/**
 * How a user is there by a connection. `hidden`: to others they are not there by it.
 *
 * @typedef {'present' | 'away' | 'hidden'} PresenceState
 */

/** Of several, the first of these is the user's. @type {readonly PresenceState[]} */
const ORDER = ['present', 'away', 'hidden'];

/** Said again after so long where the gateway does not say, in milliseconds. */
const AFTER = 1_000;

/**
 * How a user is there by several tabs: present if any is, else away if any is, else hidden.
 *
 * @param {PresenceState[]} states
 * @returns {PresenceState}
 */
export function presenceOf(states) {
  return ORDER.find((state) => states.includes(state)) ?? 'present';
}

/**
 * @param {PresenceState} state
 * @returns {PresenceState}
 * @throws {TypeError}  if it is none
 */
export function checkedPresence(state) {
  if (ORDER.includes(state)) return state;
  throw new TypeError(`presence: ${JSON.stringify(state)} is none of ${ORDER.join(', ')}`);
}

/** What a gateway is told of how the user is there: with `connect`, and when that changes. */
export class OwnPresence {
  #state;
  /** What this session was told last. @type {PresenceState | null} */
  #said = null;
  #isSaying = false;
  /** The gateway refused a `connect` that said it. */
  #isRefused = false;
  #isLive;
  #send;
  #timer;

  /**
   * @param {PresenceState} state
   * @param {object} of
   * @param {() => boolean} of.isLive
   * @param {(state: PresenceState) => Promise<*>} of.send
   * @param {(delay: number, action: () => void) => void} of.timer  one that ends with the session
   */
  constructor(state, { isLive, send, timer }) {
    this.#state = checkedPresence(state);
    [this.#isLive, this.#send, this.#timer] = [isLive, send, timer];
  }

  /** @param {PresenceState} state */
  set(state) {
    this.#state = checkedPresence(state);
    this.say();
  }

  /** What `connect` says; nothing where that is what a gateway takes for granted. */
  greeting() {
    this.#said = this.#isRefused ? 'present' : this.#state;
    return this.#said === 'present' ? undefined : this.#said;
  }

  /** The gateway refuses it in `connect`: it is said in a session, where a refusal ends nothing. */
  refused() { this.#isRefused = true; }

  /** Tells the gateway, if that is news to it; the latest state only. */
  async say() {
    if (this.#isSaying || this.#said === this.#state || !this.#isLive()) return;
    this.#isSaying = true;
    this.#said = this.#state;
    try {
      await this.#send(this.#state);
      this.#isRefused = false;
    } catch (reason) {
      const { code, retry, after = AFTER } = /** @type {RequestError} */ (reason);
      // Where it is refused for good nobody is told of anybody.
      if (code !== 'disconnected' && retry !== 'never') {
        this.#timer(after, () => {
          this.#said = null;
          this.say();
        });
      }
    }
    this.#isSaying = false;
    this.say();
  }
}
