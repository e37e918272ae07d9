/** @import { Conversation } from './conversation.js' */
/** @import { Seen } from './outbox.js' */
/** @import { Gap, Mentions, MentionsPlace, MentionsResult, ReactionsPlace } from './types.js' */
/** @import { ReactionsResult, SendFields } from './types.js' */

/** What all faces of a conversation have: `ManagedMessageList`, `History`, `ChatDataSource`. */
export class Face {
  /** @param {Conversation} conversation */
  constructor(conversation) {
    /** Who types, who takes part, the subscription's state. */
    this.conversation = conversation;
  }

  /**
   * What is missing, oldest first: a gap between any two messages that are no neighbours in the
   * log. A message in a gap may be outdated.
   *
   * @returns {readonly Gap[]}
   */
  get gaps() { return this.conversation.gaps; }

  /** Why it ended: `removed`, `deleted`, `forbidden`, or the code of the refusal; or nothing. */
  get ending() { return this.conversation.endingReason; }

  /** What is being sent or failed, in the order of writing. */
  get drafts() { return this.conversation.drafts; }

  /** The edits and deletions that are unconfirmed, failed, or in conflict. */
  get edits() { return this.conversation.edits; }

  /**
   * Shows a message at once, and sends it now or in the next session.
   *
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   * @param {*} [attachment]
   * @param {SendFields} [fields]  the message to which it replies, and whom it mentions
   * @returns {string}  its id
   */
  send(body, metadata, attachment, fields) {
    return this.conversation.send(body, metadata, attachment, fields);
  }

  /**
   * The `rev` that an edit is of: that of the value shown.
   *
   * @param {string} id
   * @returns {number | undefined}  nothing: the present one; 0: another log's
   */
  shownRev(id) { return this.conversation.message(id)?.rev; }

  /** @param {string} id  of what failed, or is in conflict */
  retry(id) { this.conversation.resend(id); }

  /**
   * Sends a failed draft, or one in conflict, with another text.
   *
   * @param {string} id
   * @param {string} body
   * @param {SendFields} [fields]  what is left out stays; what is `undefined` goes
   * @returns {string}  its id from now on
   */
  rewrite(id, body, fields) { return this.conversation.rewrite(id, body, fields); }

  /** @param {string} id  of what is given up */
  discard(id) { this.conversation.discard(id); }

  /**
   * Notes the value that is shown when an edit begins. Given to `edit` or `delete` in place of the
   * id, it makes a value that came meanwhile a conflict.
   *
   * @param {string} id
   * @returns {Seen}
   */
  see(id) { return this.conversation.see(id, this.shownRev(id)); }

  /**
   * Edits a message, now or in the next session.
   *
   * @param {string | Seen} of  an id (the value that is shown), or what `see` gave
   * @param {string} body
   * @param {Mentions} [mentions]  what is left out stays
   * @returns {Promise<void>}  rejects with a `RequestError`; a `conflict` has `current`
   */
  edit(of, body, mentions) { return this.conversation.edit(this.#seen(of), body, mentions); }

  /**
   * Deletes a message, now or in the next session.
   *
   * @param {string | Seen} of  an id (the value that is shown), or what `see` gave
   * @returns {Promise<void>}  rejects with a `RequestError`; a `conflict` has `current`
   */
  delete(of) { return this.conversation.delete(this.#seen(of)); }

  /**
   * Has the user react to a message, or takes that back, now or in the next session. It is shown at
   * once, and as it was before if it is refused. What is so already is no change.
   *
   * @param {string} id  of the message
   * @param {string} key  an emoji, or any other text of 1 to 64 bytes of UTF-8
   * @param {boolean} [on]  false takes it back
   * @param {{user?: string}} [options]  `user`: whose it is that an admin takes back
   * @returns {Promise<void>}  rejects with a `RequestError`, as `Conversation.react`
   */
  react(id, key, on = true, options = {}) {
    return this.conversation.react(id, key, on, options);
  }

  /**
   * Who reacted to a message, oldest first.
   *
   * @param {string} id  of the message
   * @param {ReactionsPlace} [place]
   * @returns {Promise<ReactionsResult>}  rejects with a `RequestError`
   */
  fetchReactions(id, place = {}) { return this.conversation.fetchReactions(id, place); }

  /**
   * Where others mention the user, or all, oldest first.
   *
   * @param {MentionsPlace} [place]
   * @returns {Promise<MentionsResult>}  rejects with a `RequestError`
   */
  fetchMentions(place = {}) { return this.conversation.fetchMentions(place); }

  /** @param {string | Seen} of */
  #seen(of) { return typeof of === 'string' ? this.see(of) : of; }

  /** @param {number} seq  everything up to here was read */
  markRead(seq) { this.conversation.markRead(seq); }
}
