/**
 * The answers to a question as they come: perhaps some from caches, then the one that counts.
 * Throws what the question fails with.
 *
 * @template Value
 * @param {(cached: (result: *) => void) => Promise<*>} ask
 * @param {(result: *) => Value} read
 * @returns {AsyncGenerator<{value: Value, isCached: boolean}>}
 */
export async function* phases(ask, read) {
  /** @type {{value: Value, isCached: boolean}[]} */
  const come = [];
  let wake = () => {};
  const take = (/** @type {boolean} */ isCached) => (/** @type {*} */ result) => {
    come.push({ value: read(result), isCached });
    wake();
  };
  const reply = ask(take(true)).then(take(false));
  // A caller that stops after a cached answer waits neither for the other one nor for its failure.
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
