import { Signal } from '../../Browser/signal.js';
import { clockTime } from './moments.js';

/** @import { Connection } from '../../Browser/connection.js' */

/**
 * What is wrong: `who` is the nearest thing that is, since when (milliseconds since 1970), and what
 * to tell a person about it. There is one at a time, so that no two places say different things.
 *
 * @typedef {object} Trouble
 * @property {'device' | 'gateway' | 'origin'} who
 * @property {'busy' | 'bad'} tone
 * @property {string} name  a word or two
 * @property {string} text  whole sentences; empty while nothing is worth one
 * @property {string} cause  the same, to go on a sentence
 * @property {string} detail  what the connection says of it
 * @property {number | null} retryAt
 */

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/u;
const KEPT = 'What you write is sent when the connection is back.';

/**
 * What is wrong with a connection, `null` for nothing.
 *
 * @param {Pick<Connection, 'state' | 'upstream'>} connection
 * @param {object} of
 * @param {boolean} of.isOffline  the browser says that this device has no network
 * @param {number | null} of.lostAt  when the connection was lost; `null` if there was none yet
 * @returns {Trouble | null}
 */
export function troubleOf({ state, upstream }, { isOffline, lostAt }) {
  const since = lostAt === null ? '' : ` since ${clockTime(lostAt)}`;
  const detail = state.reason ? `${state.reason.charAt(0).toUpperCase()}${state.reason.slice(1)}.`
    : '';
  const retryAt = state.retryAt ?? null;
  switch (state.phase) {
    case 'live': return originTrouble(upstream);
    case 'closed': return {
      who: 'gateway', tone: 'bad', name: 'Disconnected', detail, retryAt,
      text: `Disconnected${since}. ${detail} This page does not try again by itself.`,
      cause: 'the gateway ended the connection',
    };
    default:
  }
  if (isOffline) {
    return {
      who: 'device', tone: 'bad', name: 'Offline', retryAt, detail: 'This device is offline.',
      text: `Offline: this device has no network${since}. ${KEPT}`,
      cause: 'this device has no network',
    };
  }
  const cause = 'the gateway does not answer';
  if (state.phase !== 'waiting') {
    return {
      who: 'gateway', tone: 'busy', name: 'Connecting…', detail: '', retryAt, cause,
      text: lostAt === null ? '' : `Offline: ${cause}${since}. ${KEPT}`,
    };
  }
  return {
    who: 'gateway', tone: 'bad', name: 'Offline', detail, retryAt, cause,
    text: `Offline: ${cause}${since}. ${KEPT}`,
  };
}

/**
 * @param {Connection['upstream']} upstream
 * @returns {Trouble | null}
 */
function originTrouble(upstream) {
  if (upstream === null || upstream.state === 'online') return null;
  const since = `since ${clockTime(upstream.since)}`;
  const rest = 'There may be newer messages that have not come yet.';
  return upstream.state === 'syncing' ? {
    who: 'origin', tone: 'busy', name: 'Catching up', retryAt: null,
    detail: 'The gateway is reading what it missed.',
    text: `The gateway is reading from the chat's log what it missed, ${since}. ${rest}`,
    cause: 'the gateway is still reading what it missed',
  } : {
    who: 'origin', tone: 'bad', name: 'Log offline', retryAt: null, detail: rest,
    text: `The gateway can't reach the chat's log ${since}. ${rest}`,
    cause: 'the gateway can\'t reach the chat\'s log',
  };
}

/** How things stand, for everything on the page that says so. */
export class Health {
  /** Something else is wrong, or nothing is wrong now. @type {Signal<void>} */
  changed = new Signal();

  #connection;
  #isOffline;
  #wasLive = false;
  /** @type {number | null} */
  #lostAt = null;

  /** @param {Connection} connection */
  constructor(connection) {
    this.#connection = connection;
    // Without a network the page can still reach a gateway on this machine.
    this.#isOffline = !navigator.onLine && !loopback.test(location.hostname);
    const note = (/** @type {boolean} */ isOffline) => () => {
      this.#isOffline = isOffline;
      this.changed.emit();
    };
    addEventListener('offline', note(true));
    addEventListener('online', note(false));
    connection.changed.listen(() => this.#connectionChanged());
  }

  /** What is wrong; `null` for nothing. */
  get trouble() {
    return troubleOf(this.#connection, { isOffline: this.#isOffline, lostAt: this.#lostAt });
  }

  /** Why something is not there yet, to go on a sentence; empty where it only takes its time. */
  get reason() {
    const { trouble } = this;
    return trouble === null || trouble.text === '' ? '' : trouble.cause;
  }

  #connectionChanged() {
    const { isLive } = this.#connection;
    if (isLive) {
      // It came through, whatever the browser believed.
      this.#isOffline = false;
      this.#lostAt = null;
    } else if (this.#wasLive || (this.#lostAt === null && this.#hasFailed)) {
      this.#lostAt = Date.now();
    }
    this.#wasLive = isLive;
    this.changed.emit();
  }

  get #hasFailed() {
    const { phase } = this.#connection.state;
    return phase === 'waiting' || phase === 'closed';
  }
}
