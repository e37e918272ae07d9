import { DraftStore } from './draft-store.js';
import { settled } from './settled.js';

/** @import { Saved } from './message-log.js' */
/** @import { Draft } from './drafts.js' */
/** @import { SavedList } from './conversations.js' */

const CONVERSATIONS = 'conversations';
const LISTS = 'lists';
const ANSWERS = 'answers';
/** Each is found by its key, and by these. */
const ANSWER_INDICES = ['conversation', 'at'];
/** So many answers are kept; the oldest go first. */
const ANSWER_LIMIT = 500;
/** Where drafts were before they had a database of their own. */
const DRAFT = 'draft ';
const VERSION = 2;
/** The one list of conversations that a user has. */
const LIST = 'list';

/**
 * What one user's clients keep over reloads, in IndexedDB: the newest messages of each conversation
 * with their `have`, the list of conversations, and the last answers. Values and `have` are written
 * in one transaction.
 *
 * Where the browser has no room or forbids it, or another version of this client made it, nothing
 * is kept, and nothing else changes. Drafts lie in a `DraftStore`. A connection for which the
 * gateway names another user ends. `erase` the store when the user logs out.
 */
export class MessageStore {
  #database;
  #drafts;

  /**
   * @param {string} user
   * @param {IDBDatabase | null} database  null: keeps drafts only
   */
  constructor(user, database) {
    /** Whose it is. */
    this.user = user;
    this.#database = database;
    this.#drafts = new DraftStore(user);
    // Another tab that erases it must not wait for this one.
    if (database) database.onversionchange = () => database.close();
  }

  /**
   * Opens the store of a user.
   *
   * @param {string} user
   * @returns {Promise<MessageStore | null>}  null if there can be none
   */
  static async open(user) {
    if (globalThis.indexedDB === undefined) return null;
    const database = await openCache(user);
    const store = new MessageStore(user, database);
    await store.#takeEarlierDrafts();
    if (database?.version === VERSION) return store;
    store.close();
    return new MessageStore(user, null);
  }

  /**
   * Removes what was kept for a user.
   *
   * @param {string} user
   */
  static async erase(user) {
    await Promise.allSettled([
      settled(indexedDB.deleteDatabase(nameFor(user))), DraftStore.erase(user),
    ]);
  }

  /** Ends it; later answers are not kept. */
  close() {
    this.#database?.close();
    this.#drafts.close().catch(() => {});
  }

