/** @import { ConversationRecord } from './types.js' */

/**
 * How a conversation is opened, by what its record says; exactly one fits. `unread` (1): show the
 * place up to which was read, with a banner below it. `seen` (2): show the end. `moveToTime` (7):
 * the last message lies below the last one seen, which can't be; move to its time. The document
 * leaves out `neverOpened`: begin at the first message, and `empty`. 3 and 4 (scrolling), 5 (coming
 * back) and 6 (jumping) are no ways of opening.
 *
 * @typedef {{kind: 'unread', lastSeen: number} | {kind: 'seen'} | {kind: 'neverOpened'}
 *   | {kind: 'empty'} | {kind: 'moveToTime', time: string}} HistoryScenario
 */

/**
 * @param {object} of
 * @param {number | null} [of.lastSeen]  the place up to which the reader has read
 * @param {number} of.lastMessage  the place of the newest message; 0 for none
 * @param {string | null} [of.lastMessageTime]  RFC 3339
 * @returns {HistoryScenario}
 */
export function historyScenario({ lastSeen, lastMessage, lastMessageTime }) {
  const seen = lastSeen ?? 0;
  if (lastMessage === 0) return { kind: 'empty' };
  if (seen === 0) return { kind: 'neverOpened' };
  if (lastMessage > seen) return { kind: 'unread', lastSeen: seen };
  if (lastMessage === seen) return { kind: 'seen' };
  return { kind: 'moveToTime', time: lastMessageTime ?? '9999-12-31T23:59:59.999Z' };
}

/**
 * The scenario of a conversation as a reply gave it.
 *
 * @param {ConversationRecord} record
 */
export function scenarioOf({ lastReadSeq, head, lastMessage }) {
  return historyScenario({
    lastSeen: lastReadSeq, lastMessage: head?.seq ?? lastMessage?.seq ?? 0,
    lastMessageTime: lastMessage?.createdAt,
  });
}
