import { heldPage } from './held-page.js';
import { knownList, knownPage, knownPeople } from './known-answers.js';
import { storeFor } from './message-store.js';
import { RequestError } from './request-error.js';

/** @import { Connection } from './connection.js' */
/** @import { MessageStore } from './message-store.js' */
/** @import { Saved } from './message-log.js' */
/** @import { ConversationRecord, PageResult } from './types.js' */

/**
 * Questions that are answered in phases: first what a store knows, without a connection too; then
 * what the gateway's cache has; then the answer that counts, which the store keeps.
 */
export class Questions {
  #connection;
  #store;

  /**
   * @param {Connection} connection
   * @param {MessageStore | null} store
   */
  constructor(connection, store) {
    this.#connection = connection;
    this.#store = storeFor(store, connection);
  }

  /**
   * @param {string} method
   * @param {{conversation?: string} & Record<string, *>} params
   * @param {(result: *) => void} [cached]  takes each answer that comes before the one that counts;
   *   without it only that one is asked for
   * @returns {Promise<*>}  the answer that counts
   * @throws {RequestError}  `disconnected` while there is no session
   */
  async ask(method, params, cached) {
    let isAnswered = false;
    const reply = this.#connection.request(method, cached ? params : { ...params, cached: false }, {
      cached: (result) => {
        isAnswered = true;
        cached?.(result);
      },
      final: () => { isAnswered = true; },
    });
    const store = this.#store;
    if (store === null) return reply;
    // It is waited for below, where its failure is thrown.
    reply.catch(() => {});
    if (cached) {
      const known = await knownAnswer(store, method, params);
      if (known !== null && !isAnswered) cached(known);
    }
    const { conversation = '' } = params;
    try {
      const result = await reply;
      store.saveAnswer(keyOf(method, params), conversation, result);
      return result;
    } catch (error) {
      // What is gone, or no longer ours to read, is not shown again.
      if (RequestError.is(error, 'not_found') || RequestError.is(error, 'forbidden')) {
        store.removeAnswers(conversation);
      }
      throw error;
    }
  }
}

/**
 * The same for the same question.
 *
 * @param {string} method
 * @param {object} params
 */
function keyOf(method, params) {
  const sorted = Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${method} ${JSON.stringify(sorted)}`;
}

/**
 * What is known of an answer without the gateway, for display only; null if nothing is.
 *
 * @param {MessageStore} store
 * @param {string} method
 * @param {{conversation?: string} & Record<string, *>} params
 * @returns {Promise<*>}
 */
async function knownAnswer(store, method, params) {
  const { conversation = '' } = params;
  const [kept, list, saved] = await Promise.all([
    store.loadAnswer(keyOf(method, params)), store.loadList(), store.load(conversation),
  ]);
  const answers = () => store.loadAnswers(method, conversation);
  switch (method) {
    case 'fetchConversations':
      if (kept !== null || params.cursor !== undefined) return kept;
      // A list that was stored takes the place of what was answered before.
      if (list === null) return knownList(await answers(), params);
      return { conversations: list.records.slice(0, params.limit), total: list.records.length };
    case 'fetchConversation': {
      const listed = list?.records.find(({ id }) => id === conversation);
      // Of the same change, the one that has the reader's own fields.
      const newest = [kept?.conversation, listed, saved?.record].reduce(
        (/** @type {ConversationRecord | undefined} */ best, record) => (
          record && (record.rev ?? 0) > (best?.rev ?? -1) ? record : best), undefined);
      return newest ? { conversation: newest } : null;
    }
    case 'fetchMessages': {
      const asked = /** @type {*} */ (params);
      const page = saved === null ? kept : keptPage(saved, kept, asked);
      return page ?? knownPage(await answers(), saved, asked);
    }
    case 'fetchParticipants': return kept ?? knownPeople(await answers(), params);
    default:
      return kept;
  }
}

/**
 * A page of what is held, or one that was answered before.
 *
 * @param {Saved} saved
 * @param {PageResult | null} kept
 * @param {import('./held-page.js').PageParams} params
 * @returns {PageResult | null}
 */
function keptPage(saved, kept, params) {
  const { head } = saved.have;
  const isNewer = kept && (kept.head.epoch !== head.epoch || kept.head.rev > head.rev);
  if (isNewer) return kept;
  const held = heldPage(saved, params);
  if (held !== null || kept === null) return held;
  // What was heard of its messages since counts.
  const bySeq = new Map(saved.messages.map((message) => [message.seq, message]));
  return {
    ...kept,
    messages: kept.messages.map((message) => {
      const newer = bySeq.get(message.seq);
      return newer && newer.rev > message.rev ? newer : message;
    }),
  };
}
