/**
 * Opens the socket while the page's script is on its way, which takes longer; `early-socket.js` hands
 * it over. A classic script of a few lines, so that it is here first.
 */
(async () => {
  const address = new URL('/v1/ws', location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const given = new URL(location.href).searchParams;
  // Who is not known is asked first, and may take their time.
  const isKnown = given.get('user') || given.get('token')
    || sessionStorage.getItem('gapless.token') || localStorage.getItem('gapless.user');
  if (!isKnown) return;
  // Where another tab has a connection, this one asks by way of it; see `shared-connection.js`.
  const { held = [] } = await navigator.locks?.query() ?? {};
  if (held.some(({ name }) => name.startsWith(`gapless 1 ${address} `))) return;
  // Null: the page's script was faster.
  if (globalThis.gaplessSocket === undefined) {
    globalThis.gaplessSocket = new WebSocket(address, 'gapless.v1');
    globalThis.gaplessSocket.askedAt = performance.now();
  }
})();
