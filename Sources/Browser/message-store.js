/** @import { Saved } from './message-window.js' */
/** @import { SavedList } from './conversations.js' */

const CONVERSATIONS = 'conversations';
const LISTS = 'lists';
/** The one list of conversations that a user has. */
const LIST = 'list';

/**
 * What one user's clients keep over reloads, in IndexedDB: per conversation the newest messages
 * with the `have` that they make up, and the list of conversations. Values and `have` are written
 * in one transaction, so what it claims is what it holds.
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
      const request = indexedDB.open(nameFor(user), 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore(CONVERSATIONS);
        request.result.createObjectStore(LISTS);
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
  save(conversation, saved) { return this.#write(CONVERSATIONS, conversation, saved); }

  /** @param {string} conversation */
  remove(conversation) { return this.#write(CONVERSATIONS, conversation, undefined); }

  /** @returns {Promise<SavedList | null>} */
  loadList() { return this.#load(LISTS, LIST); }

  /** @param {SavedList} list */
  saveList(list) { return this.#write(LISTS, LIST, list); }

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
