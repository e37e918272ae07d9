import { tombstones } from '../../Browser/grouping.js';

/** @import { Conversation } from '../../Browser/conversation.js' */
/** @import { Category, Grouping } from '../../Browser/grouping.js' */
/** @import { Item, MessageItem } from '../../Browser/items.js' */
/** @import { Message } from '../../Browser/types.js' */

/**
 * Messages that stand together and are shown as one row, oldest first.
 *
 * @typedef {{kind: 'fold', key: string, messages: Message[], isHeld: boolean}} FoldItem
 */

/**
 * Shows deleted messages that stand together as one row, until somebody wants to see them. What
 * stands together, and what is revealed of it, is decided by `Grouping`.
 */
export class Folding {
  /** @type {Category} */
  #category;
  /** @type {Set<string>} */
  #revealed = new Set();
  /** @type {Grouping | null} */
  #grouping = null;

  /** @param {string | null} reader  whose own messages stand apart */
  constructor(reader) { this.#category = tombstones(reader); }

  /**
   * Puts one item in the place of each group that is not revealed. Of one that is, the oldest
   * message says that it can be folded again.
   *
   * @param {Item[]} items  oldest first
   * @param {Pick<Conversation, 'grouping'>} conversation
   * @returns {(Item | FoldItem)[]}
   */
  fold(items, conversation) {
    if (!items.some((item) => item.kind === 'message' && item.message.deleted)) return items;
    const grouping = conversation.grouping(this.#category, this.#revealed);
    this.#grouping = grouping;
    /** @type {(Item | FoldItem)[]} */
    const folded = [];
    /** @type {{row: number, isRevealed: boolean} | null} */
    let last = null;
    for (const item of items) {
      const row = item.kind === 'message' && item.message.deleted
        ? grouping.rowOf(item.message.id) : undefined;
      if (row === undefined || item.kind !== 'message') {
        folded.push(item);
        last = null;
        continue;
      }
      const { isRevealed } = grouping.at(row);
      if (last?.row === row) folded.push(joined(folded.pop(), item));
      else if (isRevealed && !last?.isRevealed) folded.push({ ...item, canFold: true });
      else folded.push(item);
      last = { row, isRevealed };
    }
    return folded;
  }

  /**
   * Shows each message of a group.
   *
   * @param {string} id  of one of them
   */
  reveal(id) { this.#change(id, (grouping, row) => grouping.reveal(row)); }

  /**
   * Shows a group as one row again.
   *
   * @param {string} id  of one of its messages
   */
  hide(id) { this.#change(id, (grouping, row) => grouping.hide(row)); }

  /**
   * @param {string} id
   * @param {(grouping: Grouping, row: number) => void} change
   */
  #change(id, change) {
    const row = this.#grouping?.rowOf(id);
    if (this.#grouping === null || row === undefined) return;
    change(this.#grouping, row);
    this.#revealed = this.#grouping.revealed;
  }
}

/**
 * @param {Item | FoldItem | undefined} before
 * @param {MessageItem} item
 * @returns {FoldItem}
 */
function joined(before, { message, isHeld }) {
  const known = before?.kind === 'fold' ? before.messages
    : before?.kind === 'message' ? [before.message] : [];
  const isWhole = isHeld && (before?.kind === 'fold' || before?.kind === 'message')
    && before.isHeld;
  // The newest names it: older ones come as one reads back.
  const messages = [...known, message];
  return { kind: 'fold', key: `fold ${message.id}`, messages, isHeld: isWhole };
}
