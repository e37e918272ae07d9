import { Backoff } from './backoff.js';
import { compareConversations } from './conversation-merge.js';
import { storeFor } from './message-store.js';
import { RequestError } from './request-error.js';
import { Signal } from './signal.js';

/** @import { Connection } from './connection.js' */
/** @import { MessageStore } from './message-store.js' */
/** @import { ConversationRecord, EventFrame, Unread } from './types.js' */

/**
 * What a store keeps of the list, to show it before the gateway has answered.
 *
 * @typedef {{records: ConversationRecord[]}} SavedList
 */

/** How many conversations one answer holds. */
const PAGE = 100;
/** So many are walked without being asked; the rest comes as the list is scrolled. */
const WALK_LIMIT = 300;

/** How many lists are open on a connection: the subscription ends with the last. */
const openLists = /** @type {WeakMap<Connection, number>} */ (new WeakMap());
/** Several doubts about an unread count within this time are one question. */
const RECOUNT_DELAY = 400;
/** Changes within this time are saved at once, in milliseconds. */
const SAVE_DELAY = 500;
/** Of a conversation that is read to its end. */
const nothingUnread = { unreadCount: 0, unreadMentions: 0 };

/**
 * The conversations of the user, live: latest activity first, with unread counts. It resumes with
 * each session.
 *
 * Unread messages are counted from the events; where an event can't tell (an edit, a deletion,
 * several at once), the gateway is asked. Who is mentioned is never counted here: answers say it,
 * and the `unread` event, for which a connection asks (`unread`).
 */
export class ConversationList {
  /** Anything that can be read here changed. @type {Signal<void>} */
  changed = new Signal();

  #connection;
  #backoff = new Backoff();
  /** @type {Map<string, ConversationRecord>} */
  #records = new Map();
  /** Known before a walk began and not met on it yet. @type {Set<string>} */
  #unmet = new Set();
  /**
   * What was known at the token's answer of conversations that were shown otherwise since. The
   * origin may lose what was shown since, and confirm the token: it has all that the token names.
   *
   * @type {Map<string, {record?: ConversationRecord, isUnmet: boolean}>}
   */
  #atToken = new Map();
  /** Where the walk goes on; `null` when it is over. @type {{cursor?: string} | null} */
  #walk = null;
  #isWalking = false;
  /** @type {string | null} */
  #token = null;
  #isLoaded = false;
  #isOpen = false;
  /** @type {Set<string>} */
  #recounts = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  /** @type {(() => void)[]} */
  #listening = [];

  /** Conversations of which `unread` told a count that no event of the list followed.
   * @type {Set<string>} */
  #counted = new Set();
  /** What the gateway said last of all that is unread. @type {Unread | null} */
  #toldUnread = null;
  #store;
  #isWhole;
  /** The session of the connection in which it was asked for last. */
  #session = 0;
  /** @type {string | null} */
  #endingReason = null;
  /** The answer of `records` until the next change. @type {ConversationRecord[] | null} */
  #sorted = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #saving;

