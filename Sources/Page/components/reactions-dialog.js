import { element, setAttribute } from './dom.js';
import { fullTime, momentName } from './moments.js';
import { keyElement } from './reactions.js';

/** @import { Conversation } from '../../Browser/conversation.js' */
/** @import { Message } from '../../Browser/types.js' */

/** @typedef {{user: string, key: string, at: string}} ReactionOf */

/** How many are read at once. */
const PAGE = 50;

/**
 * Shows who reacted to a message, a page at a time. An admin may take back what others reacted.
 *
 * @param {object} of
 * @param {Conversation} of.conversation
 * @param {Message} of.message
 * @param {string | null} of.user
 * @param {(id: string) => string} of.nameOf
 * @param {() => void} of.onClose  gives the focus back
 */
export function showReactions({ conversation, message, user, nameOf, onClose }) {
  const { id, reactions = [] } = message;
  const error = element('p', { class: 'failure', role: 'alert' });
  const status = element('p', { class: 'faint', role: 'status' });
  const list = element('ul', { class: 'people', tabindex: 0, 'aria-label': 'Who reacted' });
  /** What is shown: the reactions of this key, or of all. @type {string | undefined} */
  let key;
  /** @type {string | undefined} */
  let next;
  const isAdmin = conversation.record?.admins?.includes(user ?? '') ?? false;
  const remove = async (/** @type {Event} */ event, /** @type {ReactionOf} */ of) => {
    const row = /** @type {HTMLElement} */ (event.currentTarget).closest('li');
    error.textContent = '';
    try {
      await conversation.react(id, of.key, false, { user: of.user });
      row?.remove();
      list.focus();
    } catch (reason) {
      error.textContent = /** @type {Error} */ (reason).message;
    }
  };
  /** Counts what was asked for: an answer to an earlier question is none. */
  let asked = 0;
  const load = async () => {
    asked += 1;
    const number = asked;
    error.textContent = '';
    setAttribute(more, 'disabled', true);
    const cursor = next;
    try {
      const page = await conversation.fetchReactions(id, { key, limit: PAGE, cursor });
      if (number !== asked) return;
      if (cursor === undefined) list.replaceChildren();
      list.append(...page.reactions.map((of) => personElement(of, {
        name: nameOf(of.user), isSelf: of.user === user,
        onRemove: isAdmin && of.user !== user ? (event) => { remove(event, of); } : undefined,
      })));
      next = page.next;
      more.hidden = next === undefined;
      const shown = list.childElementCount;
      status.textContent = page.total === 0 ? 'Nobody reacted.'
        : shown < page.total ? `${shown} of ${page.total}` : '';
    } catch (reason) {
      if (number !== asked) return;
      error.textContent = /** @type {Error} */ (reason).message;
      more.hidden = false;
    } finally {
      if (number === asked) setAttribute(more, 'disabled', false);
    }
  };
  const more = element('button', {
    type: 'button', class: 'quiet', hidden: true, onclick: () => { load(); },
  }, 'Show more');
  const all = filter();
  const filters = [all, ...reactions.map((of) => filter(of.key))];
  /** @param {string} [of]  this key alone */
  function filter(of) {
    return element('button', {
      type: 'button', class: 'reaction', 'aria-pressed': String(of === undefined),
      onclick: (/** @type {Event} */ event) => {
        for (const each of filters) {
          setAttribute(each, 'aria-pressed', String(each === event.currentTarget));
        }
        [key, next] = [of, undefined];
        load();
      },
    }, of === undefined ? 'All' : keyElement(of));
  }
  const dialog = element('dialog', {
    'aria-label': 'Reactions',
    onclose: () => {
      dialog.remove();
      onClose();
    },
  }, element('h2', {}, 'Reactions'),
  element('div', { class: 'reactions', role: 'group', 'aria-label': 'Which' }, ...filters),
  list, status, more, error, element('div', { class: 'answers' }, element('button', {
    type: 'button', class: 'primary', onclick: () => dialog.close(),
  }, 'Done')));
  document.body.append(dialog);
  dialog.showModal();
  load();
}

/**
 * @param {ReactionOf} reaction
 * @param {{name: string, isSelf: boolean, onRemove?: (event: Event) => void}} of
 */
function personElement({ user, key, at }, { name, isSelf, onRemove }) {
  return element('li', {}, keyElement(key),
    element('bdi', {}, name, isSelf && element('span', { class: 'faint' }, ' (you)')),
    element('time', { class: 'faint', datetime: at, title: fullTime(at) }, momentName(at)),
    onRemove && element('button', {
      type: 'button', class: 'quiet', 'aria-label': `Remove ${key} of ${user}`, onclick: onRemove,
    }, 'Remove'));
}
