/**
 * How a conversation is named, wherever one is: by its id, or by what has its id, as its record.
 *
 * @typedef {string | {id: string}} ConversationName
 */

/**
 * @param {ConversationName} conversation
 * @returns {string}
 */
export function idOf(conversation) {
  return typeof conversation === 'string' ? conversation : conversation.id;
}
