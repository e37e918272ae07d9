import { Administration } from './administration.js';
import { connectionOf } from './connections.js';
import { Conversation } from './conversation.js';
import { idOf } from './conversation-id.js';
import { ConversationList } from './conversations.js';
import { messageDeltas } from './message-deltas.js';
import { Outbox } from './outbox.js';
import { phases } from './phases.js';
import { Presence } from './presence.js';
import { Pubsub } from './pubsub.js';
import { Questions } from './questions.js';
import { guarded } from './report.js';

/** @import { Ask } from './connection.js' */
/** @import { ConversationName } from './conversation-id.js' */
/** @import { Boundary } from './find-boundaries.js' */
/** @import { ConversationDelta, MessageDelta } from './merge.js' */
/** @import { MessageStore } from './message-store.js' */
/** @import { Anchor } from './message-window.js' */
/** @import { PresenceState } from './own-presence.js' */
/** @import { ConversationRecord, Gap, Have, Head, Message } from './types.js' */
/** @import { MentionsPlace, MentionsResult, PageResult, Participant } from './types.js' */
/** @import { ReactionsPlace, ReactionsResult, SendFields } from './types.js' */

/**
 * Takes an answer: first those with `cached`, if the store knew one (without a connection too) or
 * the gateway's cache had one, each in place of the one before, and the one that counts without.
 * Pass the same function to `then` to get all.
 *
 * @template Value
 * @typedef {(value: Value, cached?: boolean) => void} Callback
 */

/**
 * @typedef {{before?: Anchor, after?: Anchor, around?: Anchor}} Place
 *
 * @typedef {object} ParticipantsOptions
 * @property {number} [limit]  0 or less for all of them, and then `offset` is ignored
 * @property {number} [offset]
 * @property {'asc' | 'desc'} [order]  `desc`: who joined last comes first
 * @property {'created_at'} [order_by]
 *
 * @typedef {{participants: Participant[], total: number, limit: number, offset: number}}
 *   ParticipantsResponse
 *
 * @typedef {{conversations: ConversationRecord[], next?: string, total?: number}}
 *   ConversationsResponse
 *
 * @typedef {{reset: boolean, gaps: readonly Gap[], ending: string | null}} MessagesNews
 */

/** How many conversations or messages are fetched where nothing is said. */
const LIMIT = 100;

/**
 * A chat's calls to a gateway. Requests fail with `RequestError` while there is no session;
 * subscriptions wait for one, and begin again with each. With a store, what was kept is shown
 * first.
 */
export class ChatClient {
  #questions;

  /**
   * @param {object} options
   * @param {string} options.url  `ws:` or `wss:`
   * @param {Ask} options.credentials
   * @param {string} [options.client]  the name under which the gateway knows this program
   * @param {string | null} [options.user]  the user, if known: tabs of one browser with the same
   *   user share a connection
   * @param {boolean} [options.unread]  asks for `connection.unread`; all tabs of a connection
   *   should say the same
   * @param {PresenceState} [options.presence]  how the user is there by this client, `present` if
   *   left out; see `setPresence`
   * @param {boolean} [options.isShared]  false: a connection of its own
   * @param {MessageStore | null} [options.store]  keeps what was held over reloads
   * @param {*} [options.environment]  for tests, see `Connection`
   */
  constructor({ store = null, ...options }) {
    /** Whether `connection.unread` is asked for. */
    this.asksUnread = options.unread === true;
    /** The session and the upstream's state. */
    this.connection = connectionOf(options);
    /** `isConnected`, `onConnect`, `onDisconnect`. */
    this.pubsub = new Pubsub(this.connection);
    this.store = store;
    /** What is not confirmed yet, of all conversations. */
    this.outbox = Outbox.of(this.connection, store);
    /** Whether other users are there. */
    this.presence = Presence.of(this.connection);
    this.#questions = new Questions(this.connection, store);
  }

  /** Connects, and stays connected until `close`. */
  open() { this.connection.open(); }

