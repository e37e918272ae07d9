import { element } from './dom.js';

/** @import { Gap, Head } from '../../Browser/types.js' */

/** A stretch is drawn at least so wide, in percent of the whole: a single message can be seen. */
const LEAST = 0.4;

/**
 * A log as stretches of a bar: what is held, each gap by its cause, and where the view is.
 *
 * @param {{head: Head, runs: [number, number][]}} have
 * @param {Gap[]} gaps
 * @param {[number, number] | null} view
 * @param {'across' | 'down'} way
 */
export function stretches({ head, runs }, gaps, view, way) {
  const all = head.seq - head.floor + 1;
  const [begin, size] = way === 'across' ? ['left', 'width'] : ['top', 'height'];
  /** @type {(kind: string, low: number, high: number) => HTMLElement} */
  const stretch = (kind, low, high) => {
    const drawn = element('span', { 'data-kind': kind });
    const share = Math.max(LEAST, ((high - low + 1) / all) * 100);
    const from = Math.min(100 - share, ((low - head.floor) / all) * 100);
    Object.assign(drawn.style, { [begin]: `${from}%`, [size]: `${share}%` });
    return drawn;
  };
  return [
    ...gaps.map(({ after, before, cause }) => stretch(cause, after + 1, before - 1)),
    ...runs.map(([low, high]) => stretch('held', low, high)),
    ...(view ? [stretch('view', ...view)] : []),
  ];
}

/**
 * The place that a share of the bar stands for.
 *
 * @param {Head} head
 * @param {number} share  from 0 (the oldest) to 1
 */
export function placeAt(head, share) {
  const within = Math.min(1, Math.max(0, share));
  return head.floor + Math.round(within * (head.seq - head.floor));
}

/**
 * How many messages are held, of how many.
 *
 * @param {{head: Head, runs: [number, number][]} | null} have
 */
export function heldCount(have) {
  return {
    held: (have?.runs ?? []).reduce((sum, [low, high]) => sum + high - low + 1, 0),
    all: have ? have.head.seq - have.head.floor + 1 : 0,
  };
}
