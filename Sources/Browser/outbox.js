import { Backoff } from './backoff.js';
import { Drafts, keyOf } from './drafts.js';
import { newIdentifier } from './identifier.js';
import { RequestError } from './request-error.js';
import { SharedConnection } from './shared-connection.js';
import { Signal } from './signal.js';
import { WrittenLater } from './written-later.js';

/** @import { Connection } from './connection.js' */
/** @import { ConversationLog } from './conversation-log.js' */
/** @import { Draft } from './drafts.js' */
/** @import { MessageStore } from './message-store.js' */
/** @import { Message } from './types.js' */

/** @typedef {{resolve: () => void, reject: (error: Error) => void}} Caller */

/** So often it is tried again by itself where the gateway says `later`. */
const TRIES = 5;

/** @type {WeakMap<Connection, Outbox>} */
const outboxes = new WeakMap();

/**
 * What one user has written and the gateway did not confirm: of all conversations, in the order in
 * which it was written, kept in the store. Of each conversation one is under way at a time, so that
 * a failure never lets a later one overtake. A lost connection is no failure: all of it goes out in
 * the next session, messages under their ids, edits and deletions with `ifRev`, so that a conflict
 * is told and not guessed.
 */
export class Outbox {
  /** Something of a conversation, which is named, is other than before. @type {Signal<string>} */
  changed = new Signal();

  /** @type {Map<string, Caller>} */
  #callers = new Map();
  /** @type {Map<string, WeakRef<ConversationLog>>} */
  #logs = new Map();
  /** @type {Map<string, number>} */
  #tries = new Map();
  /** @type {Set<string>} */
  #busy = new Set();
  #backoff = new Backoff();
  #connection;
  #drafts;
  #later;

