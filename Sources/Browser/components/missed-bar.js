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

  /** @param {Missed | null} missed */
  draw(missed) {
    this.element.hidden = missed === null || missed.count === 0;
    setText(this.text, missed === null ? '' : missedText(missed));
  }
}

/** @param {Missed} missed */
function missedText({ count, isUnread }) {
  const what = count === 1 ? 'message' : 'messages';
  return isUnread ? `${number.format(count)} unread ${what}`
    : `${number.format(count)} ${what} while you were away`;
}
