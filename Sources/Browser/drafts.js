import { Backoff } from './backoff.js';

/** @import { MessageStore } from './message-store.js' */
/** @import { SharedConnection } from './shared-connection.js' */
/** @import { Head, Message } from './types.js' */

/**
 * What was written and is not confirmed yet: a message, an edit, a deletion, or a reaction.
 *
 * @typedef {object} Draft
 * @property {'send' | 'edit' | 'delete' | 'react'} kind
 * @property {string} id  of the message; a new one keeps it over every try
 * @property {string} conversation
 * @property {string} body  empty for a deletion and a reaction
 * @property {Record<string, *>} [metadata]
 * @property {*} [attachment]
 * @property {string} [replyTo]  of a new message: the id of the one to which it replies
 * @property {string[]} [mentions]  of a new message or an edit: users
 * @property {boolean} [mentionAll]  of a new message or an edit: everybody
 * @property {number} [ifRev]  the value that was edited or deleted
 * @property {Head} [head]  of the log in which that is its number
 * @property {string} [key]  of a reaction
 * @property {boolean} [on]  of a reaction: false takes it back
 * @property {string} [user]  of a reaction that an admin takes back: whose it is
 * @property {string} createdAt  RFC 3339, by this machine's clock
 * @property {number} [order]  rises from draft to draft, whatever the clock says
 * @property {'sending' | 'failed' | 'conflict'} state  `conflict`: the message, or its log, is
 *   another one by now; a reaction is gone when it fails
 * @property {string} [error]  why it failed, for people
 * @property {string} [code]  one of the protocol's error codes, or `unanswered`
 * @property {string} [reason]  why it failed, for programs: see `RequestError.reason`
 * @property {Message} [current]  of a conflict: the message as it is
 *
 * @typedef {'messages' | 'edits' | 'reactions'} DraftList
 */

/** A tab that is loaded anew is there again after so long, in milliseconds. */
const RELOAD = 3_000;

/**
 * The drafts of one user, oldest first, as they are kept in a store and read by views.
 *
 * Tabs that share a connection share the store, but each has the drafts that were written in it:
 * one draft is sent by one tab. Those of a tab that is gone, or closed its connection, go to the
 * tab that leads.
 *
 * What can't be written into the store now (it is busy, or full) stays here and is written later.
 */
export class Drafts {
  /** Resolves when what the store kept is among them. @type {Promise<void>} */
  restored;