  /**
   * @param {Connection} connection
   * @param {MessageStore | null} store
   */
  constructor(connection, store) {
    this.#connection = connection;
    this.#drafts = new Drafts(store, (conversation) => this.#tell(conversation), {
      tabs: connection instanceof SharedConnection ? connection : null,
      adopted: () => this.#resumeAll(),
    });
    this.#later = new WrittenLater(connection);
    // Those that look at a conversation subscribe first.
    connection.live.listen(() => { queueMicrotask(() => this.#resumeAll()); });
    this.#drafts.restored.then(() => this.#resumeAll());
  }

  /**
   * The one outbox of all who share a connection.
   *
   * @param {Connection} connection
   * @param {MessageStore | null} store
   */
  static of(connection, store) {
    const outbox = outboxes.get(connection) ?? new Outbox(connection, store);
    outboxes.set(connection, outbox);
    return outbox;
  }

  /** All that is not confirmed, oldest first. */
  get all() { return this.#drafts.all; }

  /**
   * The messages of a conversation that are not confirmed, oldest first; the same array until they
   * change.
   *
   * @param {string} conversation
   */
  drafts(conversation) {
    return this.#drafts.of(conversation, 'messages');
  }

  /**
   * The edits and deletions in a conversation that are not confirmed, oldest first; the same array
   * until they change.
   *
   * @param {string} conversation
   */
  edits(conversation) {
    return this.#drafts.of(conversation, 'edits');
  }

  /**
   * Has a log told of what becomes of its messages.
   *
   * @param {ConversationLog} log
   */
  watch(log) { this.#logs.set(log.id, new WeakRef(log)); }

  /**
   * Writes a message: it is shown and sent at once, or in the next session.
   *
   * @param {string} conversation
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   * @returns {string}  its id
   */
  send(conversation, body, metadata) {
    const id = newIdentifier();
    this.#add({ kind: 'send', id, conversation, body, metadata });
    return id;
  }

  /**
   * Edits a message, now or in the next session.
   *
   * @param {string} conversation
   * @param {string} id
   * @param {string} body
   * @param {number} [rev]  of the value that was edited; of the present one, if it is left out
   * @returns {Promise<void>}  rejects with a `RequestError`: of a `conflict`, with `current`
   */
  edit(conversation, id, body, rev) {
    return this.#write({ kind: 'edit', id, conversation, body, ifRev: rev });
  }

  /**
   * Deletes a message, now or in the next session.
   *
   * @param {string} conversation
   * @param {string} id
   * @param {number} [rev]  of the value that was deleted; of the present one, if it is left out
   * @returns {Promise<void>}  rejects with a `RequestError`: of a `conflict`, with `current`
   */
  delete(conversation, id, rev) {
    return this.#write({ kind: 'delete', id, conversation, body: '', ifRev: rev });
  }

  /**
   * Tries again what failed; what was in conflict replaces the value that there is now.
   *
   * @param {string} id
   */
  retry(id) {
    const isMeant = (/** @type {Draft} */ each) => each.id === id && each.state !== 'sending';
    const draft = this.#drafts.all.find(isMeant);
    if (!draft) return;
    const { ifRev, head, error, current, ...rest } = draft;
    const isConflict = draft.state === 'conflict';
    this.#drafts.replace(draft, { ...rest, state: 'sending', ...(!isConflict && { ifRev, head }) });
    this.resume(draft.conversation);
  }

  /**
   * Gives up what was written of a message.
   *
   * @param {string} id
   */
  discard(id) {
    const given = this.#drafts.all.filter((each) => each.id === id);
    for (const draft of given) this.#drafts.remove(draft);
  }

  /**
   * Drops those that arrived: one's own messages come back as events, often before the reply.
   *
   * @param {string} conversation
   * @param {readonly Message[]} messages
   */
  confirm(conversation, messages) {
    if (this.#drafts.all.length === 0) return;
    const { user } = this.#connection;
    const own = messages.filter(({ author }) => author === user);
    const arrived = new Map(own.map((message) => [message.id, message]));
    for (const draft of this.#drafts.all) {
      const isMeant = draft.kind === 'send' && draft.conversation === conversation;
      const message = isMeant ? arrived.get(draft.id) : undefined;
      if (message === undefined) continue;
      // A view that is elsewhere goes on showing it.
      this.#log(conversation)?.messages.show([message]);
      this.#drafts.remove(draft);
    }
  }

  /**
   * The log of a conversation is another one: nobody can say what an edit of before is about.
   *
   * @param {string} conversation
   */
  wasReset(conversation) {
    for (const draft of this.#drafts.all) {
      const isMeant = draft.kind !== 'send' && draft.conversation === conversation;
      if (isMeant && draft.state === 'sending') this.#conflict(draft, undefined);
    }
  }

  /**
   * Sends what waits in a conversation.
   *
   * @param {string} conversation
   */
  async resume(conversation) {
    if (this.#busy.has(conversation)) return;
    this.#busy.add(conversation);
    for (;;) {
      const draft = this.#drafts.all.find((each) => (
        each.conversation === conversation && each.state === 'sending'
      ));
      // What arrived without our hearing of it is in the answer of a subscription under way.
      if (!draft || !this.#connection.isLive || this.#log(conversation)?.isOpening) break;
      const { session } = this.#connection;
      const mayGoOn = await this.#attempt(draft);
      // The next session may have begun before the end of the last one was noticed here.
      if (!mayGoOn && session === this.#connection.session) break;
    }
    this.#busy.delete(conversation);
  }

  /** @param {Omit<Draft, 'createdAt' | 'state'>} written */
  #write(written) {
    const log = this.#log(written.conversation);
    const ifRev = written.ifRev ?? log?.messages.message(written.id)?.rev;
    const head = ifRev === undefined ? undefined : log?.messages.head ?? undefined;
    const draft = this.#add({ ...written, ifRev, head });
    /** @type {Promise<void>} */
    const done = new Promise((resolve, reject) => {
      this.#callers.set(keyOf(draft), { resolve, reject });
    });
    // It can be read from the drafts too.
    done.catch(() => {});
    return done;
  }

  /** @param {Omit<Draft, 'createdAt' | 'state'>} written */
  #add(written) {
    const createdAt = new Date().toISOString();
    /** @type {Draft} */
    const draft = { ...written, createdAt, state: 'sending' };
    if (draft.ifRev !== undefined) this.#later.note(draft, this.#log(draft.conversation));
    this.#drafts.add(draft);
    this.resume(draft.conversation);
    return draft;
  }

  #resumeAll() {
    const waiting = new Set(this.#drafts.all.map(({ conversation }) => conversation));
    for (const conversation of waiting) this.resume(conversation);
  }

  /**
   * @param {Draft} draft
   * @returns {Promise<boolean>} whether the next one may go
   */
  async #attempt(draft) {
    const key = keyOf(draft);
    try {
      if (draft.ifRev !== undefined && draft.head !== undefined) {
        const log = this.#log(draft.conversation);
        if (!await this.#later.isOfLog(draft, log)) {
          this.#conflict(draft, undefined);
          return true;
        }
      }
      if (!this.#drafts.has(draft)) return true;
      const { message } = await this.#request(draft);
      this.#backoff.reset();
      // Sent again, under its id, when the subscription has told of that log.
      if (this.#isUntold(draft, message)) return false;
      this.#done(draft, message);
      return true;
    } catch (error) {
      if (RequestError.is(error, 'disconnected')) return false;
      return this.#failed(draft, key, /** @type {RequestError} */ (error));
    }
  }

  /**
   * Whether a message went into a log of which a subscription is yet to tell: it has no place among
   * what is shown, so that its draft stays there for it.
   *
   * @param {Draft} draft
   * @param {Message & {trimmed?: boolean}} message
   */
  #isUntold({ kind, conversation }, message) {
    const log = kind === 'send' && !message.trimmed ? this.#log(conversation) : undefined;
    return log !== undefined && log.isFollowed && log.phase !== 'live'
      && !log.messages.hasRoomFor(message);
  }

  /** @param {Draft} draft */
  #request(draft) {
    const { kind, id, conversation, body, metadata, ifRev } = draft;
    const taking = {
      final: (/** @type {{message: Message & {trimmed?: boolean}}} */ { message }) => {
        if (message.trimmed || this.#isUntold(draft, message)) return;
        const log = this.#log(conversation);
        if (kind === 'send') log?.meets(message);
        log?.arrived(message);
        this.confirm(conversation, [message]);
      },
    };
    const params = kind === 'send' ? { id, body, metadata }
      : { id, ...(kind === 'edit' && { body }), ...(ifRev !== undefined && { ifRev }) };
    const method = { send: 'sendMessage', edit: 'editMessage', delete: 'deleteMessage' }[kind];
    return this.#connection.request(method, { conversation, ...params }, taking);
  }

  /**
   * @param {Draft} draft
   * @param {Message} message  as it is now
   */
  #done(draft, message) {
    const key = keyOf(draft);
    this.#tries.delete(key);
    this.#drafts.remove(draft);
    this.#callers.get(key)?.resolve();
    this.#callers.delete(key);
    // What was written after it was written of what it made.
    for (const next of this.#drafts.all) {
      if (next.id === draft.id && next.kind !== 'send' && next.ifRev === draft.ifRev) {
        const { rev: ifRev } = message;
        const changed = { ...next, ifRev };
        this.#drafts.replace(next, changed);
      }
    }
  }

  /**
   * @param {Draft} draft
   * @param {string} key
   * @param {RequestError} error
   */
  async #failed(draft, key, error) {
    if (RequestError.is(error, 'conflict') && draft.kind !== 'send') {
      this.#conflict(draft, error);
      return true;
    }
    const mayRetry = error instanceof RequestError && error.retry !== 'never';
    // An origin that is away comes back, and is waited for: what was written is to be sent then.
    const isAway = RequestError.is(error, 'origin_unavailable');
    const tries = (this.#tries.get(key) ?? 0) + 1;
    this.#tries.set(key, tries);
    if (mayRetry && (isAway || tries < TRIES)) {
      const wait = error.after ?? this.#backoff.next();
      await new Promise((resolve) => { setTimeout(resolve, wait); });
      return true;
    }
    this.#tries.delete(key);
    this.#settle(draft, { ...draft, state: 'failed', error: error.message }, error);
    return true;
  }

  /**
   * @param {Draft} draft
   * @param {RequestError | undefined} error  nothing: the log is another one
   */
  #conflict(draft, error) {
    const told = error ?? new RequestError({
      code: 'conflict', message: 'The conversation was restored to another state meanwhile.',
    });
    const current = told.current?.message;
    this.#settle(draft, { ...draft, state: 'conflict', error: told.message, current }, told);
  }

  /**
   * @param {Draft} draft
   * @param {Draft} failed
   * @param {Error} error
   */
  #settle(draft, failed, error) {
    const key = keyOf(draft);
    this.#drafts.replace(draft, failed);
    const caller = this.#callers.get(key);
    this.#callers.delete(key);
    caller?.reject(error);
  }

  /** @param {string} conversation */
  #tell(conversation) {
    this.#log(conversation)?.outboxChanged();
    this.changed.emit(conversation);
  }

  /** @param {string} conversation */
  #log(conversation) { return this.#logs.get(conversation)?.deref(); }
}
