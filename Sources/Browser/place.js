/** @import { ListMessage } from './timeline.js' */

/**
 * Where a message stands in a list, as an array that compares element by element:
 * `[number, moment, id]`. The number is `Infinity` for a message without one: these stand behind
 * all that have one, in order of `(createdAt, id)`.
 *
 * @typedef {readonly [number, string, string]} Place
 */

/**
 * @param {ListMessage} message
 * @returns {Place}
 */
export function placeOf(message) {
  return message.seq == null
    ? [Infinity, message.createdAt, message.id]
    : [message.seq, '', message.id];
}

/**
 * Whether it is the place of a message that the origin has, not of one that is being sent.
 *
 * @param {Place} place
 */
export function isGiven([number]) { return number !== Infinity; }

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
