import { RequestError } from '../../Browser/request-error.js';
import { drawPresence, presenceDot } from './attendance.js';
import { Composer } from './composer.js';
import { confirmation } from './dialogs.js';
import { element, icon, setText, soon } from './dom.js';
import { FindPanel } from './find-panel.js';
import { mentionedIn, mentionsChanged } from './mentions.js';
import { MessageList } from './message-list.js';
import { isAboutMentions } from './message-row.js';
import { conversationName, listNames } from './people.js';
import { showPeople } from './people-dialog.js';
import { focusBack } from './reactions.js';
import { Restored } from './restored.js';
import { TruthPanel } from './truth-panel.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { Conversation } from '../../Browser/conversation.js' */
/** @import { ConversationList } from '../../Browser/conversations.js' */
/** @import { ConversationRecord, Message } from '../../Browser/types.js' */
/** @import { Attendance } from './attendance.js' */
/** @import { Health } from './health.js' */
/** @import { UnsentTexts } from './unsent.js' */

const BACK = 'M12.5 4.5L7 10l5.5 5.5';
const GLASS = 'M13 13l4 4M14.5 9a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0z';
const STRETCHES = 'M3 7h14M3 13h5M12 13h5';

/** Why a reaction was refused, by the reason that the gateway gives. */
const REFUSALS = new Map([
  ['clients_react_off', 'reactions are turned off here'],
  ['not_enabled', 'reactions are not turned on here yet'],
  ['limit_reaction_keys', 'this message has as many different ones as it can have'],
  ['limit_reactions_of_user', 'you have as many on this message as one can have'],
  ['limit_reactions', 'this message has as many as it can have'],
  ['message_deleted', 'the message was deleted meanwhile'],
]);

/**
 * One open conversation: its name, what is in doubt about it, its messages, who is typing, and the
 * box to write in.
 */
