import { Backoff } from './backoff.js';
import { Drafts, keyOf, listOf } from './drafts.js';
import { asSent } from './encoding.js';
import { newIdentifier } from './identifier.js';
import { storeFor } from './message-store.js';
import { RequestError } from './request-error.js';
import { SharedConnection } from './shared-connection.js';
import { Signal } from './signal.js';
import { WrittenLater } from './written-later.js';

/** @import { Connection } from './connection.js' */
/** @import { ConversationLog } from './conversation-log.js' */
/** @import { Draft } from './drafts.js' */
/** @import { MessageStore } from './message-store.js' */
/** @import { Head, Mentions, Message, SendFields } from './types.js' */

/**
 * The value of a message that its author sees: see `Outbox.see`.
 *
 * @typedef {{id: string, rev: number | undefined, head: Head | undefined}} Seen
 *
 * @typedef {{resolve: () => void, reject: (error: Error) => void}} Caller
 *
 * The answer to what was written; `own`: the keys that the user has on the message.
 *
 * @typedef {{message: Message & {trimmed?: boolean}, own?: string[]}} WriteResult
 */

/** So often it is tried again by itself where the gateway says `later`. */
const TRIES = 5;
/** A session that ends so long after a request, in milliseconds, without an answer to it, may have
 * ended for it: a path that loses large packets does so with each try. */
const UNANSWERED = 10_000;

/** @type {WeakMap<Connection, Outbox>} */
const outboxes = new WeakMap();

/**
 * What one user wrote and the gateway did not confirm, of all conversations, in the order of
 * writing, kept in the store. Of each conversation one is under way at a time, so none overtakes
 * another. After a lost connection all of it goes out in the next session: messages under their
 * ids, edits and deletions with `ifRev`, reactions as they were wanted last.
 */
export class Outbox {
  /** Something of the named conversation changed. @type {Signal<string>} */
  changed = new Signal();

