import { element, setText } from './dom.js';

/** @import { Missed } from './reading.js' */

const number = new Intl.NumberFormat();

/** Says what came while nobody looked, until it was seen or somebody says that it was. */
export class MissedBar {
  /**
   * @param {object} options
   * @param {() => void} options.onFirst  wants to see the first of it
   * @param {() => void} options.onRead  takes it as read
   */
  constructor({ onFirst, onRead }) {
    this.text = element('span', { role: 'status' });
    const link = (/** @type {string} */ name, /** @type {() => void} */ onclick) => (
      element('button', { type: 'button', class: 'link', onclick }, name)
    );
    /** What to put on the page. */
    this.element = element('div', { class: 'missed', hidden: true },
      this.text, link('First unread', onFirst), link('Mark read', onRead));
  }

  /**
   * @param {Missed | null} missed
   * @param {number} count  of messages in it that are not seen yet
   */
  draw(missed, count) {
    this.element.hidden = missed === null || count === 0;
    setText(this.text, missed === null ? '' : missedText(missed, count));
  }
}

/**
 * @param {Missed} missed
 * @param {number} count
 */
function missedText({ isUnread }, count) {
  const what = count === 1 ? 'message' : 'messages';
  return isUnread ? `${number.format(count)} unread ${what}`
    : `${number.format(count)} ${what} while you were away`;
}
