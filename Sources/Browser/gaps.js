import { Coverage } from './coverage.js';

/** @import { Gap, GapCause, Head, Message } from './types.js' */

/** Causes that the gateway heals by pushing, or nobody: asking again would change nothing. */
const healedElsewhere = new Set(['upstream', 'cache', 'trimmed']);

/**
 * Whether a client heals such a gap, by fetching.
 *
 * @param {Gap} gap
 */
export function isFillable(gap) { return !healedElsewhere.has(gap.cause); }

/**
 * Why which places are missing. What is missing follows from the runs that are held; the frames
 * only add causes, the newest word about a place counts, and a hole without one is `cold`.
 */
export class GapLedger {
  /** @type {{places: Coverage, cause: GapCause, since: string}[]} */
  #declared = [];
  #isDense = true;

  /** Forgets every cause. */
  forget() {
    this.#declared = [];
    this.#isDense = true;
  }

  /**
   * Takes the gaps that a frame declared. What it covers is there to be had, whatever was said of
   * it before, and what lies below the floor is there no more.
   *
   * @param {Gap[]} gaps
   * @param {Coverage} covers
   * @param {number} floor
   */
  note(gaps, covers, floor) {
    this.#cut(covers);
    for (const { after, before, missing, cause, since } of gaps) {
      if (missing === null) this.#isDense = false;
      const places = Coverage.interval(after + 1, before - 1);
      this.#cut(places);
      if (!places.isEmpty) this.#declared.push({ places, cause, since });
    }
    this.#cut(Coverage.interval(0, floor - 1), ({ cause }) => cause !== 'trimmed');
  }

  /**
   * The gateway stands at the present again. What it still lacked to heal may have been healed by
   * frames that are lost or left out here, so that it can be asked for.
   */
  renew() {
    const heals = new Set(['upstream', 'cache']);
    this.#declared = this.#declared.filter(({ cause }) => !heals.has(cause));
  }

  /**
   * The gaps beside what is held, oldest first. What is older than everything held and was never
   * declared is not a gap: it is history that nobody asked for yet.
   *
   * @param {Coverage} runs
   * @param {Head | null} head
   * @param {number} [from]  the oldest place that counts; what is below is history
   * @returns {Gap[]}
   */
  list(runs, head, from = 0) {
    if (head === null) return [];
    const below = Coverage.interval(0, from - 1);
    const declared = this.#declared
      .map((entry) => ({ ...entry, places: entry.places.subtracting(runs).subtracting(below) }));
    const lows = declared.map(({ places }) => places.first ?? Infinity);
    const bottom = Math.min(runs.first ?? Infinity, ...lows);
    // Pages read without a subscription may lie above the head, which they do not move.
    const top = Math.max(head.seq, runs.last ?? 0);
    if (bottom > top) return [];
    let cold = Coverage.interval(Math.max(bottom, head.floor), top).subtracting(runs);
    const gaps = [];
    for (const { places, cause, since } of declared) {
      cold = cold.subtracting(places);
      for (const run of places.clipped(bottom, top).runs) {
        gaps.push(this.#gap(run, cause, since));
      }
    }
    for (const run of cold.runs) gaps.push(this.#gap(run, /** @type {const} */ ('cold'), ''));
    return gaps.sort((a, b) => a.after - b.after);
  }

  /**
   * @param {Coverage} places
   * @param {(entry: {cause: GapCause}) => boolean} [isMeant]
   */
  #cut(places, isMeant = () => true) {
    this.#declared = this.#declared
      .map((entry) => (
        isMeant(entry) ? { ...entry, places: entry.places.subtracting(places) } : entry
      ))
      .filter((entry) => !entry.places.isEmpty);
  }

  /**
   * @param {[number, number]} run
   * @param {GapCause} cause
   * @param {string} since
   * @returns {Gap}
   */
  #gap([low, high], cause, since) {
    const missing = this.#isDense ? high - low + 1 : null;
    return { after: low - 1, before: high + 1, missing, cause, since };
  }
}

/**
 * The gaps of a list, with those around messages that are only shown, beyond both ends of what is
 * held: between two messages that are not neighbours in the log there always is one.
 *
 * @param {Gap[]} gaps  oldest first
 * @param {Coverage} runs  what is held
 * @param {readonly {message: Message}[]} values  what is shown, oldest first
 * @returns {Gap[]}
 */
export function withOuterGaps(gaps, runs, values) {
  const bottom = Math.min(runs.first ?? Infinity, (gaps[0]?.after ?? Infinity) + 1);
  const top = Math.max(runs.last ?? 0, (gaps.at(-1)?.before ?? 0) - 1);
  const places = [];
  for (const { message: { seq } } of values) {
    if (seq >= bottom) break;
    places.push(seq);
  }
  places.push(bottom);
  const lower = between(places);
  places.length = 0;
  for (let at = values.length - 1; at >= 0 && values[at].message.seq > top; at -= 1) {
    places.unshift(values[at].message.seq);
  }
  const upper = top > 0 ? between([top, ...places]) : [];
  return lower.length + upper.length > 0 ? [...lower, ...gaps, ...upper] : gaps;
}

/**
 * The gaps between places that are not neighbours.
 *
 * @param {number[]} places  ascending
 * @returns {Gap[]}
 */
function between(places) {
  return places.slice(1).flatMap((before, at) => {
    const after = places[at];
    if (before === after + 1 || before === Infinity) return [];
    const missing = before - after - 1;
    return [{ after, before, missing, cause: /** @type {const} */ ('cold'), since: '' }];
  });
}
