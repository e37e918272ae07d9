/**
 * Keeps the page, so that it opens without a network too; what was held is in its own store.
 * `deploy/bundle-page` puts two constants above this: VERSION, which changes with the page, and
 * FILES, what the page consists of.
 *
 * With a network a browser gets the page as it is now: the worker always asks for it. Only what is
 * named after its content is taken from here without asking. So no old page outlives an upgrade.
 */

/* global VERSION, FILES */

const NAME = `gapless ${VERSION}`;

addEventListener('install', (event) => event.waitUntil(keep()));
addEventListener('activate', (event) => event.waitUntil(takeOver()));
addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== location.origin) return;
  if (request.mode === 'navigate' && pathname === '/') event.respondWith(page(request));
  else if (pathname !== '/' && FILES.includes(pathname)) event.respondWith(part(request));
});

async function keep() {
  const cache = await caches.open(NAME);
  await cache.addAll(FILES);
  const index = await cache.match('/');
  // Behind a proxy another gateway may serve another version: its parts are not among these.
  if (!(await index.text()).includes(`content="${VERSION}"`)) {
    await caches.delete(NAME);
    throw new Error('the page is of another version');
  }
  await skipWaiting();
}

async function takeOver() {
  const old = (await caches.keys()).filter((name) => name.startsWith('gapless ') && name !== NAME);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
}

/** @param {Request} request */
async function page(request) {
  let answer;
  try {
    answer = await fetch(request);
    // A proxy answers for a gateway that is away.
    if (answer.status < 500) return answer;
  } catch {
    // There is no network, or nobody listens.
  }
  const kept = await (await caches.open(NAME)).match('/');
  return kept ?? answer ?? Response.error();
}

/** @param {Request} request */
async function part(request) {
  return await (await caches.open(NAME)).match(request) ?? fetch(request);
}
