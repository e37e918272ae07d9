import { Signal } from '../signal.js';

/**
 * What was typed and not sent, by conversation: it waits while its author looks elsewhere. It lives
 * as long as the page, and leaves it only when it is sent.
 */
export class UnsentTexts {
  /** A text was kept or taken away. @type {Signal<void>} */
  changed = new Signal();

  /** @type {Map<string, string>} */
  #texts = new Map();

  /**
   * The text of a conversation, empty if there is none.
   *
   * @param {string} id
   */
  text(id) { return this.#texts.get(id) ?? ''; }

  /**
   * Keeps a text; one without a word is forgotten.
   *
   * @param {string} id
   * @param {string} text
   */
  keep(id, text) {
    if (text.trim() === '') this.#texts.delete(id); else this.#texts.set(id, text);
    this.changed.emit();
  }
}
