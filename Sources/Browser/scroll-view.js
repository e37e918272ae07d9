import { RowCells } from './row-cells.js';
import { RowHeights } from './row-heights.js';
import { anchorAt, anchorAtEdge, topOf } from './scroll-anchor.js';
import { animateScroll, prefersReducedMotion, scrollDuration } from './scroll-animation.js';
import { Signal } from './signal.js';

/** @import { Anchor, Edge } from './scroll-anchor.js' */

/**
 * One row of a scroll view.
 *
 * @typedef {object} ScrollItem
 * @property {string} id  its own for as long as it is in the list
 * @property {string} hash  what the row looks like: an equal one is not drawn again
 * @property {boolean} [isLoose]  it may go or be moved by what it stands for (a gap, a line between
 *   days): the view is held by other rows where there are any
 */

/** @typedef {{id: string, hash: string, offset: number, rank: number}} Hold */

/** Taken for the height of a row until some have been measured, in pixels. */
const FIRST_ESTIMATE = 30;
/** A layout has settled after two or three rounds; a row that changes whenever it is drawn must not
 * keep it from ending. */
const ROUNDS = 200;
/** So near to the end counts as at the end, in pixels. */
const END = 48;

/**
 * A list of any length that scrolls. Only the rows in view and some beyond are in the document.
 *
 * What is inserted, taken out or resized elsewhere does not move the row under the pointer, or
 * without one the first row in view. A bar that takes its room from the view's top covers rows and
 * moves none. At the end the view stays at the end. Heights are measured when rows are drawn, and
 * before that guessed by their mean.
 *
 * @template {ScrollItem} Item
 */
export class ScrollView {
  /** A layout ended. @type {Signal<void>} */
  laidOut = new Signal();

  #overscan;
  /** @type {readonly Item[]} */
  #items = [];
  /** @type {Map<string, number>} */
  #indices = new Map();
  #heights = new RowHeights([]);
  /** Measured at the present width, of items in the list. @type {Map<string, number>} */
  #measured = new Map();
  #estimate = FIRST_ESTIMATE;
  #top = 0;
  #height = 0;
  #width = 0;
  /** Where the view's edges stood in the window when it was laid out last. */
  #edges = { top: 0, bottom: 0 };
  #isAtEnd = true;
  #isScrolling = false;
  /** Where the mouse is, from the window's top. @type {number | null} */
  #pointer = null;
  #sizes;
  /** What is in the document. @type {RowCells<Item>} */
  #cells;

