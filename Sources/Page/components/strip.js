import { element, setAttribute, soon } from './dom.js';
import { heldCount, placeAt, stretches } from './stretches.js';

/** @import { Conversation } from '../../Browser/conversation.js' */

const number = new Intl.NumberFormat();
/** How far the keys go, in shares of the whole. */
const steps = new Map([
  ['ArrowUp', -0.01], ['ArrowDown', 0.01], ['PageUp', -0.1], ['PageDown', 0.1],
]);

/**
 * What of a conversation is held, as a thin strip beside the scroll bar: whole where it is, hatched
 * where something is missing. A click or a key goes to the place.
 */
export class Strip {
  #conversation;
  #onShow;
  /** @type {[number, number] | null} */
  #view = null;
  #schedule = soon(() => this.#draw());
  #stop;

  /**
   * @param {object} options
   * @param {Conversation} options.conversation
   * @param {(seq: number) => void} options.onShow  a place was chosen
   */
  constructor({ conversation, onShow }) {
    this.#conversation = conversation;
    this.#onShow = onShow;
    /** What to put on the page. */
    this.element = element('div', {
      class: 'strip', role: 'slider', tabindex: 0, 'aria-orientation': 'vertical',
      'aria-label': 'Place in the conversation', hidden: true,
      onclick: (/** @type {MouseEvent} */ event) => this.#clicked(event),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    });
    this.#stop = conversation.changed.listen(this.#schedule);
  }

  /** The places in view. @param {[number, number]} view */
  set view(view) {
    this.#view = view;
    this.#schedule();
  }

  /** Stops following the conversation. */
  dispose() { this.#stop(); }

  #draw() {
    const { have, gaps } = this.#conversation;
    const { held, all } = heldCount(have);
    this.element.hidden = have === null || all < 2;
    if (have === null || all < 2) return;
    const { floor, seq } = have.head;
    this.element.replaceChildren(...stretches(have, gaps, this.#view, 'down'));
    const now = this.#view?.[0] ?? seq;
    const missing = gaps.filter(({ cause }) => cause !== 'trimmed').length;
    const rest = missing === 0 ? 'nothing is missing between them'
      : `${missing} ${missing === 1 ? 'gap' : 'gaps'} between them`;
    setAttribute(this.element, 'aria-valuemin', floor);
    setAttribute(this.element, 'aria-valuemax', seq);
    setAttribute(this.element, 'aria-valuenow', Math.min(seq, Math.max(floor, now)));
    const text = `Message ${number.format(now)} of ${number.format(seq)}`;
    setAttribute(this.element, 'aria-valuetext',
      `${text}; ${number.format(held)} are here, ${rest}`);
  }

  /** @param {MouseEvent} event */
  #clicked({ clientY }) {
    const { top, height } = this.element.getBoundingClientRect();
    this.#show((clientY - top) / height);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const head = this.#conversation.have?.head;
    const step = steps.get(event.key);
    if (!head || (step === undefined && event.key !== 'Home' && event.key !== 'End')) return;
    event.preventDefault();
    event.stopPropagation();
    const all = head.seq - head.floor;
    if (step === undefined) {
      this.#show(event.key === 'Home' ? 0 : 1);
      return;
    }
    // A step is a message at least.
    const places = Math.sign(step) * Math.max(1, Math.round(Math.abs(step) * all));
    this.#show(((this.#view?.[0] ?? head.seq) + places - head.floor) / all);
  }

  /** @param {number} share */
  async #show(share) {
    const head = this.#conversation.have?.head;
    if (!head || head.seq < head.floor) return;
    const hadFocus = document.activeElement === this.element;
    await this.#onShow(placeAt(head, share));
    // A person who goes by keys goes on by keys.
    if (hadFocus) this.element.focus({ preventScroll: true });
  }
}
