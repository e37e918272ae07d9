/** @import { Conversation } from './conversation.js' */
/** @import { Seen } from './outbox.js' */
/** @import { Gap } from './types.js' */

/** What every face of a conversation can do: `ManagedMessageList`, `History`, `ChatDataSource`. */
export class Face {
  /** @param {Conversation} conversation */
  constructor(conversation) {
    /** What stands behind it: who types, who takes part, how the subscription stands. */
    this.conversation = conversation;
  }

  /**
   * What is missing, oldest first. Between two messages that are not neighbours in the log there
   * always is a gap; a message that lies in one may be outdated.
   *
   * @returns {readonly Gap[]}
   */
  get gaps() { return this.conversation.gaps; }

  /** Nothing, or why it ended: `removed`, `deleted`, `forbidden`, or the code of the refusal. */
  get ending() { return this.conversation.endingReason; }

  /** What is being sent, or failed to be, in the order in which it was written. */
  get drafts() { return this.conversation.drafts; }

  /** The edits and deletions that are not confirmed, or failed, or are in conflict. */
  get edits() { return this.conversation.edits; }

  /**
   * Sends a message; it is shown at once, and goes out as soon as there is a session.
   *
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   * @param {*} [attachment]
   * @returns {string}  its id
   */
  send(body, metadata, attachment) { return this.conversation.send(body, metadata, attachment); }

  /**
   * Of which value of a message an edit is: of the one that is shown.
   *
   * @param {string} id
   * @returns {number | undefined}  nothing: the present one; 0: it is of another log
   */
  shownRev(id) { return this.conversation.message(id)?.rev; }

  /** @param {string} id  of what failed, or is in conflict */
  retry(id) { this.conversation.resend(id); }

  /**
   * Gives what failed, or is in conflict, another text, and sends it.
   *
   * @param {string} id
   * @param {string} body
   * @returns {string}  the id from here on
   */
  rewrite(id, body) { return this.conversation.rewrite(id, body); }

  /** @param {string} id  of what is given up */
  discard(id) { this.conversation.discard(id); }

  /**
   * Notes which value of a message is shown to its author as they begin to change it: given to
   * `edit` or `delete` in place of the id, a value that came meanwhile is a conflict, and not
   * overwritten.
   *
   * @param {string} id
   * @returns {Seen}
   */
  see(id) { return this.conversation.see(id, this.shownRev(id)); }

  /**
   * Edits a message, now or in the next session.
   *
   * @param {string | Seen} of  an id, for the value that is shown now, or what `see` gave
   * @param {string} body
   * @returns {Promise<void>}  rejects with a `RequestError`: of a `conflict`, with `current`
   */
  edit(of, body) { return this.conversation.edit(this.#seen(of), body); }

  /**
   * Deletes a message, now or in the next session.
   *
   * @param {string | Seen} of  an id, for the value that is shown now, or what `see` gave
   * @returns {Promise<void>}  rejects with a `RequestError`: of a `conflict`, with `current`
   */
  delete(of) { return this.conversation.delete(this.#seen(of)); }

  /** @param {string | Seen} of */
  #seen(of) { return typeof of === 'string' ? this.see(of) : of; }

  /** @param {number} seq  everything up to here was read */
  markRead(seq) { this.conversation.markRead(seq); }
}
