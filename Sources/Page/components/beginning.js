import { element } from './dom.js';

/** @import { Conversation } from '../../Browser/conversation.js' */
/** @import { Item } from '../../Browser/items.js' */

/**
 * What the row above all others says: a state, and a text where that needs one.
 *
 * @param {Conversation} conversation
 * @param {Item[]} items
 * @param {string} reason  why nothing comes now; empty where it only takes its time
 */
export function beginningSignature({ hasOlder, older, phase }, items, reason) {
  if (older !== 'idle' && older !== 'busy' && hasOlder) return `failed ${older}`;
  if (hasOlder) {
    return reason === '' ? 'older Loading older messages…'
      : `older Older messages are not loaded yet: ${reason}.`;
  }
  const isTrimmed = items[0]?.kind === 'gap' && items[0].gap.cause === 'trimmed';
  if (phase === 'ended' || isTrimmed) return 'start ';
  if (items.length > 0) return 'start This is the beginning.';
  if (phase === 'live') return 'empty Nothing was said here yet.';
  const why = reason === '' && phase === 'waiting' ? 'the gateway can\'t answer now' : reason;
  return why === '' ? 'start Loading…' : `start Not loaded yet: ${why}.`;
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
