import { mentionsUser } from '../../Browser/mentions.js';
import { element, icon } from './dom.js';
import { gapElement, gapSignature } from './gap-row.js';
import { handlesIn } from './mentions.js';
import { clockTime, dayName, fullTime } from './moments.js';
import { avatar, listNames, tone } from './people.js';
import { quoteElement, quoteIn, quoteSignature } from './quote.js';
import { addButton, reactionsElement, reactionsSignature } from './reactions.js';
import { isEmote } from './rows.js';
import { isEmoji, linkedText } from './text.js';

/** @import { MessageItem } from '../../Browser/items.js' */
/** @import { Draft } from '../../Browser/drafts.js' */
/** @import { FoldItem } from './folding.js' */
/** @import { Gap, Message } from '../../Browser/types.js' */
/** @import { Row } from './rows.js' */

/** @typedef {{isContinued: boolean, goesOn: boolean}} Neighbours */

/**
 * What rows need to know beside themselves, and what a person can do with them.
 *
 * @typedef {object} RowContext
 * @property {string | null} user
 * @property {(id: string) => string} nameOf  the display name of a user
 * @property {(id: string) => Draft | undefined} editOf  a change of a message that is not confirmed
 * @property {(gap: Gap) => string} filling  `idle`, `busy`, or why it failed
 * @property {(gap: Gap) => void} onFill
 * @property {(gap: Gap) => void} onReadFrom  wants to read a gap from its oldest message on
 * @property {(id: string) => void} onResend
 * @property {(id: string) => void} onDiscard
 * @property {(draft: Draft) => void} onRewrite  wants to change what was not sent
 * @property {(message: Message) => void} onReply
 * @property {(message: Message) => void} onEdit
 * @property {(message: Message) => void} onDelete
 * @property {(message: Message, key: string, on: boolean) => void} onReact
 * @property {(message: Message, button: HTMLElement) => void} onAddReaction  wants to choose one
 * @property {(message: Message, button: HTMLElement) => void} onShowReactions  wants to know who
 * @property {import('./quoted.js').QuotedMessages} quoted  what is quoted
 * @property {(place: {seq: number}) => void} onQuote  wants to see what is quoted
 * @property {(draft: Draft) => void} onPlain  wants to send it without what was refused
 * @property {(id: string) => void} onReveal  of a message in a fold
 * @property {(id: string) => void} onHide  of a message that was in a fold
 */

/** So many letters of a text are shown that is too long to be sent. */
const EXCERPT = 400;
/** Anybody may write metadata: what is no time of day is not shown. */
const LOGGED = /^\d\d:\d\d(?::\d\d)?$/u;
/** Why a message was not sent, by the reason that the gateway gives. */
const REFUSALS = new Map([
  ['not_enabled', 'replies and mentions are not turned on here yet'],
  ['clients_mention_all_off', 'to mention everyone is turned off here'],
  ['not_admin', 'only admins may mention everyone here'],
  ['limit_mentions', 'it mentions more people than one message can'],
]);
/** It can be sent without what these are about. */
const PLAIN = new Set(['not_enabled', 'clients_mention_all_off', 'not_admin']);
const ARROW = 'M8 5L4 9l4 4M4.5 9h7.5a4 4 0 0 1 4 4v2';

const PENCIL = 'M4 16l.8-3.4L13.4 4l2.6 2.6-8.6 8.6z';
const BIN = 'M5 6.5h10M8.5 6.5V4.5h3v2M6.5 6.5l.6 9h5.8l.6-9';

/**
 * Whether a reply or mentions were refused: that stands below its message, with what one can do.
 *
 * @param {string | undefined} reason
 */
export function isAboutMentions(reason) { return REFUSALS.has(reason ?? ''); }

/**
 * What a row looks like depends on this and nothing else: an equal signature needs no new element.
 *
 * @param {Row} row
 * @param {RowContext} context
 */
