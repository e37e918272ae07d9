import { compareText } from './place.js';

/** @import { ConversationRecord } from './types.js' */

/**
 * What a list holds of a conversation after a value came; `null` for nothing.
 *
 * The record, the activity and the reader's part are merged separately, since an event never
 * carries the reader's part and may carry only one of the others.
 *
 * @param {ConversationRecord} arrived
 * @param {ConversationRecord | undefined} held
 * @param {'fetched' | 'inserted' | 'updated' | 'deleted'} origin
 * @returns {ConversationRecord | null}
 */
export function mergedConversation(arrived, held, origin) {
  if (origin === 'deleted') return null;
  // An event goes to all alike: what it may say of the reader is somebody else's.
  const value = origin === 'fetched' ? arrived : withoutReader(arrived);
  if (held === undefined) return value;
  // Numbers of two logs do not compare: what came last is what there is.
  if (value.head && held.head && value.head.epoch !== held.head.epoch) return value;
  const record = age(value.rev, held.rev) < 0 ? held : value;
  const active = age(value.head?.rev, held.head?.rev) < 0 ? held : value;
  const reader = readsNewer(value, held) ? value : held;
  return {
    ...record,
    participants: record.participants ?? held.participants,
    // `null` says that the conversation has no last message.
    lastMessage: active.lastMessage === undefined ? held.lastMessage : active.lastMessage,
    head: active.head ?? held.head,
    lastReadSeq: reader.lastReadSeq,
    unreadCount: reader.unreadCount,
    unreadMentions: reader.unreadMentions,
  };
}

/**
 * Latest activity first; of two as late, the smaller id.
 *
 * @param {ConversationRecord} a
 * @param {ConversationRecord} b
 */
export function compareConversations(a, b) {
  return compareText(activityAt(b), activityAt(a)) || compareText(a.id, b.id);
}

/**
 * The moment of the latest activity, RFC 3339 in UTC, so that text order is time order.
 *
 * @param {ConversationRecord} record
 */
function activityAt({ lastMessage, updatedAt, createdAt }) {
  const [said, changed] = [lastMessage?.createdAt ?? '', updatedAt ?? createdAt ?? ''];
  return said > changed ? said : changed;
}

/** @param {ConversationRecord} record */
function withoutReader({ lastReadSeq, unreadCount, unreadMentions, ...record }) { return record; }

/**
 * @param {number | undefined} mine
 * @param {number | undefined} theirs
 */
function age(mine = -1, theirs = -1) { return mine - theirs; }

/**
 * Whether the reader's part of a value is the newer: a read marker never moves back, and the count
 * beside it is as of the activity.
 *
 * @param {ConversationRecord} value
 * @param {ConversationRecord} held
 */
function readsNewer(value, held) {
  if (value.lastReadSeq === undefined && value.unreadCount === undefined) return false;
  if (value.lastReadSeq === undefined || held.lastReadSeq === undefined
    || value.lastReadSeq === held.lastReadSeq) {
    return age(value.head?.rev, held.head?.rev) >= 0 || held.unreadCount === undefined;
  }
  return value.lastReadSeq > held.lastReadSeq;
}
