import { Backoff } from './backoff.js';
import { CloseCode, closeReason, codeOfTry, mayComeBack } from './closing.js';
import { followDevice } from './device.js';
import { encoded, refusalBeforeSending } from './encoding.js';
import { OwnPresence } from './own-presence.js';
import { OwnWrites } from './own-writes.js';
import { Patience } from './patience.js';
import { Pending } from './pending.js';
import { refusalOf } from './refusal.js';
import { report } from './report.js';
import { RequestError } from './request-error.js';
import { Signal } from './signal.js';
import { TokenRefresh } from './token-refresh.js';

/** @import { Limits } from './encoding.js' */
/** @import { PresenceState } from './own-presence.js' */
/** @import { EventFrame, Unread, UpstreamState } from './types.js' */
/** @import { Taking } from './pending.js' */

/**
 * Who connects: a name in open mode, otherwise a token, with the moment (RFC 3339) at which it
 * should be replaced, if that is known.
 *
 * @typedef {{user: string} | {token: string, expiresAt?: string}} Credentials
 *
 * Asked before each connection and each refresh; `expired` says that the last token ran out. `null`
 * means that there are none: the connection then ends for good.
 *
 * @typedef {(need: {expired: boolean}) => Credentials | null | Promise<Credentials | null>} Ask
 *
 * @typedef {object} ConnectionState
 * @property {'idle' | 'connecting' | 'live' | 'waiting' | 'closed'} phase  `waiting`: it tries
 *   again at `retryAt`; `closed`: it does not
 * @property {string} [reason]  why it is not live, for people
 * @property {number} [code]  the close code
 * @property {number} [retryAt]  milliseconds since 1970
 * @property {Unread} [unread]  where it was asked for and is known
 */

/** From the first try to the answer of `connect`. */
const CONNECT_TIMEOUT = 15_000;
/** Given to the gateway to close with a code of its own after it refused `connect`. */
const REFUSAL_GRACE = 1_000;
/** A connection that lived this long and was of use was a good one: the next backoff begins at its
 * base. */
const GOOD_AFTER = 10_000;
/** The longest delay that a browser's timer takes. */
const TIMER_LIMIT = 2 ** 31 - 1;

/**
 * One WebSocket session with a gateway, kept alive: it connects, notices silence, comes back with
 * backoff or in a draining gateway's slot, and refreshes its token. What it carried is lost with
 * it; `live` tells when to resume.
 *
 * Listeners run while a frame is read, in the order of frames.
 */
export class Connection {
  /** A session began. @type {Signal<void>} */
  live = new Signal();
  /** The gateway names another user than before: the session ends. @type {Signal<string>} */
  stranger = new Signal();
  /** The state or the upstream's changed. @type {Signal<void>} */
  changed = new Signal();
  /** Each event frame but pings. @type {Signal<EventFrame>} */
  events = new Signal();

  /** @type {ConnectionState} */
  #state = { phase: 'idle' };
  /** @type {UpstreamState | null} */
  #upstream = null;
  /** @type {string | null} */
  #user = null;
  #url;
  #ask;
  #client;
  #unread;
  #environment;
  #backoff;
  #pending = new Pending();
  #writes = new OwnWrites();
  #patience;
  #presence;
  #refresh;
  /** @type {Limits | null} */
  #limits = null;
  /** Whether anything but `connect` was answered in this session. */
  #isOfUse = false;
  /** Ends the following of the device. */
  #leaveDevice = () => {};
  /** @type {WebSocket | null} */
  #socket = null;
  #session = 0;
  /** Counts the tries, so that what belongs to an earlier one is known. */
  #attempt = 0;
  #heardAt = 0;
  /** When the try began, or the session. */
  #since = 0;
  #expired = false;
  /** Whether a socket has opened, or it was said why none does. */
  #isExplained = false;
  /** @type {number | null} */
  #slotAt = null;
  /** @type {Record<'step' | 'silence' | 'refresh' | 'slot' | 'presence', *>} */
  #timers = { step: null, silence: null, refresh: null, slot: null, presence: null };

