import { compareCuts, comparePlaces, cutBefore, cutBehind, earlierCut, laterCut } from './place.js';
import { Spans } from './spans.js';

/** @import { HeldList } from './held-list.js' */
/** @import { Cut, Place } from './place.js' */
/** @import { Page } from './timeline-page.js' */
/** @import { ListDelta } from './timeline.js' */
/** @import { Gap, Head } from './types.js' */

/**
 * Where a page was asked from; undefined if the list does not know that any more.
 *
 * @param {number | string} anchor
 * @param {HeldList} list
 * @returns {Place | undefined}
 */
export function anchorPlace(anchor, list) {
  if (typeof anchor === 'string') return list.place(anchor);
  const [from, to] = list.between(anchor, anchor + 1);
  return from < to || list.covered.contains(anchor, anchor + 1)
    ? [anchor, '', ''] : undefined;
}

/**
 * The page rule: a page proves what lies between its ends; towards the message that it was asked
 * from; and where there is no more beyond an end, all that is there.
 *
 * @param {Page} page
 * @param {Place | undefined} anchor
 * @param {HeldList} list
 */
export function provenByPage(page, anchor, list) {
  const { kind, hasMore } = page;
  const places = page.messages.map((message) => list.placeOf(message))
    .filter((place) => list.hasPlace(place)).sort(comparePlaces);
  /** @type {Cut | undefined} */
  let low = places.length > 0 ? cutBefore(places[0]) : undefined;
  /** @type {Cut | undefined} */
  let high = places.length > 0 ? cutBehind(places[places.length - 1]) : undefined;
  if (kind === 'before' && anchor) {
    high = laterCut(high ?? cutBefore(anchor), cutBefore(anchor));
  } else if (kind === 'after' && anchor && page.isNextToAnchor !== false) {
    low = earlierCut(low ?? cutBehind(anchor), cutBehind(anchor));
  }
  if (!hasMore.before) low = list.isUnnumbered ? -Infinity : page.floor ?? 1;
  if (!hasMore.after) high = laterCut(high ?? -Infinity, endProven(page, high, list));
  const spans = new Spans();
  if (low !== undefined && high !== undefined) spans.insert(low, high);
  return spans;
}

/**
 * How far a page reaches that says that nothing is after it. In a list without numbers it reaches
 * on to all that the feed will tell, unless that is broken, or has told of something that the page
 * does not hold yet.
 *
 * @param {Page} page
 * @param {Cut | undefined} newest
 * @param {HeldList} list
 * @returns {Cut}
 */
function endProven(page, newest, list) {
  if (!list.isUnnumbered) return (page.head ?? 0) + 1;
  const reached = newest ?? -Infinity;
  const isKnownMore = page.kind === 'initial' || list.covered.high !== Infinity;
  const isBehind = compareCuts(reached, list.end) < 0 && isKnownMore;
  return isBehind || !list.isFed ? reached : Infinity;
}

/**
 * What changes prove, cut to the window.
 *
 * @param {readonly ListDelta[]} deltas
 * @param {[number, number][] | undefined} covers
 * @param {HeldList} list
 * @param {Cut} [from]  where the window begins, if that is below what is held
 */
export function provenByDeltas(deltas, covers, list, from = Infinity) {
  if (!list.isLoaded) return new Spans();
  const proven = Spans.ofRuns(list.isUnnumbered ? [] : covers ?? []);
  for (const delta of deltas) {
    const place = list.placeOf(delta.message);
    const isNews = list.followsEnd && compareCuts(cutBefore(place), list.end) >= 0;
    if (list.hasPlace(place) && (list.isUnnumbered || !covers)) {
      // While a feed is whole, what comes next follows what came before.
      const isChained = isNews && list.isFed && list.isUnnumbered;
      proven.insert(cutBefore(place), isChained ? Infinity : cutBehind(place));
    }
  }
  for (const delta of deltas.filter((each) => isStray(each, list))) {
    const place = list.placeOf(delta.message);
    proven.remove(cutBefore(place), cutBehind(place));
  }
  const low = list.covered.low ?? list.floor;
  const high = list.followsEnd ? Infinity : list.covered.high ?? low;
  return proven.clipped(earlierCut(low, from), high);
}

/**
 * Whether a change is of a message in a hole, that is not even shown.
 *
 * @param {ListDelta} delta
 * @param {HeldList} list
 */
function isStray({ type, via = 'live', message }, list) {
  if (type === 'inserted' || via !== 'live') return false;
  const place = list.placeOf(message);
  const isNew = list.followsEnd && compareCuts(cutBefore(place), list.end) >= 0;
  return !isNew && !list.covered.holds(place) && list.place(message.id) === undefined;
}

/**
 * What a frame proves, as a timeline takes it.
 *
 * @param {{covers?: [number, number][], gaps?: Gap[], head: Head, asOf: number}} frame
 */
export function proofOf({ covers = [], gaps = [], head, asOf }) {
  return {
    covers, head: head.seq, floor: head.floor, asOf,
    gaps: gaps.filter(({ after, before }) => before - after > 1)
      .map(({ after, before }) => /** @type {[number, number]} */ ([after + 1, before - 1])),
  };
}
