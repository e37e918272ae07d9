/** Takes what `early.js` opened; from then on it opens none. @returns {WebSocket | null | undefined} */
function takeEarly() {
  const known = /** @type {*} */ (globalThis);
  const { gaplessSocket } = known;
  known.gaplessSocket = null;
  return gaplessSocket;
}

/**
 * A `WebSocket` as a connection opens one: the first is the one that `early.js` opened, unless that
 * was closed since.
 */
export const EarlyWebSocket = /** @type {typeof WebSocket} */ (/** @type {unknown} */ (
  /**
   * @param {string} url
   * @param {string} protocol
   */
  function EarlyWebSocket(url, protocol) {
    const early = takeEarly();
    return early && early.readyState < WebSocket.CLOSING && early.url === url
      ? early : new WebSocket(url, protocol);
  }));

/** There is a session, maybe by way of another tab: a socket that nobody took is not wanted. */
export function closeEarly() { takeEarly()?.close(); }
