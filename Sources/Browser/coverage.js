/**
 * An immutable set of message places, as the Swift `Coverage`: closed intervals of `seq`, disjoint,
 * ascending, never touching (`[1, 3]` and `[4, 6]` are `[1, 6]`). Places are integers from 0 up,
 * below 2^53.
 */
export class Coverage {
  /** @type {ReadonlyArray<readonly [number, number]>} */
  #runs;

  /** Holds nothing. */
  static empty = new Coverage();

  /**
   * Holds what any of `runs` holds; they may overlap and come in any order.
   *
   * @param {Iterable<readonly [number, number]>} [runs]  closed intervals `[low, high]`
   * @throws {RangeError} if an interval is not two places, the lower one first
   */
  constructor(runs = []) {
    const sorted = [...runs];
    for (const [low, high] of sorted) {
      if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || low < 0 || low > high) {
        throw new RangeError('coverage: a run is two integers from 0 up, the lower one first');
      }
    }
    sorted.sort((a, b) => a[0] - b[0]);
    /** @type {[number, number][]} */
    const joined = [];
    for (const run of sorted) append(joined, run);
    this.#runs = joined;
  }

  /**
   * Wraps runs that are known to be in normal form.
   *
   * @param {[number, number][]} runs
   */
  static #normal(runs) {
    const coverage = new Coverage();
    coverage.#runs = runs;
    return coverage;
  }

  /**
   * Holds the places from `low` to `high`; nothing if `low > high`.
   *
   * @param {number} low
   * @param {number} high
   */
  static interval(low, high) {
    return low > high ? Coverage.empty : new Coverage([[low, high]]);
  }

  /** The intervals, ascending, as the protocol writes them. */
  get runs() {
    return this.#runs.map(([low, high]) => /** @type {[number, number]} */ ([low, high]));
  }

  /** How many intervals there are. */
  get runCount() { return this.#runs.length; }

  /** Whether nothing is held. */
  get isEmpty() { return this.#runs.length === 0; }

  /** How many places are held. */
  get count() { return this.#runs.reduce((sum, [low, high]) => sum + high - low + 1, 0); }

  /** The lowest place held, `undefined` if there is none. */
  get first() { return this.#runs[0]?.[0]; }

  /** The highest place held, `undefined` if there is none. */
  get last() { return this.#runs.at(-1)?.[1]; }

  /**
   * What is missing between the lowest and the highest place held.
   *
   * @returns {Coverage}
   */
  get holes() {
    if (this.first === undefined || this.last === undefined) return Coverage.empty;
    return Coverage.interval(this.first, this.last).subtracting(this);
  }

  /**
   * The index of the first run that ends at or after `place`.
   *
   * @param {number} place
   */
  #index(place) {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#runs[middle][1] < place) low = middle + 1; else high = middle;
    }
    return low;
  }

  /**
   * The run that holds `place`.
   *
   * @param {number} place
   * @returns {[number, number] | undefined}
   */
  runAt(place) {
    const run = this.#runs[this.#index(place)];
    return run !== undefined && run[0] <= place ? [run[0], run[1]] : undefined;
  }

  /**
   * Whether each place from `low` to `high` is held; an empty interval is.
   *
   * @param {number} low
   * @param {number} [high]  `low` if left out: one place
   */
  contains(low, high = low) {
    if (low > high) return true;
    const run = this.#runs[this.#index(low)];
    return run !== undefined && run[0] <= low && high <= run[1];
  }

  /**
   * Whether each place of `other` is held.
   *
   * @param {Coverage} other
   */
  containsAll(other) { return other.#runs.every(([low, high]) => this.contains(low, high)); }

  /**
   * What either holds.
   *
   * @param {Coverage} other
   */
  union(other) {
    if (other.isEmpty) return this;
    if (this.isEmpty) return other;
    /** @type {[number, number][]} */
    const joined = [];
    let a = 0;
    let b = 0;
    while (a < this.#runs.length || b < other.#runs.length) {
      const mine = this.#runs[a];
      const theirs = other.#runs[b];
      if (theirs === undefined || (mine !== undefined && mine[0] <= theirs[0])) {
        append(joined, mine);
        a += 1;
      } else {
        append(joined, theirs);
        b += 1;
      }
    }
    return Coverage.#normal(joined);
  }

  /**
   * What both hold.
   *
   * @param {Coverage} other
   */
  intersection(other) {
    /** @type {[number, number][]} */
    const common = [];
    let a = 0;
    let b = 0;
    while (a < this.#runs.length && b < other.#runs.length) {
      const low = Math.max(this.#runs[a][0], other.#runs[b][0]);
      const high = Math.min(this.#runs[a][1], other.#runs[b][1]);
      if (low <= high) common.push([low, high]);
      if (this.#runs[a][1] < other.#runs[b][1]) a += 1; else b += 1;
    }
    return Coverage.#normal(common);
  }

  /**
   * What this one holds and `other` does not.
   *
   * @param {Coverage} other
   * @returns {Coverage}
   */
  subtracting(other) {
    if (this.isEmpty || other.isEmpty) return this;
    /** @type {[number, number][]} */
    const rest = [];
    let b = 0;
    for (const run of this.#runs) {
      let low = run[0];
      while (b < other.#runs.length && other.#runs[b][1] < low) b += 1;
      for (let at = b; at < other.#runs.length && other.#runs[at][0] <= run[1]; at += 1) {
        const cut = other.#runs[at];
        if (cut[0] > low) rest.push([low, cut[0] - 1]);
        low = cut[1] + 1;
        if (low > run[1]) break;
      }
      if (low <= run[1]) rest.push([low, run[1]]);
    }
    return Coverage.#normal(rest);
  }

  /**
   * The part from `low` to `high`.
   *
   * @param {number} low
   * @param {number} high
   */
  clipped(low, high) { return this.intersection(Coverage.interval(low, high)); }

  /**
   * The newest `limit` runs, whole.
   *
   * @param {number} limit
   */
  newestRuns(limit) {
    return this.runCount <= limit ? this : Coverage.#normal(this.runs.slice(-limit));
  }

  /**
   * A superset of at most `limit` runs, with the fewest places more: it joins the closest runs
   * first.
   *
   * @param {number} limit  1 or more
   * @throws {RangeError} if `limit` is below 1
   */
  coarsened(limit) {
    if (!(limit >= 1)) throw new RangeError('coverage: it is coarsened to 1 run or more');
    if (this.#runs.length <= limit) return this;
    const distances = this.#runs.map(([low], at) => ({ at, by: low - this.#runs[at - 1]?.[1] }));
    const joinable = distances.slice(1).sort((a, b) => a.by - b.by || a.at - b.at);
    const joins = new Set(joinable.slice(0, this.#runs.length - limit).map(({ at }) => at));
    /** @type {[number, number][]} */
    const joined = [];
    this.#runs.forEach(([low, high], at) => {
      if (joins.has(at)) joined[joined.length - 1][1] = high; else joined.push([low, high]);
    });
    return Coverage.#normal(joined);
  }

  /**
   * Whether both hold the same places.
   *
   * @param {Coverage} other
   */
  equals(other) {
    if (this.runCount !== other.runCount) return false;
    return this.#runs.every(([low, high], at) => {
      const [otherLow, otherHigh] = other.#runs[at];
      return low === otherLow && high === otherHigh;
    });
  }

  /** As the protocol writes it. */
  toJSON() { return this.runs; }

  /** As the protocol writes it: `[[1,50],[80,96]]`. */
  toString() { return JSON.stringify(this.runs); }
}

/**
 * Adds a run that starts at or after the start of the last one.
 *
 * @param {[number, number][]} runs
 * @param {readonly [number, number]} run
 */
function append(runs, [low, high]) {
  const last = runs.at(-1);
  if (last !== undefined && low <= last[1] + 1) {
    last[1] = Math.max(last[1], high);
  } else {
    runs.push([low, high]);
  }
}
