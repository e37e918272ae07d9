import { isFillable } from '../../Browser/gaps.js';
import { element } from './dom.js';
import { momentName } from './moments.js';

/** @import { GapItem } from '../../Browser/items.js' */
/** @import { RowContext } from './message-row.js' */

/** From so many missing messages on one may want to begin with the oldest. */
const MANY = 50;

/**
 * Says how many messages are missing, from when to when, why, and what happens with them.
 *
 * @param {GapItem} item
 * @param {{from: string | null, to: string | null}} times  of the messages around it
 * @param {RowContext} context
 */
export function gapElement(item, times, context) {
  const { gap } = item;
  const state = context.filling(gap);
  const isBusy = state === 'busy';
  const hasFailed = !isBusy && state !== 'idle';
  const button = (/** @type {string} */ name, /** @type {() => void} */ onclick) => (
    element('button', {
      type: 'button', class: 'quiet', disabled: isBusy, onclick,
      'aria-label': `${name}: ${gapText(item)}`,
    }, name)
  );
  const canLoad = isFillable(gap);
  const isLong = canLoad && (gap.missing ?? 0) >= MANY && gap.after > 0;
  const rest = [timesText(times), hasFailed ? `Loading failed: ${state}.` : nextText(gap.cause)];
  return element('div', {
    class: 'row gap', role: 'article', 'aria-label': 'Missing messages', 'data-cause': gap.cause,
  }, element('p', {}, element('strong', {}, gapText(item)), ' ', rest.filter(Boolean).join(' ')),
  canLoad && button(isBusy ? 'Loading…' : hasFailed ? 'Try again' : 'Load',
    () => context.onFill(gap)),
  isLong && !isBusy && button('Read from here', () => context.onReadFrom(gap)));
}

/**
 * What the row of a gap looks like depends on this and nothing else.
 *
 * @param {GapItem} item
 * @param {{from: string | null, to: string | null}} times
 * @param {RowContext} context
 */
export function gapSignature(item, times, context) {
  const { gap } = item;
  return `${gapText(item)} ${timesText(times)} ${gap.cause} ${context.filling(gap)}`;
}

/**
 * What is missing or in doubt, and why.
 *
 * @param {GapItem} item
 */
function gapText({ gap: { missing, cause }, shownCount }) {
  if (cause === 'trimmed') return 'Older messages are no longer kept.';
  const lacking = missing === null ? null : missing - shownCount;
  const reason = cause === 'upstream' ? ' The gateway is catching up.'
    : cause === 'cache' ? ' The gateway is reading them again.' : '';
  if (lacking !== null && lacking <= 0) {
    return `${messageCount(shownCount)} below may be outdated.${reason}`;
  }
  const what = messageCount(lacking);
  const verb = lacking === 1 ? 'is' : 'are';
  switch (cause) {
    case 'slow': return `${what} came faster than this page could take them.`;
    case 'limit': return `${what} came while you were away.`;
    case 'cold': return `${what} ${verb} not loaded.`;
    default: return `${what} ${verb} missing here.${reason}`;
  }
}

/** @param {import('../../Browser/types.js').GapCause} cause */
function nextText(cause) {
  switch (cause) {
    case 'trimmed': return 'They are gone from the server.';
    case 'upstream':
    case 'cache': return 'They come by themselves.';
    default: return '';
  }
}

/** @param {{from: string | null, to: string | null}} times */
function timesText({ from, to }) {
  if (from === null) return to === null ? '' : `Before ${momentName(to)}.`;
  if (to === null) return `Since ${momentName(from)}.`;
  const [first, last] = [momentName(from), momentName(to)];
  return first === last ? `Around ${first}.` : `Between ${first} and ${last}.`;
}

/** @param {number | null} count */
function messageCount(count) {
  if (count === null) return 'Messages';
  return count === 1 ? '1 message' : `${new Intl.NumberFormat().format(count)} messages`;
}
