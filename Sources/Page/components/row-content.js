import { nextLoad } from '../../Browser/preload.js';
import { rowSignature } from './message-row.js';
import { newestMessage } from './rows.js';

/** @import { Item } from '../../Browser/items.js' */
/** @import { RowContext } from './message-row.js' */
/** @import { Gap, Message, Participant } from '../../Browser/types.js' */
/** @import { Row } from './rows.js' */

/**
 * What the rows of a message list are about.
 *
 * @typedef {{kind: 'beginning', key: string}} BeginningRow
 * @typedef {{id: string, hash: string, isLoose: boolean, row: Row | BeginningRow}} ListRow
 */

/** Who has read the newest message is named in conversations of at most this many people. */
const SEEN_LIMIT = 20;

/**
 * The row above all others.
 *
 * @param {string} hash  what it says
 * @returns {ListRow}
 */
export function beginningRow(hash) {
  return { id: 'beginning', hash, isLoose: true, row: { kind: 'beginning', key: 'beginning' } };
}

/**
 * @param {Row} row
 * @param {RowContext} context
 * @returns {ListRow}
 */
export function listRow(row, context) {
  const isLoose = row.kind !== 'item' || row.item.kind === 'gap';
  return { id: row.key, hash: rowSignature(row, context), isLoose, row };
}

/**
 * @param {Row | BeginningRow | undefined} row
 * @returns {Message | undefined}
 */
export function messageOf(row) {
  const item = row?.kind === 'item' ? row.item : undefined;
  return item?.kind === 'message' || item?.kind === 'fold' ? newestMessage(item) : undefined;
}

/**
 * Whether a row shows a message, by itself or with others.
 *
 * @param {Row | BeginningRow} row
 * @param {string} id
 */
export function shows(row, id) {
  if (row.kind !== 'item') return false;
  const { item } = row;
  return item.kind === 'fold' ? item.messages.some((message) => message.id === id)
    : item.kind === 'message' && item.message.id === id;
}

/**
 * @param {Row | BeginningRow} row
 * @returns {Gap | undefined}
 */
function gapOf(row) {
  return row.kind === 'item' && row.item.kind === 'gap' ? row.item.gap : undefined;
}

/**
 * Fetches what comes near the view.
 *
 * @param {import('../../Browser/scroll-view.js').ScrollView<ListRow>} view
 * @param {import('../../Browser/conversation.js').Conversation} conversation
 * @param {boolean} isUpward  whether the view moved to older rows lately
 */
export function preload({ visible, items }, conversation, isUpward) {
  if (visible === null) return;
  const load = nextLoad({
    count: items.length, gapAt: (index) => gapOf(items[index].row), ...visible, isUpward,
    hasOlder: conversation.hasOlder && conversation.older === 'idle',
    mayFill: (gap) => conversation.filling(gap) === 'idle',
  });
  if (load === 'older') conversation.loadOlder();
  else if (load !== null) conversation.fill(load.gap, load.end);
}

/**
 * Waits until a view scrolls no more: it goes one way at a time.
 *
 * @param {import('../../Browser/scroll-view.js').ScrollView<ListRow>} view
 */
export async function rest(view) {
  while (view.isScrolling) await new Promise(requestAnimationFrame);
}

/**
 * The place of the newest message, of one author or of all; 0 if there is none.
 *
 * @param {Item[]} items
 * @param {string | null} [author]
 */
export function newestSeq(items, author) {
  const last = items.findLast((item) => item.kind === 'message'
    && (author === undefined || item.message.author === author));
  return last?.kind === 'message' ? last.message.seq : 0;
}

/**
 * The names of those who have read the newest message, if it is the user's own.
 *
 * @param {ReadonlyMap<string, Participant>} people
 * @param {Item | undefined} last
 * @param {RowContext} context
 */
export function seenBy(people, last, { user, nameOf }) {
  if (last?.kind !== 'message' || people.size > SEEN_LIMIT) return [];
  const { author, seq } = last.message;
  if (author !== user) return [];
  return [...people.values()]
    .filter(({ id, lastReadSeq = 0 }) => id !== author && lastReadSeq >= seq)
    .map(({ id }) => nameOf(id));
}

/**
 * How many messages of others came behind a place, as far as that is known.
 *
 * @param {Item[]} items
 * @param {number} after
 * @param {number} newest
 * @param {string | null} user
 */
export function countMissed(items, after, newest, user) {
  if (newest <= after) return 0;
  const others = nothingToRead(items, user).filter((seq) => seq > after);
  return newest - after - others.length;
}

/**
 * The places of messages that are nothing to read: one's own, and deleted ones.
 *
 * @param {Item[]} items
 * @param {string | null} user
 */
export function nothingToRead(items, user) {
  return items.flatMap((item) => {
    if (item.kind !== 'message') return [];
    const { seq, author, deleted } = item.message;
    return author === user || deleted ? [seq] : [];
  });
}
