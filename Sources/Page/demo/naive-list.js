import { element, setText } from '../components/dom.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { Conversation } from '../../Browser/conversation.js' */
/** @import { EventFrame, Head } from '../../Browser/types.js' */

/** So many lines are kept on the page. */
const SHOWN = 300;

/**
 * A message list as many are written: each message that the socket brings is appended. It is fed
 * by alice's own connection, and knows nothing of coverage: nobody sees what did not come.
 */
export class NaiveList {
  #conversation;
  /** The ids of what it was brought, by place. @type {Map<number, string>} */
  #places = new Map();
  /** Lines of a log that is no more. */
  #ghosts = 0;
  #epoch = '';
  #lines = element('ol', { tabindex: 0, 'aria-label': 'Messages without coverage' });
  #verdict = element('p', { class: 'verdict' });

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {Conversation} options.conversation  what alice knows of the same log, to judge it by
   * @param {HTMLElement} options.place  where it is shown
   */
  constructor({ connection, conversation, place }) {
    this.#conversation = conversation;
    place.replaceChildren(
      element('h2', {}, 'The same socket, naively'),
      element('p', { class: 'faint' }, 'Appends what comes. Says nothing of what does not.'),
      this.#lines, this.#verdict);
    connection.events.listen((frame) => {
      if (frame.event === 'messages' && frame.conversation === conversation.id) this.#take(frame);
    });
  }

  /**
   * What it lacks and does not say, counted by who knows.
   *
   * @param {Head | null} log  the log itself
   */
  verdict(log) {
    const places = [...this.#places.keys()];
    const first = Math.min(...places);
    const isKnown = log !== null && log.epoch === this.#epoch;
    let unseen = 0;
    for (let seq = first; isKnown && seq <= log.seq; seq += 1) {
      if (!this.#places.has(seq)) unseen += 1;
    }
    let ghosts = this.#ghosts;
    for (const [seq, id] of this.#places) {
      const message = this.#conversation.at(seq);
      if (message !== undefined ? message.id !== id : isKnown && seq > log.seq) ghosts += 1;
    }
    return { lines: places.length, unseen, ghosts };
  }

  /**
   * Writes below the list what it hides.
   *
   * @param {Head | null} log
   * @param {boolean} isAtPresent  whether alice is connected, and nothing says that there is more
   */
  draw(log, isAtPresent) {
    const { unseen, ghosts } = this.verdict(log);
    const parts = [
      unseen > 0 && `${unseen} ${unseen === 1 ? 'message is' : 'messages are'} not in it`,
      ghosts > 0 && `${ghosts} ${ghosts === 1 ? 'line is' : 'lines are'} of a log that is gone`,
      !isAtPresent && 'nothing in it says that more may be missing',
    ].filter(Boolean);
    setText(this.#verdict, parts.length === 0 ? 'So far it is whole.'
      : `It looks whole: ${parts.join(', and ')}.`);
    this.#verdict.dataset.tone = parts.length === 0 ? 'good' : 'bad';
  }

  /** @param {EventFrame} frame */
  #take({ deltas = [], head }) {
    if (head !== undefined && head.epoch !== this.#epoch) {
      this.#ghosts += this.#places.size;
      this.#places.clear();
      this.#epoch = head.epoch;
    }
    const isAtEnd = this.#lines.scrollHeight - this.#lines.scrollTop
      - this.#lines.clientHeight < 40;
    for (const { message } of deltas) {
      if (message.deleted || this.#places.has(message.seq)) continue;
      this.#places.set(message.seq, message.id);
      this.#lines.append(element('li', {}, element('b', {}, message.author), ` ${message.body}`));
    }
    while (this.#lines.children.length > SHOWN) this.#lines.firstElementChild?.remove();
    if (isAtEnd) this.#lines.scrollTop = this.#lines.scrollHeight;
  }
}