  /**
   * @param {object} options
   * @param {(item: Item, known: HTMLElement | null) => HTMLElement} options.draw  the row of an
   *   item; `known`, drawn for it before, may be changed and given back
   * @param {HTMLElement} [options.element]  the element that scrolls
   * @param {number} [options.overscan]  pixels beyond the view in which rows are drawn
   */
  constructor({ draw, element = document.createElement('div'), overscan = 400 }) {
    this.#overscan = overscan;
    /** What to put on the page. It needs a height of its own. */
    this.element = element;
    this.#sizes = new ResizeObserver((entries) => this.#resized(entries));
    this.#cells = new RowCells({
      draw, sizes: this.#sizes, onFocusLost: () => element.focus({ preventScroll: true }),
    });
    // Few rows stand at the bottom. The browser's own anchoring would work against this one.
    Object.assign(element.style, {
      display: 'flex', flexDirection: 'column', overflowY: 'auto', overflowAnchor: 'none',
    });
    Object.assign(this.#cells.element.style, { flex: 'none', marginTop: 'auto' });
    element.append(this.#cells.element);
    this.#sizes.observe(element);
    element.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    element.addEventListener('pointermove', (event) => {
      this.#pointer = event.pointerType === 'mouse' ? event.clientY : null;
    }, { passive: true });
    element.addEventListener('pointerleave', () => { this.#pointer = null; });
  }

  /** Stops watching the element. */
  dispose() { this.#sizes.disconnect(); }

  /** The items, in their order. */
  get items() { return this.#items; }

  /** Whether the last row is in view; what is added there is then shown at once. */
  get isAtEnd() { return this.#isAtEnd; }

  /** Whether a program scrolls right now. */
  get isScrolling() { return this.#isScrolling; }

  /** Whether the rows are higher than the view. */
  get itemsCanCoverScreen() { return this.#heights.total >= this.#height; }

  /** The indices of the first and the last item in view, or null. */
  get visible() {
    if (this.#height === 0 || this.#items.length === 0) return null;
    return {
      first: this.#heights.indexAt(this.#top),
      last: this.#heights.indexAt(Math.max(this.#top, this.#top + this.#height - 1)),
    };
  }

  /** The last item that is in view down to its end, or null. */
  get lastWhole() {
    const bottom = this.#top + this.#height;
    const at = this.#heights.indexAt(bottom);
    const isWhole = at >= 0 && this.#heights.before(at + 1) <= bottom + 1;
    return this.#items[isWhole ? at : at - 1] ?? null;
  }

  /** @param {string} id */
  indexOf(id) { return this.#indices.get(id); }

  /**
   * The row of an item, if it is in the document.
   *
   * @param {string} id
   */
  row(id) { return this.#cells.row(id); }

  /**
   * Shows these items from now on.
   *
   * @param {readonly Item[]} items  each id at most once
   * @param {boolean} [forceReloadVisible]  draws what is visible anew
   * @param {boolean} [leavesEnd]  a view at the end does not follow it
   */
  updateItems(items, forceReloadVisible = false, leavesEnd = false) {
    // The browser may not have told yet how far a person has scrolled.
    this.#scrolled();
    if (leavesEnd) this.#isAtEnd = false;
    const holds = this.#isAtEnd ? [] : this.#holds();
    this.#items = items;
    this.#indices = new Map(items.map(({ id }, index) => [id, index]));
    for (const id of this.#measured.keys()) {
      if (!this.#indices.has(id)) this.#measured.delete(id);
    }
    if (forceReloadVisible) this.#cells.forgetHashes();
    this.#guess();
    this.#layout(this.#anchorOf(holds));
  }

  /**
   * Brings an item to an edge of the view, in one frame, unless a program scrolls.
   *
   * @param {string} id
   * @param {Edge} [edge]
   * @param {number} [inset]  pixels to that edge
   * @returns {boolean}  whether it was done
   */
  scrollToItem(id, edge = 'top', inset = 0) {
    const index = this.#indices.get(id);
    if (index === undefined || this.#isScrolling) return false;
    this.#layout(anchorAtEdge(index, edge, inset));
    return true;
  }

  /**
   * Whether an item and all behind it fit the view.
   *
   * @param {string} id
   */
  fitsFrom(id) {
    const index = this.#indices.get(id);
    return index !== undefined
      && this.#heights.total - this.#heights.before(index) <= this.#height;
  }

  /** Goes to the end and stays there. */
  scrollToEnd() { if (!this.#isScrolling) this.#layout(null); }

  /**
   * Scrolls until an item stands at an edge of the view, unless a person scrolls meanwhile; without
   * animation for those who asked for less motion.
   *
   * @param {string} id
   * @param {Edge} [edge]
   * @param {object} [how]
   * @param {number} [how.inset]  pixels to that edge
   * @param {number} [how.speed]  view heights a second
   * @param {number} [how.longest]  at most so many milliseconds
   * @returns {Promise<boolean>}  whether it got there
   */
  async scrollToItemAnimated(id, edge = 'top', how = {}) {
    const { inset = 0 } = how;
    const index = this.#indices.get(id);
    if (index === undefined || this.#isScrolling || this.#height === 0) return false;
    if (prefersReducedMotion()) return this.scrollToItem(id, edge, inset);
    const distance = Math.abs(this.#topAt(anchorAtEdge(index, edge, inset)) - this.#top);
    const duration = scrollDuration(distance, this.#height, how);
    this.#isScrolling = true;
    try {
      return await animateScroll(this.element, duration, (share) => (
        this.#stepTo({ id, edge, inset }, share)
      ));
    } finally {
      this.#isScrolling = false;
      this.laidOut.emit();
    }
  }

  /**
   * Goes a share of what is left of the way to an item. Heights become known on the way, so each
   * step goes by where the item seems to be now.
   *
   * @param {{id: string, edge: Edge, inset: number}} aim
   * @param {number} share  1: all of it
   * @returns {boolean}  false if the item is no longer in the list
   */
  #stepTo({ id, edge, inset }, share) {
    const index = this.#indices.get(id);
    if (index === undefined) return false;
    const target = anchorAtEdge(index, edge, inset);
    const left = this.#topAt(target) - this.#top;
    this.#layout(share >= 1 ? target : anchorAt(this.#heights, this.#top + left * share));
    return true;
  }

  /** Heights of all items: measured ones, and the mean of those for the others. */
  #guess() {
    const known = [...this.#measured.values()];
    if (known.length > 0) {
      this.#estimate = known.reduce((sum, height) => sum + height, 0) / known.length;
    }
    const heights = this.#items.map(({ id }) => this.#measured.get(id) ?? this.#estimate);
    this.#heights = new RowHeights(heights);
  }

  /**
   * How far the view's top has moved since the last layout, if its bottom stands: a bar above it
   * came or went. A view that moved as a whole takes its rows along.
   */
  get #topMoved() {
    const { top, bottom } = this.element.getBoundingClientRect();
    return Math.abs(bottom - this.#edges.bottom) < 1 ? top - this.#edges.top : 0;
  }

  /**
   * The rows in view that may hold it, with the distance to its top at which each stays where it is
   * on the screen: the nearest to the pointer comes first, or to the view's top.
   *
   * @returns {Hold[]}
   */
  #holds() {
    const { visible } = this;
    if (visible === null) return [];
    const focus = this.#pointer === null ? 0
      : this.#pointer - this.element.getBoundingClientRect().top;
    const topMoved = this.#topMoved;
    const holds = [];
    for (let at = visible.first; at <= visible.last; at += 1) {
      const { id, hash, isLoose = false } = this.#items[at];
      const offset = this.#heights.before(at) - this.#top - topMoved;
      const distance = Math.max(offset - focus, focus - offset - this.#heights.at(at), 0);
      holds.push({ id, hash, offset, rank: distance + (isLoose ? Infinity : 0) });
    }
    return holds.sort((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank));
  }

  /**
   * A row that looks as it did is the better anchor: one that is drawn anew may have another
   * height, and what is next to it should not move.
   *
   * @param {Hold[]} holds
   * @returns {Anchor | null}  null: the end
   */
  #anchorOf(holds) {
    if (this.#isAtEnd) return null;
    /** @type {Anchor | undefined} */
    let second;
    for (const { id, hash, rank, offset } of holds) {
      const index = this.#indices.get(id);
      if (index === undefined) continue;
      const anchor = { index, offset: () => offset };
      if (this.#items[index].hash === hash && rank < Infinity) return anchor;
      second ??= anchor;
    }
    return second ?? anchorAt(this.#heights, this.#top);
  }

  /**
   * How much lies above the view when the anchor stands where it should.
   *
   * @param {Anchor | null} anchor  null: the end
   */
  #topAt(anchor) { return topOf(anchor, this.#heights, this.#height); }

  /**
   * Puts the rows around the anchor into the document, measures those that are new, and goes on
   * until nothing changes; only then the scroll position follows, so that a person sees one step.
   *
   * @param {Anchor | null} anchor  null: the end
   */
  #layout(anchor) {
    this.#height = this.element.clientHeight;
    if (this.#height === 0) return;
    let [first, last] = [0, -1];
    for (let round = 0; round < ROUNDS; round += 1) {
      const top = this.#topAt(anchor);
      first = Math.max(0, this.#heights.indexAt(top - this.#overscan));
      last = this.#heights.indexAt(top + this.#height + this.#overscan);
      const drawn = this.#cells.place(this.#items.slice(first, last + 1));
      for (const id of drawn) this.#measured.delete(id);
      if (!this.#measure(first, last)) break;
    }
    this.#top = this.#topAt(anchor);
    Object.assign(this.#cells.element.style, {
      paddingTop: `${this.#heights.before(first)}px`,
      paddingBottom: `${this.#heights.total - this.#heights.before(last + 1)}px`,
    });
    this.#isAtEnd = this.#heights.total - this.#top - this.#height < END;
    if (Math.abs(this.element.scrollTop - this.#top) >= 0.5) this.element.scrollTop = this.#top;
    const { top, bottom } = this.element.getBoundingClientRect();
    this.#edges = { top, bottom };
    this.laidOut.emit();
  }

  /**
   * Measures what was not measured yet.
   *
   * @param {number} first
   * @param {number} last
   * @returns {boolean}  whether a height is another than was thought
   */
  #measure(first, last) {
    let hasChanged = false;
    for (let at = first; at <= last; at += 1) {
      const { id } = this.#items[at];
      if (this.#measured.has(id)) continue;
      const height = this.#cells.height(id);
      this.#measured.set(id, height);
      if (height === this.#heights.at(at)) continue;
      this.#heights.set(at, height);
      hasChanged = true;
    }
    return hasChanged;
  }

  /**
   * Takes over how far a person has scrolled. Rows that stay in view hold the rest: what is drawn
   * beyond them may turn out higher or lower than was thought.
   */
  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    // A view that grew may reach less far: the browser clips that, and no person has scrolled.
    const moved = scrollTop - Math.min(this.#top, scrollHeight - clientHeight);
    // The browser rounds what it was told to whole pixels of the screen.
    if (Math.abs(moved) < 1) return;
    const kept = this.#holds().find(({ id, offset }) => {
      const height = this.#measured.get(id) ?? 0;
      return offset - moved > -height && offset - moved < this.#height;
    });
    const index = kept && this.#indices.get(kept.id);
    this.#layout(index === undefined ? anchorAt(this.#heights, scrollTop)
      : { index, offset: () => kept.offset - moved });
  }

  /** @param {ResizeObserverEntry[]} entries */
  #resized(entries) {
    const { clientWidth, clientHeight } = this.element;
    const isNewWidth = clientWidth !== this.#width;
    const isNewHeight = clientHeight !== this.#height;
    this.#width = clientWidth;
    if (!isNewWidth) this.#scrolled();
    const holds = this.#holds();
    let hasChanged = isNewWidth || isNewHeight;
    if (isNewWidth) this.#measured.clear();
    for (const { target } of entries) {
      const id = this.#cells.idOf(target);
      if (id === undefined || this.#measured.get(id) === target.getBoundingClientRect().height) {
        continue;
      }
      this.#measured.delete(id);
      hasChanged = true;
    }
    if (hasChanged) this.#layout(this.#anchorOf(holds));
  }
}