  /** Ends the connection for good. */
  close() { this.connection.close(); }

  /**
   * Says how the user is there by this client, now and in each later session; of a shared
   * connection: by this tab. A user is present if any of their clients is, else away if any is.
   * `hidden`: to others they are not there by it.
   *
   * @param {PresenceState} state
   * @throws {TypeError}  if it is none
   */
  setPresence(state) { this.connection.setPresence(state); }

  /**
   * Sends a message, now or as soon as there is a session; see `outbox`.
   *
   * @param {ConversationName} conversation
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   * @param {*} [attachment]
   * @param {SendFields} [fields]  the message to which it replies, and whom it mentions
   * @returns {string}  its id
   */
  send(conversation, body, metadata, attachment, fields) {
    return this.outbox.send(idOf(conversation), body, metadata, attachment, fields);
  }

  /**
   * Creates a conversation, with the user as its admin.
   *
   * @param {{id?: string, title?: string, participants: string[], metadata?: Record<string, *>,
   *   distinct?: boolean}} fields  `distinct`: gives one of the same people instead, if there is
   *   one
   * @returns {Promise<ConversationRecord>}
   */
  async createConversation(fields) {
    return (await this.connection.request('createConversation', fields)).conversation;
  }

  /**
   * Title, people, admins, and deletion.
   *
   * @param {ConversationName} conversation
   */
  administration(conversation) {
    const id = idOf(conversation);
    return new Administration((method, params) => (
      this.connection.request(method, { conversation: id, ...params })
    ));
  }

