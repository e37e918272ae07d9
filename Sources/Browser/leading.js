import { isLater } from './leadership.js';
import { TabHub } from './tab-hub.js';

/** @import { Connection } from './connection.js' */
/** @import { Term } from './leadership.js' */
/** @import { PresenceState } from './own-presence.js' */
/** @import { HubMessage } from './tab-hub.js' */

/**
 * What a tab does while it leads: it has the session, takes other tabs in, and tells them all in
 * one numbered order.
 */
export class Leading {
  #tab;
  #term;
  #post;
  #locks;
  #lockOf;
  #gone;
  #sent = 0;
  #watching = new AbortController();

  /**
   * @param {object} of
   * @param {string} of.tab
   * @param {Term} of.term
   * @param {Connection} of.connection
   * @param {PresenceState} of.presence  how the user is there by this tab
   * @param {(message: object) => void} of.post  to all other tabs
   * @param {LockManager} of.locks
   * @param {(tab: string) => string} of.lockOf  the lock that a tab holds as long as it is there
   * @param {(message: HubMessage) => void} of.take  takes what is for this tab
   * @param {(tab: string) => void} of.gone  called when a tab that was taken in is gone
   */
  constructor({ tab, term, connection, presence, post, locks, lockOf, take, gone }) {
    [this.#tab, this.#term, this.#post] = [tab, term, post];
    [this.#locks, this.#lockOf, this.#gone] = [locks, lockOf, gone];
    /** The session. */
    this.connection = connection;
    this.hub = new TabHub(connection, (message) => {
      this.tell(message);
      take(message);
    });
    this.hub.attach(tab, '', take, presence);
  }

  /** Under which it leads. */
  get term() { return this.#term; }

  /** Aborted when it leads no more. */
  get signal() { return this.#watching.signal; }

  /** Says that it leads, and connects. */
  begin() {
    this.tell({ kind: 'lead' });
    this.connection.open();
  }

  /** Leads no more. */
  close() {
    this.#watching.abort();
    this.hub.close();
  }

  /** @param {'cut' | 'wake'} what */
  poke(what) { if (what === 'cut') this.connection.cut(); else this.connection.wake(); }

  /**
   * Takes what a tab says.
   *
   * @param {*} message
   */
  serve({ kind, from, nonce, for: term, ask, what, presence = 'present' }) {
    const { hub } = this;
    // This tab itself said that, before it was loaded anew.
    if (from === this.#tab) return;
    if (term && isLater(term, this.#term)) {
      // It heard of a leader that we did not: with the lock in hand we come after that one.
      this.#term = { number: term.number + 1, leader: this.#tab };
      this.tell({ kind: 'lead' });
      return;
    }
    switch (kind) {
      case 'hello':
        // It may say so twice before it hears that it was taken in.
        if (hub.has(from, nonce)) return;
        this.#watch(from);
        hub.attach(from, nonce, (message) => this.tell(message, from, nonce), presence);
        this.tell({ kind: 'welcome', state: hub.state }, from, nonce);
        break;
      case 'bye': if (hub.has(from, nonce)) hub.detach(from); break;
      default:
        // What is for another leader is not for us, though each hears all.
        if (term?.number !== this.#term.number || term.leader !== this.#tab) return;
        if (!hub.has(from, nonce)) this.tell({ kind: 'lead' }, from, nonce);
        else if (kind === 'ask') hub.ask(from, ask);
        else if (kind === 'poke') this.poke(what);
        else if (kind === 'presence') hub.setPresence(from, presence);
        else this.tell({ kind: 'pong' }, from, nonce);
    }
  }

  /**
   * To all other tabs, or to one, in one numbered order.
   *
   * @param {object} message
   * @param {string} [to]
   * @param {string} [nonce]
   */
  tell(message, to, nonce) {
    this.#sent += 1;
    this.#post({ term: this.#term, n: this.#sent, to, nonce, message });
  }

  /**
   * Waits for the end of a tab: then the lock of its name is free.
   *
   * @param {string} tab
   */
  #watch(tab) {
    if (this.hub.has(tab)) return;
    const { signal } = this;
    this.#locks.request(this.#lockOf(tab), { signal, mode: 'shared' }, () => {
      if (signal.aborted) return;
      this.hub.detach(tab);
      this.#gone(tab);
    }).catch(() => {});
  }
}
