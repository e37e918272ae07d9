import { ConversationView } from '../components/conversation-view.js';
import { Health } from '../components/health.js';
import { StatusBar } from '../components/status.js';
import { UnsentTexts } from '../components/unsent.js';
import { Connection, Conversation, ConversationList } from '../gapless.js';
import { ledgerOf } from './ledger.js';

/** @import { Head } from '../types.js' */

/** So many messages are here at the beginning. */
const BEGINNING = 50;

/** One of the two who talk: the same client and the same views as on the page. */
export class Person {
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
    connection.open();
  }

  /**
   * What they hold and what they are told is missing.
   *
   * @param {Head | null} log  the log itself
   */
  ledger(log) {
    const { have, items, phase, isOpen } = this.conversation;
    return ledgerOf({ have, items, isAtPresent: phase === 'live' && !isOpen, log });
  }
}