  /**
   * The user's conversations, latest activity first.
   *
   * @param {Callback<ConversationRecord[]>} [cachedCallback]
   * @param {{limit?: number, cursor?: string}} [page]
   * @returns {Promise<ConversationRecord[]>}
   */
  fetchConversations(cachedCallback, page = {}) {
    const params = { limit: LIMIT, ...page };
    return this.#fetch('fetchConversations', params, (result) => result.conversations,
      cachedCallback);
  }

  /**
   * As `fetchConversations`, each answer as it comes, with `next` and `total`.
   *
   * @param {{limit?: number, cursor?: string}} [page]
   * @returns {AsyncGenerator<{value: ConversationsResponse, isCached: boolean}>}
   */
  conversations(page = {}) {
    return this.#phases('fetchConversations', { limit: LIMIT, ...page }, (result) => result);
  }

  /**
   * @param {ConversationName} conversation
   * @param {Callback<ConversationRecord>} [cachedCallback]
   * @returns {Promise<ConversationRecord>}
   */
  fetchConversation(conversation, cachedCallback) {
    const params = { conversation: idOf(conversation) };
    return this.#fetch('fetchConversation', params, (result) => result.conversation,
      cachedCallback);
  }

  /**
   * As `fetchConversation`, each answer as it comes.
   *
   * @param {ConversationName} conversation
   * @returns {AsyncGenerator<{value: ConversationRecord, isCached: boolean}>}
   */
  conversation(conversation) {
    const params = { conversation: idOf(conversation) };
    return this.#phases('fetchConversation', params, (result) => result.conversation);
  }

  /**
   * A page of messages, the latest without `place`. With `after` it is the next ones, whatever the
   * order.
   *
   * @param {ConversationName} conversation
   * @param {{id: string} | Place | null} [place]  a message: what is before it
   * @param {number} [limit]  1 to 1,000
   * @param {'asc' | 'desc'} [order]  `desc`: the newest first
   * @param {Callback<Message[]>} [cachedCallback]
   * @returns {Promise<Message[]>}
   */
  fetchMessages(conversation, place = null, limit = LIMIT, order = 'desc', cachedCallback) {
    return this.#fetch('fetchMessages', pageParams(conversation, place, limit, order),
      (result) => result.messages, cachedCallback);
  }

  /**
   * As `fetchMessages`, each answer as it comes, with `hasMore`, `covers`, `gaps`, `head` and
   * `asOf`.
   *
   * @param {ConversationName} conversation
   * @param {{id: string} | Place | null} [place]
   * @param {number} [limit]
   * @param {'asc' | 'desc'} [order]
   * @returns {AsyncGenerator<{value: PageResult, isCached: boolean}>}
   */
  messages(conversation, place = null, limit = LIMIT, order = 'desc') {
    const params = pageParams(conversation, place, limit, order);
    return this.#phases('fetchMessages', params, (result) => result);
  }

  /**
   * Who reacted to a message, oldest first.
   *
   * @param {ConversationName} conversation
   * @param {string} id  of the message
   * @param {ReactionsPlace} [place]
   * @returns {Promise<ReactionsResult>}
   */
  fetchReactions(conversation, id, place = {}) {
    const params = { conversation: idOf(conversation), id, ...place };
    return this.connection.request('fetchReactions', params);
  }

  /**
   * Where others mention the user, or all, oldest first.
   *
   * @param {ConversationName} conversation
   * @param {MentionsPlace} [place]
   * @returns {Promise<MentionsResult>}
   */
  fetchMentions(conversation, place = {}) {
    const params = { conversation: idOf(conversation), ...place };
    return this.connection.request('fetchMentions', params);
  }

  /**
   * The ends of the runs that the gateway, or `have`, holds, newest run first, and the gaps.
   *
   * @param {ConversationName} conversation
   * @param {Have} [have]
   * @returns {Promise<{boundaries: Boundary[], gaps: Gap[], head: Head}>}
   */
  findBoundaries(conversation, have) {
    const params = { conversation: idOf(conversation), ...(have && { have }) };
    return this.connection.request('findBoundaries', params);
  }

  /**
   * Who takes part; `total` is in the response.
   *
   * @param {ConversationName} conversation
   * @param {ParticipantsOptions} [options]
   * @param {Callback<ParticipantsResponse>} [cachedCallback]
   * @returns {Promise<ParticipantsResponse>}
   */
  getParticipants(conversation, options = {}, cachedCallback) {
    const params = { conversation: idOf(conversation), ...options };
    return this.#fetch('fetchParticipants', params, (result) => result, cachedCallback);
  }

  /**
   * As `getParticipants`, each answer as it comes.
   *
   * @param {ConversationName} conversation
   * @param {ParticipantsOptions} [options]
   * @returns {AsyncGenerator<{value: ParticipantsResponse, isCached: boolean}>}
   */
  participants(conversation, options = {}) {
    const params = { conversation: idOf(conversation), ...options };
    return this.#phases('fetchParticipants', params, (result) => result);
  }

  /**
   * Follows the messages of a conversation, over outages too. The handler gets deltas for
   * `applyDelta`, first the latest messages as inserted. After a `reset` the log is another one,
   * and the list is trimmed first. What lies in `gaps` is missing or may be outdated. A call with
   * an `ending` (`removed`, `deleted`, `forbidden`, or the code of the refusal) is the last.
   *
   * @param {ConversationName} conversation
   * @param {(deltas: MessageDelta[], news: MessagesNews) => void} handler
   * @returns {() => void}  ends the subscription
   */
  subscribeMessages(conversation, handler) {
    const live = new Conversation(this.connection, idOf(conversation), { store: this.store });
    /** @type {Message[]} */
    let known = [];
    let { generation } = live;
    let gaps = toldGaps(live, []);
    const stop = live.changed.listen(() => {
      const now = live.items.flatMap((item) => (item.kind === 'message' ? [item.message] : []));
      const reset = generation !== live.generation && known.length > 0;
      const deltas = reset ? [...messageDeltas(known, []), ...messageDeltas([], now)]
        : messageDeltas(known, now);
      const ending = live.endingReason;
      const before = gaps;
      gaps = toldGaps(live, before);
      const isOther = gaps !== before && gaps.length + before.length > 0;
      known = now;
      ({ generation } = live);
      if (deltas.length === 0 && !reset && !isOther && ending === null) return;
      guarded(() => handler(deltas, { reset, gaps, ending }));
    });
    live.open();
    return () => {
      stop();
      live.close();
    };
  }

  /**
   * Follows all conversations of the user, over outages too. The handler gets deltas for
   * `applyDelta`, first all as inserted. A call with an `ending` (the code of the refusal) is the
   * last.
   *
   * @param {(deltas: ConversationDelta[], news: {ending: string | null}) => void} handler
   * @returns {() => void}  ends the subscription
   */
  subscribeConversations(handler) {
    const live = new ConversationList(this.connection, { store: this.store, isWhole: true });
    /** @type {Map<string, ConversationRecord>} */
    let known = new Map();
    const stop = live.changed.listen(() => {
      const now = new Map(live.records.map((record) => [record.id, record]));
      const deltas = conversationDeltas(known, now);
      known = now;
      const ending = live.endingReason;
      if (deltas.length > 0 || ending !== null) guarded(() => handler(deltas, { ending }));
    });
    live.open();
    return () => {
      stop();
      live.close();
    };
  }

  /**
   * @template Value
   * @param {string} method
   * @param {object} params
   * @param {(result: *) => Value} read
   * @param {Callback<Value>} [cachedCallback]
   * @returns {Promise<Value>}
   */
  async #fetch(method, params, read, cachedCallback) {
    return read(await this.#questions.ask(method, params, cachedCallback
      && ((/** @type {*} */ first) => guarded(() => cachedCallback(read(first), true)))));
  }

  /**
   * @template Value
   * @param {string} method
   * @param {object} params
   * @param {(result: *) => Value} read
   */
  #phases(method, params, read) {
    return phases((cached) => this.#questions.ask(method, params, cached), read);
  }
}

