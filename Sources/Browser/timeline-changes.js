import { comparePlaces } from './place.js';
import { sameReactions } from './reactions.js';

/** @import { BlockList } from './block-list.js' */
/** @import { Place } from './place.js' */
/** @import { Entry, ListMessage } from './timeline.js' */

/** @typedef {{id: string, index: number}} ChangedItem */

/**
 * The least that a view has to change: indices of what is deleted, and those from which something
 * moves, count in the old list, all others in the new one. A message is named at most once; one
 * that moved may have a new value too.
 *
 * @typedef {object} Changes
 * @property {ChangedItem[]} inserted  ascending
 * @property {ChangedItem[]} deleted  ascending
 * @property {{id: string, from: number, to: number}[]} moved  ascending by `to`
 * @property {ChangedItem[]} updated  another value, or held now, or held no more; ascending
 */

/** @typedef {{id: string, old: number, new: number}} Survivor */

/** @returns {Changes} */
export const noChanges = () => ({ inserted: [], deleted: [], moved: [], updated: [] });

/**
 * Carries out what was decided, and says what changed.
 *
 * @param {BlockList<Entry>} entries
 * @param {Map<string, Place>} places
 * @param {Map<string, Entry | null>} edits  what the list will hold by id; null for nothing
 * @param {Map<string, {entry: Entry, index: number}>} before  what it held of these
 * @returns {Changes}
 */
export function carryOut(entries, places, edits, before) {
  for (const [id, entry] of edits) {
    const old = before.get(id)?.entry;
    if (old && (!entry || comparePlaces(entry.place, old.place) !== 0)) entries.remove(old.place);
    if (entry) {
      places.set(id, entry.place);
      entries.set(entry);
    } else {
      places.delete(id);
    }
  }
  const changes = noChanges();
  /** @type {Survivor[]} */
  const moving = [];
  for (const [id, entry] of edits) {
    const old = before.get(id);
    if (!entry) {
      if (old) changes.deleted.push({ id, index: old.index });
      continue;
    }
    const index = /** @type {number} */ (entries.indexOf(entry.place));
    if (!old) {
      changes.inserted.push({ id, index });
    } else if (comparePlaces(old.entry.place, entry.place) !== 0) {
      moving.push({ id, old: old.index, new: index });
    } else if (old.entry.isHeld !== entry.isHeld || !isSame(old.entry.message, entry.message)) {
      changes.updated.push({ id, index });
    }
  }
  changes.deleted.sort((a, b) => a.index - b.index);
  changes.inserted.sort((a, b) => a.index - b.index);
  if (moving.length > 0) sortMoving(moving, changes);
  changes.updated.sort((a, b) => a.index - b.index);
  return changes;
}

/**
 * Of the messages whose place changed, those that stand elsewhere among the others are moved, and
 * as few of them as possible; the rest only have another value.
 *
 * @param {Survivor[]} moving
 * @param {Changes} changes
 */
function sortMoving(moving, changes) {
  const deleted = changes.deleted.map(({ index }) => index);
  const inserted = changes.inserted.map(({ index }) => index);
  moving.sort((a, b) => a.new - b.new);
  const olds = moving.map((item) => item.old).sort((a, b) => a - b);
  const news = moving.map((item) => item.new);
  const below = (/** @type {number[]} */ list, /** @type {number} */ bound) => (
    list.filter((value) => value < bound).length
  );
  // Those before which as many of the messages stand as did, of all that kept their place.
  const still = moving.filter((item) => (
    item.old - below(deleted, item.old) - below(olds, item.old)
      === item.new - below(inserted, item.new) - below(news, item.new)
  ));
  const staying = new Set(longestRise(still.map((item) => item.old)));
  for (const item of moving) {
    if (staying.has(item.old)) changes.updated.push({ id: item.id, index: item.new });
    else changes.moved.push({ id: item.id, from: item.old, to: item.new });
  }
}

/**
 * A longest rising part of different numbers (patience sorting).
 *
 * @param {number[]} values
 */
function longestRise(values) {
  /** @type {number[]} */
  const ends = [];
  /** @type {(number | undefined)[]} */
  const previous = [];
  values.forEach((value, at) => {
    let pile = ends.findIndex((end) => values[end] >= value);
    if (pile < 0) pile = ends.length;
    previous[at] = ends[pile - 1];
    ends[pile] = at;
  });
  const rise = [];
  for (let at = ends.at(-1); at !== undefined; at = previous[at]) rise.push(values[at]);
  return rise.reverse();
}

/**
 * Whether two values of a message are one. A change number stands for one value.
 *
 * @param {ListMessage} a
 * @param {ListMessage} b
 */
function isSame(a, b) {
  if (a === b) return true;
  if (a.seq !== b.seq || a.rev !== b.rev) return false;
  return a.rev != null || JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Which of two values of one message a list keeps: the newest `rev` wins, and one with a `rev` over
 * one without. Where neither has one, a deletion is final, what was fetched replaces, and a delta
 * is weighed by when the message was last edited; an insert never replaces a value as old as
 * itself, because an update may overtake the insert.
 *
 * @param {ListMessage} arrived
 * @param {ListMessage | undefined} held
 * @param {'fetched' | 'inserted' | 'updated' | 'deleted'} origin
 * @returns {ListMessage}
 */
export function mergedMessage(arrived, held, origin) {
  const value = origin === 'deleted' && !arrived.deleted ? tombstone(arrived) : arrived;
  if (held === undefined) return value;
  const [kept, other] = replaces(value, held, origin) ? [value, held] : [held, value];
  return kept.seq == null && other.seq != null ? { ...kept, seq: other.seq } : kept;
}

/**
 * @param {ListMessage} arrived
 * @param {ListMessage} held
 * @param {string} origin
 */
function replaces(arrived, held, origin) {
  if (arrived.rev != null && held.rev != null) {
    if (arrived.rev !== held.rev) return arrived.rev > held.rev;
    // An update of the same change is of one's own reaction, which is not confirmed yet.
    return origin === 'fetched' || (origin === 'updated' && !sameReactions(arrived, held));
  }
  if (arrived.rev != null || held.rev != null) return arrived.rev != null;
  if (Boolean(arrived.deleted) !== Boolean(held.deleted)) return Boolean(arrived.deleted);
  if (origin === 'fetched') return true;
  // RFC 3339 in UTC with milliseconds: the order of the texts is that of the moments.
  const age = arrived.editedAt ?? arrived.createdAt;
  const heldAge = held.editedAt ?? held.createdAt;
  return age === heldAge ? origin !== 'inserted' : age > heldAge;
}

/** @param {ListMessage} message */
function tombstone({ body, attachment, metadata, replyTo, mentions, mentionAll, ...message }) {
  return { ...message, deleted: true };
}
