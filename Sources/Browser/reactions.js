import { RequestError } from './request-error.js';

/** @import { Draft } from './drafts.js' */
/** @import { Message, Reaction } from './types.js' */

/** A message names so many users of a reaction. */
const NAMED = 10;
/** One question is about so many places. */
const SPAN = 1_000;
/** What came within this time, in milliseconds, is one question. */
const SOON = 50;
/** Of a message that many react to, the user's own reactions are asked for again so rarely, in
 * milliseconds, less a random half: all who look at it would ask at once. */
const AGAIN = 5_000;

/**
 * The user's own reactions on a message, and the change of it as of which they are that.
 *
 * @typedef {{rev: number, keys: ReadonlySet<string>}} Known
 *
 * A message as it is shown, and what that was made of.
 *
 * @typedef {object} Shown
 * @property {string | null} user
 * @property {Known | undefined} known
 * @property {readonly Draft[]} drafts
 * @property {Message} message
 */

/** @type {readonly Draft[]} */
const none = [];

/**
 * The reactions to the messages of one conversation as views show them: with whether the user has
 * each, and with what the user changed and the gateway did not confirm.
 *
 * A message names the first users of a reaction alone. Where that does not tell, the gateway is
 * asked for the user's own, for all messages that are here at once; and again when they changed,
 * since the user may be somewhere else, too.
 */
export class Reactions {
  #self;
  #values;
  #request;
  #changed;
  /** @type {Map<string, Known>} */
  #known = new Map();
  /** What is not confirmed, oldest first. */
  #waiting = none;
  /** The same by message. @type {ReadonlyMap<string, readonly Draft[]>} */
  #drafts = new Map();
  /** @type {WeakMap<Message, Shown>} */
  #shown = new WeakMap();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #dueAt = Infinity;
  /** The gateway answers such questions. */
  #isAnswered = true;

  /**
   * @param {object} of
   * @param {() => string | null} of.self  who the user is
   * @param {() => readonly {message: Message}[]} of.values  the messages that are here
   * @param {(method: string, params: object,
   *   taking: import('./pending.js').Taking) => Promise<*>} of.request  of the conversation
   * @param {() => void} of.changed  called when something is shown otherwise
   */
  constructor({ self, values, request, changed }) {
    this.#self = self;
    this.#values = values;
    this.#request = request;
    this.#changed = changed;
  }