export function rowSignature(row, context) {
  switch (row.kind) {
    case 'day': return dayName(row.moment);
    case 'unread': return '';
    case 'seen': return row.by.join('\n');
    default:
  }
  const { item, isContinued, goesOn } = row;
  switch (item.kind) {
    case 'gap': return gapSignature(item, timesOf(row), context);
    case 'fold': return foldText(item, context);
    case 'draft': {
      const { state, error } = item.draft;
      return `${state} ${error} ${isContinued} ${goesOn} ${quoteState(item.draft, context)}`;
    }
    default: {
      const { author, id, rev } = item.message;
      const state = `${rev} ${item.isHeld} ${item.canFold}`;
      const quote = quoteState(item.message, context);
      const edit = editState(context.editOf(id));
      const reactions = reactionsSignature(item.message, context);
      const mentions = handlesIn(item.message, context.nameOf).join('\n');
      return `${state} ${isContinued} ${goesOn} ${context.nameOf(author)} ${quote} ${edit} `
        + `${reactions} ${mentions}`;
    }
  }
}

/**
 * When the messages around a gap were said.
 *
 * @param {import('./rows.js').ItemRow} row
 */
function timesOf({ from = null, to = null }) { return { from, to }; }

/**
 * The element of a row.
 *
 * @param {Row} row
 * @param {RowContext} context
 * @returns {HTMLElement}
 */
export function rowElement(row, context) {
  switch (row.kind) {
    case 'day':
      return dividerElement(dayName(row.moment));
    case 'unread':
      return dividerElement('New', { 'data-unread': true });
    case 'seen':
      return element('div', { class: 'row seen' }, `Seen by ${listNames(row.by, 4)}`);
    default:
  }
  switch (row.item.kind) {
    case 'gap': return gapElement(row.item, timesOf(row), context);
    case 'fold': return foldElement(row.item, context);
    case 'draft': return draftElement(row.item.draft, row, context);
    default: return messageElement(row.item, row, context);
  }
}

/**
 * @param {string} text
 * @param {Record<string, *>} [attributes]
 */
function dividerElement(text, attributes = {}) {
  return element('div', { class: 'row divider', ...attributes },
    element('span', {}, text));
}

/**
 * @param {object} of
 * @param {string} of.author
 * @param {string} of.name
 * @param {string} of.createdAt
 * @param {boolean} [of.isMention]  it is about the user
 * @param {string} [of.loggedAt]  the time that a log gives it which was replayed
 * @param {boolean} of.isOwn
 * @param {Neighbours} of.neighbours
 * @param {boolean} [of.isAct]  the text goes on behind the author's name: an emote
 * @param {HTMLElement | false} [of.quote]  what it answers
 * @param {HTMLElement} of.body
 * @param {HTMLElement | false} [of.reactions]
 * @param {HTMLElement | false} of.more  what stands below it
 * @param {Record<string, *>} [of.attributes]
 */
function speechElement(of) {
  const { author, name, createdAt, loggedAt = '', isOwn, isAct, quote, body } = of;
  const { isContinued, goesOn } = of.neighbours;
  const logged = loggedAt === '' ? '' : `, ${loggedAt} in the log that it was replayed from`;
  const when = { datetime: createdAt, title: `${fullTime(createdAt)}${logged}` };
  const time = element('time', when, clockTime(createdAt));
  const elsewhen = loggedAt !== '' && !isContinued && element('span', {
    class: 'logged', title: 'The time in the log that this was replayed from',
  }, `${loggedAt} originally`);
  const who = element('span', { class: 'author', 'data-tone': tone(author) }, name);
  const byline = { class: isContinued ? 'byline visually-hidden' : 'byline' };
  if (isAct) {
    body.prepend(who, ' ');
    body.append(' ', time);
    if (elsewhen) body.append(' ', elsewhen);
  }
  return element('div', {
    class: 'row message', role: 'article', tabindex: -1,
    'aria-label': `${name}, ${clockTime(createdAt)}${of.isMention ? ', mentions you' : ''}`,
    'data-own': isOwn || undefined, 'data-mention': of.isMention || undefined,
    'data-continued': isContinued || undefined, 'data-goes-on': goesOn || undefined,
    'data-emote': isAct || undefined, ...of.attributes,
  },
  element('div', { class: 'margin' }, isContinued ? time : avatar(name)),
  element('div', { class: 'speech' },
    !isAct && element('div', byline, who, !isContinued && time, elsewhen),
    quote, body, of.reactions, of.more));
}

