/** A typing notice counts for this long; a user who types on sends the next before that. */
const LIFETIME = 5_000;
const REPEAT = 3_000;
const IDLE = 4_000;

/** Who is typing in one conversation: forgotten when no news came for 5 s. */
export class Typists {
  /** @type {Map<string, ReturnType<typeof setTimeout>>} */
  #timers = new Map();
  #changed;

  /** @param {() => void} changed  called after each change */
  constructor(changed) { this.#changed = changed; }

  /** Who is typing, in the order in which they began. */
  get users() { return [...this.#timers.keys()]; }

  /**
   * Takes a `typing` event. Its age is measured from its arrival: clocks differ.
   *
   * @param {string} user
   * @param {'begin' | 'pause' | 'finished'} state
   */
  note(user, state) {
    clearTimeout(this.#timers.get(user));
    if (state === 'begin') {
      this.#timers.set(user, setTimeout(() => this.finish(user), LIFETIME));
      this.#changed();
    } else {
      this.finish(user);
    }
  }

  /**
   * Somebody ended: said so, or their message arrived.
   *
   * @param {string} user
   */
  finish(user) {
    clearTimeout(this.#timers.get(user));
    if (this.#timers.delete(user)) this.#changed();
  }

  /** Forgets everybody. */
  clear() {
    for (const user of this.users) this.finish(user);
  }
}

/** Tells others that we type: `begin` at most every 3 s, `pause` after 4 s without a key. */
export class TypingReport {
  #send;
  #saidAt = -Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #idle;

  /** @param {(state: 'begin' | 'pause' | 'finished') => void} send */
  constructor(send) { this.#send = send; }

  /** A key was hit and there is text. */
  typed() {
    const now = performance.now();
    if (now - this.#saidAt >= REPEAT) {
      this.#saidAt = now;
      this.#send('begin');
    }
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#end('pause'), IDLE);
  }

  /** The text was sent or taken away. */
  finished() { this.#end('finished'); }

  /** @param {'pause' | 'finished'} state */
  #end(state) {
    clearTimeout(this.#idle);
    if (this.#saidAt === -Infinity) return;
    this.#saidAt = -Infinity;
    this.#send(state);
  }
}
