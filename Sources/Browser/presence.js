import { Backoff } from './backoff.js';
import { idOf } from './conversation-id.js';
import { RequestError } from './request-error.js';
import { Signal } from './signal.js';

/** @import { Connection } from './connection.js' */
/** @import { ConversationName } from './conversation-id.js' */
/** @import { EventFrame } from './types.js' */

/**
 * @typedef {object} UserPresence  whether a user is there
 * @property {'present' | 'away' | 'absent' | 'unknown'} state
 * @property {string} [since]  RFC 3339, where it is known; of who is absent: when they were last
 *   there
 * @property {boolean} isOpen  whether it may be otherwise by now: nobody could tell this client
 *
 * @typedef {object} PresenceWatch  whom to watch
 * @property {ConversationName} conversation
 * @property {readonly string[]} [users]  of those who take part; all of them, if left out
 *
 * @typedef {{conversation: string, users?: string[]}} WatchParams  as it is sent
 */

/** What does not fit is asked for again after so long, in milliseconds: people leave. */
const AGAIN = 60_000;

/** @type {UserPresence} */
const UNKNOWN = Object.freeze({ state: 'unknown', isOpen: true });

/** @type {WeakMap<Connection, Presence>} */
const presences = new WeakMap();

/**
 * Whether other users are there: of all whom the views of a connection watch. Each session is asked
 * again; until it answers, and while the gateway is without the origin, each state `isOpen`.
 */
export class Presence {
  /** A user's state, `isOpen` or `error` changed. @type {Signal<void>} */
  changed = new Signal();

  #connection;
  /** What views watch, in the order in which they began. @type {Set<WatchParams[]>} */
  #watches = new Set();
  /** All of it as one watch, and as a text. @type {WatchParams[]} */
  #wanted = [];
  #wantedText = '[]';
  /** So many of its conversations are asked for. */
  #most = Infinity;
  /** What this session was asked for last. @type {string | null} */
  #asked = null;
  #isAsking = false;
  #isDue = false;
  /** Whether this session refuses all questions. */
  #isRefused = false;
  /** Whether what was said last may be otherwise by now. */
  #isBehind = true;
  /** @type {ReadonlyMap<string, UserPresence>} */
  #states = new Map();
  /** @type {RequestError | null} */
  #error = null;
  #backoff = new Backoff();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #again;