  /**
   * @param {object} options
   * @param {string} options.url  `ws:` or `wss:`
   * @param {Ask} options.credentials
   * @param {string} [options.client]  the name under which the gateway knows this program
   * @param {boolean} [options.unread]  asks for `unread`
   * @param {PresenceState} [options.presence]  how the user is there, see `setPresence`
   * @param {string | null} [options.user]  the user, if known before the gateway says
   * @param {Partial<{WebSocket: typeof WebSocket, now: () => number, tick: () => number,
   *   setTimeout: typeof setTimeout, clearTimeout: typeof clearTimeout, random: () => number,
   *   device: *}>} [options.environment]  `tick`: a clock that nobody sets
   */
  constructor({
    url, credentials, client = 'gapless.js', unread = false, presence = 'present', user = null,
    environment,
  }) {
    this.#url = url;
    this.#ask = credentials;
    this.#client = client;
    this.#unread = unread || undefined;
    this.#user = user;
    this.#environment = {
      WebSocket: globalThis.WebSocket, now: () => Date.now(), random: Math.random,
      tick: () => performance.now(), device: globalThis,
      setTimeout: globalThis.setTimeout.bind(globalThis),
      clearTimeout: globalThis.clearTimeout.bind(globalThis),
      ...environment,
    };
    this.#backoff = new Backoff({ random: this.#environment.random });
    this.#patience = new Patience((...request) => this.#send(...request), this.#environment);
    this.#presence = new OwnPresence(presence, {
      isLive: () => this.isLive,
      send: (state) => this.request('setPresence', { state }),
      timer: (delay, action) => this.#timer('presence', delay, action),
    });
    this.#refresh = new TokenRefresh({
      ask: credentials, send: (method, params) => this.#send(method, params, {}),
      timer: (delay, action) => this.#timer('refresh', delay, action),
      now: () => this.#environment.now(),
    });
  }

  /** Where the connection stands. */
  get state() { return this.#state; }

  /** Whether requests can be made. */
  get isLive() { return this.#state.phase === 'live'; }

  /** Counts the sessions that began. */
  get session() { return this.#session; }

  /** The gateway's link to the origin; `null` before the first session. */
  get upstream() { return this.#upstream; }

  /** The user that the gateway names; before the first session the expected one, or `null`. */
  get user() { return this.#user; }

  /**
   * Binds the connection to a user, as for a store: if the gateway names another, it ends as with
   * any `stranger`.
   *
   * @param {string} user
   * @throws {Error}  if the user is known to be another
   */
  expect(user) {
    if (this.#user !== null && this.#user !== user) {
      throw new Error(`what is of ${user} can't be used by a connection of ${this.#user}`);
    }
    this.#user = user;
  }

  /**
   * What the user has not read; `null` until it is known. `changed` tells of it.
   *
   * @returns {Unread | null}
   */
  get unread() { return this.#state.unread ?? null; }

  /**
   * Says how the user is there by this connection, now and in each later session. A user is present
   * if any connection is, else away if any is. `hidden`: to others they are not there by it.
   *
   * @param {PresenceState} state
   * @throws {TypeError}  if it is none
   */
  setPresence(state) { this.#presence.set(state); }

  /** The gateway's limits; `null` before the first session. */
  get limits() { return this.#limits; }

  /** Milliseconds on a clock that nobody sets. */
  get tick() { return this.#environment.tick(); }

  /** Connects, and stays connected until `close`. */
  open() {
    if (this.#state.phase !== 'idle' && this.#state.phase !== 'closed') return;
    this.#leaveDevice();
    const { device } = this.#environment;
    this.#leaveDevice = followDevice({ cut: () => this.cut(), wake: () => this.wake() }, device);
    this.#connect();
  }

  /** Ends the connection for good. */
  close() { this.#lose(1000, undefined, false); }

  /** Closes the socket: the device lost its network. */
  cut() {
    if (['live', 'connecting'].includes(this.#state.phase)) {
      this.#lose(CloseCode.broken, 'this device is offline');
    }
  }

  /** Ends a wait: tries to connect at once. */
  wake() {
    if (this.#state.phase === 'waiting') this.#connect();
  }

  /**
   * Makes a request.
   *
   * @param {string} method
   * @param {object} [params]
   * @param {Taking} [taking]
   * @returns {Promise<*>} the final result
   * @throws {RequestError}
   */
  request(method, params = {}, taking = {}) {
    if (!this.isLive) return Promise.reject(RequestError.disconnected());
    const named = this.#writes.named(method, params);
    const noting = { ...taking, final: (/** @type {*} */ result) => {
      this.#writes.note(method, named, result);
      taking.final?.(result);
    } };
    return Patience.has(method) ? this.#patience.ask(method, named, noting)
      : this.#send(method, named, noting);
  }

  /**
   * Why a request would not be sent; `null` if nothing is known against it.
   *
   * @param {string} method
   * @param {object} params
   */
  refuses(method, params) { return refusalBeforeSending(method, params, this.#limits); }

  /**
   * Sends a request on the present socket, live or not. One that closes takes none, and fails it.
   *
   * @param {string} method
   * @param {object} params
   * @param {Taking} taking
   */
  #send(method, params, taking) {
    let text;
    try {
      text = encoded({ id: this.#pending.nextId, method, params }, this.#limits);
    } catch (error) {
      return Promise.reject(error);
    }
    const { reply } = this.#pending.add(taking);
    if (!(this.#socket?.readyState > 1)) this.#socket?.send(text);
    return reply;
  }

  /** Whether the try or session of now is still the present one, for later. */
  #current() {
    const attempt = this.#attempt;
    return () => attempt === this.#attempt;
  }

  /** Begins a try. */
  async #connect() {
    this.#attempt += 1;
    const isCurrent = this.#current();
    this.#clearTimers();
    this.#slotAt = null;
    this.#since = this.tick;
    this.#setState({ phase: 'connecting' });
    this.#timer('step', CONNECT_TIMEOUT, () => this.#lose(CloseCode.broken, 'no answer'));
    let credentials;
    try {
      credentials = await this.#ask({ expired: this.#expired });
    } catch (error) {
      report(error);
      if (isCurrent()) this.#lose(CloseCode.broken, 'no credentials could be had');
      return;
    }
    if (!isCurrent()) return;
    if (credentials === null) {
      const code = this.#expired ? CloseCode.tokenExpired : CloseCode.tokenRefused;
      this.#lose(code, this.#expired ? undefined : 'no credentials', false);
      return;
    }
    this.#expired = false;
    this.#openSocket(credentials);
  }

  /** @param {Credentials} credentials */
  #openSocket(credentials) {
    let socket;
    try {
      socket = new this.#environment.WebSocket(this.#url, 'gapless.v1');
    } catch (error) {
      // An address that is none, or that the page's policy forbids: another try is refused as well.
      report(error);
      this.#lose(CloseCode.broken, /** @type {Error} */ (error).message, false);
      return;
    }
    this.#socket = socket;
    // A socket that was given up may still speak; nobody listens to it.
    socket.onopen = () => {
      if (socket !== this.#socket) return;
      this.#isExplained = true;
      this.#greet(credentials);
    };
    socket.onmessage = ({ data }) => { if (socket === this.#socket) this.#receive(data); };
    socket.onclose = ({ code }) => {
      if (socket !== this.#socket) return;
      this.#lose(this.isLive ? code : codeOfTry(code, this.tick - this.#since));
      this.#explain();
    };
    // One that was open before says so no more.
    if (socket.readyState === 1) socket.onopen(new Event('open'));
  }

  /** Finds out why a socket never opened, and says so, also to the author of the page. */
  async #explain() {
    if (this.#isExplained) return;
    const reason = await refusalOf(this.#url);
    if (reason === null || this.#isExplained) return;
    this.#isExplained = true;
    console.warn(`gapless: ${reason}`);
    if (this.#state.phase === 'waiting') this.#setState({ ...this.#state, reason });
  }

  /** @param {Credentials} credentials */
  async #greet(credentials) {
    const isCurrent = this.#current();
    const { expiresAt, ...identity } = /** @type {*} */ (credentials);
    try {
      await this.#send('connect', {
        ...identity, client: this.#client, unread: this.#unread,
        presence: this.#presence.greeting(),
      }, {
        final: (result) => this.#begin(result, expiresAt),
      });
    } catch (error) {
      if (!isCurrent() || !(error instanceof RequestError)) return;
      if (error.code === 'disconnected') return;
      const isWithout = error.reason === 'clients_presence_off';
      if (isWithout) this.#presence.refused();
      const isFinal = error.retry === 'never' && !isWithout;
      const code = isFinal ? CloseCode.tokenRefused : CloseCode.broken;
      const { message } = error;
      this.#timer('step', REFUSAL_GRACE, () => this.#lose(code, message));
    }
  }

  /**
   * Begins the session that `connect` was answered with.
   *
   * @param {{user: string, pingInterval: number, limits?: Limits, upstream?: UpstreamState}} result
   * @param {string} [expiresAt]
   */
  #begin(result, expiresAt) {
    if (this.#user !== null && result.user !== this.#user) {
      this.#lose(1000, 'signed in as somebody else', false);
      this.stranger.emit(result.user);
      return;
    }
    this.#clearTimers();
    this.#user = result.user;
    this.#upstream = result.upstream ?? null;
    this.#limits = result.limits ?? null;
    this.#isOfUse = false;
    this.#since = this.tick;
    this.#watchSilence(result.pingInterval * 1500);
    this.#refresh.before(expiresAt, this.#current());
    this.#session += 1;
    this.#setState({ phase: 'live' });
    this.live.emit();
    this.#presence.say();
  }

  /** @param {*} data */
  #receive(data) {
    this.#heardAt = this.tick;
    /** @type {*} */
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      this.#lose(CloseCode.broken, 'a frame was not JSON');
      return;
    }
    if (frame.event === undefined) {
      this.#isOfUse = this.isLive;
      const { unreadTotal, conversations = [], open = false } = frame.result ?? {};
      if (unreadTotal) {
        // An answer to one list tells the connection, and nothing tells its other lists again.
        const of = conversations.map(ownOf);
        this.#noteUnread({ event: 'unread', ...unreadTotal, open, of });
      }
      this.#pending.settle(frame);
    } else if (frame.event !== 'ping') {
      if (frame.event === 'goaway') this.#leaveIn(frame.reconnectIn);
      this.#writes.heard(frame);
      if (frame.event === 'upstream') this.#upstream = { state: frame.state, since: frame.since };
      if (frame.event === 'unread') this.#noteUnread(frame);
      else this.events.emit(frame);
      if (frame.event === 'upstream') this.changed.emit();
    }
  }

  /** @param {*} frame  the `unread` event, or one with what an answer says */
  #noteUnread(frame) {
    this.events.emit(frame);
    // A gateway of before counts no mentions.
    const { messages, conversations, mentions = 0, open = false } = frame;
    this.#setState({ ...this.#state, unread: { messages, conversations, mentions, open } });
  }

  /**
   * The gateway drains: come back in the slot that it gave, whether it closes before or not.
   *
   * @param {number} delay  milliseconds
   */
  #leaveIn(delay) {
    this.#slotAt = this.tick + delay;
    this.#timer('slot', delay, () => this.#lose(CloseCode.draining));
  }

  /**
   * Cuts a connection off on which nothing was heard for `limit` milliseconds.
   *
   * @param {number} limit
   */
  #watchSilence(limit) {
    const silence = this.tick - this.#heardAt;
    if (silence >= limit) {
      this.#lose(CloseCode.broken, 'nothing was heard from the gateway');
    } else {
      this.#timer('silence', limit - silence, () => this.#watchSilence(limit));
    }
  }

  /**
   * Ends the present try or session and decides about the next one.
   *
   * @param {number} code
   * @param {string} [reason]
   * @param {boolean} [again]
   */
  #lose(code, reason = closeReason(code), again = mayComeBack(code)) {
    // One that answers nothing but `connect`, as where large packets get lost, is not of use.
    const isGood = this.isLive && (this.#isOfUse || this.#pending.isEmpty);
    if (isGood && this.tick - this.#since >= GOOD_AFTER) this.#backoff.reset();
    this.#attempt += 1;
    this.#clearTimers();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#expired = code === CloseCode.tokenExpired;
    if (code === CloseCode.connectionLimit) this.#backoff.exhaust();
    if (again) {
      const wait = this.#slotAt === null
        ? this.#backoff.next() : Math.max(0, this.#slotAt - this.tick);
      this.#timer('step', wait, () => this.#connect());
      const retryAt = this.#environment.now() + wait;
      this.#setState({ phase: 'waiting', reason, code, retryAt });
    } else {
      this.#leaveDevice();
      this.#setState({ phase: 'closed', reason, code });
    }
    this.#patience.end();
    this.#pending.failAll(RequestError.disconnected());
  }

  /** @param {ConnectionState} state */
  #setState(state) {
    // What was known last is shown on, as what may be behind.
    const unread = state.unread ?? (this.#state.unread && { ...this.#state.unread, open: true });
    this.#state = unread ? { ...state, unread } : state;
    this.changed.emit();
  }

  /**
   * @param {'step' | 'silence' | 'refresh' | 'slot' | 'presence'} name
   * @param {number} delay  milliseconds
   * @param {() => void} action
   */
  #timer(name, delay, action) {
    this.#environment.clearTimeout(this.#timers[name]);
    this.#timers[name] = this.#environment.setTimeout(action, Math.min(delay, TIMER_LIMIT));
  }

  #clearTimers() {
    for (const timer of Object.values(this.#timers)) this.#environment.clearTimeout(timer);
  }
}

/**
 * What a conversation of an answer says of the user's own.
 *
 * @param {import('./types.js').ConversationRecord} record
 */
function ownOf({ id, lastReadSeq, unreadCount, unreadMentions }) {
  return { conversation: id, lastReadSeq, unreadCount, unreadMentions };
}
