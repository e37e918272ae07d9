import { element } from './dom.js';

/** With a scheme, or a name that can be nothing else. A bare name is looked for at the beginning of
 * a word only, so that each letter is read once. */
const ADDRESS = new RegExp([
  String.raw`\bhttps?:\/\/[^\s<>"']+`,
  String.raw`(?<![\w@/.:-])(?:[a-z0-9-]{1,63}\.){1,8}(?:com|org|net|edu|gov|info|io|dev|app|eu`
    + String.raw`|uk|de|ch|fr|nl|dk|pl|cz|ca|jp)(?![\w.@-])`
    + String.raw`(?:[:/?#][^\s<>"']*)?`,
  String.raw`(?<![\w@/.:-])www\.[^\s<>"'@]+`,
].join('|'), 'giu');
const CODE = /```(?:[\w+-]*\n)?(.+?)\n?```\n?|`([^`\n]+)`/gsu;
/** A picture with its colour, or with the tags that name a region's flag. */
const DRAWING = String.raw`\p{Extended_Pictographic}[\u{FE0F}\p{Emoji_Modifier}]*`
  + String.raw`(?:[\u{E0020}-\u{E007E}]+\u{E007F})?`;
/** A flag of two letters, a key, or a picture, perhaps of several joined ones. */
const PICTURE = String.raw`(?:\p{Regional_Indicator}{2}|[0-9#*]\u{FE0F}?\u{20E3}|${DRAWING}`
  + String.raw`(?:\u{200D}${DRAWING})*)`;
const EMOJI = new RegExp(String.raw`^(?:\s*${PICTURE}){1,3}\s*$`, 'u');
/** More than this is a text, in UTF-16 units. */
const EMOJI_LIMIT = 120;
/** What closes a sentence around an address more often than it ends one. */
const TRAILING = new Set('.,;:!?)]}');

/**
 * Splits a text into what is said and the web addresses in it. Only `http:` and `https:` count, and
 * names without any: an address is the one thing here that a click acts on.
 *
 * @param {string} text
 * @returns {{text: string, href?: string}[]}
 */
export function splitText(text) {
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const address = trimmedAddress(match[0]);
    const href = /^https?:/iu.test(address) ? address : `https://${address}`;
    if (!URL.canParse(href)) continue;
    if (match.index > from) pieces.push({ text: text.slice(from, match.index) });
    pieces.push({ text: address, href });
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
  let end = address.length;
  while (end > 0 && TRAILING.has(address[end - 1])) end -= 1;
  const [bare, trailing] = [address.slice(0, end), address.slice(end)];
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
export function isEmoji(text) { return text.length <= EMOJI_LIMIT && EMOJI.test(text); }
