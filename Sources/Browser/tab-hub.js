import { presenceOf } from './own-presence.js';
import { TabWatches } from './tab-watches.js';

/** @import { Connection } from './connection.js' */
/** @import { PresenceState } from './own-presence.js' */
/** @import { EventFrame } from './types.js' */

/**
 * One tab, as the hub sees it: takes what is for it, in order.
 *
 * @typedef {(message: HubMessage) => void} Port
 *
 * @typedef {{id: number, method: string, params: *}} Ask
 *
 * @typedef {{kind: 'state', session: number, state: *, user: string | null, upstream: *,
 *   limits: import('./encoding.js').Limits | null}
 *   | {kind: 'event', event: EventFrame}
 *   | {kind: 'reply', frame: {id: number, cached?: boolean, result?: *, error?: *}}
 *   | {kind: 'stranger', user: string}} HubMessage
 */

/**
 * The one session of all tabs, at the tab that leads: their requests go out over it, each event
 * goes to all of them. A subscription is the session's, not the tab's: it ends with the last tab
 * that wants it. A tab that subscribes again resyncs, and the other tabs notice nothing: the
 * gateway has sent them everything before its answer.
 */
export class TabHub {
  /** @type {Map<string, {nonce: string, port: Port, presence: PresenceState}>} */
  #ports = new Map();
  /** Who is subscribed to what; the list of conversations is under ''. */
  /** @type {Map<string, Set<string>>} */
  #subscribed = new Map();
  /** What was asked for and not answered. @type {Set<{subject: string | null, tab: string}>} */
  #asked = new Set();
  #watches;
  #connection;
  #tellAll;
  /** @type {(() => void)[]} */
  #listening;

