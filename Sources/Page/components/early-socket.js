/**
 * Takes what `early.js` opened; from then on it opens none.
 *
 * @returns {(WebSocket & {askedAt: number}) | null | undefined}
 */
function takeEarly() {
  const known = /** @type {*} */ (globalThis);
  const { gaplessSocket } = known;
  known.gaplessSocket = null;
  return gaplessSocket;
}

/**
 * Milliseconds after which the page no longer takes the socket: half of what the gateway waits for
 * `connect` by default (`limits.connect_timeout`). One that it closes as too late can't come back.
 */
const PATIENCE = 5_000;

/**
 * A `WebSocket` as a connection opens one: the first is the one that `early.js` opened, unless that
 * was closed since, or has waited for long.
 */
export const EarlyWebSocket = /** @type {typeof WebSocket} */ (/** @type {unknown} */ (
  /**
   * @param {string} url
   * @param {string} protocol
   */
  function EarlyWebSocket(url, protocol) {
    const early = takeEarly();
    const isGood = early && early.readyState < WebSocket.CLOSING && early.url === url
      && performance.now() - early.askedAt < PATIENCE;
    if (isGood) return early;
    early?.close();
    return new WebSocket(url, protocol);
  }));

/** There is a session, maybe by way of another tab: a socket that nobody took is not wanted. */
export function closeEarly() { takeEarly()?.close(); }
