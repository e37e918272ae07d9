import { element, setAttribute, setText } from './dom.js';

/** @import { Connection } from '../connection.js' */
/** @import { ConversationList } from '../conversations.js' */

/**
 * How things stand, for a person.
 *
 * @param {Connection} connection
 * @param {number} now  milliseconds since 1970
 * @returns {{tone: 'good' | 'busy' | 'bad', text: string, detail: string, canRetry: boolean}}
 */
export function describeConnection({ state, upstream }, now) {
  const reason = state.reason ? capitalized(state.reason) : '';
  switch (state.phase) {
    case 'idle':
    case 'connecting':
      return { tone: 'busy', text: 'Connecting…', detail: '', canRetry: false };
    case 'waiting': {
      const left = Math.max(0, Math.ceil(((state.retryAt ?? now) - now) / 1000));
      const when = left > 0 ? `Trying again in ${left} s.` : 'Trying again.';
      return { tone: 'bad', text: 'Offline', detail: `${reason}. ${when}`, canRetry: left > 1 };
    }
    case 'closed':
      return { tone: 'bad', text: 'Disconnected', detail: `${reason}.`, canRetry: false };
    default:
  }
  if (upstream?.state === 'syncing') {
    return {
      tone: 'busy', text: 'Catching up', canRetry: false,
      detail: 'The gateway is reading what it missed.',
    };
  }
  if (upstream?.state === 'offline') {
    return {
      tone: 'bad', text: 'Origin offline', canRetry: false,
      detail: 'There may be messages that nobody here knows yet.',
    };
  }
  return { tone: 'good', text: 'Live', detail: '', canRetry: false };
}

/** @param {string} text */
function capitalized(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

/** The foot of the sidebar: who one is, and how the connection stands. */
export class StatusBar {
  #connection;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #clock;

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {() => void} options.onUser  the user's own name was chosen
   */
  constructor({ connection, onUser }) {
    this.#connection = connection;
    this.text = element('span', { class: 'state' });
    this.detail = element('span', { class: 'detail' });
    this.retry = element('button', {
      type: 'button', class: 'link', hidden: true, onclick: () => connection.wake(),
    }, 'Now');
    this.user = element('button', {
      type: 'button', class: 'who', title: 'Change who you are', onclick: onUser,
    });
    this.light = element('div', { class: 'light', role: 'status' }, this.text, this.detail);
    /** What to put on the page. */
    this.element = element('footer', { class: 'status' }, this.light, this.retry, this.user);
    connection.changed.listen(() => this.#draw());
    this.#draw();
  }

  #draw() {
    const { tone, text, detail, canRetry } = describeConnection(this.#connection, Date.now());
    setAttribute(this.light, 'data-tone', tone);
    setText(this.text, text);
    setText(this.detail, detail);
    this.retry.hidden = !canRetry;
    setText(this.user, this.#connection.user ?? '');
    this.user.hidden = this.#connection.user === null;
    clearInterval(this.#clock);
    if (this.#connection.state.phase === 'waiting') {
      this.#clock = setInterval(() => this.#draw(), 1000);
    }
  }
}
