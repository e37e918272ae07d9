import { ConversationView } from '../components/conversation-view.js';
import { element, setText } from '../components/dom.js';
import { Health } from '../components/health.js';
import { StatusBar } from '../components/status.js';
import { UnsentTexts } from '../components/unsent.js';
import { Connection, Conversation, ConversationList } from '../../Browser/gapless.js';
import { ledgerOf } from './ledger.js';

/** @import { Head } from '../../Browser/types.js' */

/** So many messages are here at the beginning. */
const BEGINNING = 50;

/** One of the two who talk: the same client and the same views as on the page. */
export class Person {
  #text = element('p', { role: 'status' });
  #show = element('button', { type: 'button', class: 'quiet' }, 'Show');
  #row = element('div', { class: 'gap tail', hidden: true }, this.#text, this.#show);

  /**
   * @param {object} options
   * @param {string} options.user
   * @param {string} options.url  where their gateway is reached
   * @param {string} options.id  of the conversation
   * @param {HTMLElement} options.place  where they are shown
   */
  constructor({ user, url, id, place }) {
    this.user = user;
    this.connection = new Connection({
      url, client: 'gapless-demo', user, credentials: () => ({ user }),
    });
    const { connection } = this;
    this.conversation = new Conversation(connection, id, { limit: BEGINNING });
    this.conversation.open();
    const health = new Health(connection);
    const list = new ConversationList(connection);
    const view = new ConversationView({
      connection, conversation: this.conversation, list, health,
      unsent: new UnsentTexts(null), onBack: () => {},
    });
    const status = new StatusBar({ connection, health, onUser: () => {} });
    place.replaceChildren(...view.elements, status.element);
    view.messages.element.after(this.#row);
    this.#show.addEventListener('click', () => {
      const newest = this.conversation.gaps.findLast(({ cause }) => cause !== 'cold');
      if (newest) view.messages.reveal(newest.before);
    });
    connection.open();
  }

  /** Whether they are connected, and nothing says that there may be more. */
  get isAtPresent() { return this.conversation.phase === 'live' && !this.conversation.isOpen; }

  /**
   * Draws in one row below the list what is missing of it, wherever that is.
   *
   * @param {Head | null} log  the log itself
   * @param {boolean} isSlow  their link carries little
   */
  draw(log, isSlow) {
    const { missing, tail, onTheWay } = this.ledger(log);
    const why = this.connection.isLive ? 'the gateway is not up to date'
      : `${this.user} is not connected`;
    let text = missing > 0 ? `${lacking(missing)} above.` : '';
    if (isSlow && onTheWay > 0) text = `${late(onTheWay)}: ${this.user}’s link is slow.`;
    if (!this.isAtPresent) {
      text = `${tail > 0 ? lacking(tail) : 'Messages may be missing'} after this: ${why}.`;
    }
    setText(this.#text, text);
    this.#row.hidden = text === '';
    this.#show.hidden = !this.isAtPresent || missing === 0;
  }

  /**
   * What they hold and what they are told is missing.
   *
   * @param {Head | null} log  the log itself
   */
  ledger(log) {
    const { have, items } = this.conversation;
    return ledgerOf({ have, items, isAtPresent: this.isAtPresent, log });
  }
}

/** @param {number} count */
function lacking(count) {
  return count === 1 ? '1 message is missing' : `${count} messages are missing`;
}

/** @param {number} count */
function late(count) {
  return count === 1 ? '1 message has not come yet' : `${count} messages have not come yet`;
}
