import { element } from './dom.js';

const ADDRESS = /\bhttps?:\/\/[^\s<>"']+/giu;
/** What closes a sentence around an address more often than it ends one. */
const TRAILING = /[.,;:!?)\]}]+$/u;

/**
 * Splits a text into what is said and the web addresses in it. Only `http:` and `https:` count: an
 * address is the one thing here that a click acts on.
 *
 * @param {string} text
 * @returns {{text: string, href?: string}[]}
 */
export function splitText(text) {
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const address = trimmedAddress(match[0]);
    if (!URL.canParse(address)) continue;
    if (match.index > from) pieces.push({ text: text.slice(from, match.index) });
    pieces.push({ text: address, href: address });
    from = match.index + address.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}

/**
 * Takes punctuation off that belongs to the sentence; a bracket that the address opened stays.
 *
 * @param {string} address
 */
function trimmedAddress(address) {
  const trailing = TRAILING.exec(address)?.[0] ?? '';
  const bare = address.slice(0, address.length - trailing.length);
  const closesOwn = trailing.startsWith(')') && bare.includes('(') && !bare.includes(')');
  return closesOwn ? `${bare})` : bare;
}

/**
 * A text as nodes, its addresses as links.
 *
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function linkedText(text) {
  return splitText(text).map((piece) => (piece.href === undefined ? piece.text : element('a', {
    href: piece.href, target: '_blank', rel: 'noopener noreferrer nofollow',
  }, piece.text)));
}
