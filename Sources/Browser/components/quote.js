import { element } from './dom.js';

/** @import { Message } from '../types.js' */

/**
 * What a message answers: kept in its metadata as `replyTo`, so that it can be shown without the
 * message that it quotes.
 *
 * @typedef {{id: string, seq: number, author: string, text: string}} Quote
 */

/** So much of a quoted text is kept, in characters. */
const LENGTH = 160;

/**
 * The quote of a message. Anybody can write anything into metadata: what is not a quote is none.
 *
 * @param {{metadata?: Record<string, *>}} message
 * @returns {Quote | null}
 */
export function quoteIn({ metadata }) {
  const quote = metadata?.replyTo;
  if (typeof quote !== 'object' || quote === null) return null;
  const { id, seq, author, text } = quote;
  const isWhole = typeof id === 'string' && Number.isSafeInteger(seq) && seq > 0
    && typeof author === 'string' && typeof text === 'string';
  return isWhole ? { id, seq, author, text: shortened(text) } : null;
}

/**
 * The metadata of a message that answers this one.
 *
 * @param {Message} message
 * @returns {{replyTo: Quote}}
 */
export function replyTo({ id, seq, author, body }) {
  return { replyTo: { id, seq, author, text: shortened(body ?? '') } };
}

/** @param {string} text */
function shortened(text) {
  const line = text.replace(/\s+/gu, ' ').trim();
  const letters = [...line];
  return letters.length <= LENGTH ? line : `${letters.slice(0, LENGTH - 1).join('')}…`;
}

/**
 * @param {Quote} quote
 * @param {string} name  of its author
 * @param {() => void} onclick
 */
export function quoteElement(quote, name, onclick) {
  return element('button', {
    type: 'button', class: 'quote', 'aria-label': `Go to the message of ${name} that this answers`,
    onclick,
  }, element('bdi', { class: 'quoted' }, name), ' ',
  element('bdi', {}, quote.text || 'Attachment'));
}
