import { BlockList } from './block-list.js';
import { comparePlaces } from './place.js';

/** @import { BlockElement } from './block-list.js' */
/** @import { Place } from './place.js' */
/** @import { Changes } from './timeline-changes.js' */
/** @import { Entry, ListMessage, Range, Run, Timeline } from './timeline.js' */

/**
 * Says in which category a message is; null for a row of its own.
 *
 * @typedef {(message: ListMessage) => string | null} Category
 *
 * @typedef {object} Row
 * @property {string} id  of its newest message
 * @property {Range} items  the indices of its messages in the timeline
 * @property {string | null} category
 * @property {boolean} isRevealed  whether it is one message of a group that was revealed
 *
 * @typedef {{id: string, items: Range, rows: Range}} RunOfRows
 *
 * @typedef {BlockElement & {id: string, category: string | null, endsRun: boolean}} Item
 */

/**
 * Groups what was deleted, one's own and others' messages apart.
 *
 * @param {string | null} reader
 * @returns {Category}
 */
export function tombstones(reader) {
  return ({ author, deleted }) => {
    if (!deleted) return null;
    return author === reader ? 'deleted by reader' : 'deleted';
  };
}

/**
 * The rows of a view, as the Swift `Grouping`: a row is one message of a timeline, or neighbours of
 * one category.
 *
 * Row 0 is the newest. A row never reaches over a hole. Of a group, messages that are revealed,
 * from the newest on, are rows of their own; the others are one row. A change costs no rebuild.
 */
export class Grouping {
  #category;
  /** @type {BlockList<Item>} */
  #items;
  /** @type {Map<string, Place>} */
  #places = new Map();
  /** @type {Set<string>} */
  #revealed;
  /** The messages that have a hole above them. @type {Set<string>} */
  #runEnds = new Set();
  /** @type {Run[]} */
  #timelineRuns = [];
  /** @type {{total: number, afterView: number, afterNewestLoaded: number, viewAnchor?: Place}} */
  #unread = { total: 0, afterView: 0, afterNewestLoaded: 0 };

