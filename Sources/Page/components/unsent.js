import { Signal } from '../../Browser/signal.js';

/**
 * What a user typed and did not send, by conversation: it waits while its author looks elsewhere,
 * also over a reload. It goes when it is sent, and with the user.
 */
export class UnsentTexts {
  /** A text was kept or taken away. @type {Signal<void>} */
  changed = new Signal();

  #key;
  /** @type {Map<string, string>} */
  #texts;

  /** @param {string | null} user  whose texts they are; null: kept as long as the page */
  constructor(user) {
    this.#key = user === null ? null : keyFor(user);
    this.#texts = new Map(this.#key === null ? [] : read(this.#key));
  }

  /**
   * Forgets what a user typed.
   *
   * @param {string} user
   */
  static erase(user) { localStorage.removeItem(keyFor(user)); }

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
    if (this.#key !== null) write(this.#key, [...this.#texts]);
    this.changed.emit();
  }
}

/** @param {string} user */
function keyFor(user) { return `gapless.unsent ${user}`; }

/**
 * @param {string} key
 * @returns {[string, string][]}
 */
function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '[]');
  } catch {
    return [];
  }
}

/**
 * @param {string} key
 * @param {[string, string][]} texts
 */
function write(key, texts) {
  try {
    localStorage.setItem(key, JSON.stringify(texts));
  } catch {
    // Without room they last as long as the page.
  }
}
