/**
 * One row of a chat: `uid` is the same for as long as the row is there, and no other row's; an item
 * whose `type` changes counts as another.
 *
 * @typedef {{uid: string, type: string}} ChatItem
 *
 * What a list view has to do to get from one array of items to another. `insertions` are indices in
 * the new array, `deletions` in the old one, ascending; `moves` name every item whose index is
 * another, also where only something before it came or went, ascending by `to`.
 *
 * @typedef {object} ChatItemChanges
 * @property {number[]} insertions
 * @property {number[]} deletions
 * @property {{from: number, to: number}[]} moves
 */

/**
 * How one array of items becomes another. Of an item that stands twice, the last index counts.
 *
 * @param {readonly ChatItem[]} old
 * @param {readonly ChatItem[]} now
 * @returns {ChatItemChanges}
 */
export function chatItemChanges(old, now) {
  const [before, after] = [old, now].map(indices);
  /** @type {ChatItemChanges} */
  const changes = { insertions: [], deletions: [], moves: [] };
  for (const [key, index] of before) if (!after.has(key)) changes.deletions.push(index);
  for (const [key, to] of after) {
    const from = before.get(key);
    if (from === undefined) changes.insertions.push(to);
    else if (from !== to) changes.moves.push({ from, to });
  }
  changes.deletions.sort((a, b) => a - b);
  changes.insertions.sort((a, b) => a - b);
  changes.moves.sort((a, b) => a.to - b.to);
  return changes;
}

/** @param {readonly ChatItem[]} items */
function indices(items) {
  return new Map(items.map(({ uid, type }, index) => [JSON.stringify([uid, type]), index]));
}
