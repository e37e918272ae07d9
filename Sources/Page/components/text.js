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
 * Splits a text into what is said and the names in it that stand behind an @; of two that both
 * stand there, the longer one counts.
 *
 * @param {string} text
 * @param {readonly string[]} handles  what may stand behind the @
 * @returns {{text: string, handle?: string}[]}  `handle`: which one it is
 */
export function splitMentions(text, handles) {
  const known = [...new Set(handles)].filter((handle) => handle !== '')
    .sort((a, b) => b.length - a.length);
  if (known.length === 0) return [{ text }];
  const names = known.map((handle) => handle.replace(/[\\^$.*+?()[\]{}|/]/gu, '\\$&')).join('|');
  const mention = new RegExp(`(?<![\\p{L}\\p{N}_@])@(${names})(?![\\p{L}\\p{N}_])`, 'gu');
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(mention)) {
    if (match.index > from) pieces.push({ text: text.slice(from, match.index) });
    pieces.push({ text: match[0], handle: match[1] });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}

/**
 * A text as nodes: its addresses as links, its code as code, names that it mentions emphasised.
 *
 * @param {string} text
 * @param {readonly string[]} [handles]  what stands behind an @ for those whom it mentions
 * @returns {(Node | string)[]}
 */
export function linkedText(text, handles = []) {
  return splitCode(text).flatMap(({ text: part, code }) => (code === undefined
    ? links(part, handles)
    : [element('code', { 'data-block': code === 'block' || undefined, dir: 'ltr' }, part)]));
}

/**
 * @param {string} text
 * @param {readonly string[]} handles
 */
function links(text, handles) {
  return splitText(text).flatMap(({ text: part, href }) => (href === undefined
    ? splitMentions(part, handles).map(({ text: said, handle }) => (handle === undefined ? said
      : element('strong', { class: 'mention' }, said)))
    : [element('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow' }, part)]));
}

/**
 * Whether a text is a few emoji and nothing else.
 *
 * @param {string} text
 */
export function isEmoji(text) { return text.length <= EMOJI_LIMIT && EMOJI.test(text); }
