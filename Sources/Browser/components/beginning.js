import { element } from './dom.js';

/** @import { Conversation } from '../conversation.js' */
/** @import { Item } from '../items.js' */

/**
 * What the row above all others says: a state, and a text where that needs one.
 *
 * @param {Conversation} conversation
 * @param {Item[]} items
 */
export function beginningSignature({ hasOlder, older, phase }, items) {
  if (older !== 'idle' && older !== 'busy' && hasOlder) return `failed ${older}`;
  if (hasOlder) return 'older Loading older messages…';
  const isTrimmed = items[0]?.kind === 'gap' && items[0].gap.cause === 'trimmed';
  if (phase === 'ended' || isTrimmed) return 'start ';
  if (items.length > 0) return 'start This is the beginning.';
  return phase === 'live' ? 'empty Nothing was said here yet.' : 'start Loading…';
}

/**
 * @param {string} signature
 * @param {() => void} onRetry
 */
export function beginningElement(signature, onRetry) {
  const at = signature.indexOf(' ');
  const [state, text] = [signature.slice(0, at), signature.slice(at + 1)];
  const content = state === 'failed'
    ? [`Older messages could not be loaded: ${text}. `, element('button', {
      type: 'button', class: 'link', onclick: onRetry,
    }, 'Try again')] : state === 'empty'
      ? [element('strong', {}, text), 'What you write below is the first.'] : [text];
  return element('div', { class: 'row beginning', 'data-state': state }, ...content);
}
