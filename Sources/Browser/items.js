/** @import { Gap, Message } from './types.js' */
/** @import { Draft } from './drafts.js' */

/**
 * One entry of a message list. `key` names it for as long as it is there: a message that was just
 * typed keeps its key when the real one takes its place, so nothing flashes.
 *
 * @typedef {object} MessageItem
 * @property {'message'} kind
 * @property {string} key
 * @property {Message} message
 * @property {boolean} isHeld  false: only shown, it may be outdated
 * @property {boolean} [canFold]  a view may show it and its neighbours as one row again
 *
 * @typedef {{kind: 'draft', key: string, draft: Draft}} DraftItem
 *
 * @typedef {object} GapItem
 * @property {'gap'} kind
 * @property {string} key
 * @property {Gap} gap
 * @property {number} shownCount  0; or how many, if the list still shows every place of the gap,
 *   perhaps outdated
 *
 * @typedef {MessageItem | DraftItem | GapItem} Item
 */

/**
 * The list that a person sees: messages and gaps by place, then what is still being sent. Between
 * two messages that are not neighbours in the log there always is a gap. A gap in which the list
 * still shows messages stands once for each hole between them.
 *
 * @param {object} of
 * @param {readonly {message: Message, isHeld: boolean}[]} of.values  oldest first
 * @param {Gap[]} of.gaps  oldest first
 * @param {readonly Draft[]} of.drafts  in the order in which they were written
 * @param {string | null} of.user  the author of the drafts
 * @returns {Item[]}
 */
export function listItems({ values, gaps, drafts, user }) {
  /** @type {Item[]} */
  const items = [];
  const holes = gapItems(gaps, values);
  let next = 0;
  const addGapsUpTo = (/** @type {number} */ seq) => {
    for (; next < holes.length && holes[next].gap.after < seq; next += 1) items.push(holes[next]);
  };
  const keys = new Set();
  for (const { message, isHeld } of values) {
    addGapsUpTo(message.seq);
    const key = messageKey(message.author, message.id);
    keys.add(key);
    items.push({ kind: 'message', key, message, isHeld });
  }
  addGapsUpTo(Infinity);
  for (const draft of drafts) {
    const key = messageKey(user ?? '', draft.id);
    if (!keys.has(key)) items.push({ kind: 'draft', key, draft });
  }
  return items;
}

/**
 * The gaps, each in parts between the messages that are shown in it. One in which every place is
 * shown stays whole, and says how many may be outdated.
 *
 * @param {Gap[]} gaps  oldest first
 * @param {readonly {message: Message}[]} values  oldest first
 * @returns {GapItem[]}
 */
function gapItems(gaps, values) {
  // Filling mostly goes on from the newer end, so the older one names the gap.
  const item = (/** @type {Gap} */ gap, shownCount = 0) => (
    { kind: /** @type {const} */ ('gap'), key: `gap ${gap.after}`, gap, shownCount }
  );
  let at = 0;
  return gaps.flatMap((gap) => {
    while (at < values.length && values[at].message.seq <= gap.after) at += 1;
    const ends = [gap.after];
    for (; at < values.length && values[at].message.seq < gap.before; at += 1) {
      ends.push(values[at].message.seq);
    }
    const shown = ends.length - 1;
    if (shown === 0) return [item(gap)];
    const holes = [...ends.slice(1), gap.before].flatMap((before, index) => {
      const missing = before - ends[index] - 1;
      if (missing === 0) return [];
      const count = gap.missing === null ? null : missing;
      return [item({ ...gap, after: ends[index], before, missing: count })];
    });
    return holes.length > 0 ? holes : [item(gap, shown)];
  });
}

/**
 * A list as it is now, made of what is the same as before: an entry that says the same is the same
 * object, and so is a list of the same entries. Views compare by identity.
 *
 * @param {Item[]} items
 * @param {readonly Item[]} known  those of before
 * @returns {Item[]}
 */
export function settledItems(items, known) {
  const before = new Map(known.map((item) => [item.key, item]));
  const settled = items.map((item) => {
    const old = before.get(item.key);
    return old !== undefined && saysTheSame(old, item) ? old : item;
  });
  const isSame = settled.length === known.length
    && settled.every((item, at) => item === known[at]);
  return isSame ? /** @type {Item[]} */ (known) : settled;
}

/**
 * @param {Item} one
 * @param {Item} other
 */
function saysTheSame(one, other) {
  const known = /** @type {Record<string, unknown>} */ (one);
  return Object.entries(other).every(([name, value]) => (
    // A part of a gap is made anew with each list.
    known[name] === value || (name === 'gap' && JSON.stringify(known.gap) === JSON.stringify(value))
  ));
}

/**
 * @param {string} author
 * @param {string} id
 */
function messageKey(author, id) { return `message ${author} ${id}`; }
