import { previewText } from './conversation-list.js';
import { confirmation } from './dialogs.js';
import { element, icon, setAttribute } from './dom.js';
import { conversationName } from './people.js';
import { shortened } from './quote.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { ConversationList } from '../../Browser/conversations.js' */
/** @import { ConversationRecord } from '../../Browser/types.js' */

const BELL = 'M4 14.5h12c-1.4-1.3-1.8-2.8-1.8-5.5a4.2 4.2 0 0 0-8.4 0c0 2.7-.4 4.2-1.8 5.5z'
  + 'M8.5 17h3';
const SLASH = 'M3 3l14 14';
/** Where the browser remembers that somebody wants them. */
const WANTED = 'gapless.notifications';
/** News within this time are one look, in milliseconds. A hidden page has no frames. */
const DELAY = 250;
/** News of more conversations than this are one notification. */
const MOST = 3;

/**
 * Tells of new messages by notifications of the system, while nobody looks at any tab of the user's:
 * one for each conversation, the latest in place of the one before. It is off until the user turns
 * it on.
 */
export class Notifications {
  #connection;
  #list;
  #onOpen;
  /** The newest place of each conversation that was heard of. @type {Map<string, number>} */
  #known = new Map();
  /** An event told of them: one that is not known yet is new. @type {Set<string>} */
  #told = new Set();
  /** What stands on the screen, by conversation. @type {Map<string, Notification>} */
  #shown = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #due;

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {ConversationList} options.list
   * @param {(id: string) => void} options.onOpen  a notification of a conversation was chosen
   */
  constructor({ connection, list, onOpen }) {
    this.#connection = connection;
    this.#list = list;
    this.#onOpen = onOpen;
    /** What to put on the page. */
    this.button = element('button', {
      type: 'button', class: 'round', 'aria-label': 'Notifications', hidden: !isPossible(),
      onclick: () => this.#toggle(),
    });
    this.#draw();
    list.changed.listen(() => { this.#due ??= setTimeout(() => this.#look(), DELAY); });
    connection.events.listen((event) => {
      if (event.event !== 'conversations') return;
      for (const { conversation } of event.deltas) this.#told.add(conversation.id);
    });
    this.#watch();
  }

  get #isOn() {
    return isPossible() && Notification.permission === 'granted'
      && localStorage.getItem(WANTED) !== null;
  }

  /** A lock that all tabs of the browser see: this user looks at one of them. */
  get #lock() { return `gapless: ${this.#connection.user} looks`; }

  #watch() {
    /** @type {string | null} */
    let held = null;
    let end = () => {};
    const note = () => {
      const wanted = isLookedAt() ? this.#lock : null;
      if (wanted !== null) this.#close();
      if (wanted === held) return;
      end();
      held = wanted;
      if (wanted === null) {
        this.#takeAsKnown();
        return;
      }
      const looked = /** @type {Promise<void>} */ (new Promise((resolve) => { end = resolve; }));
      navigator.locks?.request(wanted, { mode: 'shared' }, () => looked);
    };
    document.addEventListener('visibilitychange', note);
    for (const name of ['focus', 'blur']) addEventListener(name, note);
    this.#connection.live.listen(note);
    // Another tab turned it on or off.
    addEventListener('storage', () => this.#draw());
    note();
  }

  async #look() {
    this.#due = undefined;
    const { isLoaded, records } = this.#list;
    // What came before the first answer is no news.
    if (!isLoaded) return;
    const news = records.filter((record) => this.#isNews(record));
    this.#told.clear();
    for (const { id, unreadCount } of records) {
      if (unreadCount === 0) this.#close(id);
    }
    if (news.length === 0 || !this.#isOn || isLookedAt()) return;
    const { held = [] } = await navigator.locks?.query() ?? {};
    if (held.some(({ name }) => name === this.#lock)) return;
    if (news.length > MOST) this.#show('', 'Gapless', `News in ${news.length} conversations`);
    else for (const record of news) this.#tell(record);
  }

  /**
   * Whether there is a message that was not heard of; it is from now on.
   *
   * @param {ConversationRecord} record
   */
  #isNews({ id, head, unreadCount = 0 }) {
    const newest = head?.seq ?? 0;
    const known = this.#known.get(id) ?? (this.#told.has(id) ? 0 : newest);
    this.#known.set(id, newest);
    // Behind one's own message nothing is unread.
    return newest > known && unreadCount > 0;
  }

  /** What came until now is no news: somebody looked, or did not want to be told of it. */
  #takeAsKnown() { for (const record of this.#list.records) this.#isNews(record); }

  /** @param {ConversationRecord} record */
  #tell(record) {
    const { id, lastMessage, unreadCount = 0 } = record;
    const { user } = this.#connection;
    const rest = unreadCount > 1 ? `\n${unreadCount} unread messages` : '';
    const text = `${shortened(previewText(lastMessage, user))}${rest}`;
    this.#show(id, conversationName(record, id, user), text);
  }

  /**
   * @param {string} id  of the conversation; empty for several
   * @param {string} title
   * @param {string} body
   */
  #show(id, title, body) {
    const tag = `gapless ${this.#connection.user} ${id}`;
    const shown = new Notification(title, { body, tag });
    this.#shown.set(id, shown);
    shown.onclick = () => {
      focus();
      this.#close(id);
      if (id !== '') this.#onOpen(id);
    };
  }

  /** @param {string} [id]  without one: all */
  #close(id) {
    for (const [of, shown] of this.#shown) {
      if (id !== undefined && of !== id) continue;
      shown.close();
      this.#shown.delete(of);
    }
  }

  async #toggle() {
    if (this.#isOn) {
      localStorage.removeItem(WANTED);
      this.#close();
      this.#draw();
      return;
    }
    const permission = await Notification.requestPermission();
    if (permission === 'granted') {
      this.#takeAsKnown();
      localStorage.setItem(WANTED, 'true');
    }
    this.#draw();
    const problem = permission !== 'granted'
      ? 'This browser lets this page show no notifications. Its settings for this site say so.'
      : this.#proof();
    if (problem !== '') await confirmation({ question: problem, answer: 'OK', isOnly: true });
  }

  /** Shows what there will be; a text if the browser can't. */
  #proof() {
    try {
      this.#show('', 'Gapless', 'You are told of new messages here while you are elsewhere.');
      return '';
    } catch {
      // On phones, where only an installed app may.
      localStorage.removeItem(WANTED);
      this.#draw();
      return 'This browser shows notifications of installed apps only.';
    }
  }

  #draw() {
    const isOn = this.#isOn;
    setAttribute(this.button, 'aria-pressed', String(isOn));
    setAttribute(this.button, 'title',
      isOn ? 'Notifications are on' : 'Notify me of messages while I am elsewhere');
    this.button.replaceChildren(icon(isOn ? BELL : `${BELL}${SLASH}`));
  }
}

/** Whether this browser has any, here. */
function isPossible() { return 'Notification' in globalThis && isSecureContext; }

/** Whether somebody looks at this tab. */
function isLookedAt() { return !document.hidden && document.hasFocus(); }
