import { compareCuts, cutBefore, cutBehind, earlierCut, laterCut } from './place.js';

/** @import { Cut, Place } from './place.js' */

/** @typedef {{low: Cut, high: Cut}} Span  what lies between two cuts, the lower one first */

/**
 * Which parts of a list are known without a hole: intervals between cuts, ascending, disjoint and
 * never touching. A timeline owns one.
 *
 * A `Coverage` of places can't say this for a list without numbers, where nothing is known of what
 * may lie between two messages. For numbered lists the cut behind a place is the one before the
 * next, so that adjacent places join.
 */
export class Spans {
  /** @type {Span[]} */
  list;

  /** @param {Span[]} [list]  in normal form */
  constructor(list = []) { this.list = list; }

  /**
   * @param {Iterable<readonly [number, number]>} runs  closed intervals, in any order
   */
  static ofRuns(runs) {
    const spans = new Spans();
    for (const [low, high] of runs) spans.insert(low, high + 1);
    return spans;
  }

  /** The places of a numbered list, as the protocol writes them. */
  get runs() {
    return this.list.filter(({ low }) => typeof low === 'number').map(({ low, high }) => (
      /** @type {[number, number]} */ ([low, /** @type {number} */ (high) - 1])
    ));
  }

  get isEmpty() { return this.list.length === 0; }

  /** The lowest cut, `undefined` if nothing is held. */
  get low() { return this.list[0]?.low; }

  /** The highest cut, `undefined` if nothing is held. */
  get high() { return this.list.at(-1)?.high; }

  /**
   * Whether everything from `low` to `high` is known; nothing always is.
   *
   * @param {Cut} low
   * @param {Cut} high
   */
  contains(low, high) {
    if (compareCuts(low, high) >= 0) return true;
    const span = this.list[this.#index(high)];
    return span !== undefined && compareCuts(span.low, low) <= 0;
  }

  /** @param {Place} place */
  holds(place) { return this.contains(cutBefore(place), cutBehind(place)); }

  /**
   * Adds what lies from `low` to `high`; nothing if that is nothing.
   *
   * @param {Cut} low
   * @param {Cut} high
   */
  insert(low, high) {
    if (compareCuts(low, high) >= 0) return;
    const start = this.#index(low);
    const joined = { low, high };
    let end = start;
    while (end < this.list.length && compareCuts(this.list[end].low, high) <= 0) {
      joined.low = earlierCut(joined.low, this.list[end].low);
      joined.high = laterCut(joined.high, this.list[end].high);
      end += 1;
    }
    this.list.splice(start, end - start, joined);
  }

  /** @param {Spans} other */
  insertAll(other) { for (const { low, high } of other.list) this.insert(low, high); }

  /**
   * Takes out what lies from `low` to `high`.
   *
   * @param {Cut} low
   * @param {Cut} high
   */
  remove(low, high) {
    if (compareCuts(low, high) >= 0) return;
    const start = this.#index(low);
    /** @type {Span[]} */
    const rest = [];
    let end = start;
    while (end < this.list.length && compareCuts(this.list[end].low, high) < 0) {
      const span = this.list[end];
      if (compareCuts(span.low, low) < 0) rest.push({ low: span.low, high: low });
      if (compareCuts(span.high, high) > 0) rest.push({ low: high, high: span.high });
      end += 1;
    }
    this.list.splice(start, end - start, ...rest);
  }

  /** @param {Spans} other */
  removeAll(other) { for (const { low, high } of other.list) this.remove(low, high); }

  /**
   * The part that lies from `low` to `high`.
   *
   * @param {Cut} low
   * @param {Cut} high
   */
  clipped(low, high) {
    const result = new Spans();
    for (const span of this.list) {
      result.insert(laterCut(span.low, low), earlierCut(span.high, high));
    }
    return result;
  }

  /**
   * The index of the first span that ends at or behind a cut.
   *
   * @param {Cut} cut
   */
  #index(cut) {
    let low = 0;
    let high = this.list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareCuts(this.list[middle].high, cut) < 0) low = middle + 1; else high = middle;
    }
    return low;
  }
}
