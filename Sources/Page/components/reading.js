import { Coverage } from '../../Browser/coverage.js';
import { newestMessage, oldestMessage } from './rows.js';

/** @import { Row } from './rows.js' */

/**
 * What came while nobody looked: the places behind `after` up to `upTo`. `isUnread`: it was there
 * when the conversation was opened; otherwise it came later, while the page was away.
 *
 * @typedef {{after: number, upTo: number, isUnread: boolean}} Missed
 */

/**
 * Which places were on the screen, and so up to where one may say that they were read: a marker
 * goes from where it stands over what was seen without a break, and no farther.
 */
export class Reading {
  #seen = Coverage.empty;
  /** @type {number | undefined} */
  #generation;
  /** @type {Missed | null} */
  #missed = null;

  /** What came while nobody looked and was not seen since; `null` for nothing. */
  get missed() { return this.#missed; }

  /**
   * Begins anew where the log is another one, or was restored: its numbers mean other messages.
   *
   * @param {number} generation  of the conversation
   * @returns {boolean}  whether it did
   */
  follow(generation) {
    if (generation === this.#generation) return false;
    const isOther = this.#generation !== undefined;
    this.#generation = generation;
    if (!isOther) return false;
    this.#seen = Coverage.empty;
    this.#missed = null;
    return true;
  }

  /**
   * Whether a place was on the screen.
   *
   * @param {number} seq
   */
  hasSeen(seq) { return this.#seen.contains(seq); }

  /**
   * These places are on the screen.
   *
   * @param {[number, number][]} runs
   * @param {object} of
   * @param {number} of.floor  the oldest place that there is still
   * @param {number} of.read  up to where was read, wherever that was
   */
  see(runs, { floor, read }) {
    if (!runs.every(([low, high]) => this.#seen.contains(low, high))) {
      this.#seen = this.#seen.union(new Coverage(runs));
    }
    if (this.#missed === null) return;
    const { after, upTo, isUnread } = this.#missed;
    if (isUnread && read >= upTo) this.#missed = null;
    else if (this.#seen.contains(Math.max(after + 1, floor), upTo)) this.#missed = null;
  }

  /**
   * Up to where everything was seen, if everything up to `read` was.
   *
   * @param {number} read
   */
  upTo(read) { return this.#seen.runAt(read + 1)?.[1] ?? read; }

  /**
   * Something came while nobody looked. What was missed before and not seen is part of it.
   *
   * @param {Missed} missed
   */
  miss(missed) {
    const before = this.#missed;
    this.#missed = before === null ? missed : { ...before, upTo: missed.upTo };
  }

  /**
   * How many of the messages that were missed are not seen yet.
   *
   * @param {object} of
   * @param {number} of.read  up to where was read, wherever that was
   * @param {readonly number[]} of.others  the places of messages that are nothing to read
   */
  count({ read, others }) {
    if (this.#missed === null) return 0;
    const { after, upTo, isUnread } = this.#missed;
    const unseen = Coverage.interval(Math.max(after, isUnread ? read : 0) + 1, upTo)
      .subtracting(this.#seen);
    return unseen.count - others.filter((seq) => unseen.contains(seq)).length;
  }

  /** Somebody says that they need not see it. */
  dismiss() { this.#missed = null; }
}

/**
 * The places that the rows from `first` to `last` show and prove: of messages that are held, with
 * what lies between two of them where no gap does.
 *
 * @param {readonly {row: Row | {kind: 'beginning'}}[]} rows  oldest first
 * @param {number} first
 * @param {number} last
 * @param {object} [of]
 * @param {boolean} [of.isFromStart]  nothing is older than the first message of the rows
 * @param {boolean} [of.beginsHere]  what is older than the row `first` does not count
 * @returns {[number, number][]}
 */
export function shownRuns(rows, first, last, { isFromStart = false, beginsHere = false } = {}) {
  /** @type {[number, number][]} */
  const runs = [];
  let from = first - 1;
  while (from >= 0 && placesOf(rows[from].row) === undefined) from -= 1;
  const above = from < 0 ? null : placesOf(rows[from].row);
  /** The place that the next message is next to. @type {number | null} */
  let edge = above?.[1] ?? null;
  if (beginsHere || (from < 0 && isFromStart)) edge = 0;
  for (let at = first; at <= last; at += 1) {
    const places = placesOf(rows[at].row);
    if (places === undefined) continue;
    if (places !== null) runs.push([edge === null ? places[0] : edge + 1, places[1]]);
    edge = places?.[1] ?? null;
  }
  return runs;
}

/**
 * The places that a row stands for; null where something is missing or in doubt, undefined for a
 * row that is about no message.
 *
 * @param {Row | {kind: 'beginning'}} row
 * @returns {[number, number] | null | undefined}
 */
function placesOf(row) {
  if (row.kind !== 'item' || row.item.kind === 'draft') return undefined;
  if (row.item.kind === 'gap' || !row.item.isHeld) return null;
  return [oldestMessage(row.item).seq, newestMessage(row.item).seq];
}
