/** @import { MessageStore } from './message-store.js' */
/** @import { MessageLog } from './message-log.js' */

/** So many of the newest messages are kept. */
const COUNT = 200;
/** Changes within this time are saved at once, in milliseconds. */
const DELAY = 500;

/** Keeps the newest messages of one log in a store, if there is one, and brings them back. */
export class Saving {
  #conversation;
  #log;
  #store;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Promise<void> | null} */
  #restoring = null;

  /**
   * @param {string} conversation
   * @param {MessageLog} log
   * @param {MessageStore | null} store
   */
  constructor(conversation, log, store) {
    this.#conversation = conversation;
    this.#log = log;
    this.#store = store;
  }

  /** What is being brought back; a subscription waits for it to resume from there. */
  get restoring() { return this.#restoring; }

  /**
   * Brings back what was kept, where nothing is held yet.
   *
   * @param {() => void} changed  called when something came
   */
  restore(changed) {
    const store = this.#store;
    if (store === null || this.#log.have !== null) return;
    this.#restoring = (async () => {
      const saved = await store.load(this.#conversation);
      this.#restoring = null;
      if (saved === null || this.#log.have !== null) return;
      this.#log.restore(saved);
      changed();
    })();
  }

  /** Saves soon what is held then. */
  schedule() {
    if (this.#store !== null) this.#timer ??= setTimeout(() => this.flush(), DELAY);
  }

  /** Saves now what `schedule` would save soon. */
  flush() {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const saved = this.#log.saved(COUNT);
    if (saved) this.#store?.save(this.#conversation, saved);
  }

  /** Removes what is kept: the log is another one, or no longer ours to read. */
  forget() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#store?.remove(this.#conversation);
  }
}
