import { Connection } from './connection.js';
import { SharedConnection } from './shared-connection.js';

/** @import { Ask } from './connection.js' */
/** @import { PresenceState } from './own-presence.js' */

/**
 * The connection of this tab: with a known user, one that all tabs with the same user and address
 * share; otherwise one of its own.
 *
 * @param {object} options
 * @param {string} options.url  `ws:` or `wss:`
 * @param {Ask} options.credentials
 * @param {string | null} [options.user]
 * @param {boolean} [options.isShared]
 * @param {string} [options.client]
 * @param {PresenceState} [options.presence]  how the user is there by it, see `setPresence`
 * @param {*} [options.environment]  for tests, see `Connection`
 * @returns {Connection}
 */
export function connectionOf({ user = null, isShared = true, ...options }) {
  if (user === null || !isShared || !SharedConnection.isPossible) {
    return new Connection({ ...options, user });
  }
  const shared = new SharedConnection({ ...options, user });
  // Its caller sees no difference.
  return /** @type {Connection} */ (/** @type {unknown} */ (shared));
}
