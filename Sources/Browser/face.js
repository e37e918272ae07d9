/** @import { Conversation } from './conversation.js' */
/** @import { RequestError } from './request-error.js' */

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
   */
  get gaps() { return this.conversation.gaps; }

  /** Nothing, or why it ended: `removed`, `deleted`, `forbidden`, or the code of the refusal. */
  get ending() { return this.conversation.endingReason; }

  /** What is being sent, or failed to be, in the order in which it was written. */
  get drafts() { return this.conversation.drafts; }

  /**
   * Sends a message; it is shown at once, and goes out as soon as there is a session.
   *
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   */
  send(body, metadata) { return this.conversation.send(body, metadata); }

  /** @param {string} id  of a failed draft */
  retry(id) { this.conversation.resend(id); }

  /** @param {string} id  of a draft that is given up */
  discard(id) { this.conversation.discard(id); }

  /**
   * @param {string} id
   * @param {string} body
   * @throws {RequestError}
   */
  edit(id, body) { return this.conversation.edit(id, body); }

  /**
   * @param {string} id
   * @throws {RequestError}
   */
  delete(id) { return this.conversation.delete(id); }

  /** @param {number} seq  everything up to here was read */
  markRead(seq) { this.conversation.markRead(seq); }
}
