/**
 * What of a browser the tabs of one user need to find each other; a test plays it.
 *
 * @typedef {object} TabEnvironment
 * @property {LockManager} locks  `navigator.locks`
 * @property {(name: string) => BroadcastChannel} channel
 * @property {() => number} now  milliseconds since 1970
 * @property {() => number} tick  milliseconds on a clock that nobody sets
 * @property {typeof setTimeout} setTimeout
 * @property {typeof clearTimeout} clearTimeout
 * @property {(action: () => void) => void} task  runs an action as a task that stands still while
 *   the tab is frozen, as its sockets do; what a channel brings does not
 * @property {Storage | null} [kept]  what a tab keeps over a reload
 * @property {*} [device]  for tests, see `followDevice`
 *
 * Who leads: the later term counts, and of two with one number that of the greater id.
 *
 * @typedef {{number: number, leader: string}} Term
 */

/**
 * Which of the tabs leads: the one that holds a lock. The browser hands the lock on when the leader
 * is gone. A leader that does not answer loses the lock to the tab that takes it by force.
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
export class TabLock {
  /** Whether it is held. */
  isHeld = false;
  /** Resolves when it is held, however often it was asked for before. @type {Promise<void>} */
  held;

  #locks;
  #took = () => {};
  /** Ends the holding of it, or the waiting for it. */
  #end = () => {};

  /** @param {LockManager} locks */
  constructor(locks) {
    this.#locks = locks;
    this.held = this.#promise();
  }

  /**
   * Takes it; gives `held`.
   *
   * @param {string} name  of the lock
   * @param {() => void} [taken]  called when it is held, before anybody else hears of that
   */
  begin(name, taken = () => {}) {
    const waiting = new AbortController();
    const { signal } = waiting;
    this.#end = () => waiting.abort();
    this.#locks.request(name, { signal }, () => {
      if (signal.aborted) return undefined;
      /** @type {Promise<void>} */
      const end = new Promise((resolve) => { this.#end = resolve; });
      this.isHeld = true;
      taken();
      this.#took();
      return end;
    }).catch(() => {});
    return this.held;
  }

  /** Gives it back, or waits for it no more. */
  end() {
    if (this.isHeld) this.held = this.#promise();
    this.isHeld = false;
    this.#end();
  }

  /** @returns {Promise<void>} */
  #promise() { return new Promise((resolve) => { this.#took = resolve; }); }
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
  const { port1, port2 } = new MessageChannel();
  /** @type {(() => void)[]} */
  const actions = [];
  port1.onmessage = () => actions.shift()?.();
  return {
    task: (action) => {
      actions.push(action);
      port2.postMessage(null);
    },
    locks: navigator.locks,
    kept: keptOfTab(),
    channel: (name) => new BroadcastChannel(name),
    now: () => Date.now(),
    tick: () => performance.now(),
    setTimeout: globalThis.setTimeout.bind(globalThis),
    clearTimeout: globalThis.clearTimeout.bind(globalThis),
  };
}

/** What this tab keeps over a reload; null where it may keep nothing. */
function keptOfTab() {
  try {
    return globalThis.sessionStorage ?? null;
  } catch {
    return null;
  }
}
