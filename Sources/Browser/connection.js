import { Backoff } from './backoff.js';
import { CloseCode, closeReason, codeOfTry, mayComeBack } from './closing.js';
import { Pending } from './pending.js';
import { refusalOf } from './refusal.js';
import { RequestError } from './request-error.js';
import { Signal } from './signal.js';

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
 * @property {string} [reason]  why it is not live, for a person to read
 * @property {number} [code]  the close code
 * @property {number} [retryAt]  milliseconds since 1970
 * @property {Unread} [unread]  where it was asked for and is known
 */

/** From the first try to the answer of `connect`. */
const CONNECT_TIMEOUT = 15_000;
/** Given to the gateway to close with a code of its own after it refused `connect`. */
const REFUSAL_GRACE = 1_000;
/** A connection that lived this long was a good one: the next backoff begins at its base. */
const GOOD_AFTER = 10_000;
/** The longest delay that a browser's timer takes. */
const TIMER_LIMIT = 2 ** 31 - 1;

/**
 * One WebSocket session with a gateway, kept alive: it connects, notices silence, comes back with
 * jittered backoff or in the slot that a draining gateway gave it, and refreshes its token. What a
 * connection carried is lost with it; `live` tells everybody who has something to resume.
 *
 * Belongs to the page's one thread. Listeners run while a frame is read, in the order of frames.
 */
export class Connection {
  /** Each time that a session begins, and with it an empty slate. @type {Signal<void>} */
  live = new Signal();
  /** The gateway says that we are somebody else than before, and who; that session is over before
   * anything of the first one's was said in it. @type {Signal<string>} */
  stranger = new Signal();
  /** The state of the connection or of the gateway's upstream changed. @type {Signal<void>} */
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
  /** @type {Record<'step' | 'silence' | 'refresh' | 'slot', *>} */
  #timers = { step: null, silence: null, refresh: null, slot: null };

