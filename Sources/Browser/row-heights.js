/**
 * The heights of a list's rows, some measured and some guessed, with their sums: where a row begins
 * and which row stands at a height are both found in logarithmic time, in a list of any length.
 *
 * A binary indexed tree: node `i` holds the sum of the `i & -i` heights that end with row `i - 1`.
 */
export class RowHeights {
  #heights;
  #tree;

  /** @param {ArrayLike<number>} heights  in pixels, from the first row to the last */
  constructor(heights) {
    this.#heights = Float64Array.from(heights);
    this.#tree = new Float64Array(heights.length + 1);
    for (let node = 1; node <= heights.length; node += 1) {
      this.#tree[node] += this.#heights[node - 1];
      const parent = node + (node & -node);
      if (parent <= heights.length) this.#tree[parent] += this.#tree[node];
    }
  }

  /** How many rows there are. */
  get length() { return this.#heights.length; }

  /** The height of all rows together. */
  get total() { return this.before(this.length); }

  /** @param {number} index */
  at(index) { return this.#heights[index]; }

  /**
   * @param {number} index
   * @param {number} height
   */
  set(index, height) {
    const difference = height - this.#heights[index];
    this.#heights[index] = height;
    for (let node = index + 1; node <= this.length; node += node & -node) {
      this.#tree[node] += difference;
    }
  }

  /**
   * Where a row begins: the height of all rows before it.
   *
   * @param {number} index  up to `length`
   */
  before(index) {
    let sum = 0;
    for (let node = index; node > 0; node -= node & -node) sum += this.#tree[node];
    return sum;
  }

  /**
   * The row at a height: the last one that begins there or above. What lies before the first row or
   * behind the last belongs to them; -1 if there is none.
   *
   * @param {number} top
   */
  indexAt(top) {
    let [index, left] = [0, top];
    for (let step = 1 << 30; step > 0; step >>= 1) {
      const node = index + step;
      if (node <= this.length && this.#tree[node] <= left) {
        index = node;
        left -= this.#tree[node];
      }
    }
    return Math.min(index, this.length - 1);
  }
}
