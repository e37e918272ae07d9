import { Coverage } from './coverage.js';

/** @import { Saved } from './message-log.js' */
/** @import { Anchor } from './message-window.js' */
/** @import { Message, PageResult } from './types.js' */

/**
 * @typedef {object} PageParams
 * @property {Anchor} [before]
 * @property {Anchor} [after]
 * @property {Anchor} [around]
 * @property {number} limit
 * @property {'asc' | 'desc'} [order]
 */

/**
 * The page that the gateway would have answered with, as far as it is held: the part of one run
 * that touches what was asked for. For display only, since nobody knows what came since.
 *
 * @param {Saved} saved  what is held
 * @param {PageParams} params  what was asked for
 * @returns {PageResult | null}  null if nothing of the page is held, or if that can't be told from
 *   what is held (a moment as an anchor)
 */
export function heldPage({ have, messages }, params) {
  const part = partOf(new Coverage(have.runs), messages, params);
  if (part === null || part.messages.length === 0) return null;
  const { low, high } = part;
  const end = (/** @type {Message} */ { id, seq }) => ({ id, seq });
  return {
    messages: params.order === 'asc' ? part.messages : [...part.messages].reverse(),
    hasMore: { before: low > have.head.floor, after: high < have.head.seq },
    covers: [[low, high]],
    gaps: [],
    asOf: have.asOf,
    head: have.head,
    boundaries: [{
      newest: end(/** @type {Message} */ (part.messages.at(-1))), oldest: end(part.messages[0]),
    }],
  };
}

/**
 * What is held of a page, oldest first, and the interval that it proves.
 *
 * @param {Coverage} runs
 * @param {Message[]} messages
 * @param {PageParams} params
 * @returns {{messages: Message[], low: number, high: number} | null}
 */
function partOf(runs, messages, { before, after, around, limit, order = 'desc' }) {
  const place = (/** @type {Anchor} */ anchor) => (typeof anchor === 'number'
    ? anchor : messages.find(({ id }) => id === anchor)?.seq);
  const within = (/** @type {number} */ low, /** @type {number} */ high) => messages
    .filter(({ seq }) => seq >= low && seq <= high).sort((a, b) => a.seq - b.seq);
  const newest = (/** @type {number} */ low, /** @type {number} */ high) => {
    const some = within(low, high).slice(-limit);
    return { messages: some, low: some.length === limit ? some[0].seq : low, high };
  };
  const oldest = (/** @type {number} */ low, /** @type {number} */ high) => {
    const some = within(low, high).slice(0, limit);
    return { messages: some, low, high: some.length === limit ? some[limit - 1].seq : high };
  };
  // An anchor that is not known could be anywhere: not a number, and in no run.
  const seqOf = (/** @type {Anchor} */ anchor) => place(anchor) ?? NaN;
  if (around !== undefined) {
    const seq = seqOf(around);
    const run = runs.runAt(seq);
    if (run === undefined) return null;
    const [older, newer] = [newest(run[0], seq - 1), oldest(seq + 1, run[1])];
    const all = [...older.messages, ...within(seq, seq), ...newer.messages];
    return { messages: all, low: older.low, high: newer.high };
  }
  const low = after === undefined ? 0 : seqOf(after);
  const top = before === undefined ? Infinity : seqOf(before);
  if (after !== undefined && (before === undefined || order === 'asc')) {
    const run = runs.runAt(low + 1);
    return run && top > low ? oldest(low + 1, Math.min(run[1], top - 1)) : null;
  }
  const end = before === undefined ? runs.last ?? NaN : top - 1;
  const run = runs.runAt(end);
  return run && low < end ? newest(Math.max(run[0], low + 1), end) : null;
}
