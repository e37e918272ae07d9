/** @import { MessageStore } from './message-store.js' */
/** @import { Head, Message } from './types.js' */

/**
 * What was written and is not confirmed yet: a message, an edit, or a deletion.
 *
 * @typedef {object} Draft
 * @property {'send' | 'edit' | 'delete'} kind
 * @property {string} id  of the message; chosen here for a new one and kept over every try, so that
 *   it is sent once
 * @property {string} conversation
 * @property {string} body  empty for a deletion
 * @property {Record<string, *>} [metadata]
 * @property {number} [ifRev]  the value that was edited or deleted
 * @property {Head} [head]  of the log in which that is its number
 * @property {string} createdAt  RFC 3339, by this machine's clock
 * @property {'sending' | 'failed' | 'conflict'} state  `conflict`: the message is another one by
 *   now, or its log is
 * @property {string} [error]  why it failed, for a person to read
 * @property {Message} [current]  of a conflict: the message as it is
 */

/** The drafts of one user, oldest first, as they are kept in a store and read by views. */
export class Drafts {
  /** Resolves when what the store kept is among them. @type {Promise<void>} */
  restored;

  /** @type {readonly Draft[]} */
  #all = [];
  /** What is shown of each conversation, until it changes. @type {Map<string, Draft[]>} */
  #lists = new Map();
  #store;
  #changed;

  /**
   * @param {MessageStore | null} store
   * @param {(conversation: string) => void} changed
   */
  constructor(store, changed) {
    this.#store = store;
    this.#changed = changed;
    this.restored = this.#restore();
  }

  /** Oldest first; the same array until something changes. */
  get all() { return this.#all; }

  /**
   * Those of a conversation; the same array until they change.
   *
   * @param {string} conversation
   * @param {'messages' | 'edits'} name
   */
  of(conversation, name) {
    const key = `${name} ${conversation}`;
    const list = this.#lists.get(key) ?? this.#all.filter((draft) => (
      draft.conversation === conversation && (draft.kind === 'send') === (name === 'messages')
    ));
    this.#lists.set(key, list);
    return list;
  }

  /** @param {Draft} draft */
  has(draft) { return this.#all.some((each) => keyOf(each) === keyOf(draft)); }

  /** @param {Draft} draft */
  add(draft) {
    this.#all = [...this.#all, draft];
    this.#store?.saveDraft?.(keyOf(draft), draft);
    this.#tell(draft.conversation);
  }

  /**
   * @param {Draft} draft
   * @param {Draft} by
   */
  replace(draft, by) {
    if (!this.has(draft)) return;
    const key = keyOf(draft);
    this.#all = this.#all.map((each) => (keyOf(each) === key ? by : each));
    this.#store?.saveDraft?.(key, by);
    this.#tell(by.conversation);
  }

  /** @param {Draft} draft */
  remove(draft) {
    const key = keyOf(draft);
    this.#all = this.#all.filter((each) => keyOf(each) !== key);
    this.#store?.removeDraft?.(key);
    this.#tell(draft.conversation);
  }

  async #restore() {
    const kept = await this.#store?.loadDrafts?.() ?? [];
    const known = new Set(this.#all.map(keyOf));
    const older = kept.filter((draft) => !known.has(keyOf(draft)));
    older.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
    if (older.length === 0) return;
    this.#all = [...older, ...this.#all];
    for (const { conversation } of older) this.#tell(conversation);
  }

  /** @param {string} conversation */
  #tell(conversation) {
    this.#lists.delete(`messages ${conversation}`);
    this.#lists.delete(`edits ${conversation}`);
    this.#changed(conversation);
  }
}

/**
 * One message may be edited several times before the first is confirmed.
 *
 * @param {Draft} draft
 */
export function keyOf({ kind, id, createdAt, body }) {
  return kind === 'send' ? id : `${id} ${kind} ${createdAt} ${body}`;
}
