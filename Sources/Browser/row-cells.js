/** @import { ScrollItem } from './scroll-view.js' */

/**
 * The rows of a scroll view that are in the document, each in a cell that takes its margins in, so
 * that the heights of cells add up.
 *
 * @template {ScrollItem} Item
 */
export class RowCells {
  #draw;
  #sizes;
  #onFocusLost;
  /** @type {Map<string, {cell: HTMLElement, hash: string | null}>} */
  #cells = new Map();
  /** @type {WeakMap<Element, string>} */
  #ids = new WeakMap();

  /**
   * @param {object} options
   * @param {(item: Item, known: HTMLElement | null) => HTMLElement} options.draw
   * @param {ResizeObserver} options.sizes  is told to watch each cell
   * @param {() => void} options.onFocusLost  the row that had the focus was taken out
   */
  constructor({ draw, sizes, onFocusLost }) {
    this.#draw = draw;
    this.#sizes = sizes;
    this.#onFocusLost = onFocusLost;
    /** What holds the cells. */
    this.element = document.createElement('div');
    this.element.setAttribute('role', 'none');
    this.element.className = 'rows';
  }

  /**
   * The row of an item, if it is in the document.
   *
   * @param {string} id
   */
  row(id) { return /** @type {HTMLElement | undefined} */ (this.#cells.get(id)?.cell.firstChild); }

  /**
   * The item whose cell this is.
   *
   * @param {Element} cell
   */
  idOf(cell) { return this.#ids.get(cell); }

  /**
   * The height of the cell of an item, which must be in the document.
   *
   * @param {string} id
   */
  height(id) {
    const { cell } = /** @type {{cell: HTMLElement}} */ (this.#cells.get(id));
    return cell.getBoundingClientRect().height;
  }

  /** Has every row drawn anew at the next `place`, whatever its hash. */
  forgetHashes() { for (const drawn of this.#cells.values()) drawn.hash = null; }

  /**
   * Makes the document hold the rows of these items and no others.
   *
   * @param {readonly Item[]} items
   * @returns {string[]}  the ids of those that were drawn, and may have another height
   */
  place(items) {
    const wanted = new Set(items.map(({ id }) => id));
    for (const [id, { cell }] of this.#cells) {
      if (!wanted.has(id)) this.#drop(id, cell);
    }
    const drawn = items.filter(({ id, hash }) => this.#cells.get(id)?.hash !== hash);
    for (const item of drawn) this.#drawCell(item);
    let next = this.element.firstElementChild;
    for (const { id } of items) {
      const { cell } = /** @type {{cell: HTMLElement}} */ (this.#cells.get(id));
      if (cell === next) next = next.nextElementSibling;
      else this.element.insertBefore(cell, next);
    }
    return drawn.map(({ id }) => id);
  }

  /**
   * @param {string} id
   * @param {HTMLElement} cell
   */
  #drop(id, cell) {
    // The next key must not be lost with the row that had the focus.
    const hadFocus = cell.contains(document.activeElement);
    cell.remove();
    this.#sizes.unobserve(cell);
    this.#cells.delete(id);
    if (hadFocus) this.#onFocusLost();
  }

  /** @param {Item} item */
  #drawCell(item) {
    const { id, hash } = item;
    const known = this.row(id) ?? null;
    const row = this.#draw(item, known);
    const cell = this.#cells.get(id)?.cell ?? this.#newCell(id);
    if (row !== known) cell.replaceChildren(row);
    this.#cells.set(id, { cell, hash });
  }

  /** @param {string} id */
  #newCell(id) {
    const cell = document.createElement('div');
    cell.style.display = 'flow-root';
    cell.setAttribute('role', 'none');
    this.#ids.set(cell, id);
    this.#sizes.observe(cell);
    return cell;
  }
}
