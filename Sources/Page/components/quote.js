import { element } from './dom.js';

/** @import { Draft } from '../../Browser/drafts.js' */
/** @import { Message } from '../../Browser/types.js' */
/** @import { Quoted } from './quoted.js' */

/**
 * What a message answers, by name only: what was said there is read from the message itself.
 * `seq` is left out where the log did not know the id, and where nobody asked it yet (`isSent`).
 *
 * @typedef {{id: string, seq?: number, isSent: boolean}} Quote
 */

/** So much of a quoted text is shown, in characters. */
const LENGTH = 160;

/**
 * The quote of a message or a draft; what is not a quote is none. Of messages that were written
 * before there was a field for it, the metadata has it. Anybody can write anything into metadata.
 *
 * @param {Pick<Message, 'replyTo' | 'metadata'> | Pick<Draft, 'replyTo' | 'metadata'>} message
 * @returns {Quote | null}
 */
export function quoteIn({ replyTo, metadata }) {
  if (typeof replyTo === 'string') return { id: replyTo, isSent: false };
  const quote = replyTo ?? metadata?.replyTo;
  if (typeof quote !== 'object' || quote === null) return null;
  const { id, seq } = quote;
  if (typeof id !== 'string') return null;
  if (Number.isSafeInteger(seq) && seq > 0) return { id, seq, isSent: true };
  return quote === replyTo && seq === undefined ? { id, isSent: true } : null;
}

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
  if (quoted === 'gone') {
    return element('p', { class: 'quote', 'data-state': quoted },
      'This answers a message that is not here');
  }
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
