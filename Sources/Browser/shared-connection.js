import { Connection } from './connection.js';
import { followDevice } from './device.js';
import { asSent, refusalBeforeSending } from './encoding.js';
import { newIdentifier } from './identifier.js';
import { browserTabs, isLater, Leadership, TabLock } from './leadership.js';
import { Leading } from './leading.js';
import { checkedPresence } from './own-presence.js';
import { OwnWrites } from './own-writes.js';
import { Pending } from './pending.js';
import { RequestError } from './request-error.js';
import { Signal } from './signal.js';

/** @import { Ask, ConnectionState } from './connection.js' */
/** @import { Limits } from './encoding.js' */
/** @import { TabEnvironment, Term } from './leadership.js' */
/** @import { PresenceState } from './own-presence.js' */
/** @import { Taking } from './pending.js' */
/** @import { HubMessage } from './tab-hub.js' */
/** @import { EventFrame, UpstreamState } from './types.js' */

/** A tab asks its leader this often whether it is there, in milliseconds. */
const BEAT = 2_000;
/** After a reload its name is this tab's again; a tab that was copied waits so long for it. */
const COPIED = 1_000;
/** One that is closed and not opened again for so long is gone for the others. */
const REOPENED = 3_000;
/** One that says nothing for so long is frozen, and loses the lead. */
const SILENCE = 7_000;

/**
 * One connection for all tabs of a user in one browser, in each of them as a `Connection` of its
 * own: the tab that leads has the socket, the others ask by way of it. To each tab a new leader is
 * a new session, so that it resumes with its own `have` and sends again what was not confirmed.
 *
 * Invariant: what a tab takes are the frames of one session of one leader, in their order and
 * without a hole, from the moment at which that leader took it in.
 */
export class SharedConnection {
  /** Each time that a session begins. @type {Signal<void>} */
  live = new Signal();
  /** The gateway says that we are somebody else than before. @type {Signal<string>} */
  stranger = new Signal();
  /** The state or the upstream's changed. @type {Signal<void>} */
  changed = new Signal();
  /** Each event frame but pings. @type {Signal<EventFrame>} */
  events = new Signal();
  /** A tab may be gone, which this one should know as it leads. @type {Signal<string>} */
  gone = new Signal();
  /** This tab began to lead. @type {Signal<void>} */
  leads = new Signal();
  /** This tab has closed its connection, and is gone for the others. @type {Signal<void>} */
  left = new Signal();
  /** Who this tab is, the same over a reload, another some time after `close`; it holds the lock of
   * this name from `open` on. */
  tab = newIdentifier();

  /** @type {ConnectionState} */
  #state = { phase: 'idle' };
  /** @type {UpstreamState | null} */
  #upstream = null;
  /** @type {Limits | null} */
  #limits = null;
  /** @type {string | null} */
  #user;
  #session = 0;
  /** The session of the leader that this tab is in; 0 for none. */
  #leaderSession = 0;
  #pending = new Pending();
  /** A tab that leads no more takes what it knew with it. */
  #writes = new OwnWrites();
  #options;
  #environment;
  #connect;
  #name;
  #leadership;
  /** @type {BroadcastChannel | null} */
  #channel = null;
  /** The newest leader heard of. @type {Term | null} */
  #term = null;
  /** Under which this tab was taken in by it; another with each try. @type {string | null} */
  #nonce = null;
  /** The number of its last message; null until it took us in. @type {number | null} */
  #heard = null;
  #heardAt = 0;
  #beatAt = 0;
  /** What this tab does while it leads. @type {Leading | null} */
  #leading = null;
  /** @type {*} */
  #timer = null;
  #beats = 0;
  #lock;
  /** How the user is there by this tab. @type {PresenceState} */
  #own;
  /** Until it is gone for the others, after it was closed. @type {*} */
  #leaving = null;
  /** Ends the following of the device. */
  #leaveDevice = () => {};

