/** @import { Head } from './types.js' */

/** The methods whose answer says how a conversation is. */
const reads = new Set([
  'subscribeMessages', 'fetchMessages', 'fetchConversation', 'fetchParticipants',
]);

/** The methods whose answer says where the log is that has the change. */
const writes = new Set([
  'sendMessage', 'editMessage', 'deleteMessage', 'react', 'createConversation',
  'updateConversation',
  'addParticipants', 'removeParticipants', 'addAdmins', 'removeAdmins',
]);

/**
 * The newest change of our own in each conversation, as the gateway acknowledged it. Each question
 * about the conversation names it, whatever gateway it goes to: an answer then has that change, or
 * says that it is open, or that the log has lost it.
 */
export class OwnWrites {
  /** @type {Map<string, Head>} */
  #heads = new Map();

  /**
   * The params of a request, with the change that its answer must not miss.
   *
   * @param {string} method
   * @param {Record<string, *>} params
   * @returns {Record<string, *>}
   */
  named(method, params) {
    const head = reads.has(method) ? this.#heads.get(params.conversation) : undefined;
    if (head === undefined) return params;
    const { epoch, rev, mark } = head;
    // Another tab may have named a later one.
    const given = params.atLeast;
    if (given && (given.epoch !== epoch || given.rev > rev)) return params;
    return { ...params, atLeast: { epoch, rev, mark } };
  }

  /**
   * Notes the final answer to a request.
   *
   * @param {string} method
   * @param {Record<string, *>} params  as they were sent
   * @param {*} result
   */
  note(method, params, result) {
    const { atLeast, conversation } = params;
    if (atLeast !== undefined && result?.reset === true) {
      // The log has lost it.
      if (this.#heads.get(conversation)?.mark === atLeast.mark) this.#heads.delete(conversation);
    }
    if (!writes.has(method)) return;
    const head = result?.head ?? result?.conversation?.head;
    const id = conversation ?? result?.conversation?.id;
    if (head && id !== undefined) {
      const known = this.#heads.get(id);
      const isOlder = known?.epoch === head.epoch && known.rev > head.rev;
      if (!isOlder) this.#heads.set(id, head);
    }
  }

  /**
   * Notes an event: where the log is another one, or ours no more, what was written into it is too.
   *
   * @param {import('./types.js').EventFrame} event
   */
  heard({ event, conversation, head }) {
    const isOther = event === 'reset' && this.#heads.get(conversation)?.epoch !== head?.epoch;
    if (event === 'unsubscribed' || isOther) this.#heads.delete(conversation);
  }
}