  /**
   * @param {object} options
   * @param {string} options.url  `ws:` or `wss:`
   * @param {Ask} options.credentials
   * @param {string} [options.client]  the name under which the gateway knows this program
   * @param {boolean} [options.unread]  asks to be told what the user has not read: see `unread`
   * @param {string | null} [options.user]  who we are, where that is known before the gateway says
   * @param {Partial<{WebSocket: typeof WebSocket, now: () => number, setTimeout: typeof setTimeout,
   *   clearTimeout: typeof clearTimeout, random: () => number}>} [options.environment]
   */
  constructor({
    url, credentials, client = 'gapless.js', unread = false, user = null, environment,
  }) {
    this.#url = url;
    this.#ask = credentials;
    this.#client = client;
    this.#unread = unread || undefined;
    this.#user = user;
    this.#environment = {
      WebSocket: globalThis.WebSocket, now: () => Date.now(), random: Math.random,
      setTimeout: globalThis.setTimeout.bind(globalThis),
      clearTimeout: globalThis.clearTimeout.bind(globalThis),
      ...environment,
    };
    this.#backoff = new Backoff({ random: this.#environment.random });
  }

  /** Where the connection stands. */
  get state() { return this.#state; }

  /** Whether requests can be made. */
  get isLive() { return this.#state.phase === 'live'; }

  /** Counts the sessions that began. */
  get session() { return this.#session; }

  /** Where the gateway stands with the chat's origin, `null` before the first session. */
  get upstream() { return this.#upstream; }

  /** Who the gateway says that we are; before the first session, who was expected, or `null`. */
  get user() { return this.#user; }

  /** What the user has not read, over all conversations; `null` until it is known. `changed` tells
   * when it is another. @returns {Unread | null} */
  get unread() { return this.#state.unread ?? null; }

  /** Connects, and stays connected until `close`. */
  open() {
    if (this.#state.phase === 'idle' || this.#state.phase === 'closed') this.#connect();
  }

  /** Ends the connection for good. */
  close() { this.#lose(1000, undefined, false); }

  /** The device lost its network: a socket that stands would only be silent for long. */
  cut() {
    if (['live', 'connecting'].includes(this.#state.phase)) {
      this.#lose(CloseCode.broken, 'this device is offline');
    }
  }

  /** Tries at once where it waits: the network came back, or a person asked. */
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
    return this.#send(method, params, taking);
  }

  /**
   * Sends a request on the present socket, live or not. One that closes takes none, and fails it.
   *
   * @param {string} method
   * @param {object} params
   * @param {Taking} taking
   */
  #send(method, params, taking) {
    const { id, reply } = this.#pending.add(taking);
    if (!(this.#socket?.readyState > 1)) this.#socket?.send(JSON.stringify({ id, method, params }));
    return reply;
  }

  /** Begins a try. */
  async #connect() {
    this.#attempt += 1;
    const attempt = this.#attempt;
    this.#clearTimers();
    this.#slotAt = null;
    this.#since = this.#environment.now();
    this.#setState({ phase: 'connecting' });
    this.#timer('step', CONNECT_TIMEOUT, () => this.#lose(CloseCode.broken, 'no answer'));
    let credentials;
    try {
      credentials = await this.#ask({ expired: this.#expired });
    } catch {
      if (attempt === this.#attempt) this.#lose(CloseCode.broken, 'no credentials could be had');
      return;
    }
    if (attempt !== this.#attempt) return;
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
    const socket = new this.#environment.WebSocket(this.#url, 'gapless.v1');
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
      this.#lose(this.isLive ? code : codeOfTry(code, this.#environment.now() - this.#since));
      this.#explain();
    };
    // One that was open before says so no more.
    if (socket.readyState === 1) socket.onopen(new Event('open'));
  }

  /** Finds out why a socket never opened, and says so, to whoever writes the page too. */
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
    const attempt = this.#attempt;
    const { expiresAt, ...identity } = /** @type {*} */ (credentials);
    try {
      await this.#send('connect', { ...identity, client: this.#client, unread: this.#unread }, {
        final: (result) => this.#begin(result, expiresAt),
      });
    } catch (error) {
      if (attempt !== this.#attempt || !(error instanceof RequestError)) return;
      if (error.code === 'disconnected') return;
      const code = error.retry === 'never' ? CloseCode.tokenRefused : CloseCode.broken;
      const { message } = error;
      this.#timer('step', REFUSAL_GRACE, () => this.#lose(code, message));
    }
  }

  /**
   * Begins the session that `connect` was answered with.
   *
   * @param {{user: string, pingInterval: number, upstream?: UpstreamState}} result
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
    this.#since = this.#environment.now();
    this.#watchSilence(result.pingInterval * 1500);
    this.#refreshBefore(expiresAt);
    this.#session += 1;
    this.#setState({ phase: 'live' });
    this.live.emit();
  }

  /** @param {*} data */
  #receive(data) {
    this.#heardAt = this.#environment.now();
    /** @type {*} */
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      this.#lose(CloseCode.broken, 'a frame was not JSON');
      return;
    }
    if (frame.event === undefined) {
      const { unreadTotal, open = false } = frame.result ?? {};
      if (unreadTotal) this.#setState({ ...this.#state, unread: { ...unreadTotal, open } });
      this.#pending.settle(frame);
    } else if (frame.event !== 'ping') {
      if (frame.event === 'goaway') this.#leaveIn(frame.reconnectIn);
      if (frame.event === 'upstream') this.#upstream = { state: frame.state, since: frame.since };
      this.events.emit(frame);
      if (frame.event === 'unread') {
        const { messages, conversations, open = false } = frame;
        this.#setState({ ...this.#state, unread: { messages, conversations, open } });
      }
      if (frame.event === 'upstream') this.changed.emit();
    }
  }

  /**
   * The gateway drains: come back in the slot that it gave, whether it closes before or not.
   *
   * @param {number} delay  milliseconds
   */
  #leaveIn(delay) {
    this.#slotAt = this.#environment.now() + delay;
    this.#timer('slot', delay, () => this.#lose(CloseCode.draining));
  }

  /**
   * Cuts a connection off on which nothing was heard for `limit` milliseconds.
   *
   * @param {number} limit
   */
  #watchSilence(limit) {
    const silence = this.#environment.now() - this.#heardAt;
    if (silence >= limit) {
      this.#lose(CloseCode.broken, 'nothing was heard from the gateway');
    } else {
      this.#timer('silence', limit - silence, () => this.#watchSilence(limit));
    }
  }

  /**
   * Replaces the token in time: when nine tenths of what it had left are over.
   *
   * @param {string} [expiresAt]
   */
  #refreshBefore(expiresAt) {
    if (expiresAt === undefined) return;
    const left = Date.parse(expiresAt) - this.#environment.now();
    if (Number.isNaN(left)) return;
    this.#timer('refresh', Math.max(1000, left * 0.9), () => this.#refresh());
  }

  async #refresh() {
    const attempt = this.#attempt;
    try {
      const credentials = await this.#ask({ expired: false });
      if (attempt !== this.#attempt || !credentials || !('token' in credentials)) return;
      const { expiresAt } = await this.#send('refresh', { token: credentials.token }, {});
      if (attempt === this.#attempt) this.#refreshBefore(expiresAt);
    } catch {
      // The gateway ends the session when the token runs out; that path asks for a new one.
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
    if (this.isLive && this.#environment.now() - this.#since >= GOOD_AFTER) this.#backoff.reset();
    this.#attempt += 1;
    this.#clearTimers();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#expired = code === CloseCode.tokenExpired;
    if (code === CloseCode.connectionLimit) this.#backoff.exhaust();
    if (again) {
      const now = this.#environment.now();
      const retryAt = this.#slotAt === null
        ? now + this.#backoff.next() : Math.max(now, this.#slotAt);
      this.#timer('step', retryAt - now, () => this.#connect());
      this.#setState({ phase: 'waiting', reason, code, retryAt });
    } else {
      this.#setState({ phase: 'closed', reason, code });
    }
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
   * @param {'step' | 'silence' | 'refresh' | 'slot'} name
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
