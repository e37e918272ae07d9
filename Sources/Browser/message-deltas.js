import { sameReactions } from './reactions.js';

/** @import { MessageItem, Item } from './items.js' */
/** @import { ListMessage } from './timeline.js' */
/** @import { MessageDelta } from './merge.js' */

/**
 * The messages of a list of items, what is being sent among them: without `seq` and `rev`.
 *
 * @param {readonly Item[]} items
 * @param {string} conversation
 * @param {string | null} user  the author of what is being sent
 * @returns {{message: ListMessage, isHeld: boolean}[]}
 */
export function messagesOf(items, conversation, user) {
  return items.flatMap((item) => {
    if (item.kind === 'message') return [{ message: item.message, isHeld: item.isHeld }];
    if (item.kind === 'gap') return [];
    const { id, body, metadata, attachment, replyTo, createdAt } = item.draft;
    const { mentions, mentionAll } = item.draft;
    const author = user ?? '';
    const message = {
      id, conversation, author, body, metadata, createdAt, deleted: false,
      ...(attachment !== undefined && { attachment }),
      ...(replyTo !== undefined && { replyTo: { id: replyTo } }),
      ...(mentions?.length && { mentions }), ...(mentionAll && { mentionAll }),
    };
    return [{ message, isHeld: false }];
  });
}

/**
 * What a list that showed `old` has to be told to show `now`. A message that left the list is
 * `trimmed`; one that was deleted in its conversation is `deleted`, and stays as a tombstone. A
 * message has an earlier value again when its log lost the later one. It leaves the list and comes
 * back, because a merge keeps the newest value. One's own reaction is shown before it is confirmed:
 * that is an update of the same `rev`.
 *
 * @param {readonly ListMessage[]} old
 * @param {readonly ListMessage[]} now
 * @returns {MessageDelta[]}
 */
export function messageDeltas(old, now) {
  const before = new Map(old.map((message) => [message.id, message]));
  const after = new Set(now.map(({ id }) => id));
  /** @type {MessageDelta[]} */
  const deltas = old.filter(({ id }) => !after.has(id))
    .map((message) => ({ type: 'trimmed', message }));
  for (const message of now) {
    const known = before.get(message.id);
    const isEarlier = known && (message.rev ?? Infinity) < (known.rev ?? 0);
    if (isEarlier) deltas.push({ type: 'trimmed', message: known });
    if (known === undefined || isEarlier) deltas.push({ type: 'inserted', message });
    else if (known !== message && (known.seq !== message.seq || known.rev !== message.rev
      || !sameReactions(known, message))) {
      deltas.push({ type: message.deleted && !known.deleted ? 'deleted' : 'updated', message });
    }
  }
  return deltas;
}
