import { compareConversations, mergedConversation } from './conversation-merge.js';
import { comparePlaces, placeOf } from './place.js';
import { mergedMessage } from './timeline-changes.js';

/** @import { ListMessage } from './timeline.js' */
/** @import { ConversationRecord } from './types.js' */

/**
 * What a client calls to keep a list. All are pure: a list goes in, and a list comes out in order,
 * each id once. Messages stand ascending by `(seq, id)`, those without a place behind all others;
 * conversations latest activity first.
 *
 * Where records carry `rev`, the newest wins, so neither the order in which pages and deltas come
 * nor their repetition matters, within one epoch: when a log was reset, begin a new list.
 *
 * @typedef {ListMessage | ConversationRecord} ListRecord
 * @typedef {'inserted' | 'updated' | 'deleted' | 'trimmed'} DeltaType
 * @typedef {{type: DeltaType, message: ListMessage}} MessageDelta
 * @typedef {{type: DeltaType, conversation: ConversationRecord}} ConversationDelta
 * @typedef {'fetched' | DeltaType} Origin
 */

/**
 * The list with fetched messages or conversations in it: one page, or several; or with changes
 * applied, as by `applyDelta`. What a page does not hold stays.
 *
 * @template {ListRecord} Item
 * @param {readonly Item[]} list
 * @param {readonly (Item | MessageDelta | ConversationDelta)[]} fetched
 * @returns {Item[]}
 */
export function merge(list, fetched) {
  return merged(list, fetched.map((arrival) => (isDelta(arrival)
    ? arrivalOf(arrival) : { record: /** @type {Item} */ (arrival), origin: 'fetched' })));
}

/**
 * The list with changes applied. An update of something that is not there inserts it. A deleted
 * message stays as a tombstone; a deleted conversation or a `trimmed` message leaves the list.
 *
 * @template {ListRecord} Item
 * @param {readonly (MessageDelta | ConversationDelta)[]} deltas
 * @param {readonly Item[]} list
 * @returns {Item[]}
 */
export function applyDelta(deltas, list) {
  return merged(list, deltas.map((delta) => arrivalOf(delta)));
}

/**
 * @param {*} arrival
 * @returns {arrival is MessageDelta | ConversationDelta}
 */
function isDelta(arrival) {
  // A message names its conversation, and a record of either kind has an id of its own.
  return arrival.id === undefined && typeof arrival.type === 'string';
}

/**
 * @param {MessageDelta | ConversationDelta} delta
 * @returns {{record: *, origin: Origin}}
 */
function arrivalOf(delta) {
  const record = 'message' in delta ? delta.message : delta.conversation;
  return { record, origin: delta.type };
}

/**
 * @template {ListRecord} Item
 * @param {readonly Item[]} list
 * @param {{record: Item, origin: Origin}[]} arrivals
 * @returns {Item[]}
 */
function merged(list, arrivals) {
  /** @type {Map<string, *>} */
  const records = new Map();
  const all = [...list.map((record) => (
    { record, origin: /** @type {Origin} */ ('fetched') }
  )), ...arrivals];
  for (const { record, origin } of all) {
    const held = records.get(record.id);
    if (origin === 'trimmed') {
      records.delete(record.id);
      continue;
    }
    const value = isMessage(record)
      ? mergedMessage(record, held, origin)
      : mergedConversation(/** @type {ConversationRecord} */ (record), held, origin);
    if (value === null) records.delete(record.id); else records.set(record.id, value);
  }
  const result = [...records.values()];
  return result.sort(result.length > 0 && isMessage(result[0])
    ? (a, b) => comparePlaces(placeOf(a), placeOf(b)) : compareConversations);
}

/**
 * @param {ListRecord} record
 * @returns {record is ListMessage}
 */
function isMessage(record) { return 'conversation' in record; }
