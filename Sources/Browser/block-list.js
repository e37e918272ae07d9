import { comparePlaces } from './place.js';

/** @import { Place } from './place.js' */

/**
 * What a block list holds; it never changes while it is in one.
 *
 * @typedef {object} BlockElement
 * @property {Place} place
 * @property {boolean} isUnread
 * @property {boolean} [beginsRow]
 *
 * @typedef {{count: number, unread: number, rows: number}} BlockSum
 */

/**
 * How many elements a block has at most: as many as can be moved in about the time in which the
 * sums of the blocks of a list of 100,000 are added up.
 */
const LIMIT = 128;

/** @returns {BlockSum} */
const nothing = () => ({ count: 0, unread: 0, rows: 0 });

/**
 * @param {BlockSum} sum
 * @param {BlockElement} element
 * @param {1 | -1} by
 */
function count(sum, element, by) {
  sum.count += by;
  if (element.isUnread) sum.unread += by;
  if (element.beginsRow) sum.rows += by;
}

/**
 * @param {BlockSum} sum
 * @param {BlockSum} other
 */
function add(sum, other) {
  sum.count += other.count;
  sum.unread += other.unread;
  sum.rows += other.rows;
}

/** @param {BlockElement[]} elements */
function sumOf(elements) {
  const sum = nothing();
  for (const element of elements) count(sum, element, 1);
  return sum;
}

/**
 * Elements in the order of their places, kept in blocks of bounded size with the sums of each.
 *
 * One array would have to be counted from the start to say at which index or in which row an
 * element stands. Here an insertion moves at most a block, and an index is found by the sums of the
 * blocks before it, so that a change of a list of 100,000 costs a few microseconds wherever it is.
 *
 * @template {BlockElement} E
 */
export class BlockList {
  /** @type {E[][]} */
  #blocks = [];
  /** @type {BlockSum[]} */
  #sums = [];
  /** @type {BlockSum} */
  #total = nothing();

