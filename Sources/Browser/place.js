/** @import { ListMessage, Numbering } from './timeline.js' */

/**
 * Where a message stands in a list, as an array that compares element by element:
 * `[number, moment, id]`. The number is `Infinity` for a message without one: these stand behind
 * all that have one, in order of `(createdAt, id)`.
 *
 * @typedef {readonly [number, string, string]} Place
 */

/**
 * A cut between places: `-Infinity` before everything there ever was, a number right before that
 * seq, `[moment, id, 0]` right before and `[moment, id, 1]` right behind a message without a
 * number, `Infinity` behind everything that is and is to come.
 *
 * @typedef {number | readonly [string, string, number]} Cut
 */

/**
 * @param {ListMessage} message
 * @param {Numbering} numbering
 * @returns {Place}
 */
export function placeOf(message, numbering) {
  return numbering === 'unnumbered' || message.seq == null
    ? [Infinity, message.createdAt, message.id]
    : [message.seq, '', message.id];
}

/**
 * Below 0 if `a` stands before `b`, above 0 if behind it.
 *
 * @param {Place} a
 * @param {Place} b
 */
export function comparePlaces(a, b) {
  if (a[0] !== b[0]) return a[0] - b[0];
  return compareText(a[1], b[1]) || compareText(a[2], b[2]);
}

/**
 * The order of the UTF-8 bytes of two texts, which every other client and store goes by. That of
 * JavaScript is of UTF-16, and differs where one has a character beyond the first 65,536.
 *
 * @param {string} a
 * @param {string} b
 */
export function compareText(a, b) {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x !== y) return inCodePointOrder(x) - inCodePointOrder(y);
  }
  return a.length - b.length;
}

/**
 * Moves halves of a pair behind all other units.
 *
 * @param {number} unit
 */
function inCodePointOrder(unit) { return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit; }

/**
 * @param {Place} place
 * @returns {Cut}
 */
export function cutBefore([number, moment, id]) {
  return number === Infinity ? [moment, id, 0] : number;
}

/**
 * @param {Place} place
 * @returns {Cut}
 */
export function cutBehind([number, moment, id]) {
  return number === Infinity ? [moment, id, 1] : number + 1;
}

/**
 * @param {Cut} a
 * @param {Cut} b
 */
export function compareCuts(a, b) {
  if (typeof a === 'number') {
    if (typeof b === 'number') return a === b ? 0 : a - b;
    return a === Infinity ? 1 : -1;
  }
  if (typeof b === 'number') return b === Infinity ? -1 : 1;
  return compareText(a[0], b[0]) || compareText(a[1], b[1]) || a[2] - b[2];
}

/**
 * The later of two cuts.
 *
 * @param {Cut} a
 * @param {Cut} b
 */
export function laterCut(a, b) { return compareCuts(a, b) < 0 ? b : a; }

/**
 * The earlier of two cuts.
 *
 * @param {Cut} a
 * @param {Cut} b
 */
export function earlierCut(a, b) { return compareCuts(b, a) < 0 ? b : a; }