  /**
   * The rows of all messages of a timeline, in one pass.
   *
   * @param {Timeline} timeline
   * @param {Category} category
   * @param {Iterable<string>} [revealed]  the ids of revealed messages
   */
  constructor(timeline, category, revealed = []) {
    this.#category = category;
    this.#revealed = new Set(revealed);
    this.#takeRuns(timeline);
    const items = timeline.entries.map((entry) => this.#item(entry));
    /** @type {Item | undefined} */
    let above;
    for (const item of items.toReversed()) {
      item.beginsRow = this.#begins(item, above);
      above = item;
    }
    for (const { id, place } of items) this.#places.set(id, place);
    this.#items = new BlockList(items);
  }

  /** How many rows there are. */
  get length() { return this.#items.total.rows; }

  /** The ids of revealed messages, for another grouping. */
  get revealed() { return new Set(this.#revealed); }

  /** All rows, newest first. */
  get rows() {
    /** @type {Row[]} */
    const rows = [];
    const items = this.#items.all;
    for (let at = items.length - 1; at >= 0; at -= 1) {
      if (items[at].beginsRow) rows.push(this.#row(items[at], [at, at + 1]));
      else rows[rows.length - 1].items[0] = at;
    }
    return rows;
  }

  /** The runs that have messages, newest first. @returns {RunOfRows[]} */
  get runs() {
    return this.#timelineRuns.filter(({ items: [from, to] }) => from < to).map(({ items }) => ({
      id: this.#items.at(items[1] - 1).id,
      items,
      rows: /** @type {Range} */ ([this.#rowAt(items[1] - 1), this.#rowAt(items[0]) + 1]),
    })).toReversed();
  }

  /**
   * A row, 0 being the newest.
   *
   * @param {number} row
   */
  at(row) {
    const newest = this.#items.indexOfRow(this.length - 1 - row);
    const oldest = row + 1 < this.length ? this.#items.indexOfRow(this.length - 2 - row) + 1 : 0;
    return this.#row(this.#items.at(newest), [oldest, newest + 1]);
  }

  /**
   * The row that shows a message.
   *
   * @param {string} id
   */
  rowOf(id) {
    const place = this.#places.get(id);
    const index = place && this.#items.indexOf(place);
    return index === undefined ? undefined : this.#rowAt(index);
  }

  /**
   * How many unread messages are older than a row.
   *
   * @param {number} row
   */
  unreadBefore(row) {
    const [oldest] = this.at(row).items;
    const below = this.#items.sumBefore(oldest).unread;
    const { total, afterView, afterNewestLoaded, viewAnchor } = this.#unread;
    if (viewAnchor !== undefined) {
      const passed = this.#behind(viewAnchor);
      if (passed > oldest) {
        const here = this.#items.sumBefore(passed).unread - below;
        return Math.max(0, total - afterView - here);
      }
    }
    return Math.max(0, total - afterNewestLoaded - (this.#items.total.unread - below));
  }

  /**
   * Reveals a group.
   *
   * @param {number} row
   */
  reveal(row) {
    const { items: [oldest, end], category } = this.at(row);
    if (category === null) return;
    for (let at = oldest; at < end; at += 1) this.#revealed.add(this.#items.at(at).id);
    this.#settle(this.#items.at(end - 1).place);
  }

  /**
   * Hides revealed rows: neighbours become one row with what is older of their group.
   *
   * @param {number} row
   */
  hide(row) {
    if (!this.at(row).isRevealed) return;
    let newest = row;
    while (newest > 0 && this.#isOneGroup(newest - 1, newest)) newest -= 1;
    let oldest = row;
    while (oldest + 1 < this.length && this.#isOneGroup(oldest, oldest + 1)) oldest += 1;
    const [low] = this.at(oldest).items;
    const [, end] = this.at(newest).items;
    for (let at = low; at < end; at += 1) this.#revealed.delete(this.#items.at(at).id);
    this.#settle(this.#items.at(end - 1).place);
  }

  /**
   * Follows a change of the timeline. Every change must come here, in order, empty ones too.
   *
   * @param {Changes} changes
   * @param {Timeline} timeline
   */
  apply({ inserted, deleted, moved, updated }, timeline) {
    /** @type {Place[]} */
    const touched = [];
    const remove = (/** @type {string} */ id) => {
      const place = this.#places.get(id);
      if (place === undefined) return;
      this.#places.delete(id);
      this.#items.remove(place);
      touched.push(place);
    };
    for (const { id } of deleted) {
      remove(id);
      this.#revealed.delete(id);
    }
    for (const { id } of moved) remove(id);
    const came = [...inserted, ...updated].map(({ index }) => index);
    for (const index of [...came, ...moved.map(({ to }) => to)]) {
      const item = this.#item(timeline.at(index));
      const old = this.#places.get(item.id);
      // A place that only gained a number stands where it stood.
      if (old !== undefined && comparePlaces(old, item.place) !== 0) remove(item.id);
      this.#items.set(item);
      this.#places.set(item.id, item.place);
      touched.push(item.place);
    }
    const ended = this.#runEnds;
    this.#takeRuns(timeline);
    for (const id of [...ended, ...this.#runEnds]) {
      const endsRun = this.#runEnds.has(id);
      const place = this.#places.get(id);
      const index = place && this.#items.indexOf(place);
      if (index === undefined || this.#items.at(index).endsRun === endsRun) continue;
      this.#items.replaceAt(index, { ...this.#items.at(index), endsRun });
      touched.push(/** @type {Place} */ (place));
    }
    // Newest first, since each row follows from the one above it.
    for (const place of touched.sort((a, b) => comparePlaces(b, a))) this.#settle(place);
  }

  /**
   * @param {Entry} entry
   * @returns {Item}
   */
  #item({ message, place, isUnread }) {
    return {
      id: message.id, place, isUnread, category: this.#category(message),
      endsRun: this.#runEnds.has(message.id), beginsRow: true,
    };
  }

  /**
   * @param {Item} item
   * @param {Range} items
   * @returns {Row}
   */
  #row({ id, category }, items) {
    return { id, items, category, isRevealed: category !== null && this.#revealed.has(id) };
  }

  /** @param {number} index */
  #rowAt(index) { return this.length - 1 - this.#items.sumBefore(index).rows; }

  /** @param {Place} place */
  #behind(place) {
    return this.#items.indexWhere((item) => comparePlaces(item.place, place) > 0);
  }

  /**
   * Whether two neighbouring rows are both revealed, of one group.
   *
   * @param {number} above
   * @param {number} below
   */
  #isOneGroup(above, below) {
    const [newer, older] = [this.at(above), this.at(below)];
    return newer.isRevealed && older.isRevealed && newer.category === older.category
      && !this.#items.at(older.items[1] - 1).endsRun;
  }

  /** @param {Timeline} timeline */
  #takeRuns(timeline) {
    this.#timelineRuns = timeline.runs;
    const { total, afterView, afterNewestLoaded, viewAnchor } = timeline.unread;
    this.#unread = { total, afterView, afterNewestLoaded, viewAnchor };
    this.#runEnds = new Set();
    for (const { items: [from, to] } of this.#timelineRuns) {
      for (const index of [from - 1, to - 1]) {
        if (index >= 0 && index < timeline.length - 1) {
          this.#runEnds.add(timeline.at(index).message.id);
        }
      }
    }
  }

  /**
   * Decides anew whether the message at a place, or the next below it, begins a row, then what is
   * below these for as long as that changes anything.
   *
   * @param {Place} place
   */
  #settle(place) {
    const behind = this.#behind(place);
    for (let index = behind - 1; index >= 0; index -= 1) {
      const item = this.#items.at(index);
      const above = index + 1 < this.#items.length ? this.#items.at(index + 1) : undefined;
      const beginsRow = this.#begins(item, above);
      if (item.beginsRow !== beginsRow) this.#items.replaceAt(index, { ...item, beginsRow });
      else if (index < behind - 1) break;
    }
  }

  /**
   * @param {Item} item
   * @param {Item} [above]
   */
  #begins({ category, endsRun }, above) {
    if (category === null || endsRun || above === undefined) return true;
    if (above.category !== category) return true;
    return above.beginsRow === true && this.#revealed.has(above.id);
  }
}
