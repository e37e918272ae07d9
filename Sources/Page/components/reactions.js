import { element, icon } from './dom.js';
import { listNames } from './people.js';
import { isEmoji } from './text.js';

/** @import { RowContext } from './message-row.js' */
/** @import { Message, Reaction } from '../../Browser/types.js' */

/** Up to so many who have a reaction are named. */
const NAMED = 3;
const SMILE = 'M12.8 3.4A7.2 7.2 0 1 0 17 9.2M7.4 11.6c1.2 2 4.6 2 5.8 0M7.6 7.8v.6M12.2 7.8v.6'
  + 'M16 2v5M13.5 4.5h5';
const LIST = 'M7.5 5.5h9M7.5 10h9M7.5 14.5h9M3.5 5.5h.4M3.5 10h.4M3.5 14.5h.4';

/**
 * Who has a reaction: "bob", "you and bob", "bob, carol and 3 others".
 *
 * @param {Reaction} reaction
 * @param {{user: string | null, nameOf: (id: string) => string}} context
 */
export function whoReacted({ count, users, own }, { user, nameOf }) {
  const others = users.filter((id) => id !== user).map(nameOf);
  const names = own ? ['you', ...others] : others;
  if (names.length >= count && count <= NAMED) return listNames(names, NAMED);
  const shown = names.slice(0, NAMED - 1);
  const rest = count - shown.length;
  return `${shown.join(', ')} and ${rest} ${rest === 1 ? 'other' : 'others'}`;
}

/**
 * What the reactions of a message look like depends on this.
 *
 * @param {Message} message
 * @param {{user: string | null, nameOf: (id: string) => string}} context
 */
export function reactionsSignature({ reactions = [] }, context) {
  return reactions.map((reaction) => (
    `${reaction.key} ${reaction.count} ${reaction.own} ${whoReacted(reaction, context)}`
  )).join('\n');
}

/**
 * The reactions to a message, each a switch for one's own; nothing where there are none.
 *
 * @param {Message} message
 * @param {RowContext} context
 * @returns {HTMLElement | false}
 */
export function reactionsElement(message, context) {
  const { reactions = [], deleted } = message;
  if (deleted || reactions.length === 0) return false;
  const names = (/** @type {Reaction} */ reaction) => whoReacted(reaction, context);
  return element('div', { class: 'reactions', role: 'group', 'aria-label': 'Reactions' },
    ...reactions.map((reaction) => {
      const { key, count, own } = reaction;
      return element('button', {
        type: 'button', class: 'reaction', 'aria-pressed': String(own === true),
        'aria-label': `${key} ${count}: ${names(reaction)}`,
        title: `${names(reaction)} reacted with ${key}`,
        // By this it keeps the focus when its label changes.
        'data-control': `reaction ${key}`,
        onclick: () => context.onReact(message, key, own !== true),
      }, keyElement(key), ' ', element('span', {}, String(count)));
    }),
    addButton('below', message, context),
    element('button', {
      type: 'button', class: 'reaction', 'aria-label': 'Who reacted', title: 'Who reacted',
      'aria-haspopup': 'dialog', 'data-control': 'who reacted',
      onclick: (/** @type {Event} */ event) => context.onShowReactions(
        message, /** @type {HTMLElement} */ (event.currentTarget)),
    }, icon(LIST)));
}

/**
 * What a reaction says.
 *
 * @param {string} key
 */
export function keyElement(key) {
  return element('bdi', { class: 'key', 'data-emoji': isEmoji(key) || undefined }, key);
}

/**
 * The button to choose a reaction with.
 *
 * @param {string} place  where on a message it stands
 * @param {Message} message
 * @param {RowContext} context
 */
export function addButton(place, message, { onAddReaction }) {
  return element('button', {
    type: 'button', class: place === 'below' ? 'reaction' : undefined, title: 'Add reaction',
    'aria-label': 'Add reaction', 'aria-haspopup': 'dialog', 'data-control': `react ${place}`,
    onclick: (/** @type {Event} */ event) => onAddReaction(
      message, /** @type {HTMLElement} */ (event.currentTarget)),
  }, icon(SMILE));
}

/**
 * Gives the focus back to where it was on a message, which may be drawn anew since.
 *
 * @param {HTMLElement} focused  what had it; where that is on no message, nothing is done
 * @returns {() => void}
 */
export function focusBack(focused) {
  const { control } = focused.dataset;
  const scroller = /** @type {HTMLElement | null} */ (focused.closest('.scroller'));
  const seq = /** @type {HTMLElement | null} */ (focused.closest('.message'))?.dataset.seq;
  return () => {
    const row = /** @type {HTMLElement | null | undefined} */ (
      scroller?.querySelector(`.message[data-seq="${seq}"]`));
    const controls = /** @type {HTMLElement[]} */ ([...row?.querySelectorAll('button') ?? []]);
    const again = control && controls.find((each) => each.dataset.control === control);
    (again || row || scroller)?.focus({ preventScroll: true });
  };
}
