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
 * @property {number} shownCount  messages in it that are shown all the same and may be outdated
 *
 * @typedef {MessageItem | DraftItem | GapItem} Item
 */

/**
 * The list that a person sees: messages and gaps by place, then what is still being sent.
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
  let next = 0;
  /** @type {GapItem | null} */
  let latest = null;
  const addGapsUpTo = (/** @type {number} */ seq) => {
    for (; next < gaps.length && gaps[next].after < seq; next += 1) {
      // Filling mostly goes on from the newer end, so the older one names the gap.
      latest = { kind: 'gap', key: `gap ${gaps[next].after}`, gap: gaps[next], shownCount: 0 };
      items.push(latest);
    }
  };
  const keys = new Set();
  for (const { message, isHeld } of values) {
    addGapsUpTo(message.seq);
    if (!isHeld && latest !== null && message.seq < latest.gap.before) latest.shownCount += 1;
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
  return Object.entries(other).every(([name, value]) => known[name] === value);
}

/**
 * @param {string} author
 * @param {string} id
 */
function messageKey(author, id) { return `message ${author} ${id}`; }