  /** @param {Connection} connection */
  constructor(connection) {
    this.#connection = connection;
    connection.live.listen(() => this.#begin());
    connection.changed.listen(() => this.#doubt());
    connection.events.listen((event) => this.#event(event));
  }

  /**
   * The one of a connection.
   *
   * @param {Connection} connection
   */
  static of(connection) {
    const presence = presences.get(connection) ?? new Presence(connection);
    presences.set(connection, presence);
    return presence;
  }

  /** The state of each user who is watched and was told of; the same map until it changes. */
  get states() { return this.#states; }

  /**
   * The state of a user, `unknown` where nothing was told; the same object until it changes.
   *
   * @param {string} user
   * @returns {UserPresence}
   */
  get(user) { return this.#states.get(user) ?? UNKNOWN; }

  /**
   * Why users whom somebody watches are `unknown`: `too_large` above `limits.presence`, where what
   * was asked for last is left out; `clients_presence_off` (`reason`) where the gateway tells
   * nobody. `null` otherwise.
   */
  get error() { return this.#error; }

  /**
   * Watches users until the function that it gives is called, over outages too. What several views
   * watch is one question.
   *
   * @param {readonly PresenceWatch[]} watch
   * @returns {() => void}  ends it
   */
  watch(watch) {
    const entry = watch.map(({ conversation, users }) => (
      { conversation: idOf(conversation), ...users && { users: [...users] } }
    ));
    this.#watches.add(entry);
    this.#look();
    return () => { if (this.#watches.delete(entry)) this.#look(); };
  }

  /** Looks soon what is watched: a view that goes and comes back changes nothing. */
  #look() {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#wanted = mergedWatch([...this.#watches]);
      const text = textOf(this.#wanted);
      if (text === this.#wantedText) return;
      this.#wantedText = text;
      this.#most = Infinity;
      if (this.#wanted.length === 0) this.#take([]);
      this.#ask();
    });
  }

  /** A session began: it watches nothing yet. */
  #begin() {
    this.#isRefused = false;
    this.#most = Infinity;
    this.#askAnew();
  }

  #askAnew() {
    this.#asked = null;
    this.#ask();
  }

  /** Asks for what is wanted, unless it was; one question is under way at a time. */
  async #ask() {
    if (this.#isAsking || this.#isRefused || !this.#connection.isLive) return;
    const watch = this.#wanted.slice(0, this.#most);
    const text = textOf(watch);
    if (text === this.#asked || (this.#asked === null && this.#wanted.length === 0)) return;
    clearTimeout(this.#again);
    this.#isAsking = true;
    this.#asked = text;
    try {
      await this.#connection.request('watchPresence', { watch }, {
        final: (result) => {
          if (watch.length < this.#wanted.length) this.#later(AGAIN);
          else this.#error = null;
          this.#answered(result);
        },
      });
    } catch (error) {
      this.#failed(/** @type {RequestError} */ (error), watch.length);
    }
    this.#isAsking = false;
    this.#ask();
  }

  /** @param {{presence: *[], open?: boolean}} result */
  #answered({ presence, open = false }) {
    this.#isBehind = open || !this.#isOnline;
    if (open) this.#later(this.#backoff.next());
    else this.#backoff.reset();
    this.#take(this.#wanted.length > 0 ? presence : []);
  }

  /**
   * @param {RequestError} error
   * @param {number} count  of the conversations that were asked for
   */
  #failed(error, count) {
    const { code, retry, after } = error;
    if (code === 'disconnected') return;
    if (code === 'too_large' && count > 0) {
      // Less is asked for at once; nothing that is watched may go unnoticed.
      this.#asked = null;
      this.#most = Math.floor(count / 2);
      this.#error = error;
    } else if (retry === 'never') {
      this.#isRefused = true;
      this.#error = error;
      this.#take([]);
    } else {
      this.#later(after ?? this.#backoff.next());
    }
  }

  /** @param {number} delay  milliseconds */
  #later(delay) {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => {
      this.#most = Infinity;
      this.#askAnew();
    }, delay);
  }

  /** @param {EventFrame} event */
  #event(event) {
    if (event.event === 'upstream') {
      this.#doubt();
      if (event.state === 'online') this.#askAnew();
    }
    if (event.event !== 'presence' || this.#wanted.length === 0) return;
    // Another tab asked: the gateway said all of it to that one, and tells changes from there on.
    if (event.presence) this.#answered(/** @type {*} */ (event));
    else if (event.isLost) this.#askAnew();
    else this.#take(event.changes, new Map(this.#states));
  }

  get #isOnline() {
    const { isLive, upstream } = this.#connection;
    return isLive && (upstream === null || upstream.state === 'online');
  }

  /** How the connection stands may have changed. */
  #doubt() {
    if (this.#isBehind || this.#isOnline) return;
    this.#isBehind = true;
    this.#take([], new Map(this.#states));
  }

  /**
   * Takes states, and tells if something changed.
   *
   * @param {{user: string, state: UserPresence['state'], since?: string}[]} told
   * @param {Map<string, UserPresence>} [states]  of whom it was not told
   */
  #take(told, states = new Map()) {
    for (const { user, state, since } of told) {
      states.set(user, { state, ...since !== undefined && { since }, isOpen: false });
    }
    for (const [user, now] of states) {
      const next = { ...now, isOpen: this.#isBehind };
      const known = this.#states.get(user);
      states.set(user, known && isSame(known, next) ? known : next);
    }
    this.#states = states;
    this.changed.emit();
  }
}

/**
 * @param {UserPresence} one
 * @param {UserPresence} other
 */
function isSame(one, other) {
  return one.state === other.state && one.since === other.since && one.isOpen === other.isOpen;
}

/**
 * Several watches as one, in their order.
 *
 * @param {WatchParams[][]} watches
 * @returns {WatchParams[]}
 */
export function mergedWatch(watches) {
  /** The users of each conversation; null for all. @type {Map<string, Set<string> | null>} */
  const all = new Map();
  for (const { conversation, users } of watches.flat()) {
    const known = all.get(conversation);
    if (known === null) continue;
    const now = users && new Set([...known ?? [], ...users]);
    // What is asked for of it last may be what does not fit.
    if (now?.size !== known?.size) all.delete(conversation);
    all.set(conversation, now ?? null);
  }
  return [...all].filter(([, users]) => users?.size !== 0).map(([conversation, users]) => (
    users === null ? { conversation } : { conversation, users: [...users].sort() }
  ));
}

/**
 * A watch as a text, the same in whatever order it was made.
 *
 * @param {WatchParams[]} watch
 */
export function textOf(watch) {
  return JSON.stringify(watch.map((each) => JSON.stringify(each)).sort());
}