export class ConversationView {
  #connection;
  #conversation;
  #list;
  #unsent;
  #health;
  #attendance;
  /** The other one of a conversation of two. @type {string | null} */
  #partner = null;
  #stopWatching = () => {};
  #scheduleDraw = soon(() => this.#draw());
  /** @type {(() => void)[]} */
  #stops = [];

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {Conversation} options.conversation
   * @param {ConversationList} options.list
   * @param {UnsentTexts} options.unsent
   * @param {Health} options.health
   * @param {Attendance} [options.attendance]  without it nobody is shown as there
   * @param {() => void} options.onBack
   */
  constructor({ connection, conversation, list, unsent, health, attendance, onBack }) {
    this.#connection = connection;
    this.#conversation = conversation;
    this.#list = list;
    this.#unsent = unsent;
    this.#health = health;
    this.#attendance = attendance;
    this.composer = new Composer({
      among: () => this.#among,
      onSend: (body, metadata, replyTo) => this.#send(body, metadata, replyTo),
      onEdit: (message) => {
        const seen = conversation.see(message.id);
        return (body) => {
          const mentions = mentionsChanged(message, body, this.#among);
          return this.#attempt(conversation.edit(seen, body, mentions), 'changed');
        };
      },
      onTyped: (hasText) => conversation.typed(hasText),
      onRecall: () => this.#ownLast(),
    });
    this.truth = new TruthPanel({
      connection, conversation, onShow: (seq) => { this.messages.reveal(seq); },
    });
    this.messages = new MessageList({
      connection, conversation, user: connection.user, health,
      onReply: (message) => this.composer.reply(message, this.#nameOf(message.author)),
      onEdit: (message) => this.composer.edit(message),
      onRewrite: (draft) => this.composer.revise('Editing what was not sent', draft.body,
        (text) => this.#rewrite(draft, text)),
      onPlain: ({ id, kind, body, reason }) => {
        const isNoReply = reason === 'not_enabled' && kind === 'send';
        conversation.rewrite(id, body, {
          mentionAll: undefined,
          ...(reason === 'not_enabled' && { mentions: undefined }),
          ...(isNoReply && { replyTo: undefined }),
        });
      },
      onDelete: (message) => this.#delete(message),
      onReact: ({ id }, key, on) => this.#react(id, key, on),
      onView: (first, last) => { this.truth.view = [first, last]; },
      onLost: () => confirmation({
        question: 'That message is not here, and can\'t be loaded now.', answer: 'OK', isOnly: true,
      }),
    });
    this.restored = new Restored({
      connection, conversation, hasSeen: (seq) => this.messages.hasSeen(seq),
    });
    this.truthButton = element('button', {
      type: 'button', class: 'round', 'aria-label': 'What this page holds',
      title: 'What this page holds', 'aria-expanded': 'false',
      'aria-controls': this.truth.element.id, onclick: () => this.#toggleTruth(),
    }, icon(STRETCHES));
    this.find = new FindPanel({ conversation, onShow: (seq) => this.messages.reveal(seq) });
    this.findButton = element('button', {
      type: 'button', class: 'round', 'aria-label': 'Search', title: 'Search',
      'aria-expanded': 'false', 'aria-controls': this.find.element.id,
      onclick: () => this.#toggleFind(),
    }, icon(GLASS));
    this.title = element('h2', {});
    this.subtitle = element('button', {
      type: 'button', class: 'people-button', title: 'People',
      onclick: () => this.#showPeople(onBack),
    });
    this.dot = presenceDot();
    this.whose = element('span', { class: 'visually-hidden' });
    this.presence = element('span', {});
    this.notice = element('div', { class: 'notice', role: 'status', hidden: true });
    this.typing = element('div', { class: 'typing', 'aria-live': 'polite' });
    /** What to put on the page. */
    this.elements = [
      element('header', { class: 'head' },
        element('button', {
          type: 'button', class: 'round back', 'aria-label': 'All conversations', onclick: onBack,
        }, icon(BACK)),
        element('div', { class: 'name' }, this.title,
          element('div', { class: 'subtitle' }, this.subtitle,
            element('span', { class: 'partner' }, this.dot, this.whose, this.presence))),
        this.findButton,
        this.truthButton),
      this.find.element, this.truth.element, this.notice, this.restored.element,
      this.messages.element, this.typing, this.composer.element,
    ];
    this.#stops = [conversation, list].map(({ changed }) => changed.listen(this.#scheduleDraw));
    if (attendance) this.#stops.push(attendance.changed.listen(this.#scheduleDraw));
    // At once: the banner takes its room from the messages, which then hold their place.
    for (const signal of [health.changed, connection.live]) {
      this.#stops.push(signal.listen(() => this.#draw()));
    }
    this.#draw();
  }

  /** It is on the page now, so that a text has a height: writing goes on where it was left. */
  enter() {
    this.composer.text = this.#unsent.text(this.#conversation.id);
    this.composer.focus();
  }

  /** Keeps what is written here and not sent. */
  keepText() { this.#unsent.keep(this.#conversation.id, this.composer.text); }

  /** Stops following the conversation; what is written there and not sent is kept. */
  dispose() {
    this.keepText();
    for (const stop of this.#stops) stop();
    this.#stopWatching();
    this.messages.dispose();
    this.truth.dispose();
    this.restored.dispose();
  }

  #toggleTruth() {
    this.truth.isShown = !this.truth.isShown;
    this.truthButton.setAttribute('aria-expanded', String(this.truth.isShown));
  }

  #toggleFind() {
    this.find.isShown = !this.find.isShown;
    this.findButton.setAttribute('aria-expanded', String(this.find.isShown));
  }

  /** @param {() => void} onLeft */
  #showPeople(onLeft) {
    const record = this.#conversation.record ?? this.#list.record(this.#conversation.id);
    if (!record) return;
    showPeople({
      connection: this.#connection, record, onLeft, attendance: this.#attendance,
    });
  }

  /** @param {string} id */
  #nameOf(id) { return this.#conversation.people.get(id)?.name ?? id; }

  /**
   * Whom a message here may mention. Of more people than a page has all of, those who spoke in what
   * is here: the gateway leaves out who takes no part.
   */
  get #among() {
    const { people, record, items, id } = this.#conversation;
    const { user } = this.#connection;
    const known = record ?? this.#list.record(id);
    const ids = people.size > 0 ? [...people.keys()]
      : known?.participants ?? this.#list.record(id)?.participants
        ?? items.flatMap((item) => (item.kind === 'message' ? [item.message.author] : []));
    const others = [...new Set(ids)].filter((of) => of !== user);
    const { admins = [] } = known ?? {};
    return {
      people: others.map((of) => ({ id: of, name: this.#nameOf(of) })),
      hasAll: known !== undefined && (admins.length === 0 || admins.includes(user ?? '')),
    };
  }

  /**
   * Gives what was not sent another text, and mentions those whom that names.
   *
   * @param {import('../../Browser/drafts.js').Draft} draft
   * @param {string} text
   */
  #rewrite({ id, kind }, text) {
    const conversation = this.#conversation;
    const message = kind === 'edit' ? conversation.message(id) : undefined;
    const fields = message === undefined ? mentionedIn(text, this.#among)
      : mentionsChanged(message, text, this.#among);
    conversation.rewrite(id, text, { mentions: undefined, mentionAll: undefined, ...fields });
  }

  #draw() {
    const conversation = this.#conversation;
    const listed = this.#list.record(conversation.id);
    const record = conversation.record ?? listed;
    const participants = record?.participants ?? listed?.participants;
    const { user } = this.#connection;
    const named = record && { ...record, participants };
    setText(this.title, conversationName(named, conversation.id, user));
    setText(this.subtitle, peopleText(record?.participantCount, participants));
    this.#drawPresence(named);
    setText(this.typing, typingText(conversation.typists));
    const notice = this.#noticeText();
    this.notice.hidden = notice === '';
    setText(this.notice, notice);
    this.composer.setEnabled(conversation.phase !== 'ended');
    this.messages.unreadMentions = listed?.unreadMentions ?? 0;
    this.#list.markRead(conversation.id, conversation.lastReadSeq ?? 0);
  }

  /**
   * Whether the other one is there, in a conversation of two.
   *
   * @param {ConversationRecord | null | undefined} record
   */
  #drawPresence(record) {
    const attendance = this.#attendance;
    if (attendance === undefined) return;
    const partner = attendance.partnerIn(record);
    if (partner !== this.#partner) {
      this.#partner = partner;
      this.#stopWatching();
      this.#stopWatching = partner === null ? () => {}
        : attendance.watch(this.#conversation.id, [partner]);
    }
    const presence = attendance.of(partner);
    drawPresence(this.dot, this.presence, presence);
    setText(this.whose, presence === null ? '' : `${partner}: `);
  }

  /** What is in doubt about this conversation; an empty text for nothing. */
  #noticeText() {
    const { phase, ending, isOpen } = this.#conversation;
    if (phase === 'ended') return ending ?? '';
    const { trouble } = this.#health;
    if (trouble !== null) return trouble.text;
    if (phase === 'waiting') return 'The gateway can\'t answer now, and is asked again.';
    return phase === 'live' && isOpen
      ? 'There may be newer messages here. The gateway is reading them.' : '';
  }

  /**
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   * @param {string} [replyTo]
   */
  #send(body, metadata, replyTo) {
    const { mentions, mentionAll } = mentionedIn(body, this.#among);
    try {
      this.#conversation.send(body, metadata, undefined, {
        replyTo, ...(mentions.length > 0 && { mentions }), ...(mentionAll && { mentionAll }),
      });
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      confirmation({ question: `This can't be sent: ${message}.`, answer: 'OK', isOnly: true });
      return false;
    }
    this.messages.clearUnread();
    this.messages.scrollToEnd();
    return true;
  }

  /** @param {Message} message */
  async #delete(message) {
    const seen = this.#conversation.see(message.id);
    const question = 'Delete this message for everybody?';
    const isSure = await confirmation({ question, answer: 'Delete' });
    if (isSure) await this.#attempt(this.#conversation.delete(seen), 'deleted');
  }

