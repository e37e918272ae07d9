import { element, setText, uniqueId } from './dom.js';
import { heldCount } from './stretches.js';

/** @import { Conversation } from '../../Browser/conversation.js' */

const number = new Intl.NumberFormat();

/** Finds a text in what is held of a conversation and says what was not searched; goes to a day. */
export class FindPanel {
  #conversation;
  #onShow;
  /** What was looked for last, and where it was found, newest first. */
  #found = { text: '', places: /** @type {number[]} */ ([]), at: -1 };

  /**
   * @param {object} options
   * @param {Conversation} options.conversation
   * @param {(seq: number) => Promise<boolean>} options.onShow  a message was chosen
   */
  constructor({ conversation, onShow }) {
    this.#conversation = conversation;
    this.#onShow = onShow;
    this.text = element('input', { type: 'search', 'aria-label': 'Search in this conversation',
      placeholder: 'Search in what is here' });
    this.day = element('input', { type: 'date', 'aria-label': 'Go to a day', title: 'Go to a day',
      onchange: () => this.#goToDay() });
    this.status = element('p', { role: 'status' });
    /** What to put on the page. */
    this.element = element('form', {
      class: 'find', id: uniqueId('find'), role: 'search', hidden: true,
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        this.#findNext();
      },
    }, this.text, element('button', { type: 'submit', class: 'quiet' }, 'Find'), this.day,
    this.status);
  }

  /** Whether it is shown. */
  get isShown() { return !this.element.hidden; }

  set isShown(isShown) {
    this.element.hidden = !isShown;
    if (isShown) this.text.focus();
  }

  async #findNext() {
    const text = this.text.value.trim().toLowerCase();
    if (text === '') return;
    const places = this.#places(text);
    const isSame = text === this.#found.text;
    const last = isSame ? this.#found.places[this.#found.at] : undefined;
    // From the one found last on, although others may have come meanwhile.
    const next = last === undefined ? 0 : places.findIndex((seq) => seq < last);
    const at = places.length === 0 ? -1 : Math.max(0, next);
    this.#found = { text, places, at };
    const { held, all } = heldCount(this.#conversation.have);
    const rest = all - held;
    const where = rest === 0 ? '' : ` ${number.format(rest)} messages are not here, and were not `
      + 'searched.';
    const what = at < 0 ? `Not found in the ${number.format(held)} messages that are here.`
      : `${number.format(at + 1)} of ${number.format(places.length)}.`;
    setText(this.status, `${what}${where}`);
    if (at < 0) return;
    await this.#onShow(places[at]);
    this.text.focus();
  }

  /** @param {string} text */
  #places(text) {
    const places = [];
    for (const item of this.#conversation.items) {
      if (item.kind !== 'message' || item.message.deleted) continue;
      if (item.message.body?.toLowerCase().includes(text)) places.unshift(item.message.seq);
    }
    return places;
  }

  async #goToDay() {
    const [year, month, day] = this.day.value.split('-').map(Number);
    if (!year) return;
    const time = new Date(year, month - 1, day).toISOString();
    const hasCome = await this.#conversation.loadAround({ time });
    const messages = this.#conversation.items.filter((item) => item.kind === 'message')
      .map((item) => item.message);
    const first = messages.find(({ createdAt }) => createdAt >= time) ?? messages.at(-1);
    setText(this.status, hasCome ? '' : 'That day can\'t be loaded now.');
    if (hasCome && first) await this.#onShow(first.seq);
  }
}
