import { mergedWatch, textOf } from './presence.js';

/** @import { Connection } from './connection.js' */
/** @import { WatchParams } from './presence.js' */
/** @import { EventFrame } from './types.js' */

/**
 * A tab that asks, or nobody: then what is held is asked for again.
 *
 * @typedef {object} Turn
 * @property {string} [tab]
 * @property {WatchParams[]} watch
 * @property {() => boolean} isThere  whether the tab is the one that asked
 * @property {(frame: object) => void} reply
 * @property {(error: *) => void} fail
 */

/** Turns of nobody. @type {Turn} */
const RENEWAL = { watch: [], isThere: () => false, reply: () => {}, fail: () => {} };

/**
 * Whom the tabs of one session watch: the gateway knows one watch for each connection, and each
 * call replaces it. So it is asked for what all tabs watch, and every tab gets each whole answer.
 *
 * Invariant: what the session watches is what is held, or a question is under way or waits.
 */
export class TabWatches {
  /** What the gateway took, by tab. @type {Map<string, WatchParams[]>} */
  #held = new Map();
  /** @type {Turn[]} */
  #turns = [];
  #isAsking = false;
  #connection;
  #tell;

  /**
   * @param {Connection} connection
   * @param {(event: EventFrame, but?: string) => void} tell  reaches all tabs but one
   */
  constructor(connection, tell) {
    this.#connection = connection;
    this.#tell = tell;
  }

  /**
   * A tab asks, in place of what it watched.
   *
   * @param {Turn} turn
   */
  ask(turn) {
    this.#turns.push(turn);
    this.#next();
  }

  /**
   * A tab is gone.
   *
   * @param {string} tab
   */
  end(tab) {
    const wasHeld = this.#held.delete(tab);
    const isGoing = this.#isAsking || this.#turns.length > 0;
    this.#turns = this.#turns.filter((turn) => turn.tab !== tab);
    if (wasHeld || isGoing) this.ask(RENEWAL);
  }

  /** The session is over, and what it watched. */
  clear() {
    this.#held.clear();
    this.#turns = [];
  }

  async #next() {
    if (this.#isAsking || !this.#connection.isLive) return;
    const turn = this.#turns.shift();
    if (turn === undefined) return;
    // All tabs that ask for what they have already are answered with one call.
    const renewals = this.#isRenewal(turn) ? this.#turns.filter((of) => this.#isRenewal(of)) : [];
    this.#turns = this.#turns.filter((of) => !renewals.includes(of));
    const all = new Map(this.#held);
    if (turn.tab !== undefined) all.set(turn.tab, turn.watch);
    this.#isAsking = true;
    try {
      await this.#connection.request('watchPresence', { watch: mergedWatch([...all.values()]) }, {
        final: (result) => {
          if (turn.tab !== undefined && turn.isThere()) this.#held.set(turn.tab, turn.watch);
          for (const { reply } of [turn, ...renewals]) reply(result);
          this.#tell({ event: 'presence', ...result }, turn.tab);
        },
      });
    } catch (error) {
      this.#failed(error, turn, renewals);
    }
    this.#isAsking = false;
    this.#next();
  }

  /** @param {Turn} turn */
  #isRenewal({ tab, watch }) {
    return tab === undefined || textOf(this.#held.get(tab) ?? []) === textOf(watch);
  }

  /**
   * @param {*} error
   * @param {Turn} turn
   * @param {Turn[]} renewals  that were to be answered with it
   */
  #failed(error, turn, renewals) {
    turn.fail(error);
    if (error.code === 'disconnected') return;
    this.#turns.unshift(...renewals);
    if (turn.tab === undefined) {
      // Each tab asks for as much as it can have.
      this.#held.clear();
      this.#tell({ event: 'presence', isLost: true });
    } else if (error.code === 'too_large') {
      // What the others were answered last is from before that call: they hear of it anew.
      this.#turns.unshift(RENEWAL);
    }
  }
}
