import { Backoff } from './backoff.js';
import { RequestError } from './request-error.js';

/**
 * One's own read marker in one conversation. It never moves back; while a move is under way the
 * wish for the next one waits, and only the farthest is sent.
 */
export class ReadMarker {
  #send;
  /** @type {number | null} */
  #seq = null;
  #wanted = 0;
  #isBusy = false;
  #backoff = new Backoff();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry = undefined;

  /** @param {(seq: number) => Promise<{lastReadSeq: number}>} send */
  constructor(send) { this.#send = send; }

  /** Everything up to here is read; `null` until the gateway has said so. */
  get seq() { return this.#seq; }

  /**
   * Takes the gateway's word.
   *
   * @param {number} seq
   */
  confirm(seq) { this.#seq = Math.max(this.#seq ?? 0, seq); }

  /** Begins again from nothing: the log was recreated. */
  forget() {
    this.#seq = null;
    this.#wanted = 0;
    clearTimeout(this.#retry);
  }

  /**
   * Moves the marker up to `seq`.
   *
   * @param {number} seq
   */
  move(seq) {
    this.#wanted = Math.max(this.#wanted, seq);
    this.resume();
  }

  /**
   * Sends what is wanted and not confirmed; called when a session begins. A marker that is refused
   * for now is sent again after what the refusal says, or a backoff.
   */
  async resume() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    clearTimeout(this.#retry);
    try {
      while (this.#wanted > (this.#seq ?? 0)) {
        const asked = this.#wanted;
        const { lastReadSeq } = await this.#send(asked);
        this.confirm(lastReadSeq);
        this.#backoff.reset();
        // A gateway that did not move so far would be asked the same for ever.
        if (lastReadSeq < asked && this.#wanted === asked) this.#wanted = lastReadSeq;
      }
    } catch (error) {
      this.#refused(error);
    } finally {
      this.#isBusy = false;
    }
  }

  /** @param {unknown} error */
  #refused(error) {
    if (!(error instanceof RequestError)) throw error;
    // The next session sends it again.
    if (error.code === 'disconnected') return;
    if (error.retry === 'never') {
      this.#wanted = 0;
      return;
    }
    this.#retry = setTimeout(() => this.resume(), error.after ?? this.#backoff.next());
  }
}
