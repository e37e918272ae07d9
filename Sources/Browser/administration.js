/** @import { ConversationRecord } from './types.js' */

/**
 * Changes a conversation's record and who takes part. Each is a request, made at once: it fails
 * with a `RequestError`, which is `disconnected` while there is no session.
 */
export class Administration {
  #request;

  /** @param {(method: string, params: object) => Promise<*>} request  of the conversation */
  constructor(request) { this.#request = request; }

  /**
   * Changes the title, or the metadata.
   *
   * @param {{title?: string | null, metadata?: Record<string, *>, ifRev?: number}} fields  `ifRev`:
   *   a record with another `rev` is a `conflict`
   * @returns {Promise<ConversationRecord>}
   */
  update(fields) { return this.#changed('updateConversation', fields); }

  /**
   * @param {string[]} users
   * @returns {Promise<ConversationRecord>}
   */
  addParticipants(users) { return this.#changed('addParticipants', { users }); }

  /**
   * @param {string[]} users
   * @returns {Promise<ConversationRecord>}
   */
  removeParticipants(users) { return this.#changed('removeParticipants', { users }); }

  /**
   * @param {string[]} users
   * @returns {Promise<ConversationRecord>}
   */
  addAdmins(users) { return this.#changed('addAdmins', { users }); }

  /**
   * @param {string[]} users
   * @returns {Promise<ConversationRecord>}
   */
  removeAdmins(users) { return this.#changed('removeAdmins', { users }); }

  /** Leaves the conversation. */
  async leave() { await this.#request('leaveConversation', {}); }

  /** Deletes the conversation, for everybody. */
  async delete() { await this.#request('deleteConversation', {}); }

  /**
   * @param {string} method
   * @param {object} params
   * @returns {Promise<ConversationRecord>}
   */
  async #changed(method, params) { return (await this.#request(method, params)).conversation; }
}
