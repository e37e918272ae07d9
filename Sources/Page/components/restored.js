import { RequestError } from '../../Browser/request-error.js';
import { Signal } from '../../Browser/signal.js';
import { element, setText } from './dom.js';
import { clockTime } from './moments.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { Conversation } from '../../Browser/conversation.js' */
/** @import { Message } from '../../Browser/types.js' */

/**
 * What was said of each conversation as long as the tab is there: of which log, and the text, empty
 * once it was dismissed. A reload may begin with the log before, and would say it again.
 */
const KEY = 'gapless.restored';

/**
 * Says that a log was restored from a copy, and what of it is gone that the reader had seen, until
 * they dismiss it: nothing else would tell them that it ever was there.
 */
export class Restored {
  /** The text is another one. @type {Signal<void>} */
  changed = new Signal();

  #connection;
  #conversation;
  #hasSeen;
  #generation;
  /** What was shown, and up to where was read, before the present log. */
  /** @type {{messages: Message[], read: number}} */
  #known = { messages: [], read: 0 };
  /** The same of the log that is gone, until it is compared. @type {Message[] | null} */
  #lost = null;
  /** What was said of this conversation. @type {Said} */
  #said;
  #stop;

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {Conversation} options.conversation
   * @param {(seq: number) => boolean} options.hasSeen  whether a place was on the screen
   */
  constructor({ connection, conversation, hasSeen }) {
    this.#connection = connection;
    this.#conversation = conversation;
    this.#hasSeen = hasSeen;
    this.#generation = conversation.generation;
    this.text = element('span', { role: 'status' });
    /** What to put on the page. */
    this.element = element('div', { class: 'restored' }, this.text, element('button', {
      type: 'button', class: 'link', onclick: () => this.#say({ ...this.#said, text: '' }),
    }, 'Dismiss'));
    this.#said = kept()[conversation.id] ?? { epoch: '', text: '' };
    this.#draw();
    this.#stop = conversation.changed.listen(() => this.#follow());
    this.#follow();
  }

  /** Stops following the conversation. */
  dispose() { this.#stop(); }

  #follow() {
    const { generation, items, lastReadSeq, have, phase } = this.#conversation;
    if (generation !== this.#generation) {
      this.#generation = generation;
      const { messages, read } = this.#known;
      const seen = messages.filter(({ seq }) => seq <= read || this.#hasSeen(seq));
      // What was lost twice was seen before the first time.
      if (this.#lost === null && messages.length > 0) this.#compareLater(messages, seen);
      this.#known = { messages: [], read: 0 };
    }
    const messages = items.flatMap((item) => (
      item.kind === 'message' && item.isHeld ? [item.message] : []
    ));
    if (messages.length > 0) {
      this.#known = { messages, read: Math.max(lastReadSeq ?? 0, this.#known.read) };
    }
    if (this.#lost !== null && phase === 'live' && have) {
      const compare = this.#compare;
      [this.#lost, this.#compare] = [null, async () => {}];
      compare();
    }
  }

  /** Compares what was shown with the log, when there is one. */
  #compare = async () => {};

  /**
   * @param {Message[]} shown  oldest first
   * @param {Message[]} seen  those of them that the reader had seen
   */
  #compareLater(shown, seen) {
    this.#lost = shown;
    this.#compare = async () => {
      const epoch = this.#conversation.have?.head.epoch;
      if (epoch === undefined || this.#said.epoch === epoch) return;
      try {
        const common = await this.#lastOf(shown);
        const gone = seen.filter(({ seq, deleted }) => seq > (common?.seq ?? 0) && !deleted);
        this.#say({ epoch, text: textOf(common, gone.length) });
      } catch (error) {
        // The connection went, or the log is no longer the reader's: nothing is known of it.
        if (!(error instanceof RequestError)) throw error;
      }
    };
  }

  /**
   * The newest of messages that the log still has. A copy lacks the newest changes, so that all
   * before it are there too.
   *
   * @param {Message[]} messages  oldest first
   * @returns {Promise<Message | undefined>}
   */
  async #lastOf(messages) {
    let [low, high] = [0, messages.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (await this.#has(messages[middle])) low = middle + 1; else high = middle;
    }
    return messages[low - 1];
  }

  /** @param {Message} message */
  async #has({ id }) {
    if (this.#conversation.message(id)) return true;
    const { id: conversation } = this.#conversation;
    const params = { conversation, around: id, limit: 1, cached: false };
    try {
      await this.#connection.request('fetchMessages', params);
      return true;
    } catch (error) {
      if (RequestError.is(error, 'not_found')) return false;
      throw error;
    }
  }

  /** @param {Said} said */
  #say(said) {
    this.#said = said;
    try {
      const all = { ...kept(), [this.#conversation.id]: said };
      sessionStorage.setItem(KEY, JSON.stringify(all));
    } catch {
      // Then it stands as long as the page.
    }
    this.#draw();
    this.changed.emit();
  }

  #draw() {
    const { text } = this.#said;
    this.element.hidden = text === '';
    setText(this.text, text);
  }
}

/**
 * @param {Message | undefined} common  the newest message that is in both
 * @param {number} count  of messages that were seen and are gone
 */
function textOf(common, count) {
  const what = common === undefined ? 'The log began anew'
    : `The log was restored to ${clockTime(common.editedAt ?? common.createdAt)}`;
  if (count === 0) return `${what}.`;
  const [messages, are] = count === 1 ? ['message', 'is'] : ['messages', 'are'];
  return `${what}; ${count} ${messages} that you had seen ${are} no longer in it.`;
}

/** @typedef {{epoch: string, text: string}} Said */

/** @returns {Record<string, Said>} */
function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
  } catch {
    return {};
  }
}
