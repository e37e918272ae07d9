import { settled } from './settled.js';

/** @import { Draft } from './drafts.js' */

const DRAFTS = 'drafts';

/**
 * What one user wrote and the gateway did not confirm, in a database of its own: it has one store
 * and no version that could drop it, so that whatever else a client keeps, and of whichever
 * version it is, this stays. What fails rejects, for its owner to try again.
 */
export class DraftStore {
  #name;
  /** @type {Promise<IDBDatabase> | null} */
  #opening = null;
  #isErased = false;

  /** @param {string} user */
  constructor(user) { this.#name = nameFor(user); }

  /** Removes what was kept for a user. @param {string} user */
  static async erase(user) { await settled(indexedDB.deleteDatabase(nameFor(user))); }

  /** @returns {Promise<Draft[]>} */
  load() { return this.#on('readonly', (store) => store.getAll()); }

  /**
   * @param {string} key
   * @param {Draft} draft
   */
  save(key, draft) { return this.#on('readwrite', (store) => store.put(draft, key)); }

  /** @param {string} key */
  remove(key) { return this.#on('readwrite', (store) => store.delete(key)); }

  /** Ends it until it is needed again. */
  async close() {
    const opening = this.#opening;
    this.#opening = null;
    (await opening)?.close();
  }

  /**
   * @template Result
   * @param {IDBTransactionMode} mode
   * @param {(store: IDBObjectStore) => IDBRequest<Result>} ask
   * @returns {Promise<Result>}
   */
  async #on(mode, ask) {
    if (this.#isErased) return /** @type {*} */ ([]);
    this.#opening ??= this.#open();
    const database = await this.#opening;
    const transaction = database.transaction(DRAFTS, mode);
    const result = await settled(ask(transaction.objectStore(DRAFTS)));
    // A write counts when it is committed: until then the disk may turn out to be full.
    if (mode === 'readwrite') await committed(transaction);
    return result;
  }

  async #open() {
    try {
      const request = indexedDB.open(this.#name);
      request.onupgradeneeded = () => request.result.createObjectStore(DRAFTS);
      const database = await settled(request);
      // The user logged out in another tab: then nothing of theirs is kept here either.
      database.onversionchange = ({ newVersion }) => {
        this.#isErased = newVersion === null;
        this.close();
      };
      database.onclose = () => { this.#opening = null; };
      return database;
    } catch (error) {
      this.#opening = null;
      throw error;
    }
  }
}

/** @param {string} user */
function nameFor(user) { return `gapless-drafts ${user}`; }

/** @param {IDBTransaction} transaction */
function committed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(undefined);
    transaction.onabort = () => reject(transaction.error);
  });
}
