/** @import { Item, MessageItem } from '../../Browser/items.js' */
/** @import { FoldItem } from './folding.js' */

/**
 * One row of a message list. Lines between days, the line above what is unread, and whether a
 * message goes on where its author just spoke are made here, from the items around.
 *
 * @typedef {{kind: 'day', key: string, moment: string}} DayRow
 * @typedef {{kind: 'unread', key: string}} UnreadRow
 * @typedef {{kind: 'seen', key: string, by: string[]}} SeenRow
 * @typedef {object} ItemRow
 * @property {'item'} kind
 * @property {string} key
 * @property {Item | FoldItem} item
 * @property {boolean} isContinued  its author spoke right before
 * @property {boolean} goesOn  its author speaks right after
 * @property {string | null} [from]  of a gap: when the message before it was said
 * @property {string | null} [to]  of a gap: when the message after it was said
 *
 * @typedef {DayRow | UnreadRow | SeenRow | ItemRow} Row
 */

/** Messages of one author within this time are one block, in milliseconds. */
const BLOCK = 5 * 60_000;

/**
 * Whether a message tells what its author does, as in `/me waves`, instead of what they say.
 *
 * @param {import('../../Browser/types.js').Message} message
 */
export function isEmote({ metadata, deleted }) { return metadata?.emote === true && !deleted; }

/** @param {MessageItem | FoldItem} item */
export function newestMessage(item) {
  return item.kind === 'fold' ? item.messages[item.messages.length - 1] : item.message;
}

/** @param {MessageItem | FoldItem} item */
export function oldestMessage(item) {
  return item.kind === 'fold' ? item.messages[0] : item.message;
}

/**
 * @param {(Item | FoldItem)[]} items  oldest first
 * @param {object} of
 * @param {(moment: string) => string} of.dayOf  names the day of a moment, to compare days with
 * @param {string | null} of.user  the author of drafts
 * @param {number | null} of.unreadAfter  the last place that was read before; `null` for no line
 * @param {string[]} [of.seenBy]  who has read the newest message
 * @returns {Row[]}
 */
export function listRows(items, { dayOf, user, unreadAfter, seenBy = [] }) {
  /** @type {Row[]} */
  const rows = [];
  /** @type {{author: string | null, createdAt: string} | null} */
  let previous = null;
  let day = '';
  /** @type {string | null} */
  let saidAt = null;
  /** @type {ItemRow | null} */
  let gap = null;
  let isUnreadMarked = unreadAfter === null;
  for (const item of items) {
    if (item.kind === 'gap') {
      previous = null;
      if (!isUnreadMarked && item.gap.after >= Number(unreadAfter)) {
        isUnreadMarked = true;
        rows.push({ kind: 'unread', key: 'unread' });
      }
      gap = {
        kind: 'item', key: item.key, item, isContinued: false, goesOn: false, from: saidAt,
        to: null,
      };
      rows.push(gap);
      continue;
    }
    const { createdAt } = item.kind === 'draft' ? item.draft : oldestMessage(item);
    if (gap !== null && item.kind !== 'draft') gap.to = createdAt;
    gap = null;
    saidAt = item.kind === 'draft' ? saidAt : createdAt;
    const author = item.kind === 'message' ? item.message.author : user;
    if (dayOf(createdAt) !== day) {
      day = dayOf(createdAt);
      previous = null;
      rows.push({ kind: 'day', key: `day ${day} ${item.key}`, moment: createdAt });
    }
    const seq = item.kind === 'draft' ? 0 : newestMessage(item).seq;
    if (!isUnreadMarked && seq > Number(unreadAfter)) {
      isUnreadMarked = true;
      previous = null;
      rows.push({ kind: 'unread', key: 'unread' });
    }
    if (item.kind === 'fold') {
      previous = null;
      rows.push({ kind: 'item', key: item.key, item, isContinued: false, goesOn: false });
      continue;
    }
    // An emote names its author itself, so it stands alone.
    const isAlone = item.kind === 'message' && isEmote(item.message);
    const isContinued = !isAlone && previous !== null && previous.author === author
      && Date.parse(createdAt) - Date.parse(previous.createdAt) < BLOCK;
    const before = rows.at(-1);
    if (isContinued && before?.kind === 'item') before.goesOn = true;
    rows.push({ kind: 'item', key: item.key, item, isContinued, goesOn: false });
    previous = isAlone ? null : { author, createdAt };
  }
  if (seenBy.length > 0) rows.push({ kind: 'seen', key: 'seen', by: seenBy });
  return rows;
}
