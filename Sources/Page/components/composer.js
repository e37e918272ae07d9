import { element, hasKeyboard, icon, setAttribute, setText } from './dom.js';
import { MentionList } from './mention-list.js';
import { shortened } from './quote.js';

/** @import { Message } from '../../Browser/types.js' */
/** @import { Mentionable } from './mentions.js' */

/** What begins a message that tells what its author does. */
const ACT = /^\/me\s+(?=\S)/u;
const SEND = 'M4 10h11M10.5 5.5L15 10l-4.5 4.5';

/**
 * The box to write in. Enter sends and Shift+Enter begins a new line; where there is no keyboard
 * Enter begins a new line, as its key then says, and the button sends. Arrow up in an empty box
 * edits one's last message, Escape leaves the edit, or the reply. Behind an @ those who take part
 * are offered.
 */
export class Composer {
  #onSend;
  #onEdit;
  #onTyped;
  #onRecall;
  /** What is changed in the box, and who takes the new text. */
  /** @type {{body: string, take: (body: string) => void} | null} */
  #editing = null;
  /** @type {Message | null} */
  #answered = null;
  /** What stood in the box before an edit took it. */
  #kept = '';

  /**
   * @param {object} options
   * @param {(body: string, metadata?: Record<string, *>, replyTo?: string) => boolean}
   *   options.onSend  gives whether it could be taken
   * @param {(message: Message) => (body: string) => void} options.onEdit  a message begins to be
   *   changed; gives what takes the new text
   * @param {(hasText: boolean) => void} options.onTyped
   * @param {() => Message | undefined} options.onRecall  one's own last message
   * @param {() => Mentionable} options.among  whom a message here may mention
   */
  constructor({ onSend, onEdit, onTyped, onRecall, among }) {
    this.#onSend = onSend;
    this.#onEdit = onEdit;
    this.#onTyped = onTyped;
    this.#onRecall = onRecall;
    this.box = element('textarea', {
      rows: 1, placeholder: 'Write a message', 'aria-label': 'Message',
      enterkeyhint: hasKeyboard() ? 'send' : 'enter',
      oninput: () => this.#typed(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    });
    this.mentions = new MentionList({ box: this.box, among, onChosen: () => this.#typed() });
    this.send = element('button', {
      type: 'submit', class: 'send', 'aria-label': 'Send', title: 'Send', disabled: true,
      // The focus stays where one writes, and with it the keyboard on the screen.
      onmousedown: (/** @type {Event} */ event) => event.preventDefault(),
    }, icon(SEND));
    this.noted = element('span', {});
    const cancel = { type: 'button', class: 'link', onclick: () => this.#cancel() };
    this.note = element('div', { class: 'editing', hidden: true },
      this.noted, element('button', cancel, 'Cancel'));
    /** What to put on the page. */
    this.element = element('form', {
      class: 'composer', onsubmit: (/** @type {Event} */ event) => this.#submit(event),
    }, this.note,
    element('div', { class: 'box' }, this.box, this.send, ...this.mentions.elements));
  }

  /** What is written and not sent: the text that an edit put aside, while there is one. */
  get text() { return this.#editing === null ? this.box.value : this.#kept; }

  set text(text) { this.#fill(text); }

  /** Puts the cursor into the box, where that does not open a keyboard over the messages. */
  focus() {
    if (hasKeyboard()) this.box.focus();
  }

  /** @param {boolean} isEnabled */
  setEnabled(isEnabled) {
    this.box.disabled = !isEnabled;
    setAttribute(this.box, 'placeholder', isEnabled ? 'Write a message' : 'You can only read here');
    this.#drawSend();
  }

  /**
   * Takes a message into the box to be changed.
   *
   * @param {Message} message
   */
  edit(message) { this.revise('Editing a message', message.body ?? '', this.#onEdit(message)); }

  /**
   * Takes a text into the box to be changed.
   *
   * @param {string} note  what that is
   * @param {string} body
   * @param {(body: string) => void} take  takes it when it was changed
   */
  revise(note, body, take) {
    if (this.#editing === null) this.#kept = this.box.value;
    this.#editing = { body, take };
    this.#answered = null;
    this.#drawNote(note);
    this.#fill(body);
    this.box.focus();
  }

  /**
   * What is written next answers a message.
   *
   * @param {Message} message
   * @param {string} name  of its author
   */
  reply(message, name) {
    if (this.#editing !== null) this.#endEdit();
    this.#answered = message;
    this.#drawNote(`Reply to ${name}: ${shortened(message.body ?? '')}`);
    this.box.focus();
  }

  #cancel() {
    if (this.#editing !== null) {
      this.#endEdit();
      return;
    }
    this.#answered = null;
    this.#drawNote('');
    this.focus();
  }

  /** @param {string} text  empty for none */
  #drawNote(text) {
    setText(this.noted, text);
    this.note.hidden = text === '';
  }

  #endEdit() {
    this.#editing = null;
    this.#drawNote('');
    this.#fill(this.#kept);
    this.#kept = '';
    this.focus();
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    const body = this.box.value.trim();
    if (body === '') return;
    if (document.activeElement === this.send) this.box.focus();
    const editing = this.#editing;
    if (editing === null) {
      const act = ACT.exec(body);
      const said = act ? body.slice(act[0].length) : body;
      if (!this.#onSend(said, act ? { emote: true } : undefined, this.#answered?.id)) return;
      this.#answered = null;
      this.#drawNote('');
      this.#fill('');
    } else {
      this.#endEdit();
      if (body !== editing.body) editing.take(body);
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    // While an input method composes a word, its keys are its own.
    if (event.isComposing || this.mentions.key(event)) return;
    if (event.key === 'Enter' && !event.shiftKey && hasKeyboard()) {
      this.#submit(event);
    } else if (event.key === 'Escape' && !this.note.hidden) {
      this.#cancel();
    } else if (event.key === 'ArrowUp' && this.box.value === '') {
      const last = this.#onRecall();
      if (last) {
        event.preventDefault();
        this.edit(last);
      }
    }
  }

  #typed() {
    this.#grow();
    this.#drawSend();
    this.mentions.update();
    if (this.#editing === null) this.#onTyped(this.box.value.trim() !== '');
  }

  /** @param {string} text */
  #fill(text) {
    this.box.value = text;
    this.mentions.close();
    this.#grow();
    this.#drawSend();
  }

  #drawSend() { this.send.disabled = this.box.disabled || this.box.value.trim() === ''; }

  /** The box is as high as its text; the style sheet sets the limit. */
  #grow() {
    this.box.style.height = 'auto';
    this.box.style.height = `${this.box.scrollHeight}px`;
  }
}