  /**
   * A message as it is shown; the same object for as long as it says the same.
   *
   * @param {Message} message  as the gateway gave it
   * @returns {Message}
   */
  shown(message) {
    const { id, reactions = [], deleted } = message;
    const drafts = this.#drafts.get(id) ?? none;
    if (deleted || (reactions.length === 0 && drafts.length === 0)) return message;
    const [user, known] = [this.#self(), this.#known.get(id)];
    const last = this.#shown.get(message);
    if (last && last.user === user && last.known === known && isSame(last.drafts, drafts)) {
      return last.message;
    }
    let now = reactions.map((reaction) => withOwn(reaction, user, known));
    for (const draft of drafts) now = withDraft(now, draft, user);
    const { reactions: _, ...rest } = message;
    /** @type {Message} */
    const made = now.length === 0 ? rest : { ...rest, reactions: now };
    const value = last && sameReactions(last.message, made) ? last.message : made;
    this.#shown.set(message, { user, known, drafts, message: value });
    return value;
  }

  /**
   * Takes what is not confirmed.
   *
   * @param {readonly Draft[]} drafts  oldest first
   * @returns {boolean}  whether it is other than before
   */
  take(drafts) {
    if (isSame(this.#waiting, drafts)) return false;
    this.#waiting = drafts;
    /** @type {Map<string, Draft[]>} */
    const byMessage = new Map();
    for (const draft of drafts) {
      byMessage.set(draft.id, [...byMessage.get(draft.id) ?? [], draft]);
    }
    this.#drafts = byMessage;
    return true;
  }

  /**
   * Takes the user's own reactions from the answer to a call of theirs.
   *
   * @param {Message} message
   * @param {string[]} keys
   */
  noteOwn({ id, rev }, keys) { this.#known.set(id, { rev, keys: new Set(keys) }); }

  /** A subscription began, maybe at another gateway: what was asked before may be lost. */
  begin() {
    this.#isAnswered = true;
    if (this.#values().some(({ message }) => this.#isOpen(message))) this.#askIn(SOON);
  }

  /**
   * Messages came: has the gateway asked, soon, for what they don't tell.
   *
   * @param {readonly Message[]} messages
   */
  note(messages) {
    if (!this.#isAnswered) return;
    const open = messages.filter((message) => this.#isOpen(message));
    if (open.length === 0) return;
    const isNew = open.some(({ id }) => !this.#known.has(id));
    this.#askIn(isNew ? SOON : AGAIN * (1 - Math.random() / 2));
  }

  /** Forgets all: the log is another one. */
  forget() { this.#known.clear(); }

  /**
   * Whether a message does not tell which reactions are the user's, nor does an answer as new.
   *
   * @param {Message} message
   */
  #isOpen({ id, rev, reactions }) {
    if (reactions === undefined || (this.#known.get(id)?.rev ?? 0) >= rev) return false;
    const user = this.#self();
    return user !== null && reactions.some((reaction) => (
      withOwn(reaction, user, undefined).own === undefined
    ));
  }

  /** @param {number} delay  milliseconds */
  #askIn(delay) {
    const at = Date.now() + delay;
    if (at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => {
      this.#dueAt = Infinity;
      this.#ask();
    }, delay);
  }

  #ask() {
    const here = this.#values().map(({ message }) => message);
    const ids = new Set(here.map(({ id }) => id));
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id);
    const open = here.filter((message) => this.#isOpen(message));
    while (open.length > 0) {
      const [low] = open;
      const behind = open.findIndex(({ seq }) => seq - low.seq >= SPAN);
      this.#askFor(open.splice(0, behind < 0 ? open.length : behind));
    }
  }

  /** @param {Message[]} messages  by ascending seq */
  async #askFor(messages) {
    const asked = new Map(messages.map(({ seq, rev }) => [seq, rev]));
    const [first, last] = [messages[0], messages[messages.length - 1]];
    const params = { after: first.seq - 1, before: last.seq + 1 };
    const final = (/** @type {{own: {seq: number, keys: string[]}[]}} */ { own }) => {
      const keysAt = new Map(own.map(({ seq, keys }) => [seq, keys]));
      for (const { message } of this.#values()) {
        // It is as new as what was heard before the question. What changed since is asked again.
        if (asked.get(message.seq) === message.rev) this.noteOwn(message, keysAt.get(message.seq) ?? []);
      }
      this.#changed();
    };
    try {
      await this.#request('fetchOwnReactions', params, { final });
    } catch (error) {
      // The next subscription asks anew; a gateway that refuses does so for all of them.
      if (RequestError.is(error, 'disconnected')) return;
      if (/** @type {RequestError} */ (error).retry === 'never') this.#isAnswered = false;
      else this.#askIn(AGAIN);
    }
  }
}

/**
 * Whether two values of a message have the same reactions, as they are shown.
 *
 * @param {{reactions?: Reaction[]}} one
 * @param {{reactions?: Reaction[]}} other
 */
export function sameReactions({ reactions: one }, { reactions: other }) {
  return one === other || JSON.stringify(one ?? []) === JSON.stringify(other ?? []);
}

/**
 * @param {Reaction} reaction
 * @param {string | null} user
 * @param {Known | undefined} known
 * @returns {Reaction}
 */
function withOwn({ key, count, users }, user, known) {
  if (user === null) return { key, count, users };
  if (users.includes(user)) return { key, count, users, own: true };
  if (users.length >= count) return { key, count, users, own: false };
  return { key, count, users, ...(known && { own: known.keys.has(key) }) };
}

/**
 * The reactions as they will be when what the user wants is confirmed.
 *
 * @param {Reaction[]} reactions
 * @param {Draft} draft
 * @param {string | null} self
 * @returns {Reaction[]}
 */
function withDraft(reactions, { key = '', on, user: other }, self) {
  const user = other ?? self ?? '';
  const isOwn = user === self;
  const known = reactions.find((reaction) => reaction.key === key);
  const { count, users } = known ?? { key, count: 0, users: /** @type {string[]} */ ([]) };
  const has = users.includes(user) || (isOwn && known?.own);
  // Of one who is not named nobody knows whether they count.
  const step = has === on || (has === undefined && users.length < count) ? 0 : on ? 1 : -1;
  const others = users.filter((each) => each !== user);
  const named = on && !users.includes(user) && step === 1 && count < NAMED ? [...users, user]
    : on ? users : others;
  const now = {
    key, count: count + step, users: named,
    ...(isOwn ? { own: on } : known && 'own' in known && { own: known.own }),
  };
  if (now.count <= 0) return reactions.filter((reaction) => reaction !== known);
  return known ? reactions.map((each) => (each === known ? now : each)) : [...reactions, now];
}

/**
 * @param {readonly Draft[]} one
 * @param {readonly Draft[]} other
 */
function isSame(one, other) {
  return one.length === other.length && one.every((draft, at) => draft === other[at]);
}