  /**
   * @param {Connection} connection
   * @param {(message: HubMessage) => void} tellAll  reaches every tab, in order with their ports
   */
  constructor(connection, tellAll) {
    this.#connection = connection;
    this.#tellAll = tellAll;
    this.#watches = new TabWatches(connection, (event, but) => this.#tellOthers(event, but));
    this.#listening = [
      connection.changed.listen(() => this.#changed()),
      connection.events.listen((event) => this.#event(event)),
      connection.stranger.listen((user) => tellAll({ kind: 'stranger', user })),
    ];
  }

  /** How the session stands. @returns {HubMessage} */
  get state() {
    const { session, state, user, upstream, limits } = this.#connection;
    return { kind: 'state', session, state, user, upstream, limits };
  }

  /** The connection, of which tabs may ask. */
  get connection() { return this.#connection; }

  /**
   * Whether a tab is one of those that are served.
   *
   * @param {string} tab
   * @param {string} [nonce]  under which it asked to be; any, if left out
   */
  has(tab, nonce) {
    const known = this.#ports.get(tab);
    return known !== undefined && (nonce === undefined || nonce === known.nonce);
  }

  /**
   * @param {string} tab
   * @param {string} nonce
   * @param {Port} port
   * @param {PresenceState} presence  how its user is there by it
   */
  attach(tab, nonce, port, presence) {
    this.#drop(tab);
    this.#ports.set(tab, { nonce, port, presence });
    this.#say();
  }

  /**
   * How the user is there by a tab changed.
   *
   * @param {string} tab
   * @param {PresenceState} presence
   */
  setPresence(tab, presence) {
    const known = this.#ports.get(tab);
    if (known) known.presence = presence;
    this.#say();
  }

  /**
   * A tab is gone: what only it wanted ends.
   *
   * @param {string} tab
   */
  detach(tab) {
    this.#drop(tab);
    this.#say();
  }

  /** @param {string} tab */
  #drop(tab) {
    if (!this.#ports.delete(tab)) return;
    this.#watches.end(tab);
    for (const [subject, tabs] of [...this.#subscribed]) {
      if (!tabs.delete(tab) || tabs.size > 0) continue;
      this.#subscribed.delete(subject);
      const [method, params] = subject === '' ? ['unsubscribeConversations', {}]
        : ['unsubscribeMessages', { conversation: subject }];
      this.#connection.request(method, params).catch(() => {});
    }
  }

  /**
   * Makes a request for a tab.
   *
   * @param {string} tab
   * @param {Ask} ask
   */
  ask(tab, { id, method, params }) {
    // What is answered to a tab that began anew is for nobody.
    const { nonce } = this.#ports.get(tab) ?? {};
    const reply = (/** @type {object} */ frame) => {
      if (!this.has(tab, nonce)) return;
      this.#ports.get(tab)?.port({ kind: 'reply', frame: { id, ...frame } });
    };
    if (method === 'watchPresence') {
      this.#watches.ask({
        tab, watch: params.watch, isThere: () => this.has(tab, nonce),
        reply: (result) => reply({ result }), fail: (error) => reply(failure(error)),
      });
      return;
    }
    const subject = subjectOf(method, params);
    if (subject !== null && method.startsWith('unsubscribe') && !this.#isLast(subject, tab)) {
      reply({ result: {} });
      return;
    }
    const wasIn = subject !== null && this.#subscribed.get(subject)?.has(tab) === true;
    const subscribes = subject !== null && method.startsWith('subscribe');
    if (subscribes) this.#add(subject, tab);
    const asked = { subject, tab };
    if (subscribes) this.#asked.add(asked);
    this.#connection.request(method, params, {
      cached: (result) => reply({ cached: true, result }),
      final: (result) => {
        this.#asked.delete(asked);
        reply({ result });
        if (subscribes && subject !== '') this.#renew(subject, tab);
      },
    }).catch((error) => {
      this.#asked.delete(asked);
      if (subscribes && !wasIn) this.#remove(subject, tab);
      reply(failure(error));
    });
  }

  /** Says how the user is there by all tabs. */
  #say() {
    const states = [...this.#ports.values()].map(({ presence }) => presence);
    if (states.length > 0) this.#connection.setPresence(presenceOf(states));
  }

  /**
   * @param {EventFrame} event
   * @param {string} [but]  the tab that knows it
   */
  #tellOthers(event, but) {
    for (const [tab, { port }] of this.#ports) if (tab !== but) port({ kind: 'event', event });
  }

  /** Stops serving the tabs. */
  close() {
    for (const stop of this.#listening) stop();
    this.#ports.clear();
    this.#connection.close();
  }

  #changed() {
    // What was subscribed to was the session's.
    if (!this.#connection.isLive) {
      this.#subscribed.clear();
      this.#watches.clear();
    }
    this.#tellAll(this.state);
  }

  /** @param {EventFrame} event */
  #event(event) {
    if (event.event === 'unsubscribed' || event.event === 'reset') {
      this.#ended(event.conversation);
    }
    this.#tellAll({ kind: 'event', event });
  }

  /**
   * A subscription has ended. Who asked for it meanwhile gets one that begins after that.
   *
   * @param {string} conversation
   */
  #ended(conversation) {
    this.#subscribed.delete(conversation);
    for (const { subject, tab } of this.#asked) {
      if (subject === conversation) this.#add(subject, tab);
    }
  }

  /**
   * A tab subscribed anew: what the gateway wanted to push to the others it now pushes as this one
   * needs it. They ask for what they still lack.
   *
   * @param {string} conversation
   * @param {string} but  the tab that did
   */
  #renew(conversation, but) {
    const event = { event: 'renewed', conversation };
    for (const tab of this.#subscribed.get(conversation) ?? []) {
      if (tab !== but) this.#ports.get(tab)?.port({ kind: 'event', event });
    }
  }

  /**
   * @param {string} subject
   * @param {string} tab
   */
  #add(subject, tab) {
    this.#subscribed.set(subject, (this.#subscribed.get(subject) ?? new Set()).add(tab));
  }

  /**
   * @param {string} subject
   * @param {string} tab
   */
  #remove(subject, tab) {
    const tabs = this.#subscribed.get(subject);
    tabs?.delete(tab);
    if (tabs?.size === 0) this.#subscribed.delete(subject);
  }

  /**
   * Takes a tab's subscription away; whether nobody else has it.
   *
   * @param {string} subject
   * @param {string} tab
   */
  #isLast(subject, tab) {
    this.#remove(subject, tab);
    for (const asked of this.#asked) {
      if (asked.subject === subject && asked.tab === tab) this.#asked.delete(asked);
    }
    return !this.#subscribed.has(subject);
  }
}

/**
 * What a request subscribes to or ends: a conversation, '' for the list of them, null for nothing.
 *
 * @param {string} method
 * @param {{conversation?: string}} params
 */
function subjectOf(method, { conversation = '' }) {
  switch (method) {
    case 'subscribeMessages': case 'unsubscribeMessages': return conversation;
    case 'subscribeConversations': case 'unsubscribeConversations': return '';
    default: return null;
  }
}

/**
 * An error as a reply brings it.
 *
 * @param {*} error
 */
function failure({ code = 'internal', reason, message, retry, after, current }) {
  return { error: { code, reason, message, retry, after, current } };
}
