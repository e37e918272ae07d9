import { Coverage } from './coverage.js';
import { isGiven, placeOf } from './place.js';

/** @import { HeldList } from './held-list.js' */
/** @import { Place } from './place.js' */
/** @import { Page } from './timeline-page.js' */
/** @import { ListDelta } from './timeline.js' */

/**
 * Where a page was asked from; undefined if the list no longer knows that.
 *
 * @param {number | string} anchor
 * @param {HeldList} list
 * @returns {Place | undefined}
 */
export function anchorPlace(anchor, list) {
  if (typeof anchor === 'string') return list.place(anchor);
  const [from, to] = list.indices(anchor, anchor);
  return from < to || list.covered.contains(anchor) ? [anchor, '', ''] : undefined;
}

/**
 * The page rule: a page proves what lies between its ends; towards the message that it was asked
 * from; and where there is no more beyond an end, all that is there.
 *
 * @param {Page} page
 * @param {Place | undefined} anchor
 */
export function provenByPage({ kind, hasMore, messages, head, floor, isNextToAnchor }, anchor) {
  const places = messages.map(placeOf).filter(isGiven).map(([number]) => number);
  let low = places.length > 0 ? Math.min(...places) : undefined;
  let high = places.length > 0 ? Math.max(...places) : undefined;
  if (anchor && isGiven(anchor)) {
    if (kind === 'before') {
      high = Math.max(high ?? 0, anchor[0] - 1);
    } else if (kind === 'after' && isNextToAnchor !== false) {
      low = Math.min(low ?? Infinity, anchor[0] + 1);
    }
  }
  if (!hasMore.before) low = floor ?? 1;
  if (!hasMore.after) high = Math.max(high ?? 0, head ?? 0);
  return low === undefined || high === undefined ? Coverage.empty : Coverage.interval(low, high);
}

/**
 * What changes prove, cut to the window.
 *
 * @param {readonly ListDelta[]} deltas
 * @param {[number, number][] | undefined} covers
 * @param {HeldList} list
 * @param {number} [from]  where the window begins, if that is below what is held
 */
export function provenByDeltas(deltas, covers, list, from = Infinity) {
  if (!list.isLoaded) return Coverage.empty;
  const given = deltas.map(({ message }) => placeOf(message)).filter(isGiven);
  const proven = new Coverage(covers ?? given.map(([number]) => [number, number]));
  const stray = deltas.filter((delta) => isStray(delta, list)).map(({ message }) => placeOf(message));
  const low = Math.min(list.covered.first ?? list.floor, from);
  const high = list.followsEnd ? Number.MAX_SAFE_INTEGER : list.covered.last ?? low - 1;
  return proven.subtracting(new Coverage(stray.map(([number]) => [number, number])))
    .clipped(low, high);
}

/**
 * Whether a change is of a message in a hole, that is not even shown.
 *
 * @param {ListDelta} delta
 * @param {HeldList} list
 */
function isStray({ type, via = 'live', message }, list) {
  if (type === 'inserted' || via !== 'live') return false;
  const [number] = placeOf(message);
  const isNew = list.followsEnd && number >= list.end;
  return !isNew && !list.covered.contains(number) && list.place(message.id) === undefined;
}