  /** @param {Iterable<E>} [ordered]  ascending by place */
  constructor(ordered = []) {
    for (const element of ordered) {
      if ((this.#blocks.at(-1)?.length ?? LIMIT) === LIMIT) {
        this.#blocks.push([]);
        this.#sums.push(nothing());
      }
      /** @type {E[]} */ (this.#blocks.at(-1)).push(element);
      count(/** @type {BlockSum} */ (this.#sums.at(-1)), element, 1);
      count(this.#total, element, 1);
    }
  }

  get length() { return this.#total.count; }

  /** The sums over all. @returns {Readonly<BlockSum>} */
  get total() { return this.#total; }

  /** All elements, in order. */
  get all() { return this.#blocks.flat(); }

  /**
   * The element at an index; the index must be one.
   *
   * @param {number} index
   * @returns {E}
   */
  at(index) {
    const { block, offset } = this.#position(index);
    return this.#blocks[block][offset];
  }

  /**
   * How many elements stand before the first for which this holds; it holds for all that follow.
   *
   * @param {(element: E) => boolean} isBehind
   */
  indexWhere(isBehind) { return this.#indexOf(this.#find(isBehind)); }

  /**
   * The index of the element at exactly this place.
   *
   * @param {Place} place
   */
  indexOf(place) {
    const at = this.#find((element) => comparePlaces(element.place, place) >= 0);
    return this.#isAt(at, place) ? this.#indexOf(at) : undefined;
  }

  /**
   * The element at exactly this place.
   *
   * @param {Place} place
   */
  get(place) {
    const at = this.#find((element) => comparePlaces(element.place, place) >= 0);
    return this.#isAt(at, place) ? this.#blocks[at.block][at.offset] : undefined;
  }

  /**
   * The sum of the elements before an index.
   *
   * @param {number} index
   */
  sumBefore(index) {
    if (index >= this.length) return { ...this.#total };
    const { block, offset } = this.#position(index);
    const sum = nothing();
    for (let at = 0; at < block; at += 1) add(sum, this.#sums[at]);
    for (let at = 0; at < offset; at += 1) count(sum, this.#blocks[block][at], 1);
    return sum;
  }

  /**
   * The index of the element that begins the row with this number, counted from the first.
   *
   * @param {number} row
   */
  indexOfRow(row) {
    let [left, index, block] = [row, 0, 0];
    while (this.#sums[block].rows <= left) {
      left -= this.#sums[block].rows;
      index += this.#sums[block].count;
      block += 1;
    }
    for (const element of this.#blocks[block]) {
      if (element.beginsRow) {
        if (left === 0) break;
        left -= 1;
      }
      index += 1;
    }
    return index;
  }

  /**
   * Adds an element, or replaces the one at its place.
   *
   * @param {E} element
   */
  set(element) {
    let at = this.#find((other) => comparePlaces(other.place, element.place) >= 0);
    if (this.#isAt(at, element.place)) {
      this.#replace(at, element);
      return;
    }
    at = this.#room(at);
    this.#blocks[at.block].splice(at.offset, 0, element);
    count(this.#sums[at.block], element, 1);
    count(this.#total, element, 1);
  }

  /**
   * Replaces the element at an index by one with the same place.
   *
   * @param {number} index
   * @param {E} element
   */
  replaceAt(index, element) { this.#replace(this.#position(index), element); }

  /**
   * Takes out the element at a place.
   *
   * @param {Place} place
   */
  remove(place) {
    const at = this.#find((element) => comparePlaces(element.place, place) >= 0);
    if (!this.#isAt(at, place)) return;
    const [element] = this.#blocks[at.block].splice(at.offset, 1);
    count(this.#sums[at.block], element, -1);
    count(this.#total, element, -1);
    this.#shrink(at.block);
  }

  /** @param {(element: E) => boolean} isBehind */
  #find(isBehind) {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const block = this.#blocks[middle];
      if (isBehind(block[block.length - 1])) high = middle; else low = middle + 1;
    }
    const block = low;
    if (block === this.#blocks.length) return { block, offset: 0 };
    const elements = this.#blocks[block];
    low = 0;
    high = elements.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBehind(elements[middle])) high = middle; else low = middle + 1;
    }
    return { block, offset: low };
  }

  /**
   * @param {{block: number, offset: number}} position
   * @param {Place} place
   */
  #isAt({ block, offset }, place) {
    const element = this.#blocks[block]?.[offset];
    return element !== undefined && comparePlaces(element.place, place) === 0;
  }

  /** @param {number} index */
  #position(index) {
    let [offset, block] = [index, 0];
    while (offset >= this.#sums[block].count) {
      offset -= this.#sums[block].count;
      block += 1;
    }
    return { block, offset };
  }

  /** @param {{block: number, offset: number}} position */
  #indexOf({ block, offset }) {
    let index = offset;
    for (let at = 0; at < block; at += 1) index += this.#sums[at].count;
    return index;
  }

  /**
   * @param {{block: number, offset: number}} position
   * @param {E} element
   */
  #replace({ block, offset }, element) {
    const old = this.#blocks[block][offset];
    this.#blocks[block][offset] = element;
    for (const sum of [this.#sums[block], this.#total]) {
      count(sum, old, -1);
      count(sum, element, 1);
    }
  }

  /**
   * Makes room for one element at a position, and says where that is then.
   *
   * @param {{block: number, offset: number}} position
   */
  #room({ block, offset }) {
    if (block === this.#blocks.length) {
      // What comes at the end fills the last block, and then begins a new one: a list that grows
      // there has full blocks.
      const last = this.#blocks.at(-1);
      const offset = last?.length ?? LIMIT;
      if (offset < LIMIT) return { block: block - 1, offset };
      this.#blocks.push([]);
      this.#sums.push(nothing());
      return { block, offset: 0 };
    }
    if (this.#blocks[block].length < LIMIT) return { block, offset };
    const half = LIMIT / 2;
    const upper = this.#blocks[block].splice(half);
    this.#blocks.splice(block + 1, 0, upper);
    this.#sums.splice(block, 1, sumOf(this.#blocks[block]), sumOf(upper));
    return offset <= half ? { block, offset } : { block: block + 1, offset: offset - half };
  }

  /**
   * Joins a block that has become small with the next, so that a list that was thinned out does not
   * keep as many blocks as it once needed.
   *
   * @param {number} block
   */
  #shrink(block) {
    const next = this.#blocks[block + 1];
    if (this.#blocks[block].length === 0) {
      this.#blocks.splice(block, 1);
      this.#sums.splice(block, 1);
    } else if (next !== undefined && this.#blocks[block].length + next.length <= LIMIT / 2) {
      this.#blocks[block].push(...next);
      add(this.#sums[block], this.#sums[block + 1]);
      this.#blocks.splice(block + 1, 1);
      this.#sums.splice(block + 1, 1);
    }
  }
}
