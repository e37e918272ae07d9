/** @import { Message } from '../../Browser/types.js' */

/** A message that was jumped to is marked for so long, in milliseconds. */
const FOUND_TIME = 2400;

/**
 * Marks a message that was jumped to, and gives it the focus.
 *
 * @param {HTMLElement | undefined} row
 */
export function markFound(row) {
  if (row === undefined) return;
  row.dataset.found = 'true';
  row.focus({ preventScroll: true });
  setTimeout(() => { delete row.dataset.found; }, FOUND_TIME);
}

/**
 * What the keys of a message list do: arrow keys go from message to message, End to the newest;
 * `r`, `e` and Delete act on the one that has the focus.
 *
 * @param {KeyboardEvent} event
 * @param {object} list
 * @param {HTMLElement} list.scroller
 * @param {string | null} list.user
 * @param {(seq: number) => Message | undefined} list.at
 * @param {() => void} list.onEnd
 * @param {(message: Message) => void} list.onReply
 * @param {(message: Message) => void} list.onEdit
 * @param {(message: Message) => void} list.onDelete
 */
export function messageKey(event, { scroller, user, at, onEnd, onReply, onEdit, onDelete }) {
  if (event.metaKey || event.altKey || (event.ctrlKey && event.key !== 'End')) return;
  if (event.key === 'End') {
    event.preventDefault();
    onEnd();
    return;
  }
  const target = /** @type {HTMLElement} */ (event.target);
  const row = /** @type {HTMLElement | null} */ (target.closest('.message'));
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step !== undefined) {
    const next = neighbour(scroller, row, step);
    if (next) {
      event.preventDefault();
      next.focus();
    }
    return;
  }
  const message = row && row === target && at(Number(row.dataset.seq));
  if (!message || message.deleted) return;
  const isOwn = message.author === user;
  if (event.key === 'r') onReply(message);
  else if (event.key === 'e' && isOwn) onEdit(message);
  else if (event.key === 'Delete' && isOwn) onDelete(message);
  else return;
  event.preventDefault();
}

/**
 * The message above or below one; without one the last that is in view.
 *
 * @param {HTMLElement} scroller
 * @param {HTMLElement | null} row
 * @param {number} step
 */
function neighbour(scroller, row, step) {
  const drawn = /** @type {HTMLElement[]} */ ([...scroller.querySelectorAll('.message')]);
  if (row) return drawn[drawn.indexOf(row) + step];
  const { bottom } = scroller.getBoundingClientRect();
  return drawn.findLast((each) => each.getBoundingClientRect().bottom <= bottom + 1);
}
