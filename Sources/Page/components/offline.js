/** The script that keeps the page; see `service-worker.js`. */
const WORKER = '/service-worker.js';

/**
 * Keeps the page for a time without a network. Only a page that was bundled has a service worker;
 * from one that was not, an earlier one is taken away, so that what is read is what is run.
 */
export async function keepForOffline() {
  const { serviceWorker } = navigator;
  // Without a secure origin there is none.
  if (serviceWorker === undefined) return;
  try {
    if (document.querySelector('meta[name="worker"]') === null) {
      const known = await serviceWorker.getRegistration('/');
      if (known?.active?.scriptURL.endsWith(WORKER)) await known.unregister();
      return;
    }
    await serviceWorker.register(/** @type {string} */ (address()), { updateViaCache: 'none' });
  } catch {
    // A browser that keeps nothing, as in a private window, still shows the page.
  }
}

/** The one address of a script that the page's policy lets through. */
function address() {
  const { trustedTypes } = /** @type {*} */ (globalThis);
  const policy = trustedTypes?.createPolicy('gapless-worker', { createScriptURL: () => WORKER });
  return policy?.createScriptURL('') ?? WORKER;
}
