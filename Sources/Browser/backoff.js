/**
 * How long to wait before the next try: from `base`, doubling, to `max` milliseconds, less a random
 * part of up to a half.
 */
export class Backoff {
  #base;
  #max;
  #random;
  #tries = 0;

  /**
   * @param {{base?: number, max?: number, random?: () => number}} [options]  milliseconds; `random`
   *   gives numbers in [0, 1)
   */
  constructor({ base = 500, max = 30_000, random = Math.random } = {}) {
    this.#base = base;
    this.#max = max;
    this.#random = random;
  }

  /** The next wait, in milliseconds. */
  next() {
    const full = Math.min(this.#max, this.#base * 2 ** Math.min(this.#tries, 30));
    this.#tries += 1;
    return Math.round(full * (0.5 + this.#random() / 2));
  }

  /** Begins again at `base`. */
  reset() { this.#tries = 0; }

  /** Goes on at `max`. */
  exhaust() { this.#tries = 31; }
}