/**
 * @param {ConversationName} conversation
 * @param {{id: string} | Place | null} place
 * @param {number} limit
 * @param {'asc' | 'desc'} order
 */
function pageParams(conversation, place, limit, order) {
  const anchors = place === null ? {} : 'id' in place ? { before: place.id } : place;
  return { conversation: idOf(conversation), ...anchors, limit, order };
}

/**
 * @param {Map<string, ConversationRecord>} old
 * @param {Map<string, ConversationRecord>} now
 * @returns {ConversationDelta[]}
 */
function conversationDeltas(old, now) {
  /** @type {ConversationDelta[]} */
  const deltas = [];
  for (const [id, conversation] of old) {
    if (!now.has(id)) deltas.push({ type: 'deleted', conversation });
  }
  for (const [id, conversation] of now) {
    const known = old.get(id);
    if (known === undefined) deltas.push({ type: 'inserted', conversation });
    else if (known !== conversation) deltas.push({ type: 'updated', conversation });
  }
  return deltas;
}

/**
 * The gaps as a handler is told them, who sees no more of a message than itself: also around each
 * message that is only shown and lies in none, since it may be outdated. One behind all that is
 * held was written a moment ago, and is not.
 *
 * @param {Conversation} live
 * @param {readonly Gap[]} before  what was told last, given again while it is so still
 * @returns {readonly Gap[]}
 */
function toldGaps({ gaps, items }, before) {
  const last = items.findLastIndex((item) => item.kind === 'message' && item.isHeld);
  /** @type {Gap[]} */
  const more = items.slice(0, last + 1).flatMap((item) => {
    if (item.kind !== 'message' || item.isHeld) return [];
    const { seq } = item.message;
    if (gaps.some((gap) => gap.after < seq && seq < gap.before)) return [];
    return [{ after: seq - 1, before: seq + 1, missing: 1, cause: 'cold', since: '' }];
  });
  if (more.length === 0) return gaps;
  const all = [...gaps, ...more].sort((a, b) => a.after - b.after);
  return JSON.stringify(all) === JSON.stringify(before) ? before : all;
}