  /**
   * @param {string} conversation
   * @returns {Promise<Saved | null>}
   */
  load(conversation) { return this.#load(CONVERSATIONS, conversation); }

  /**
   * @param {string} conversation
   * @param {Saved} saved
   */
  async save(conversation, saved) {
    await this.#write(CONVERSATIONS, conversation, saved);
    const { epoch } = saved.have.head;
    // Of a log that is gone nothing is shown again.
    await this.#removeAnswers('conversation', conversation, ({ result }) => (
      (result.head?.epoch ?? epoch) !== epoch
    ));
  }

  /** @param {string} conversation */
  async remove(conversation) {
    await this.#write(CONVERSATIONS, conversation, undefined);
    await this.removeAnswers(conversation);
  }

  /** What is not confirmed; rejects if it can't be read. */
  loadDrafts() { return this.#drafts.load(); }

  /**
   * Keeps a draft under a key of its own: two pages of one user keep those of both. What the
   * gateway has too makes room. Rejects if it can't be written now.
   *
   * @param {string} key
   * @param {Draft} draft
   */
  async saveDraft(key, draft) {
    try {
      await this.#drafts.save(key, draft);
    } catch (error) {
      if (/** @type {Error} */ (error)?.name !== 'QuotaExceededError') throw error;
      await Promise.all([CONVERSATIONS, LISTS, ANSWERS].map((name) => this.#clear(name)));
      await this.#drafts.save(key, draft);
    }
  }

  /** Removes a draft; rejects if that can't be written now. @param {string} key */
  removeDraft(key) { return this.#drafts.remove(key); }

  /** @returns {Promise<SavedList | null>} */
  loadList() { return this.#load(LISTS, LIST); }

  /** @param {SavedList} list */
  async saveList(list) {
    await this.#write(LISTS, LIST, list);
    await this.removeAnswers('');
  }

  /**
   * The last answer to a question.
   *
   * @param {string} key  the question
   * @returns {Promise<*>}  null if none is kept
   */
  async loadAnswer(key) { return (await this.#load(ANSWERS, key))?.result ?? null; }

  /**
   * The answers of one method about one conversation, newest first.
   *
   * @param {string} method
   * @param {string} conversation  empty for the list
   * @returns {Promise<import('./known-answers.js').Answer[]>}
   */
  async loadAnswers(method, conversation) {
    try {
      const index = this.#store(ANSWERS).index('conversation');
      const [keys, answers] = await Promise.all([
        settled(index.getAllKeys(conversation)), settled(index.getAll(conversation)),
      ]);
      const name = `${method} `;
      return answers.flatMap((answer, at) => {
        const key = String(keys[at]);
        if (!key.startsWith(name)) return [];
        return [{ ...answer, params: Object.fromEntries(JSON.parse(key.slice(name.length))) }];
      }).sort((a, b) => b.at - a.at);
    } catch {
      return [];
    }
  }

  /**
   * @param {string} key  the question
   * @param {string} conversation  that it is about; empty for the list
   * @param {*} result  the answer
   */
  async saveAnswer(key, conversation, result) {
    await this.#write(ANSWERS, key, { conversation, at: Date.now(), result });
    const count = await this.#count();
    let surplus = count - ANSWER_LIMIT;
    if (surplus > 0) {
      await this.#removeAnswers('at', null, () => {
        surplus -= 1;
        return surplus >= 0;
      });
    }
  }

  /**
   * Removes the answers about a conversation.
   *
   * @param {string} conversation  empty for the list
   */
  removeAnswers(conversation) { return this.#removeAnswers('conversation', conversation); }

  /**
   * @param {string} name
   * @param {string} key
   * @returns {Promise<*>}
   */
  async #load(name, key) {
    try {
      return await settled(this.#store(name).get(key)) ?? null;
    } catch {
      return null;
    }
  }

  async #count() {
    try {
      return await settled(this.#store(ANSWERS).count());
    } catch {
      return 0;
    }
  }

  /**
   * Removes answers, in the order of an index.
   *
   * @param {string} index
   * @param {string | null} value  of the index; null for any
   * @param {(answer: *) => boolean} [isMeant]  all of them, if left out
   */
  async #removeAnswers(index, value, isMeant = () => true) {
    try {
      const cursors = this.#store(ANSWERS, 'readwrite').index(index).openCursor(value);
      for (;;) {
        const cursor = await settled(cursors);
        if (cursor === null) return;
        if (isMeant(cursor.value)) await settled(cursor.delete());
        cursor.continue();
      }
    } catch {
      // It goes with the store, or as one of the oldest.
    }
  }

  /**
   * @param {string} name
   * @param {string} key
   * @param {*} value  undefined to remove it
   */
  async #write(name, key, value) {
    try {
      const store = this.#store(name, 'readwrite');
      await settled(value === undefined ? store.delete(key) : store.put(value, key));
    } catch {
      // What could not be kept is read from the gateway again.
    }
  }

  /**
   * A part of what is kept; throws where there is none.
   *
   * @param {string} name
   * @param {IDBTransactionMode} [mode]
   */
  #store(name, mode = 'readonly') {
    return /** @type {IDBDatabase} */ (this.#database).transaction(name, mode).objectStore(name);
  }

  /** @param {string} name */
  async #clear(name) {
    try {
      await settled(this.#store(name, 'readwrite').clear());
    } catch {
      // Then it makes no room.
    }
  }

  /** Takes the drafts that an earlier version kept among the lists. */
  async #takeEarlierDrafts() {
    try {
      const range = IDBKeyRange.bound(DRAFT, `${DRAFT}\uffff`);
      const keys = await settled(this.#store(LISTS).getAllKeys(range));
      for (const key of /** @type {string[]} */ (keys)) {
        const draft = await settled(this.#store(LISTS).get(key));
        await this.#drafts.save(key.slice(DRAFT.length), draft);
        await settled(this.#store(LISTS, 'readwrite').delete(key));
      }
    } catch {
      // They stay where they are for the next time.
    }
  }
}

/** @param {string} user */
function nameFor(user) { return `gapless ${user}`; }

/**
 * The database of what can be read again, as it is where another version made it; null for none.
 *
 * @param {string} user
 * @returns {Promise<IDBDatabase | null>}
 */
async function openCache(user) {
  for (const version of [VERSION, undefined]) {
    try {
      const request = indexedDB.open(nameFor(user), version);
      request.onupgradeneeded = () => {
        const { result: database } = request;
        for (const name of [CONVERSATIONS, LISTS, ANSWERS]) {
          if (database.objectStoreNames.contains(name)) continue;
          const store = database.createObjectStore(name);
          if (name === ANSWERS) for (const path of ANSWER_INDICES) store.createIndex(path, path);
        }
      };
      return await settled(request);
    } catch {
      // It is of a later version, or there can be none.
    }
  }
  return null;
}

/**
 * A store for use with a connection, whose it is then: the gateway must not name another user.
 *
 * @param {MessageStore | null} store
 * @param {import('./connection.js').Connection} connection
 * @returns {MessageStore | null}
 * @throws {Error}  if the connection is known to be another user's
 */
export function storeFor(store, connection) {
  if (store?.user !== undefined) connection.expect(store.user);
  return store;
}