  /** @type {Map<string, Caller>} */
  #callers = new Map();
  /** @type {Map<string, WeakRef<ConversationLog>>} */
  #logs = new Map();
  /** @type {Map<string, number>} */
  #tries = new Map();
  /** @type {Set<string>} */
  #busy = new Set();
  /** What the gateway was asked for and has not answered, by its key. @type {Set<string>} */
  #underWay = new Set();
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
    const tell = (/** @type {string} */ conversation) => this.#tell(conversation);
    this.#drafts = new Drafts(storeFor(store, connection), tell, {
      tabs: connection instanceof SharedConnection ? connection : null,
      adopted: () => this.#resumeAll(),
    });
    this.#later = new WrittenLater(connection);
    // Those that look at a conversation subscribe first.
    connection.live.listen(() => { queueMicrotask(() => this.#resumeAll()); });
    this.#drafts.restored.then(() => this.#resumeAll());
  }

  /**
   * The outbox of a connection.
   *
   * @param {Connection} connection
   * @param {MessageStore | null} store
   */
  static of(connection, store) {
    const outbox = outboxes.get(connection) ?? new Outbox(connection, store);
    outboxes.set(connection, outbox);
    return outbox;
  }

  /** All of it, oldest first. */
  get all() { return this.#drafts.all; }

  /**
   * A conversation's unconfirmed messages, oldest first; the same array until they change.
   *
   * @param {string} conversation
   */
  drafts(conversation) {
    return this.#drafts.of(conversation, 'messages');
  }

  /**
   * A conversation's unconfirmed edits and deletions, oldest first; the same array until they
   * change.
   *
   * @param {string} conversation
   */
  edits(conversation) {
    return this.#drafts.of(conversation, 'edits');
  }

  /**
   * A conversation's unconfirmed reactions, oldest first; the same array until they change. None is
   * `failed`: what is refused is gone.
   *
   * @param {string} conversation
   */
  reactions(conversation) {
    return this.#drafts.of(conversation, 'reactions');
  }

  /**
   * Has a log told of what becomes of its messages.
   *
   * @param {ConversationLog} log
   */
  watch(log) { this.#logs.set(log.id, new WeakRef(log)); }

  /**
   * Shows a message at once, and sends it now or in the next session. One that is too large is
   * `failed`: see `rewrite`.
   *
   * @param {string} conversation
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   * @param {*} [attachment]
   * @param {SendFields} [fields]
   * @returns {string}  its id
   * @throws {RequestError}  `bad_request`: it can't be encoded
   */
  send(conversation, body, metadata, attachment, fields = {}) {
    const { replyTo, mentions, mentionAll } = fields;
    const id = newIdentifier();
    // Its author may change the objects that they gave, and a store takes no functions.
    const said = asSent({ metadata, attachment, replyTo, mentions, mentionAll });
    this.#add({ kind: 'send', id, conversation, body, ...said });
    return id;
  }

  /**
   * Sends a failed draft with another text, a message under another id. One in conflict replaces
   * the present value.
   *
   * @param {string} id
   * @param {string} body
   * @param {SendFields} [fields]  what is left out stays; what is `undefined` goes
   * @returns {string}  its id from now on
   * @throws {RequestError}  `bad_request`: it can't be encoded; the draft stays
   */
  rewrite(id, body, fields = {}) {
    const draft = this.#stopped(id);
    if (!draft) return id;
    const { createdAt, state, error, code, reason, current, ...written } = draft;
    const next = { ...written, ...ownCopy(fields), body };
    if (draft.kind === 'send') next.id = newIdentifier();
    else if (state === 'conflict') {
      // Its author was shown what there is now.
      const { rev: ifRev, head } = this.see(draft.conversation, id, current?.rev);
      Object.assign(next, { ifRev, head });
    }
    this.#check(next);
    this.#drafts.remove(draft);
    this.#add(next);
    return next.id;
  }

  /**
   * Notes the value that its author sees when an edit begins. Given to `edit` or `delete`, it makes
   * a value that came meanwhile a conflict.
   *
   * @param {string} conversation
   * @param {string} id
   * @param {number} [rev]  of the value seen; without it, of the present one
   * @returns {Seen}
   */
  see(conversation, id, rev) {
    const log = this.#log(conversation);
    const seen = rev ?? log?.messages.message(id)?.rev;
    const head = seen === undefined ? undefined : log?.messages.head ?? undefined;
    // Another log may begin before it is edited, in which that number is of something else.
    const of = { id, rev: seen, head: head && { ...head } };
    this.#later.note(of, log);
    return of;
  }

  /**
   * Edits a message, now or in the next session.
   *
   * @param {string} conversation
   * @param {string | Seen} of  an id (the present value), or what `see` gave
   * @param {string} body
   * @param {Mentions} [mentions]  what is left out stays
   * @returns {Promise<void>}  rejects with a `RequestError`; a `conflict` has `current`
   */
  edit(conversation, of, body, mentions) {
    return this.#write('edit', conversation, of, body, mentions);
  }

  /**
   * Deletes a message, now or in the next session.
   *
   * @param {string} conversation
   * @param {string | Seen} of  an id (the present value), or what `see` gave
   * @returns {Promise<void>}  rejects with a `RequestError`; a `conflict` has `current`
   */
  delete(conversation, of) { return this.#write('delete', conversation, of, ''); }

  /**
   * Has the user react to a message, or takes that back, now or in the next session. Views show it
   * at once, and as it was before if it is refused. What is so already is no change. Of several
   * calls for one key that wait, the last one counts, and all settle with it.
   *
   * @param {string} conversation
   * @param {string} id  of the message
   * @param {string} key  an emoji, or any other text of 1 to 64 bytes of UTF-8
   * @param {boolean} [on]  false takes it back
   * @param {{user?: string}} [options]  `user`: whose it is that an admin takes back
   * @returns {Promise<void>}  rejects with a `RequestError`: `forbidden` (`clients_react_off`),
   *   `too_large` (too many keys of a message, of a user on it, or reactions), `conflict` (the
   *   message is deleted), `not_found`, `bad_request`
   */
  react(conversation, id, key, on = true, { user } = {}) {
    /** @type {Promise<void>} */
    const done = new Promise((resolve, reject) => {
      const waiting = this.reactions(conversation).filter((each) => (
        each.id === id && each.key === key && each.user === user
      ));
      /** @type {Caller[]} */
      const callers = [{ resolve, reject }];
      let last = waiting.pop();
      if (last !== undefined && last.on !== on && !this.#underWay.has(keyOf(last))) {
        // Nobody was asked for the contrary yet, and nobody wants it by now.
        callers.unshift(...this.#take(last));
        this.#drafts.remove(last);
        last = waiting.pop();
      }
      if (last?.on === on) {
        this.#callers.set(keyOf(last), callerOf([...this.#take(last), ...callers]));
        return;
      }
      const draft = { kind: /** @type {const} */ ('react'), id, conversation, body: '', key, on };
      this.#add({ ...draft, ...(user !== undefined && { user }) }, callerOf(callers));
    });
    // Views show what becomes of it.
    done.catch(() => {});
    return done;
  }

  /**
   * Tries again what failed; what was in conflict replaces the present value.
   *
   * @param {string} id
   */
  retry(id) {
    const draft = this.#stopped(id);
    if (!draft) return;
    const { ifRev, head, error, code, reason, current, ...rest } = draft;
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
    const given = this.#drafts.all.filter((each) => each.id === id && each.kind !== 'react');
    for (const draft of given) this.#drafts.remove(draft);
  }

  /**
   * Drops those that arrived.
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
   * The log of a conversation is another one; edits of before are conflicts.
   *
   * @param {string} conversation
   */
  wasReset(conversation) {
    for (const draft of this.#drafts.all) {
      const isMeant = listOf(draft) === 'edits' && draft.conversation === conversation;
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

  /**
   * Those who wait for a draft; they wait for another one from here on.
   *
   * @param {Draft} draft
   */
  #take(draft) {
    const key = keyOf(draft);
    const caller = this.#callers.get(key);
    this.#callers.delete(key);
    return caller === undefined ? [] : [caller];
  }

  /** What failed, or is in conflict, of a message. @param {string} id */
  #stopped(id) {
    return this.#drafts.all.find((each) => each.id === id && each.state !== 'sending');
  }

  /**
   * @param {'edit' | 'delete'} kind
   * @param {string} conversation
   * @param {string | Seen} of
   * @param {string} body
   * @param {Mentions} [mentions]
   */
  #write(kind, conversation, of, body, { mentions, mentionAll } = {}) {
    const { id, rev: ifRev, head } = typeof of === 'string' ? this.see(conversation, of) : of;
    /** @type {Promise<void>} */
    const done = new Promise((resolve, reject) => {
      const said = asSent({ mentions, mentionAll });
      this.#add({ kind, id, conversation, body, ...said, ifRev, head }, { resolve, reject });
    });
    // It can be read from the drafts too.
    done.catch(() => {});
    return done;
  }

  /**
   * @param {Omit<Draft, 'createdAt' | 'state'>} written
   * @param {Caller} [caller]
   */
  #add(written, caller) {
    const refusal = this.#check(written);
    const createdAt = new Date().toISOString();
    /** @type {Draft} */
    const draft = { ...written, createdAt, state: 'sending' };
    if (caller) this.#callers.set(keyOf(draft), caller);
    this.#drafts.add(refusal === null ? draft : failedOf(draft, refusal));
    if (refusal === null) this.resume(draft.conversation);
    else this.#fail(draft, refusal);
  }

  /**
   * What speaks against sending it: it is queued as failed, for its author to change. What can't be
   * encoded is not even that.
   *
   * @param {Omit<Draft, 'createdAt' | 'state'>} written
   * @returns {RequestError | null}
   * @throws {RequestError}  `bad_request`
   */
  #check(written) {
    const [method, params] = requestOf(written);
    const refusal = this.#connection.refuses(method, params);
    if (refusal?.code === 'bad_request') throw refusal;
    return refusal;
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
    const since = this.#connection.tick;
    try {
      if (draft.ifRev !== undefined && draft.head !== undefined) {
        const log = this.#log(draft.conversation);
        if (!await this.#later.isOfLog(draft, log)) {
          this.#conflict(draft, undefined);
          return true;
        }
      }
      if (!this.#drafts.has(draft)) return true;
      this.#underWay.add(key);
      const { message } = await this.#request(draft)
        .finally(() => { this.#underWay.delete(key); });
      this.#backoff.reset();
      // Sent again, under its id, when the subscription has told of that log.
      if (this.#isUntold(draft, message)) return false;
      this.#done(draft, message);
      return true;
    } catch (error) {
      if (RequestError.is(error, 'disconnected')) return this.#unanswered(draft, since);
      return this.#failed(draft, key, /** @type {RequestError} */ (error));
    }
  }

  /**
   * The session ended before an answer came. That is no failure, unless it goes on so.
   *
   * @param {Draft} draft
   * @param {number} since  when it was sent
   */
  #unanswered(draft, since) {
    if (this.#connection.tick - since < UNANSWERED) return false;
    const error = new RequestError({
      code: 'unanswered', reason: 'unanswered', retry: 'later',
      message: 'the connection ended each time before this was answered',
    });
    if (this.#countTry(keyOf(draft)) >= TRIES) this.#fail(draft, error);
    return false;
  }

  /** Counts the tries of a draft. @param {string} key */
  #countTry(key) {
    const tries = (this.#tries.get(key) ?? 0) + 1;
    this.#tries.set(key, tries);
    return tries;
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
    const { kind, conversation } = draft;
    const taking = {
      final: (/** @type {WriteResult} */ { message, own }) => {
        if (message.trimmed || this.#isUntold(draft, message)) return;
        const log = this.#log(conversation);
        if (kind === 'send') log?.meets(message);
        if (own !== undefined && draft.user === undefined) log?.reactions.noteOwn(message, own);
        log?.arrived(message);
        this.confirm(conversation, [message]);
      },
    };
    return this.#connection.request(...requestOf(draft), taking);
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
    // An edit may name the value from before a reaction, too.
    if (draft.kind === 'react') return;
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
    const tries = this.#countTry(key);
    if (mayRetry && (isAway || tries < TRIES)) {
      const wait = error.after ?? this.#backoff.next();
      await new Promise((resolve) => { setTimeout(resolve, wait); });
      return true;
    }
    this.#fail(draft, error);
    return true;
  }

  /**
   * @param {Draft} draft
   * @param {RequestError} error
   */
  #fail(draft, error) {
    this.#tries.delete(keyOf(draft));
    this.#settle(draft, failedOf(draft, error), error);
  }

  /**
   * @param {Draft} draft
   * @param {RequestError | undefined} error  nothing: the log is another one
   */
  #conflict(draft, error) {
    const told = error ?? new RequestError({
      code: 'conflict', reason: 'change_unknown',
      message: 'The conversation was restored to another state meanwhile.',
    });
    const current = told.current?.message;
    this.#settle(draft, { ...failedOf(draft, told), state: 'conflict', current }, told);
  }

  /**
   * @param {Draft} draft
   * @param {Draft} failed
   * @param {Error} error
   */
  #settle(draft, failed, error) {
    const key = keyOf(draft);
    // A reaction that is not there is seen not to be: nobody has to decide about it.
    if (draft.kind === 'react') this.#drafts.remove(draft);
    else this.#drafts.replace(draft, failed);
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

/**
 * The request that a draft is sent by.
 *
 * @param {Omit<Draft, 'createdAt' | 'state'>} draft
 * @returns {[string, object]}
 */
function requestOf({ kind, id, conversation, body, metadata, attachment, ifRev, ...of }) {
  if (kind === 'react') {
    const { key, on, user } = of;
    return ['react', { conversation, id, key, on, ...(user !== undefined && { user }) }];
  }
  const { replyTo, mentions, mentionAll } = of;
  const params = kind === 'send'
    // A new message has nothing that could be taken away.
    ? {
      id, body, metadata, attachment, replyTo,
      mentions: mentions?.length === 0 ? undefined : mentions, mentionAll: mentionAll || undefined,
    }
    : {
      id, ...(kind === 'edit' && { body, mentions, mentionAll }),
      ...(ifRev !== undefined && { ifRev }),
    };
  const method = { send: 'sendMessage', edit: 'editMessage', delete: 'deleteMessage' }[kind];
  return [method, { conversation, ...params }];
}

/**
 * What was named of a message's fields: its author may change the list that they gave.
 *
 * @param {SendFields} fields
 */
function ownCopy(fields) {
  const { mentions } = fields;
  return { ...fields, ...(mentions && { mentions: [...mentions] }) };
}

/**
 * Several who wait for one draft.
 *
 * @param {Caller[]} callers
 * @returns {Caller}
 */
function callerOf(callers) {
  return {
    resolve: () => { for (const { resolve } of callers) resolve(); },
    reject: (error) => { for (const { reject } of callers) reject(error); },
  };
}

/**
 * @param {Draft} draft
 * @param {RequestError} error
 * @returns {Draft}
 */
function failedOf(draft, { code, reason, message }) {
  return { ...draft, state: 'failed', error: message, code, reason };
}
