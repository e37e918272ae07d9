/** @import { RowHeights } from './row-heights.js' */

/** @typedef {'top' | 'center' | 'bottom'} Edge  where in the view an item is brought */

/**
 * A row of the list that stays where it is: which one, and how far below the view's top it begins,
 * given its height and that of the view.
 *
 * @typedef {{index: number, offset: (height: number, view: number) => number}} Anchor
 */

/**
 * The row that stands at the view's top when this much lies above.
 *
 * @param {RowHeights} heights
 * @param {number} top
 * @returns {Anchor}
 */
export function anchorAt(heights, top) {
  const index = heights.indexAt(top);
  const offset = index < 0 ? 0 : heights.before(index) - top;
  return { index, offset: () => offset };
}

/**
 * A row that is brought to an edge of the view.
 *
 * @param {number} index
 * @param {Edge} edge
 * @param {number} inset  pixels to that edge
 * @returns {Anchor}
 */
export function anchorAtEdge(index, edge, inset) {
  /** @type {Record<Edge, Anchor['offset']>} */
  const offsets = {
    top: () => inset,
    center: (height, view) => Math.max(0, (view - height) / 2),
    bottom: (height, view) => view - height - inset,
  };
  return { index, offset: offsets[edge] };
}

/**
 * How much lies above the view when the anchor stands where it should.
 *
 * @param {Anchor | null} anchor  null: the end
 * @param {RowHeights} heights
 * @param {number} view  its height
 */
export function topOf(anchor, heights, view) {
  const end = Math.max(0, heights.total - view);
  if (anchor === null || anchor.index < 0) return end;
  const { index, offset } = anchor;
  const top = heights.before(index) - offset(heights.at(index), view);
  return Math.min(Math.max(0, top), end);
}
