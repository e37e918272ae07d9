/**
 * A seeded source of random numbers (mulberry32): the same seed gives the same case again.
 *
 * @param {number} seed
 */
export function randomSource(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    /** An integer from `low` to `high`, both possible. */
    int: (/** @type {number} */ low, /** @type {number} */ high) => (
      low + Math.floor(next() * (high - low + 1))
    ),
    /** An integer from 0, below `count`. */
    below: (/** @type {number} */ count) => Math.floor(next() * count),
    /** One of a list. @type {<Each>(all: readonly Each[]) => Each} */
    pick: (all) => all[Math.floor(next() * all.length)],
    chance: (/** @type {number} */ part) => next() < part,
  };
}

/**
 * Runs `check` with `count` seeds; a failure names its seed.
 *
 * @param {number} count
 * @param {(random: ReturnType<typeof randomSource>) => void} check
 */
export function forSeeds(count, check) {
  for (let seed = 1; seed <= count; seed += 1) {
    try {
      check(randomSource(seed));
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
}
