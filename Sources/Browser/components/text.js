import { element } from './dom.js';

const ADDRESS = /\bhttps?:\/\/[^\s<>"']+/giu;
const CODE = /```(?:[\w+-]*\n)?(.+?)\n?```\n?|`([^`\n]+)`/gsu;
/** Up to three pictures, each perhaps of several joined ones. */
const PICTURE = String.raw`\p{Extended_Pictographic}[\u{FE0F}\p{Emoji_Modifier}]*`;
const EMOJI = new RegExp(`^(?:\\s*${PICTURE}(?:\\u{200D}${PICTURE})*){1,3}\\s*$`, 'u');
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
 * Splits a text into what is said and what is code: between single back quotes in a line, or
 * between three of them over lines, where the first may name the language.
 *
 * @param {string} text
 * @returns {{text: string, code?: 'inline' | 'block'}[]}
 */
export function splitCode(text) {
  /** @type {{text: string, code?: 'inline' | 'block'}[]} */
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(CODE)) {
    if (match.index > from) pieces.push({ text: text.slice(from, match.index) });
    const [all, block, inline] = match;
    if (block !== undefined) pieces.push({ text: block, code: 'block' });
    else pieces.push({ text: inline, code: 'inline' });
    from = match.index + all.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}

/**
 * A text as nodes: its addresses as links, its code as code.
 *
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function linkedText(text) {
  return splitCode(text).flatMap(({ text: part, code }) => (code === undefined ? links(part)
    : [element('code', { 'data-block': code === 'block' || undefined, dir: 'ltr' }, part)]));
}

/** @param {string} text */
function links(text) {
  return splitText(text).map((piece) => (piece.href === undefined ? piece.text : element('a', {
    href: piece.href, target: '_blank', rel: 'noopener noreferrer nofollow',
  }, piece.text)));
}

/**
 * Whether a text is a few emoji and nothing else.
 *
 * @param {string} text
 */
export function isEmoji(text) { return EMOJI.test(text); }
