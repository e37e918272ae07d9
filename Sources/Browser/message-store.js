/** @import { Saved } from './message-window.js' */
/** @import { Draft } from './drafts.js' */
/** @import { SavedList } from './conversations.js' */

const CONVERSATIONS = 'conversations';
const LISTS = 'lists';
const ANSWERS = 'answers';
/** Each is found by its key, and by these. */
const ANSWER_INDICES = ['conversation', 'at'];
/** So many answers are kept; the oldest go first. */
const ANSWER_LIMIT = 500;
/** Each draft has a key of its own, so that two pages of one user keep those of both. */
const DRAFT = 'draft ';
/** The one list of conversations that a user has. */
const LIST = 'list';

/**
 * What one user's clients keep over reloads, in IndexedDB: per conversation the newest messages
 * with the `have` that they make up, the list of conversations, and what was answered last. Values
 * and `have` are written in one transaction, so what it claims is what it holds.
 *
 * It is a convenience: where the browser has no room for it or forbids it, nothing is kept, and
 * nothing else changes. It belongs to a user's session; `erase` it when the user logs out.
 */
export class MessageStore {
  #database;

  /** @param {IDBDatabase} database */
  constructor(database) {
    this.#database = database;
    // Another tab that erases it must not wait for this one.
    database.onversionchange = () => database.close();
  }

  /**
   * Opens the store of a user.
   *
   * @param {string} user
   * @returns {Promise<MessageStore | null>}  null where there can be none
   */
  static async open(user) {
    try {
      const request = indexedDB.open(nameFor(user), 2);
      request.onupgradeneeded = () => {
        const { result: database } = request;
        for (const name of [CONVERSATIONS, LISTS, ANSWERS]) {
          if (database.objectStoreNames.contains(name)) continue;
          const store = database.createObjectStore(name);
          if (name === ANSWERS) for (const path of ANSWER_INDICES) store.createIndex(path, path);
        }
      };
      return new MessageStore(await settled(request));
    } catch {
      return null;
    }
  }

  /**
   * Removes everything that was kept for a user.
   *
   * @param {string} user
   */
  static async erase(user) {
    await settled(indexedDB.deleteDatabase(nameFor(user))).catch(() => {});
  }

  /** Ends it; what is written after this is not kept. */
  close() { this.#database.close(); }

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

  /** What was written and is not confirmed. @returns {Promise<Draft[]>} */
  async loadDrafts() {
    try {
      const range = IDBKeyRange.bound(DRAFT, `${DRAFT}\uffff`);
      return await settled(this.#database.transaction(LISTS).objectStore(LISTS).getAll(range));
    } catch {
      return [];
    }
  }

  /**
   * @param {string} key
   * @param {Draft} draft
   */
  saveDraft(key, draft) { return this.#write(LISTS, DRAFT + key, draft); }

  /** @param {string} key */
  removeDraft(key) { return this.#write(LISTS, DRAFT + key, undefined); }

  /** @returns {Promise<SavedList | null>} */
  loadList() { return this.#load(LISTS, LIST); }

  /** @param {SavedList} list */
  async saveList(list) {
    await this.#write(LISTS, LIST, list);
    await this.removeAnswers('');
  }

  /**
   * What was answered last to a question.
   *
   * @param {string} key  the question
   * @returns {Promise<*>}  null if nothing is kept
   */
  async loadAnswer(key) { return (await this.#load(ANSWERS, key))?.result ?? null; }

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
   * Removes all that was answered of a conversation.
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
      const store = this.#database.transaction(name).objectStore(name);
      return await settled(store.get(key)) ?? null;
    } catch {
      return null;
    }
  }

  async #count() {
    try {
      return await settled(this.#database.transaction(ANSWERS).objectStore(ANSWERS).count());
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
      const answers = this.#database.transaction(ANSWERS, 'readwrite').objectStore(ANSWERS);
      const cursors = answers.index(index).openCursor(value);
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
      const store = this.#database.transaction(name, 'readwrite').objectStore(name);
      await settled(value === undefined ? store.delete(key) : store.put(value, key));
    } catch {
      // What could not be kept is read from the gateway again.
    }
  }
}

/** @param {string} user */
function nameFor(user) { return `gapless ${user}`; }

/**
 * @template Result
 * @param {IDBRequest<Result>} request
 * @returns {Promise<Result>}
 */
function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
