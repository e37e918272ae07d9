import { element, setAttribute, setText, uniqueId } from './dom.js';
import { EVERYONE, handleOf, suggested } from './mentions.js';
import { avatar } from './people.js';

/** @import { Mentionable, Person } from './mentions.js' */

/** So many are offered at once; more letters find the others. */
const MOST = 6;
/** An @ that begins a word, and what was typed behind it. */
const TYPED = /(?:^|[^\p{L}\p{N}_@])@([^@\n]{0,40})$/u;

/**
 * Offers those who take part while somebody types behind an @. The focus stays in the box: arrow
 * keys go through the list, Enter and Tab choose, Escape leaves it. It needs no network.
 */
export class MentionList {
  #box;
  #among;
  #onChosen;
  /** @type {(Person | null)[]} */
  #found = [];
  #active = 0;
  /** Where the @ stands. */
  #at = -1;
  /** The @ for which no list is wanted: somebody was chosen there, or the list was left. */
  #left = -1;

  /**
   * @param {object} options
   * @param {HTMLTextAreaElement} options.box
   * @param {() => Mentionable} options.among
   * @param {() => void} options.onChosen  the text of the box is another one
   */
  constructor({ box, among, onChosen }) {
    this.#box = box;
    this.#among = among;
    this.#onChosen = onChosen;
    this.list = element('ul', {
      class: 'mention-list', role: 'listbox', 'aria-label': 'People to mention',
      id: uniqueId('mention-list'), hidden: true,
      // The focus stays where one writes, and with it the keyboard on the screen.
      onmousedown: (/** @type {Event} */ event) => event.preventDefault(),
    });
    this.status = element('div', { class: 'visually-hidden', role: 'status' });
    /** What to put on the page. */
    this.elements = [this.list, this.status];
    setAttribute(box, 'aria-autocomplete', 'list');
    setAttribute(box, 'aria-haspopup', 'listbox');
    for (const name of ['click', 'keyup']) box.addEventListener(name, () => this.#follow());
    box.addEventListener('blur', () => this.close());
  }

  get isOpen() { return !this.list.hidden; }

  /** The text changed: shows who may be meant by what is typed. */
  update() {
    const { value, selectionStart, selectionEnd } = this.#box;
    const before = value.slice(0, selectionStart);
    const typed = selectionStart === selectionEnd ? TYPED.exec(before)?.[1] : undefined;
    const at = typed === undefined ? -1 : before.length - typed.length - 1;
    if (at !== this.#left) this.#left = -1;
    if (typed === undefined || at === this.#left) {
      this.close();
      return;
    }
    this.#at = at;
    const found = suggested(typed, this.#among());
    const all = found.filter((person) => person === null);
    this.#found = [...found.slice(0, MOST - all.length).filter((person) => person), ...all];
    // There is nothing to be completed.
    if (this.#found.length === 1 && this.#handle(this.#found[0]) === typed) this.#found = [];
    this.#active = 0;
    this.#draw();
  }

  close() {
    this.#found = [];
    this.#draw();
  }

  /**
   * @param {KeyboardEvent} event  of the box
   * @returns {boolean}  whether the list took it
   */
  key(event) {
    if (!this.isOpen) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const { length } = this.#found;
      this.#active = (this.#active + step + length) % length;
      this.#draw();
    } else if (event.key === 'Escape') {
      this.#left = this.#at;
      this.close();
    } else if ((event.key === 'Enter' || event.key === 'Tab') && !event.shiftKey) {
      this.#choose(this.#found[this.#active]);
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  }

  /** The cursor may have gone elsewhere. */
  #follow() {
    if (!this.isOpen) return;
    const { value, selectionStart } = this.#box;
    const typed = TYPED.exec(value.slice(0, selectionStart))?.[1];
    if (typed === undefined || selectionStart - typed.length - 1 !== this.#at) this.close();
  }

  /** @param {Person | null} person  null for everybody */
  #choose(person) {
    const handle = this.#handle(person);
    const box = this.#box;
    const end = box.selectionStart;
    const space = /^\s/u.test(box.value.slice(end)) ? '' : ' ';
    box.setRangeText(`@${handle}${space}`, this.#at, end, 'end');
    this.#left = this.#at;
    this.close();
    this.#onChosen();
  }

  /** @param {Person | null} person */
  #handle(person) {
    return person === null ? EVERYONE : handleOf(person, this.#among().people);
  }

  #draw() {
    const found = this.#found;
    const { id } = this.list;
    const count = found.length;
    this.list.replaceChildren(...found.map((person, index) => element('li', {
      role: 'option', id: `${id}-${index}`, 'aria-selected': String(index === this.#active),
      onclick: () => this.#choose(person),
    }, ...optionOf(person))));
    this.list.hidden = count === 0;
    setAttribute(this.#box, 'aria-controls', count > 0 ? id : undefined);
    setAttribute(this.#box, 'aria-activedescendant',
      count > 0 ? `${id}-${this.#active}` : undefined);
    const text = count === 1 ? '1 person to mention' : `${count} people to mention`;
    setText(this.status, count === 0 ? '' : text);
    this.list.children[this.#active]?.scrollIntoView({ block: 'nearest' });
  }
}

/** @param {Person | null} person */
function optionOf(person) {
  if (person === null) {
    return [avatar(EVERYONE), element('bdi', {}, EVERYONE),
      element('span', { class: 'faint' }, 'all who take part')];
  }
  const { id, name } = person;
  return [avatar(name), element('bdi', {}, name),
    name === id ? '' : element('bdi', { class: 'faint' }, id)];
}
