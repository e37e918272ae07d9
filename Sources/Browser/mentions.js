/** @import { Message } from './types.js' */

/**
 * Whether a message is about a user: it mentions them, or everybody, and is not their own. Ids of
 * users are compared as they are.
 *
 * @param {Pick<Message, 'author' | 'deleted' | 'mentions' | 'mentionAll'>} message
 * @param {string | null} user
 * @returns {boolean}
 */
export function mentionsUser({ author, deleted, mentions, mentionAll }, user) {
  if (user === null || deleted || author === user) return false;
  // An earlier version of the gateway may have stored anything under these names.
  return mentionAll === true || (Array.isArray(mentions) && mentions.includes(user));
}