  /**
   * @param {Promise<void>} action
   * @param {string} what
   */
  async #attempt(action, what) {
    try {
      await action;
    } catch (error) {
      // What is in conflict or too large stands below its message, with what one can do about it.
      if (RequestError.is(error, 'conflict') || RequestError.is(error, 'too_large')) return;
      const { message, reason } = /** @type {RequestError} */ (error);
      if (isAboutMentions(reason)) return;
      const question = `The message was not ${what}: ${message}.`;
      await confirmation({ question, answer: 'OK', isOnly: true });
    }
  }

  /**
   * @param {string} id
   * @param {string} key
   * @param {boolean} on
   */
  async #react(id, key, on) {
    try {
      await this.#conversation.react(id, key, on);
    } catch (error) {
      const { reason, message } = /** @type {RequestError} */ (error);
      const what = on ? 'added' : 'taken back';
      const question = `The reaction was not ${what}: ${REFUSALS.get(reason ?? '') ?? message}.`;
      // The message is drawn anew beneath the question.
      const back = focusBack(/** @type {HTMLElement} */ (document.activeElement));
      await confirmation({ question, answer: 'OK', isOnly: true });
      back();
    }
  }

  #ownLast() {
    const { user } = this.#connection;
    const item = this.#conversation.items.findLast((of) => (
      of.kind === 'message' && of.message.author === user && !of.message.deleted
    ));
    return item?.kind === 'message' ? item.message : undefined;
  }
}

/**
 * @param {number | undefined} count
 * @param {string[] | undefined} people
 */
function peopleText(count, people) {
  const total = count ?? people?.length;
  if (total === undefined) return '';
  // Events tell how many there are now, and not who.
  return people?.length === total && total <= 5 ? listNames(people, 5) : `${total} people`;
}

/** @param {string[]} users */
function typingText(users) {
  if (users.length === 0) return '';
  return `${listNames(users)} ${users.length === 1 ? 'is' : 'are'} typing…`;
}
