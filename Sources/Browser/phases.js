/** @import { Connection } from './connection.js' */

/**
 * The answers to a request as they come: perhaps one from the gateway's cache, then the one that
 * counts. Throws what the request fails with.
 *
 * @template Value
 * @param {Connection} connection
 * @param {string} method
 * @param {object} params
 * @param {(result: *) => Value} read
 * @returns {AsyncGenerator<{value: Value, isCached: boolean}>}
 */
export async function* phases(connection, method, params, read) {
  /** @type {{value: Value, isCached: boolean}[]} */
  const come = [];
  let wake = () => {};
  const take = (/** @type {boolean} */ isCached) => (/** @type {*} */ result) => {
    come.push({ value: read(result), isCached });
    wake();
  };
  const reply = connection.request(method, params, { cached: take(true), final: take(false) });
  // Whoever stops after the cached answer does not wait for the other, nor for its failure.
  reply.catch(() => {});
  for (;;) {
    const news = new Promise((resolve) => { wake = () => resolve(undefined); });
    if (come.length === 0) await Promise.race([news, reply]);
    for (const phase of come.splice(0)) {
      yield phase;
      if (!phase.isCached) return;
    }
  }
}
