/**
 * Why a page got no WebSocket. A browser doesn't tell a page whether the gateway refused it or was
 * not there. So the page asks the same address by HTTP: where somebody answers, and the page is of
 * another origin, it is the origin that was refused.
 *
 * @param {string} url  `ws:` or `wss:`
 * @param {{origin?: string, fetch?: typeof fetch}} [page]  for tests
 * @returns {Promise<string | null>}  null where that is not the reason, or nobody can know
 */
export async function refusalOf(url, page = {}) {
  const origin = page.origin ?? globalThis.location?.origin;
  const ask = page.fetch ?? globalThis.fetch;
  if (origin === undefined || ask === undefined) return null;
  const address = new URL(url);
  address.protocol = address.protocol === 'wss:' ? 'https:' : 'http:';
  if (address.origin === origin) return null;
  try {
    await ask(address.href, { mode: 'no-cors', cache: 'no-store', credentials: 'omit' });
  } catch {
    return null;
  }
  return `the gateway at ${address.host} takes no connection from a page of ${origin}: `
    + `is ${origin} in its listen.allowed_origins?`;
}
