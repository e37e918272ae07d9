import { element, setAttribute, setText } from './dom.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { Health } from './health.js' */

/** The foot of the sidebar: who one is, and how the connection stands. */
export class StatusBar {
  #connection;
  #health;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #clock;

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {Health} options.health
   * @param {() => void} options.onUser  the user's own name was chosen
   * @param {Node[]} [options.more]  what stands beside the name
   */
  constructor({ connection, health, onUser, more = [] }) {
    this.#connection = connection;
    this.#health = health;
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
    this.element = element('footer', { class: 'status' },
      this.light, this.retry, ...more, this.user);
    health.changed.listen(() => this.#draw());
    this.#draw();
  }

  #draw() {
    const { trouble } = this.#health;
    const { retryAt = null } = trouble ?? {};
    const left = retryAt === null ? 0 : Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
    const delay = left > 0 ? ` in ${left} s` : '';
    const when = retryAt === null ? '' : ` Trying again${delay}.`;
    setAttribute(this.light, 'data-tone', trouble?.tone ?? 'good');
    setText(this.text, trouble?.name ?? 'Live');
    setText(this.detail, trouble === null ? '' : `${trouble.detail}${when}`);
    this.retry.hidden = left <= 1;
    setText(this.user, this.#connection.user ?? '');
    this.user.hidden = this.#connection.user === null;
    clearInterval(this.#clock);
    if (retryAt !== null) this.#clock = setInterval(() => this.#draw(), 1000);
  }
}