  /**
   * @param {object} options
   * @param {string} options.url  `ws:` or `wss:`
   * @param {Ask} options.credentials  those of the tab that leads are asked
   * @param {string} options.user  who we are: tabs of another user share nothing with this one
   * @param {string} [options.client]
   * @param {PresenceState} [options.presence]  how the user is there by this tab
   * @param {*} [options.environment]  for tests, see `Connection`
   * @param {TabEnvironment} [options.tabs]  for tests
   * @param {(options: *) => Connection} [options.connect]  for tests
   */
  constructor({
    tabs = browserTabs(), connect = (all) => new Connection(all), presence = 'present', ...options
  }) {
    this.#options = options;
    this.#own = checkedPresence(presence);
    this.#user = options.user;
    this.#environment = tabs;
    this.#connect = connect;
    this.#name = `gapless 1 ${options.url} ${options.user}`;
    this.#lock = new TabLock(tabs.locks);
    this.#leadership = new Leadership(this.#name, tabs.locks, {
      gained: () => this.#lead(), lost: () => this.#follow(),
    });
  }

  /** Whether tabs can find each other here. */
  static get isPossible() {
    return globalThis.BroadcastChannel !== undefined
      && globalThis.navigator?.locks?.request !== undefined
      // A sandboxed frame has locks that it may not use.
      && globalThis.origin !== 'null';
  }

  /** Where the connection stands. */
  get state() { return this.#state; }

  /** Whether requests can be made. */
  get isLive() { return this.#state.phase === 'live'; }

  /** Counts the sessions that began for this tab. */
  get session() { return this.#session; }

  /** The gateway's link to the origin; `null` before the first session. */
  get upstream() { return this.#upstream; }

  /** What the user has not read, see `Connection`. */
  get unread() { return this.#state.unread ?? null; }

  /** Who we are. */
  get user() { return this.#user; }

  /**
   * Says how the user is there by this tab, see `Connection`. They are present if any tab is, else
   * away if any is, else hidden.
   *
   * @param {PresenceState} state
   * @throws {TypeError}  if it is none
   */
  setPresence(state) {
    this.#own = checkedPresence(state);
    if (this.#leading !== null) this.#leading.hub.setPresence(this.tab, state);
    else this.#post({ kind: 'presence', presence: state });
  }

  /** The gateway's limits; `null` before the first session. */
  get limits() { return this.#limits; }

  /** Milliseconds on a clock that nobody sets. */
  get tick() { return this.#environment.tick(); }

  /**
   * Something that is one user's alone is used with this connection, see `Connection`.
   *
   * @param {string} user
   * @throws {Error}  if it is another's
   */
  expect(user) {
    if (this.#user === user) return;
    throw new Error(`what is of ${user} can't be used by a connection of ${this.#user}`);
  }

  /** Whether this tab has the socket. */
  get isLeader() { return this.#leading !== null; }

  /** Resolves when the lock with this tab's name is held: nobody takes it for gone from then on. */
  get named() { return this.#lock.held; }

  /** Under which lock a tab is known to be there. @param {string} tab */
  lockOf(tab) { return `${this.#name} tab ${tab}`; }

  /**
   * Lets time pass.
   *
   * @param {number} delay  milliseconds
   * @returns {Promise<void>}
   */
  pause(delay) {
    return new Promise((resolve) => { this.#environment.setTimeout(resolve, delay); });
  }

  /** Aborted when this tab leads no more. */
  get leading() { return this.#leading?.signal ?? AbortSignal.abort(); }

  /** The locks of the browser. */
  get locks() { return this.#environment.locks; }

  /** Connects, and stays connected until `close`. */
  open() {
    if (this.#channel !== null) {
      // What another tab was refused with may be none of ours: ours are asked next.
      if (this.#state.phase === 'closed') this.takeOver();
      return;
    }
    this.#channel = this.#environment.channel(this.#name);
    this.#channel.onmessage = ({ data }) => this.#receive(data);
    this.#setState({ phase: 'connecting' });
    this.#leaveDevice = followDevice({
      cut: () => this.cut(), wake: () => this.wake(), freeze: () => this.#freeze(),
    }, this.#environment.device);
    const channel = this.#channel;
    this.#arrive(channel).then(() => {
      if (channel !== this.#channel) return;
      this.#heardAt = this.tick;
      this.#leadership.seek();
      this.#beat();
    });
  }

  /** Leaves the others for good. */
  close() {
    if (this.#channel === null) return;
    if (this.#lock.isHeld) this.#post({ kind: 'bye' });
    this.#leaveDevice();
    this.#resign();
    this.#leadership.leave();
    this.#environment.clearTimeout(this.#timer);
    if (this.#lock.isHeld) {
      this.#leaving = this.#environment.setTimeout(() => this.#leave(), REOPENED);
    } else {
      this.#lock.end();
    }
    this.#channel.close();
    [this.#channel, this.#nonce, this.#heard] = [null, null, null];
    this.#lose({ phase: 'closed', reason: 'closed', code: 1000 });
  }

  /** It was not opened again: what it had is the others' from here on. */
  #leave() {
    this.left.emit();
    this.#lock.end();
    this.tab = newIdentifier();
    this.#environment.kept?.removeItem(this.#name);
  }

  /** The device lost its network. */
  cut() { this.#poke('cut'); }

  /** Tries at once where it waits. */
  wake() { this.#poke('wake'); }

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
    const refusal = this.refuses(method, params);
    if (refusal !== null) return Promise.reject(refusal);
    const named = this.#writes.named(method, params);
    const { id, reply } = this.#pending.add({
      ...taking,
      final: (result) => {
        this.#writes.note(method, named, result);
        taking.final?.(result);
      },
    });
    if (this.#leading !== null) this.#leading.hub.ask(this.tab, { id, method, params: named });
    else this.#post({ kind: 'ask', ask: { id, method, params: asSent(named) } });
    return reply;
  }

  /**
   * Why a request would not be sent, see `Connection`.
   *
   * @param {string} method
   * @param {object} params
   */
  refuses(method, params) { return refusalBeforeSending(method, params, this.#limits); }

  /** Takes the lead from the leading tab: the next session is by way of this tab. */
  takeOver() {
    if (!this.#lock.isHeld) return;
    this.#resign();
    this.#end();
    this.#leadership.seek(true);
  }

  /**
   * Takes the name of this tab, and its lock.
   *
   * @param {BroadcastChannel} channel
   */
  async #arrive(channel) {
    // It was closed a moment ago, and is the tab that it was.
    this.#environment.clearTimeout(this.#leaving);
    if (this.#lock.isHeld) return;
    const { kept } = this.#environment;
    const known = kept?.getItem(this.#name) ?? null;
    if (known !== null) {
      // Until it holds that lock it says nothing under that name: another tab may have it.
      const taken = this.#lock.begin(this.lockOf(known), () => { this.tab = known; });
      await Promise.race([taken, this.pause(COPIED)]);
      if (channel !== this.#channel) return;
      if (!this.#lock.isHeld) this.#lock.end();
    }
    try {
      kept?.setItem(this.#name, this.tab);
    } catch {
      // There is no room: loaded anew it is another tab, and takes over what this one had.
    }
    if (!this.#lock.isHeld) await this.#lock.begin(this.lockOf(this.tab));
  }

  /** This tab has the lock. */
  #lead() {
    const number = Math.max((this.#term?.number ?? 0) + 1, this.#environment.now());
    this.#end();
    this.#term = { number, leader: this.tab };
    /** @type {Leading} */
    const leading = new Leading({
      tab: this.tab, term: this.#term, locks: this.locks, lockOf: (tab) => this.lockOf(tab),
      connection: this.#connect({ ...this.#options, user: this.#user }),
      presence: this.#own,
      post: (message) => this.#channel?.postMessage(message),
      take: (message) => { if (this.#leading === leading) this.#take(message); },
      gone: (tab) => this.gone.emit(tab),
    });
    this.#leading = leading;
    leading.begin();
    this.leads.emit();
  }

  /** Another tab took the lead, or has it. */
  #follow() {
    this.#resign();
    if (this.#channel === null) return;
    this.#leadership.seek();
    this.#heardAt = this.tick;
    this.#end();
    this.#hello();
  }

  /** Leads no more. */
  #resign() {
    const leading = this.#leading;
    this.#leading = null;
    if (leading === null) return;
    this.#term = leading.term;
    leading.close();
    this.#end();
  }

  /** What was one session is over; who leads next is not known yet. */
  #end() {
    this.#heard = null;
    this.#nonce = null;
    this.#leaderSession = 0;
    if (this.#state.phase !== 'connecting') this.#lose({ phase: 'connecting' });
  }

  /** Asks to be taken in. */
  #hello() {
    // Without its lock it would be taken for gone.
    if (!this.#lock.isHeld) return;
    if (this.#heard !== null) this.#nonce = null;
    this.#nonce ??= newIdentifier();
    this.#heard = null;
    this.#post({ kind: 'hello', presence: this.#own });
  }

  /** Looks whether the leader is there. */
  #beat() {
    const now = this.tick;
    // Who was asleep itself has heard nobody.
    if (now - this.#beatAt > 2 * BEAT) this.#heardAt = now;
    this.#beatAt = now;
    this.#beats += 1;
    if (this.#leading !== null) {
      // One may have gone before it was taken in.
      if (this.#beats % 5 === 0) this.gone.emit('');
    } else if (now - this.#heardAt > SILENCE) {
      this.#heardAt = now;
      this.takeOver();
    } else if (this.#heard === null) {
      // Being taken in may have gone unheard.
      if (this.#beats % 3 === 0) this.#nonce = null;
      this.#hello();
    } else {
      this.#post({ kind: 'ping' });
    }
    this.#timer = this.#environment.setTimeout(() => this.#beat(), BEAT);
  }

  /** @param {*} message  of another tab */
  #receive(message) {
    // A frozen tab hears what others say, and its socket is deaf: it answers nobody.
    if (message.term !== undefined) this.#hear(message);
    else if (this.#leading !== null) this.#environment.task(() => this.#leading?.serve(message));
  }

  /** The browser stops this tab: another leads from here on, if there is one. */
  #freeze() {
    if (this.#leading === null) return;
    this.#resign();
    this.#leadership.seek();
  }

  /**
   * Hears a leader.
   *
   * @param {*} message
   */
  #hear({ term, n, to, nonce, message }) {
    const known = this.#leading?.term ?? this.#term;
    if (isLater(term, known)) {
      const wasLeader = this.#leading !== null;
      this.#resign();
      this.#term = term;
      this.#end();
      this.#heardAt = this.tick;
      if (wasLeader) this.#leadership.seek();
      this.#hello();
      return;
    }
    if (isLater(/** @type {Term} */ (known), term) || this.#leading !== null) {
      // A tab that leads without the lock learns of it.
      this.#leading?.tell({ kind: 'lead' });
      return;
    }
    this.#heardAt = this.tick;
    const isMine = to === this.tab && nonce === this.#nonce;
    if (isMine && message.kind === 'welcome') {
      this.#heard = n;
      this.#take(message.state);
      return;
    }
    if (this.#heard === null) return;
    if (n !== this.#heard + 1) {
      // Something was not heard: begin anew.
      this.#end();
      this.#hello();
      return;
    }
    this.#heard = n;
    if (message.kind !== 'lead' && (to === undefined || isMine)) this.#take(message);
    else if (message.kind === 'lead' && isMine) {
      this.#end();
      this.#hello();
    }
  }

  /**
   * Takes what the hub says, whichever tab it is in.
   *
   * @param {HubMessage | {kind: 'pong'}} message
   */
  #take(message) {
    switch (message.kind) {
      case 'state': this.#takeState(message); break;
      case 'event': {
        const { event } = message;
        if (!this.isLive) return;
        if (event.event === 'upstream') {
          this.#upstream = { state: event.state, since: event.since };
        }
        this.#writes.heard(event);
        this.events.emit(event);
        break;
      }
      case 'reply': this.#pending.settle(message.frame); break;
      case 'stranger': this.stranger.emit(message.user); break;
      default:
    }
  }

  /** @param {Extract<HubMessage, {kind: 'state'}>} message */
  #takeState({ session, state, user, upstream, limits }) {
    [this.#user, this.#upstream, this.#limits] = [user ?? this.#user, upstream, limits];
    if (state.phase !== 'live') {
      this.#lose(state);
    } else if (this.isLive && session === this.#leaderSession) {
      this.#setState(state);
    } else {
      if (this.isLive) this.#lose({ phase: 'connecting' });
      this.#leaderSession = session;
      this.#session += 1;
      this.#setState(state);
      this.live.emit();
    }
  }

  /**
   * There is no session, for this reason.
   *
   * @param {ConnectionState} state
   */
  #lose(state) {
    this.#setState(state);
    this.#pending.failAll(RequestError.disconnected());
  }

  /** @param {ConnectionState} state */
  #setState(state) {
    this.#state = state;
    this.changed.emit();
  }

  /** @param {'cut' | 'wake'} what */
  #poke(what) {
    if (this.#leading !== null) this.#leading.poke(what);
    else this.#post({ kind: 'poke', what });
  }

  /**
   * To the tab that leads now.
   *
   * @param {object} message
   */
  #post(message) {
    this.#channel?.postMessage({
      from: this.tab, nonce: this.#nonce, for: this.#term, ...message,
    });
  }
}
