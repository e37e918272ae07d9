import { Backoff } from './backoff.js';
import { newIdentifier } from './identifier.js';
import { RequestError } from './request-error.js';

/** @import { Message } from './types.js' */

/**
 * A message that the gateway did not confirm yet.
 *
 * @typedef {object} Draft
 * @property {string} id  chosen here and kept over every try, so that it is sent once
 * @property {string} body
 * @property {Record<string, *>} [metadata]
 * @property {string} createdAt  RFC 3339, by this machine's clock
 * @property {'sending' | 'failed'} state
 * @property {string} [error]  why it failed, for a person to read
 */

/** So often it is tried again by itself where the gateway says `later`. */
const TRIES = 5;

/**
 * The unsent messages of one conversation, in the order in which they were written. One is under
 * way at a time, so that a failure never lets a later one overtake. A lost connection is no
 * failure: the draft waits for `resume` and goes out again under its id.
 */
export class Outbox {
  /** @type {Draft[]} */
  #drafts = [];
  #send;
  #changed;
  #backoff = new Backoff();
  #isBusy = false;
  #tries = 0;

  /**
   * @param {object} options
   * @param {(draft: Draft) => Promise<*>} options.send  resolves when it is confirmed
   * @param {() => void} options.changed  called after each change of `drafts`
   */
  constructor({ send, changed }) {
    this.#send = send;
    this.#changed = changed;
  }

  /** What is not confirmed yet, oldest first. */
  get drafts() { return /** @type {readonly Draft[]} */ (this.#drafts); }

  /**
   * Writes a message: it is shown and sent at once.
   *
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   */
  add(body, metadata) {
    const createdAt = new Date().toISOString();
    const draft = { id: newIdentifier(), body, metadata, createdAt };
    this.#drafts = [...this.#drafts, { ...draft, state: 'sending' }];
    this.#changed();
    this.resume();
  }

  /**
   * Tries a failed one again.
   *
   * @param {string} id
   */
  retry(id) {
    this.#replace(id, { state: 'sending', error: undefined });
    this.#changed();
    this.resume();
  }

  /**
   * Gives one up.
   *
   * @param {string} id
   */
  discard(id) {
    this.#drafts = this.#drafts.filter((draft) => draft.id !== id);
    this.#changed();
  }

  /**
   * Drops those that arrived: one's own messages come back as events, often before the reply.
   *
   * @param {Message[]} messages
   * @param {string | null} user
   */
  confirm(messages, user) {
    if (this.#drafts.length === 0) return;
    const arrived = new Set(messages.filter(({ author }) => author === user).map(({ id }) => id));
    this.#drafts = this.#drafts.filter(({ id }) => !arrived.has(id));
  }

  /** Sends what waits; called when a session begins. */
  async resume() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (;;) {
      const draft = this.#drafts.find(({ state }) => state === 'sending');
      if (!draft) break;
      const isSent = await this.#attempt(draft);
      if (!isSent) break;
    }
    this.#isBusy = false;
  }

  /**
   * @param {Draft} draft
   * @returns {Promise<boolean>} whether the next one may go
   */
  async #attempt(draft) {
    try {
      await this.#send(draft);
      this.#tries = 0;
      this.#backoff.reset();
      this.discard(draft.id);
      return true;
    } catch (error) {
      if (RequestError.is(error, 'disconnected')) return false;
      const mayRetry = error instanceof RequestError && error.retry !== 'never';
      this.#tries += 1;
      if (mayRetry && this.#tries < TRIES) {
        const wait = error.after ?? this.#backoff.next();
        await new Promise((resolve) => { setTimeout(resolve, wait); });
        return true;
      }
      this.#tries = 0;
      this.#replace(draft.id, { state: 'failed', error: /** @type {Error} */ (error).message });
      this.#changed();
      return true;
    }
  }

  /**
   * @param {string} id
   * @param {Partial<Draft>} change
   */
  #replace(id, change) {
    this.#drafts = this.#drafts.map((draft) => draft.id === id ? { ...draft, ...change } : draft);
  }
}