  /** @type {readonly Draft[]} */
  #all = [];
  /**
   * What is shown of each conversation, and what all of them were when that was read.
   *
   * @type {Map<string, {all: readonly Draft[], list: Draft[]}>}
   */
  #lists = new Map();
  #store;
  #changed;
  #tabs;
  /** The tabs whose end is waited for. @type {Set<string>} */
  #awaited = new Set();
  /** What the store is to hold and does not yet; null for what goes. */
  /** @type {Map<string, Draft | null>} */
  #unwritten = new Map();
  /** @type {Set<string>} */
  #writing = new Set();
  #backoff = new Backoff();
  #lastOrder = 0;

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
    this.restored = tabs === null || store === null ? this.#restore()
      : this.#reclaim(tabs, adopted);
    if (tabs === null || store === null) return;
    const adopt = () => { this.#adopt(tabs, adopted); };
    tabs.leads.listen(adopt);
    tabs.gone.listen(adopt);
    tabs.left.listen(() => this.#leave());
    if (tabs.isLeader) adopt();
  }

  /** Oldest first; the same array until something changes. */
  get all() { return this.#all; }

  /**
   * Those of a conversation; the same array until they change.
   *
   * @param {string} conversation
   * @param {DraftList} name
   * @returns {Draft[]}
   */
  of(conversation, name) {
    const key = `${name} ${conversation}`;
    const known = this.#lists.get(key);
    if (known?.all === this.#all) return known.list;
    const now = this.#all.filter((draft) => (
      draft.conversation === conversation && listOf(draft) === name
    ));
    // A reaction is no news to those who read messages.
    const isSame = known?.list.length === now.length
      && now.every((draft, at) => draft === known.list[at]);
    const list = isSame ? known.list : now;
    this.#lists.set(key, { all: this.#all, list });
    return list;
  }

  /** @param {Draft} draft */
  has(draft) { return this.#all.some((each) => keyOf(each) === keyOf(draft)); }

  /** @param {Draft} written */
  add(written) {
    this.#lastOrder = Math.max(this.#lastOrder + 1, Date.now());
    const draft = { ...written, order: this.#lastOrder };
    this.#all = [...this.#all, draft];
    this.#save(keyOf(draft), draft);
    this.#changed(draft.conversation);
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
    this.#changed(by.conversation);
  }

  /** @param {Draft} draft */
  remove(draft) {
    const key = keyOf(draft);
    this.#all = this.#all.filter((each) => keyOf(each) !== key);
    this.#save(key, null);
    this.#changed(draft.conversation);
  }

  async #restore() { this.#take(await this.#kept()); }

  /**
   * Takes what this tab itself had before it was loaded anew.
   *
   * @param {SharedConnection} tabs
   * @param {() => void} adopted
   */
  async #reclaim(tabs, adopted) {
    await tabs.named;
    const own = (await this.#kept()).filter(({ tab }) => tab === tabs.tab);
    this.#take(own.map(({ tab, ...draft }) => draft));
    adopted();
  }

  /** What the store has; a store that can't be read now is read again. */
  async #kept() {
    const store = this.#store;
    for (;;) {
      try {
        return /** @type {(Draft & {tab?: string})[]} */ (await store?.loadDrafts?.() ?? []);
      } catch {
        await pause(this.#backoff.next());
      }
    }
  }

  /**
   * Does something while a tab is gone, and holds its lock meanwhile. One that is only loaded anew
   * takes its name, and what it had, again.
   *
   * @param {SharedConnection} tabs
   * @param {string} owner
   * @param {AbortSignal} signal
   * @param {() => Promise<void>} act
   */
  async #whenGone(tabs, owner, signal, act) {
    const name = tabs.lockOf(owner);
    await tabs.locks.request(name, { signal }, () => {});
    await tabs.pause(RELOAD);
    await tabs.locks.request(name, { ifAvailable: true }, async (lock) => {
      if (lock !== null && !signal.aborted) await act();
    });
  }

  /**
   * Takes what tabs that are gone have left. A tab that is there holds the lock of its name. The
   * tab that takes over what it left holds that lock too, so that no other tab does meanwhile.
   *
   * @param {SharedConnection} tabs
   * @param {() => void} adopted
   */
  async #adopt(tabs, adopted) {
    await tabs.named;
    const owners = new Set((await this.#kept()).map(({ tab = '' }) => tab));
    owners.delete(tabs.tab);
    const { leading: signal } = tabs;
    for (const owner of owners) {
      if (this.#awaited.has(owner)) continue;
      this.#awaited.add(owner);
      this.#whenGone(tabs, owner, signal, async () => {
        const drafts = (await this.#kept()).filter(({ tab = '' }) => tab === owner)
          .map(({ tab, ...draft }) => draft);
        await Promise.all(drafts.map((draft) => this.#save(keyOf(draft), draft)));
        this.#take(drafts);
        adopted();
      }).catch(() => {}).finally(() => this.#awaited.delete(owner));
    }
  }

  /** @param {readonly Draft[]} kept */
  #take(kept) {
    const known = new Set(this.#all.map(keyOf));
    const older = kept.filter((draft) => !known.has(keyOf(draft)));
    older.sort((a, b) => orderOf(a) - orderOf(b));
    this.#lastOrder = Math.max(this.#lastOrder, ...older.map(orderOf));
    if (older.length === 0) return;
    this.#all = [...older, ...this.#all];
    for (const { conversation } of older) this.#changed(conversation);
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

  /** This tab closed its connection: what the store has of it is the others' from here on. */
  #leave() {
    const given = this.#all.filter((draft) => !this.#unwritten.has(keyOf(draft)));
    this.#all = this.#all.filter((draft) => this.#unwritten.has(keyOf(draft)));
    for (const { conversation } of given) this.#changed(conversation);
  }

  /**
   * Keeps a draft; of a tab that others would take for gone, not before they don't.
   *
   * @param {string} key
   * @param {Draft | null} draft  null to keep it no more
   * @returns {Promise<void> | undefined}  until it is kept
   */
  #save(key, draft) {
    if (this.#store?.saveDraft === undefined) return undefined;
    this.#unwritten.set(key, draft);
    return this.#writing.has(key) ? undefined : this.#write(key);
  }

  /** @param {string} key */
  async #write(key) {
    const store = /** @type {MessageStore} */ (this.#store);
    this.#writing.add(key);
    while (this.#unwritten.has(key)) {
      if (this.#tabs !== null) await this.#tabs.named;
      const draft = this.#unwritten.get(key) ?? null;
      try {
        await (draft === null ? store.removeDraft(key) : store.saveDraft(key, this.#marked(draft)));
        this.#backoff.reset();
        if ((this.#unwritten.get(key) ?? null) === draft) this.#unwritten.delete(key);
      } catch {
        await pause(this.#backoff.next());
      }
    }
    this.#writing.delete(key);
  }
}

/**
 * Where a draft is shown.
 *
 * @param {{kind: Draft['kind']}} draft
 * @returns {DraftList}
 */
export function listOf({ kind }) {
  if (kind === 'send') return 'messages';
  return kind === 'react' ? 'reactions' : 'edits';
}

/**
 * One message may be edited several times before the first is confirmed. Of one reaction two may
 * wait: the one that is under way, and its contrary.
 *
 * @param {Draft} draft
 */
export function keyOf({ kind, id, createdAt, body, key, on, user = '', ...of }) {
  if (kind === 'send') return id;
  const { mentions, mentionAll } = of;
  const isPlain = mentions === undefined && mentionAll === undefined;
  const text = isPlain ? body : `${body} ${JSON.stringify([mentions, mentionAll])}`;
  return `${id} ${kind} ${createdAt} ${kind === 'react' ? `${on} ${key} ${user}` : text}`;
}

/** @param {Draft} draft */
function orderOf({ order, createdAt }) { return order ?? Date.parse(createdAt); }

/** @param {number} delay  milliseconds */
function pause(delay) { return new Promise((resolve) => { setTimeout(resolve, delay); }); }
