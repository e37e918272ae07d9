import { mentionsUser } from '../../Browser/mentions.js';
import { element, setText } from './dom.js';

/** @import { Item } from '../../Browser/items.js' */
/** @import { RowContext } from './message-row.js' */

/** More news than this at once is said as a number. */
const MOST = 3;

/**
 * Tells a screen reader what others said. The rows can't: they come into the document whenever
 * somebody scrolls.
 */
export class Announcer {
  constructor() {
    /** What to put on the page. */
    this.element = element('div', {
      class: 'visually-hidden', role: 'log', 'aria-label': 'New messages',
    });
  }

  /**
   * @param {Item[]} items
   * @param {number} known  the newest place that was known before
   * @param {RowContext} context
   */
  announce(items, known, { user, nameOf }) {
    const news = [];
    for (let at = items.length - 1; at >= 0; at -= 1) {
      const item = items[at];
      if (item.kind !== 'message') continue;
      if (item.message.seq <= known) break;
      if (item.message.author !== user && !item.message.deleted) news.unshift(item.message);
    }
    if (news.length === 0) return;
    setText(this.element, news.length > MOST ? `${news.length} new messages`
      : news.map((message) => {
        const about = mentionsUser(message, user) ? ' mentions you' : '';
        return `${nameOf(message.author)}${about}: ${message.body ?? ''}`;
      }).join('\n'));
  }
}
