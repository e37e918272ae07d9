import { Coverage } from './coverage.js';

/** @import { Gap } from './types.js' */

/**
 * What is known of a log by places: what is held, what the log has, and what nobody gets by asking.
 *
 * @typedef {object} Known
 * @property {Coverage} runs  what is held
 * @property {number} floor  the oldest place that the origin has
 * @property {number} head  the newest place given
 * @property {Coverage} [closed]  gaps that the gateway heals by pushing, or nobody
 *
 * What a load is for. `up` and `down`: the reader scrolls to older or newer messages, and these are
 * the places of the first and the last row in view, held or not; null where nothing is in view.
 * `banner`: what stands directly above the last message seen. `jump`: a place with its neighbours.
 *
 * @typedef {{up: readonly [number, number] | null} | {down: readonly [number, number] | null}
 *   | {banner: number} | {jump: number}} Want
 *
 * The params of `fetchMessages`, but for conversation and limit.
 *
 * @typedef {{before?: number, after?: number, around?: number, order: 'asc' | 'desc'}} Load
 */

/**
 * What to ask for next, or null: the gap nearest to what is visible, in the direction of the
 * scroll; for the banner the gap above the last message seen; for a jump the surroundings of the
 * target. It is asked for from an end that touches what is held, if one does.
 *
 * @param {Want} want
 * @param {Known} known
 * @returns {Load | null}
 */
export function loadFor(want, known) {
  const { runs, floor, head } = known;
  if (head < floor) return null;
  if ('jump' in want) {
    return runs.contains(want.jump) ? null : { around: want.jump, order: 'desc' };
  }
  const missing = missingOf(known);
  if ('banner' in want) {
    const next = Math.max(want.banner, floor - 1) + 1;
    const hole = missing.runAt(next);
    return hole ? loadOf([next, hole[1]], 'older', known) : null;
  }
  const isUp = 'up' in want;
  const hole = isUp ? holeBelow(want.up, missing, runs) : holeAbove(want.down, missing, runs);
  if (hole === undefined) return null;
  // A hole below the view is reached by its newer end, whatever the scroll.
  const isBelow = isUp || (want.down !== null && hole[1] < want.down[0]);
  return loadInto(hole, isBelow ? 'newer' : 'older', known);
}

/**
 * What to ask for to fill a gap that a view names, from the end that it prefers, or null.
 * Neighbouring gaps are one hole.
 *
 * @param {Gap} gap
 * @param {'newer' | 'older'} end
 * @param {Known} known
 * @returns {Load | null}
 */
export function loadForGap({ after, before }, end, known) {
  const holes = missingOf(known).runs.filter(([low, high]) => low < before && high > after);
  const hole = end === 'newer' ? holes.at(-1) : holes[0];
  return hole ? loadInto(hole, end, known) : null;
}

/**
 * Whether there is something below all that is held, that can be asked for.
 *
 * @param {Known} known
 */
export function hasHistory(known) {
  const { first } = known.runs;
  return first !== undefined && (missingOf(known).first ?? Infinity) < first;
}

/**
 * What is held after an answer: it joins or becomes a run of its own.
 *
 * @param {Coverage} runs
 * @param {{covers: Coverage, gaps?: Coverage, floor: number}} answer
 */
export function heldAfter(runs, { covers, gaps = Coverage.empty, floor }) {
  return runs.union(covers).subtracting(gaps).subtracting(Coverage.interval(0, floor - 1));
}

/**
 * What is missing and can be had, of all that the log has.
 *
 * @param {Known} known
 */
function missingOf({ runs, floor, head, closed = Coverage.empty }) {
  return Coverage.interval(floor, head).subtracting(runs).subtracting(closed);
}

/**
 * @param {readonly [number, number] | null} visible
 * @param {Coverage} missing
 * @param {Coverage} runs
 */
function holeBelow(visible, missing, runs) {
  const last = visible?.[1] ?? runs.first ?? Infinity;
  return missing.runs.findLast(([low]) => low <= last);
}

/**
 * @param {readonly [number, number] | null} visible
 * @param {Coverage} missing
 * @param {Coverage} runs
 */
function holeAbove(visible, missing, runs) {
  const first = visible?.[0] ?? runs.first ?? 0;
  return missing.runs.find(([, high]) => high >= first)
    // A reader who has scrolled over a hole to the newest end gets the rest too.
    ?? missing.runs.findLast(([low]) => low > (runs.first ?? Infinity));
}

/**
 * @param {[number, number]} hole
 * @param {'newer' | 'older'} end  that is asked from, unless only the other touches what is held
 * @param {Known} known
 * @returns {Load}
 */
function loadInto([low, high], end, known) {
  const { runs } = known;
  const touching = { older: runs.contains(low - 1), newer: runs.contains(high + 1) };
  const other = end === 'newer' ? 'older' : 'newer';
  const from = !touching[end] && touching[other] ? other : end;
  if (!touching[from] && high >= known.head) return { order: 'desc' };
  return loadOf([low, high], from, known);
}

/**
 * @param {[number, number]} hole
 * @param {'newer' | 'older'} end
 * @param {Known} known
 * @returns {Load}
 */
function loadOf([low, high], end, { runs, head }) {
  const isHistory = end === 'newer' && low < (runs.first ?? 0) && high < (runs.first ?? 0);
  return {
    ...(!isHistory && { after: low - 1 }),
    ...(high < head && { before: high + 1 }),
    order: end === 'newer' ? 'desc' : 'asc',
  };
}
