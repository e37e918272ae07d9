import { compareCuts, comparePlaces, cutBehind } from './place.js';
import { noChanges } from './timeline-changes.js';

/** @import { HeldList } from './held-list.js' */
/** @import { Place } from './place.js' */
/** @import { Changes } from './timeline-changes.js' */

/**
 * Up to where everything was read, as a marker says it.
 *
 * @param {number | {createdAt: string, id: string}} marker  a seq, or a message without one
 * @returns {Place}
 */
function markerPlace(marker) {
  // Behind every id that may stand at this number.
  return typeof marker === 'number'
    ? [marker, '', '\u{10ffff}'] : [Infinity, marker.createdAt, marker.id];
}

/**
 * Moves the read marker of a list, never back, and counts what is unread then. The count of a
 * marker that comes late is outdated.
 *
 * @param {HeldList} list
 * @param {number | {createdAt: string, id: string}} marker  a seq, or a message without one
 * @param {number} [count]  how many messages are unread, if the origin said it
 * @returns {Changes}  the messages that are unread no more, or were not before, as updates
 */
export function moveReadMarker(list, marker, count) {
  const { unread } = list;
  const place = markerPlace(marker);
  const old = unread.lastRead;
  const isLate = old !== undefined && comparePlaces(old, place) > 0;
  const read = isLate ? old : place;
  unread.lastRead = read;
  const changes = markEntries(list, old, place);
  if (count !== undefined && !isLate) unread.total = count;
  const { newest, end } = list;
  const isPast = newest === undefined || comparePlaces(read, newest) >= 0;
  if (isPast && compareCuts(cutBehind(read), end) >= 0) unread.clear();
  list.settle();
  return changes;
}

/**
 * Marks the entries that the marker has passed, or looks at all of them where it is the first one.
 *
 * @param {HeldList} list
 * @param {Place | undefined} old
 * @param {Place} place
 * @returns {Changes}
 */
function markEntries({ entries, unread }, old, place) {
  const behind = (/** @type {Place} */ of) => (
    entries.indexWhere((entry) => comparePlaces(entry.place, of) > 0)
  );
  const changes = noChanges();
  const last = old === undefined ? entries.length : behind(place);
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
