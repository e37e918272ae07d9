import { noChanges } from './timeline-changes.js';

/** @import { HeldList } from './held-list.js' */
/** @import { Changes } from './timeline-changes.js' */

/**
 * Moves the read marker of a list, never back, and counts what is unread then. The count of a
 * marker that comes late is outdated.
 *
 * @param {HeldList} list
 * @param {number} seq
 * @param {number} [count]  how many messages are unread, if the origin said it
 * @returns {Changes}  the messages that changed, as updates
 */
export function moveReadMarker(list, seq, count) {
  const { unread } = list;
  const old = unread.lastRead;
  const isLate = old !== undefined && old > seq;
  const read = isLate ? old : seq;
  unread.lastRead = read;
  const changes = markEntries(list, old, seq);
  if (count !== undefined && !isLate) unread.total = count;
  const { newest, end } = list;
  const isPast = newest === undefined || read >= newest[0];
  if (isPast && read >= end - 1) unread.clear();
  list.settle();
  return changes;
}

/**
 * Marks the entries that the marker has passed, or looks at all of them where it is the first one.
 *
 * @param {HeldList} list
 * @param {number | undefined} old
 * @param {number} seq
 * @returns {Changes}
 */
function markEntries({ entries, unread }, old, seq) {
  const behind = (/** @type {number} */ number) => (
    entries.indexWhere(({ place }) => place[0] > number)
  );
  const changes = noChanges();
  const last = old === undefined ? entries.length : behind(seq);
  for (let at = old === undefined ? 0 : behind(old); at < last; at += 1) {
    const entry = entries.at(at);
    const isUnread = unread.isUnread(entry.message, entry.place);
    if (entry.isUnread === isUnread) continue;
    entries.replaceAt(at, { ...entry, isUnread });
    unread.count(entry.place, isUnread ? 1 : -1);
    changes.updated.push({ id: entry.message.id, index: at });
  }
  return changes;
}
