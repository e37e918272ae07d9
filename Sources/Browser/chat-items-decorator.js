/** @import { ChatItem } from './chat-item-changes.js' */
/** @import { ChatMessageItem } from './chat-data-source.js' */

/**
 * A row as a view shows it: an item of the data source, or one that was added here.
 *
 * @typedef {object} DecoratedChatItem
 * @property {string} uid
 * @property {ChatItem & Partial<ChatMessageItem>} item
 * @property {boolean} continuesAuthor  whether it goes on from the row above: the same author,
 *   within two minutes
 */

/** Messages of one author that are closer than this belong together, in milliseconds. */
const CLOSENESS = 120_000;

/**
 * Adds to a data source's items a separator above each day (in UTC), with a uid of its own, and
 * whether a message goes on from the one above.
 *
 * @param {readonly ChatMessageItem[]} items
 * @returns {DecoratedChatItem[]}
 */
export function decorateChatItems(items) {
  /** @type {DecoratedChatItem[]} */
  const rows = [];
  let above = null;
  const days = new Set();
  for (const item of items) {
    const { author, createdAt } = item.message;
    const day = createdAt.slice(0, 10);
    if (above?.createdAt.slice(0, 10) !== day) {
      above = null;
      const uid = `day ${day}`;
      // Where clocks differ a day may come back; a uid must not.
      if (!days.has(uid)) rows.push({ uid, item: { uid, type: 'day' }, continuesAuthor: false });
      days.add(uid);
    }
    const continuesAuthor = above !== null && above.author === author
      && Date.parse(createdAt) - Date.parse(above.createdAt) < CLOSENESS;
    rows.push({ uid: item.uid, item, continuesAuthor });
    above = item.message;
  }
  return rows;
}

/**
 * The index of the row with this uid, or of the row of the item with it; -1 for none.
 *
 * @param {string} uid
 * @param {readonly DecoratedChatItem[]} rows
 */
export function indexOfChatItem(uid, rows) {
  return rows.findIndex((row) => row.uid === uid || row.item.uid === uid);
}
