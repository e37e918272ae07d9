/** @import { MessageStore } from './message-store.js' */
/** @import { SharedConnection } from './shared-connection.js' */
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

/**
 * The drafts of one user, oldest first, as they are kept in a store and read by views.
 *
 * Tabs that share a connection share the store, but each has the drafts that were written in it:
 * one draft is sent by one tab. Those of a tab that is gone go to the tab that leads.
 */
export class Drafts {
  /** Resolves when what the store kept is among them. @type {Promise<void>} */
  restored;

  /** @type {readonly Draft[]} */
  #all = [];
  /** What is shown of each conversation, until it changes. @type {Map<string, Draft[]>} */
  #lists = new Map();
  #store;
  #changed;
  #tabs;
  /** The tabs whose end is waited for. @type {Set<string>} */
  #awaited = new Set();

  /**
   * @param {MessageStore | null} store
   * @param {(conversation: string) => void} changed
   * @param {object} [options]
   * @param {SharedConnection | null} [options.tabs]  the connection that this tab shares
   * @param {() => void} [options.adopted]  called when drafts of tabs that are gone came
   */
  constructor(store, changed, { tabs = null, adopted = () => {} } = {}) {
    this.#store = store;
    this.#changed = changed;
    this.#tabs = tabs;
    this.restored = tabs === null ? this.#restore() : Promise.resolve();
    if (tabs === null || store === null) return;
    const adopt = () => { this.#adopt(tabs, adopted); };
    tabs.leads.listen(adopt);
    tabs.gone.listen(adopt);
    if (tabs.isLeader) adopt();
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
    this.#save(keyOf(draft), draft);
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
    this.#save(key, by);
    this.#tell(by.conversation);
  }

  /** @param {Draft} draft */
  remove(draft) {
    const key = keyOf(draft);
    this.#all = this.#all.filter((each) => keyOf(each) !== key);
    this.#save(key, null);
    this.#tell(draft.conversation);
  }

  async #restore() {
    this.#take(await this.#store?.loadDrafts?.() ?? []);
  }

  /**
   * Takes what tabs that are gone have left. A tab that is there holds the lock of its name, and so
   * does whoever takes over what it left: nobody else does meanwhile.
   *
   * @param {SharedConnection} tabs
   * @param {() => void} adopted
   */
  async #adopt(tabs, adopted) {
    const store = /** @type {MessageStore} */ (this.#store);
    const left = async () => /** @type {(Draft & {tab?: string})[]} */ (await store.loadDrafts());
    await tabs.named;
    const owners = new Set((await left()).map(({ tab = '' }) => tab));
    owners.delete(tabs.tab);
    const { leading: signal } = tabs;
    for (const owner of owners) {
      if (this.#awaited.has(owner)) continue;
      this.#awaited.add(owner);
      tabs.locks.request(tabs.lockOf(owner), { signal }, async () => {
        const drafts = (await left()).filter(({ tab = '' }) => tab === owner)
          .map(({ tab, ...draft }) => draft);
        for (const draft of drafts) {
          await store.saveDraft(keyOf(draft), this.#marked(draft));
        }
        this.#take(drafts);
        adopted();
      }).catch(() => {}).finally(() => this.#awaited.delete(owner));
    }
  }

  /** @param {readonly Draft[]} kept */
  #take(kept) {
    const known = new Set(this.#all.map(keyOf));
    const older = kept.filter((draft) => !known.has(keyOf(draft)));
    older.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
    if (older.length === 0) return;
    this.#all = [...older, ...this.#all];
    for (const { conversation } of older) this.#tell(conversation);
  }

  /**
   * A draft as it is kept, with the tab that sends it.
   *
   * @param {Draft} draft
   * @returns {Draft}
   */
  #marked(draft) {
    return this.#tabs === null ? draft
      : /** @type {Draft} */ ({ ...draft, tab: this.#tabs.tab });
  }

  /**
   * Keeps a draft; of a tab that others would take for gone, not before they don't.
   *
   * @param {string} key
   * @param {Draft | null} draft  null to keep it no more
   */
  #save(key, draft) {
    const save = () => {
      if (draft === null) this.#store?.removeDraft?.(key);
      else this.#store?.saveDraft?.(key, this.#marked(draft));
    };
    if (this.#tabs === null) save(); else this.#tabs.named.then(save);
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
