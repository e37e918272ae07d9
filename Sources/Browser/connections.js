import { Connection } from './connection.js';
import { SharedConnection } from './shared-connection.js';

/** @import { Ask } from './connection.js' */

/**
 * The connection of this tab: where it is known who we are, one that all tabs of this browser share
 * that say the same and use the same address; otherwise one of its own.
 *
 * @param {object} options
 * @param {string} options.url  `ws:` or `wss:`
 * @param {Ask} options.credentials
 * @param {string | null} [options.user]
 * @param {boolean} [options.isShared]
 * @param {string} [options.client]
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