  /**
   * @param {Connection} connection
   * @param {object} [options]
   * @param {MessageStore | null} [options.store]  keeps the list over reloads
   * @param {boolean} [options.isWhole]  walks to the end of a long list
   */
  constructor(connection, { store = null, isWhole = false } = {}) {
    this.#connection = connection;
    this.#store = storeFor(store, connection);
    this.#isWhole = isWhole;
    // A listener that reads `records` because they changed gets the new ones.
    this.changed.listen(() => { this.#sorted = null; });
  }

  /** The code with which the subscription was refused, or nothing. */
  get endingReason() { return this.#endingReason; }

  /** Whether an answer came. */
  get isLoaded() { return this.#isLoaded; }

  /** Whether there may be changes that the gateway does not know. */
  get isOpen() { return this.#isOpen; }

  /** Whether there are more than `records`. */
  get hasMore() { return this.#walk !== null; }

  /** The conversations, latest activity first; the same array until they change. */
  get records() {
    this.#sorted ??= [...this.#records.values()].sort(compareConversations);
    return this.#sorted;
  }

  /**
   * All unread messages. Of a list that is not here whole, those of what is here, unless the
   * connection asks the gateway (`unread`).
   */
  get unreadCount() {
    return this.#toldTotal?.messages ?? this.#sum(({ unreadCount = 0 }) => unreadCount);
  }

  /** How many of them mention the user, or all. */
  get unreadMentions() {
    return this.#toldTotal?.mentions ?? this.#sum(({ unreadMentions = 0 }) => unreadMentions);
  }

  /**
   * One conversation, or `undefined`.
   *
   * @param {string} id
   */
  record(id) { return this.#records.get(id); }

  /** Subscribes, now and with each session, and shows at once what the store kept. */
  open() {
    if (this.#listening.length > 0) return;
    this.#endingReason = null;
    this.#restore();
    openLists.set(this.#connection, (openLists.get(this.#connection) ?? 0) + 1);
    this.#listening = [
      this.changed.listen(() => this.#saveSoon()),
      this.#connection.live.listen(() => {
        if (this.#session !== this.#connection.session) this.#subscribe();
      }),
      this.#connection.events.listen((event) => this.#event(event)),
      this.#connection.changed.listen(() => {
        const [before, { unread }] = [this.#toldUnread, this.#connection];
        this.#toldUnread = unread;
        const isSame = unread?.messages === before?.messages
          && unread?.mentions === before?.mentions;
        if (this.#walk !== null && !isSame) this.changed.emit();
      }),
    ];
    if (this.#connection.isLive) this.#subscribe();
  }

  /** Ends the subscription, if no other list needs it. */
  close() {
    if (this.#listening.length === 0) return;
    for (const stop of this.#listening) stop();
    this.#listening = [];
    clearTimeout(this.#retry);
    clearTimeout(this.#saving);
    this.#saving = undefined;
    const others = (openLists.get(this.#connection) ?? 1) - 1;
    openLists.set(this.#connection, others);
    if (others === 0) this.#connection.request('unsubscribeConversations').catch(() => {});
  }

  /** Fetches the next conversations of a long list. */
  async loadMore() {
    if (this.#walk === null || this.#isWalking) return;
    this.#isWalking = true;
    try {
      do {
        const params = { ...this.#walk, limit: PAGE, cached: false };
        await this.#connection.request('fetchConversations', params, {
          final: (result) => this.#walked(result),
        });
      } while (this.#listening.length > 0 && this.#walk !== null && this.#walksOn);
    } catch (error) {
      // The next scroll, or the next session, tries again; what may be gone is not left standing.
      if ((this.#isWhole || this.#unmet.size > 0) && !RequestError.is(error, 'disconnected')) {
        this.#retry = setTimeout(() => this.loadMore(), error.after ?? this.#backoff.next());
      }
    } finally {
      this.#isWalking = false;
    }
  }

  /**
   * Creates a conversation and puts it in the list.
   *
   * @param {{title?: string, participants: string[]}} fields
   * @returns {Promise<ConversationRecord>}
   * @throws {RequestError}
   */
  async create(fields) {
    const { conversation } = await this.#connection.request('createConversation', fields, {
      final: (result) => this.#put(result.conversation),
    });
    this.changed.emit();
    return conversation;
  }

  /**
   * Takes the user's own read marker.
   *
   * @param {string} id
   * @param {number} seq
   */
  markRead(id, seq) {
    const record = this.#records.get(id);
    if (!record || seq <= (record.lastReadSeq ?? 0)) return;
    const isAll = seq >= (record.head?.seq ?? 0);
    this.#showOwn(record, { lastReadSeq: seq, ...(isAll && nothingUnread) });
    if (!isAll) this.#recount(id);
    this.changed.emit();
  }

  /** What the gateway says of the whole list, where it is asked and the list is not here whole. */
  get #toldTotal() { return this.#walk === null ? null : this.#connection.unread; }

  /** @param {(record: ConversationRecord) => number} of */
  #sum(of) { return [...this.#records.values()].reduce((sum, record) => sum + of(record), 0); }

  get #walksOn() {
    return this.#isWhole || this.#unmet.size > 0 || this.#records.size < WALK_LIMIT;
  }

  async #restore() {
    const saved = await this.#store?.loadList();
    if (!saved || this.#isLoaded) return;
    for (const record of saved.records) this.#put(record);
    this.changed.emit();
  }

  #saveSoon() {
    if (this.#store === null || !this.#isLoaded) return;
    this.#saving ??= setTimeout(() => {
      this.#saving = undefined;
      this.#store?.saveList({ records: this.records.slice(0, WALK_LIMIT) });
    }, SAVE_DELAY);
  }

  async #subscribe() {
    clearTimeout(this.#retry);
    this.#session = this.#connection.session;
    const since = this.#token ?? undefined;
    try {
      await this.#connection.request('subscribeConversations', { since, limit: PAGE }, {
        final: (result) => { if (this.#listening.length > 0) this.#subscribed(result); },
      });
    } catch (error) {
      if (!(error instanceof RequestError) || error.code === 'disconnected') return;
      if (error.retry === 'never') {
        this.close();
        this.#endingReason = error.code;
        this.changed.emit();
        return;
      }
      const wait = error.after ?? this.#backoff.next();
      this.#retry = setTimeout(() => this.#subscribe(), wait);
    }
  }

  /** @param {*} result */
  #subscribed(result) {
    this.#backoff.reset();
    this.#token = result.token ?? null;
    this.#isOpen = result.open === true;
    this.#isLoaded = true;
    // An incomplete answer is the top of the list only: what it does not name is unknown until a
    // walk met it or ended.
    if (result.complete) this.#goBack();
    else this.#unmet = new Set(this.#records.keys());
    for (const id of result.removed ?? []) this.#show(id, undefined);
    for (const record of result.conversations) this.#put(record);
    this.#atToken.clear();
    if (!result.complete) {
      const isWhole = result.conversations.length >= result.total;
      if (isWhole) this.#dropUnmet();
      this.#walk = isWhole ? null : {};
    }
    this.changed.emit();
    if (this.#walk !== null) this.loadMore();
  }

  /** @param {{conversations: ConversationRecord[], next?: string}} page */
  #walked({ conversations, next }) {
    for (const record of conversations) {
      this.#put(record);
      // A page counts as of the token.
      this.#atToken.delete(record.id);
    }
    this.#walk = next === undefined || next === null ? null : { cursor: next };
    if (this.#walk === null) this.#dropUnmet();
    this.changed.emit();
  }

  #dropUnmet() {
    for (const id of this.#unmet) this.#records.delete(id);
    this.#unmet.clear();
  }

  /**
   * Takes a record from a reply: its own fields are authoritative.
   *
   * @param {ConversationRecord} record
   */
  #put(record) { this.#show(record.id, record); }

  /**
   * Shows a conversation otherwise than at the token's answer; `undefined` takes it out.
   *
   * @param {string} id
   * @param {ConversationRecord | undefined} record
   */
  #show(id, record) {
    const isUnmet = this.#unmet.delete(id);
    if (!this.#atToken.has(id)) {
      this.#atToken.set(id, { record: this.#records.get(id), isUnmet });
    }
    if (record) this.#records.set(id, record);
    else this.#records.delete(id);
  }

  /**
   * Takes what the gateway says of the user's own fields.
   *
   * @param {({conversation: string} & Partial<ConversationRecord>)[]} of
   */
  #told(of) {
    let isOther = false;
    for (const { conversation, ...own } of of) {
      const record = this.#records.get(conversation);
      // A marker never moves back: what is said of an earlier one is outdated.
      if (!record || (own.lastReadSeq ?? 0) < (record.lastReadSeq ?? 0)) continue;
      const isKnown = record.lastReadSeq === own.lastReadSeq
        && record.unreadCount === own.unreadCount && record.unreadMentions === own.unreadMentions;
      if (isKnown) continue;
      this.#showOwn(record, own);
      this.#counted.add(conversation);
      isOther = true;
    }
    if (isOther) this.changed.emit();
  }

  /**
   * Shows other fields of the user's own. A walk that has not met the conversation goes on looking
   * for it.
   *
   * @param {ConversationRecord} record
   * @param {Partial<ConversationRecord>} own
   */
  #showOwn(record, own) {
    const { id } = record;
    const isUnmet = this.#unmet.has(id);
    this.#show(id, { ...record, ...own });
    if (isUnmet) this.#unmet.add(id);
  }

  /** What was shown since the token's answer counts no more. */
  #goBack() {
    for (const [id, { record, isUnmet }] of this.#atToken) {
      if (record) this.#records.set(id, record);
      else this.#records.delete(id);
      if (isUnmet) this.#unmet.add(id);
    }
    this.#atToken.clear();
  }

  /** @param {EventFrame} event */
  #event(event) {
    if (event.event === 'conversations') {
      for (const { type, conversation } of event.deltas) {
        if (type === 'deleted') this.#show(conversation.id, undefined);
        else this.#apply(conversation);
      }
      this.changed.emit();
    } else if (event.event === 'read' && event.user === this.#connection.user) {
      this.markRead(event.conversation, event.seq);
    } else if (event.event === 'unread') {
      this.#told(event.of ?? []);
    } else if (event.event === 'upstream') {
      this.#isOpen = event.state !== 'online';
      this.changed.emit();
    }
  }

  /**
   * Takes a record from an event and counts what is new in it.
   *
   * @param {ConversationRecord} record
   */
  #apply(record) {
    const known = this.#records.get(record.id);
    let { unreadCount = 0, lastReadSeq = 0, unreadMentions } = known ?? {};
    const arrived = (record.head?.seq ?? 0) - (known?.head?.seq ?? 0);
    const changes = (record.head?.rev ?? 0) - (known?.head?.rev ?? 0);
    const last = record.lastMessage;
    const isNewLog = known?.head !== undefined && known.head.epoch !== record.head?.epoch;
    const wasTold = this.#counted.delete(record.id);
    if (last && last.author === this.#connection.user && last.seq === record.head?.seq) {
      ({ unreadCount, unreadMentions } = nothingUnread);
      lastReadSeq = Math.max(lastReadSeq, last.seq);
    } else if (wasTold && known && !isNewLog) {
      // What the gateway told may count this already.
      this.#recount(record.id);
    } else if (known && !isNewLog && arrived === 1 && changes === 1) {
      unreadCount += 1;
    } else if (!known || isNewLog || changes > 0) {
      unreadCount = Math.max(0, unreadCount + arrived);
      if (arrived > 0 || unreadCount > 0) this.#recount(record.id);
    }
    // Who takes part is left out of events.
    if (known?.participants && (record.rev ?? 0) > (known.rev ?? 0)) this.#recount(record.id);
    this.#put({ ...known, ...record, unreadCount, lastReadSeq, unreadMentions });
  }

  /**
   * Asks the gateway for the user's own fields of a conversation, soon.
   *
   * @param {string} id
   */
  #recount(id) {
    if (this.#recounts.has(id)) return;
    this.#recounts.add(id);
    setTimeout(() => {
      this.#recounts.delete(id);
      const take = (/** @type {*} */ { conversation }) => {
        if (this.#records.has(id)) this.#put(conversation);
        this.changed.emit();
      };
      const params = { conversation: id, cached: false };
      this.#connection.request('fetchConversation', params, { final: take }).catch(() => {});
    }, RECOUNT_DELAY);
  }
}
