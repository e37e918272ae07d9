import { element } from './dom.js';

/** @import { Message } from '../../Browser/types.js' */
/** @import { Quoted } from './quoted.js' */

/**
 * What a message answers: kept in its metadata as `replyTo`, by name only. Anybody can write
 * anything into metadata, so what was said there is read from the message itself.
 *
 * @typedef {{id: string, seq: number}} Quote
 */

/** So much of a quoted text is shown, in characters. */
const LENGTH = 160;

/**
 * The quote of a message; what is not a quote is none.
 *
 * @param {{metadata?: Record<string, *>}} message
 * @returns {Quote | null}
 */
export function quoteIn({ metadata }) {
  const quote = metadata?.replyTo;
  if (typeof quote !== 'object' || quote === null) return null;
  const { id, seq } = quote;
  return typeof id === 'string' && Number.isSafeInteger(seq) && seq > 0 ? { id, seq } : null;
}

/**
 * The metadata of a message that answers this one.
 *
 * @param {Message} message
 * @returns {{replyTo: Quote}}
 */
export function replyTo({ id, seq }) { return { replyTo: { id, seq } }; }

/**
 * The beginning of a text, in one line.
 *
 * @param {string} text
 */
export function shortened(text) {
  // More is not shown, however long it is.
  const letters = [...text.slice(0, 8 * LENGTH).replace(/\s+/gu, ' ').trim()];
  if (letters.length <= LENGTH) return letters.join('');
  return `${letters.slice(0, LENGTH - 1).join('')}…`;
}

/**
 * What a quote looks like depends on this and nothing else.
 *
 * @param {Quoted} quoted
 */
export function quoteSignature(quoted) {
  return typeof quoted === 'string' ? quoted : `${quoted.rev}`;
}

/**
 * @param {Quoted} quoted
 * @param {(id: string) => string} nameOf
 * @param {() => void} onclick
 */
export function quoteElement(quoted, nameOf, onclick) {
  if (typeof quoted === 'string') {
    const text = quoted === 'none' ? 'This quotes something that was not said here'
      : 'An earlier message';
    return element('button', {
      type: 'button', class: 'quote', 'data-state': quoted, onclick,
      'aria-label': `${text}: go to its place`,
    }, text);
  }
  const { author, body, deleted, editedAt } = quoted;
  const name = nameOf(author);
  return element('button', {
    type: 'button', class: 'quote', 'data-state': deleted ? 'deleted' : undefined,
    'aria-label': `Go to the message of ${name} that this answers`, onclick,
  }, element('bdi', { class: 'quoted' }, name), ' ',
  element('bdi', {}, deleted ? 'This message was deleted' : shortened(body ?? '') || 'Attachment'),
  !deleted && editedAt && ' (edited)');
}
