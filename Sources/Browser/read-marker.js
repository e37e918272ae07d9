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

  /** Sends what is wanted and not confirmed; called when a session begins. */
  async resume() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#wanted > (this.#seq ?? 0)) {
        const asked = this.#wanted;
        const { lastReadSeq } = await this.#send(asked);
        this.confirm(lastReadSeq);
        // A gateway that did not move so far would be asked the same for ever.
        if (lastReadSeq < asked && this.#wanted === asked) this.#wanted = lastReadSeq;
      }
    } catch {
      // The next message that is read, or the next session, tries again.
    } finally {
      this.#isBusy = false;
    }
  }
}