/**
 * @param {MessageItem} item
 * @param {Neighbours} neighbours
 * @param {RowContext} context
 */
function messageElement({ message, isHeld, canFold }, neighbours, context) {
  const { author, createdAt, deleted, editedAt } = message;
  const isOwn = author === context.user;
  const body = deleted
    ? element('p', { class: 'body', 'data-deleted': true }, 'This message was deleted',
      ...(canFold ? [' · ', linkButton('Hide', () => context.onHide(message.id))] : []))
    : element('p', bodyAttributes(message.body), ...bodyOf(message, context), editedAt
      ? element('span', { class: 'edited', title: fullTime(editedAt) }, ' (edited)') : '');
  const speech = speechElement({
    author, name: context.nameOf(author), createdAt, loggedAt: loggedTime(message), isOwn,
    neighbours, isAct: isEmote(message), isMention: mentionsUser(message, context.user),
    quote: !deleted && quoteOf(message, context), body,
    reactions: reactionsElement(message, context),
    more: editElement(context.editOf(message.id), context)
      ?? (!deleted && actionsElement(message, isOwn, context)),
    attributes: {
      // How many there are changes with each message; a feed may leave that open.
      'data-doubtful': !isHeld || undefined, 'aria-posinset': message.seq, 'aria-setsize': -1,
    },
  });
  speech.dataset.seq = String(message.seq);
  return speech;
}

/**
 * When a message was said, by the log that it was replayed from (`gapless replay`); empty for most.
 *
 * @param {Message} message
 */
function loggedTime({ metadata }) {
  const time = metadata?.time;
  return typeof time === 'string' && LOGGED.test(time) ? time : '';
}

/**
 * A text goes from the side that its letters begin at.
 *
 * @param {string | null} [text]
 */
function bodyAttributes(text) {
  return { class: 'body', dir: 'auto', 'data-emoji': (text && isEmoji(text)) || undefined };
}

/**
 * @param {Message} message
 * @param {RowContext} context
 * @returns {(Node | string)[]}
 */
function bodyOf({ body, attachment, ...message }, { nameOf }) {
  if (body) return linkedText(body, handlesIn(message, nameOf));
  return [element('span', { class: 'faint' }, attachment ? 'Attachment' : 'Empty message')];
}

/**
 * @param {Message | Draft} message
 * @param {RowContext} context
 */
function quoteOf(message, context) {
  const quote = quoteIn(message);
  if (quote === null) return false;
  context.quoted.want(quote);
  const quoted = context.quoted.at(quote);
  const seq = typeof quoted === 'string' ? quote.seq : quoted.seq;
  return quoteElement(quoted, context.nameOf, () => { if (seq) context.onQuote({ seq }); });
}

/**
 * @param {Message | Draft} message
 * @param {RowContext} context
 */
function quoteState(message, { quoted }) {
  const quote = quoteIn(message);
  return quote === null ? '' : quoteSignature(quoted.at(quote));
}

/**
 * @param {Message} message
 * @param {boolean} isOwn
 * @param {RowContext} context
 */
function actionsElement(message, isOwn, context) {
  const act = (/** @type {string} */ name, /** @type {string} */ path, action = () => {}) => (
    element('button', {
      type: 'button', title: name, 'aria-label': `${name} message`, onclick: action,
    }, icon(path))
  );
  return element('div', { class: 'actions' },
    addButton('above', message, context),
    act('Reply to', ARROW, () => context.onReply(message)),
    isOwn && act('Edit', PENCIL, () => context.onEdit(message)),
    isOwn && act('Delete', BIN, () => context.onDelete(message)));
}

/**
 * @param {Draft} draft
 * @param {Neighbours} neighbours
 * @param {RowContext} context
 */
