/**
 * What of a browser the tabs of one user need to find each other; a test plays it.
 *
 * @typedef {object} TabEnvironment
 * @property {LockManager} locks  `navigator.locks`
 * @property {(name: string) => BroadcastChannel} channel
 * @property {() => number} now  milliseconds since 1970
 * @property {typeof setTimeout} setTimeout
 * @property {typeof clearTimeout} clearTimeout
 *
 * Who leads: the later term counts, and of two with one number that of the greater id.
 *
 * @typedef {{number: number, leader: string}} Term
 */

/**
 * Which of the tabs leads: the one that holds a lock. The browser hands the lock on when the leader
 * is gone; one that is there and does not answer loses it to whoever asks for it by force.
 */
export class Leadership {
  #name;
  #locks;
  /** Ends the holding of the lock, or the waiting for it. @type {(() => void) | null} */
  #leave = null;
  /** Counts the requests for the lock: what an earlier one brings does not count. */
  #number = 0;
  #gained;
  #lost;

  /**
   * @param {string} name  of the lock
   * @param {LockManager} locks
   * @param {{gained: () => void, lost: () => void}} told  `lost`: another tab took it
   */
  constructor(name, locks, { gained, lost }) {
    this.#name = name;
    this.#locks = locks;
    this.#gained = gained;
    this.#lost = lost;
  }

  /**
   * Asks for it: leads as soon as nobody does, or at once.
   *
   * @param {boolean} [byForce]
   */
  seek(byForce = false) {
    this.leave();
    this.#number += 1;
    const number = this.#number;
    const waiting = new AbortController();
    this.#leave = () => waiting.abort();
    const options = byForce ? { steal: true } : { signal: waiting.signal };
    this.#locks.request(this.#name, options, () => {
      if (number !== this.#number) return undefined;
      /** @type {Promise<void>} */
      const held = new Promise((resolve) => { this.#leave = resolve; });
      this.#gained();
      return held;
    }).catch(() => {
      // Aborted by ourselves, or taken away.
      if (number !== this.#number) return;
      this.#leave = null;
      this.#lost();
    });
  }

  /** Gives it up, or the wish for it. */
  leave() {
    this.#number += 1;
    const leave = this.#leave;
    this.#leave = null;
    leave?.();
  }
}

/** The lock by which a tab is known to be there, for as long as it is. */
export class Presence {
  /** Whether it is held. */
  isHeld = false;
  /** Resolves when it is held. @type {Promise<void>} */
  held = Promise.resolve();

  #name;
  #locks;
  #release = () => {};

  /**
   * @param {string} name  of the lock
   * @param {LockManager} locks
   */
  constructor(name, locks) {
    this.#name = name;
    this.#locks = locks;
  }

  /** Takes it; gives `held`. */
  begin() {
    this.held = new Promise((resolve) => {
      this.#locks.request(this.#name, () => new Promise((end) => {
        this.#release = () => end(undefined);
        this.isHeld = true;
        resolve();
      })).catch(() => {});
    });
    return this.held;
  }

  /** Gives it back. */
  end() {
    this.isHeld = false;
    this.#release();
  }
}

/**
 * Whether one term counts more than another.
 *
 * @param {Term} one
 * @param {Term | null} other
 */
export function isLater(one, other) {
  if (other === null) return true;
  return one.number > other.number
    || (one.number === other.number && one.leader > other.leader);
}

/**
 * What this browser has for tabs.
 *
 * @returns {TabEnvironment}
 */
export function browserTabs() {
  return {
    locks: navigator.locks,
    channel: (name) => new BroadcastChannel(name),
    now: () => Date.now(),
    setTimeout: globalThis.setTimeout.bind(globalThis),
    clearTimeout: globalThis.clearTimeout.bind(globalThis),
  };
}