function draftElement(draft, neighbours, context) {
  const { id, body, createdAt, state } = draft;
  const failure = state === 'failed' && element('p', { class: 'failure', role: 'alert' },
    `Not sent: ${failureText(draft)}. `,
    ...againLinks(draft, 'Try again', context),
    linkButton('Discard', () => context.onDiscard(id)));
  const sending = state === 'sending' && element('span', { class: 'sending' }, ' sending…');
  const user = context.user ?? '';
  return speechElement({
    author: user, name: context.nameOf(user), createdAt, isOwn: true, neighbours,
    quote: quoteOf(draft, context), more: failure,
    body: element('p', bodyAttributes(body),
      ...linkedText(excerpt(draft), handlesIn(draft, context.nameOf)), sending),
    attributes: { 'data-state': state },
  });
}

/** @param {Draft | undefined} edit */
function editState(edit) {
  return edit === undefined ? '' : `${edit.kind} ${edit.state} ${edit.error} ${edit.body}`;
}

/**
 * A change of a message that is not confirmed: it is not shown as said before it is.
 *
 * @param {Draft | undefined} edit
 * @param {RowContext} context
 */
function editElement(edit, context) {
  if (edit === undefined) return undefined;
  const { id, kind, state } = edit;
  const what = kind === 'delete' ? 'Your deletion' : 'Your change';
  const text = kind === 'delete' ? '' : element('q', { dir: 'auto' }, excerpt(edit));
  if (state === 'sending') {
    return element('p', { class: 'change' }, `${what} is not sent yet. `, text);
  }
  const reason = state === 'conflict' ? 'the message was changed meanwhile' : failureText(edit);
  const again = state === 'conflict' ? 'Replace it' : 'Try again';
  return element('p', { class: 'change failure', role: 'alert' },
    `${what} was not made: ${reason}. `, text, ' ',
    ...againLinks(edit, again, context),
    linkButton('Discard', () => context.onDiscard(id)));
}

/**
 * What a person can do to have it sent after all.
 *
 * @param {Draft} draft
 * @param {string} again
 * @param {RowContext} context
 */
function againLinks(draft, again, context) {
  const links = [];
  // As it is it would be refused again.
  if (PLAIN.has(draft.reason ?? '')) {
    links.push(linkButton('Send without that', () => context.onPlain(draft)));
  } else if (draft.code !== 'too_large') {
    links.push(linkButton(again, () => context.onResend(draft.id)));
  }
  if (draft.kind !== 'delete') links.push(linkButton('Edit', () => context.onRewrite(draft)));
  return links.flatMap((link) => [link, ' · ']);
}

/**
 * The text of a draft; of one that is too long only the beginning, so that one finds what to do.
 *
 * @param {Draft} draft
 */
function excerpt({ code, reason, body }) {
  if (code !== 'too_large' || isAboutMentions(reason)) return body;
  return `${[...body.slice(0, EXCERPT)].slice(0, -1).join('')}…`;
}

/** Why something was not sent. @param {Draft} draft */
function failureText({ code, reason, error }) {
  return REFUSALS.get(reason ?? '') ?? (code === 'too_large' ? 'the text is too long' : error);
}

/**
 * @param {string} text
 * @param {() => void} onclick
 */
function linkButton(text, onclick) {
  return element('button', { type: 'button', class: 'link', onclick }, text);
}

/**
 * @param {FoldItem} item
 * @param {RowContext} context
 */
function foldElement(item, context) {
  return element('div', {
    class: 'row fold', role: 'article', 'aria-label': 'Deleted messages',
  }, foldText(item, context), ' · ', element('button', {
    type: 'button', class: 'link', 'aria-expanded': 'false',
    onclick: () => context.onReveal(item.messages[0].id),
  }, 'Show'));
}

/**
 * @param {FoldItem} item
 * @param {RowContext} context
 */
function foldText({ messages }, { user }) {
  const isOwn = messages[0].author === user;
  return `${messages.length} ${isOwn ? 'of your ' : ''}messages were deleted`;
}
