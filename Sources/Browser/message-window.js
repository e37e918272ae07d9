import { Coverage } from './coverage.js';
import { isFillable, withOuterGaps } from './gaps.js';
import { Grouping } from './grouping.js';
import { KEPT_BESIDE, Timeline } from './timeline.js';
import { pageKind } from './window-pages.js';

/** @import { Category } from './grouping.js' */
/** @import { Value } from './holder.js' */
/** @import { Known } from './loading.js' */
/** @import { MessageLog, Taken } from './message-log.js' */
/** @import { PageKind } from './timeline-page.js' */
/** @import { Range } from './timeline.js' */
/** @import { Delta, Gap, PageResult } from './types.js' */

/**
 * What a page is asked for with; `around` takes any anchor of the protocol: a seq, an id, a moment.
 *
 * @typedef {number | string | {time: string}} Anchor
 * @typedef {{before?: number, after?: number, around?: Anchor, order?: 'asc' | 'desc'}} PageRange
 */

/** A window that grew beyond this by live messages is trimmed to what is near the view. */
const LIMIT = 1000;

/**
 * The part of a conversation that one view shows. It keeps which places these are and nothing else:
 * what stands there, and what of it is held, is read in the `MessageLog` that all views of the
 * conversation share. What the view leaves far behind is trimmed, and is then history to be fetched
 * again, or a `cold` gap.
 */
export class MessageWindow {
  /** Whether it begins with the next answer; one that began follows its log for good. */
  isOpen = true;

  #log;
  /** The places shown. */
  #places = Coverage.empty;
  /** Whether it has begun. */
  #isLoaded = false;
  /** Whether news belong into it: it was loaded to the end, and not trimmed there. */
  #followsEnd = false;
  /** The oldest place of what is shown or was declared a gap; what is below is history. */
  #bottom = Infinity;
  /** What the view shows, by the ids of its ends. @type {[string, string] | null} */
  #visible = null;
  #changes = 0;
  /**
   * What is read here, until the next change.
   *
   * @type {{version: number, values: readonly Value[], index: Map<string, number>} | null}
   */
  #read = null;
  /** The answer of `gaps` until the next change. @type {{version: number, gaps: Gap[]} | null} */
  #gaps = null;

  /** @param {MessageLog} log  that of the other windows on the conversation */
  constructor(log) {
    this.#log = log;
    log.add(this);
  }

  /** Rises with each change of what can be read here. */
  get version() { return this.#log.version + this.#changes; }

  get isLoaded() { return this.#isLoaded; }

  /** Whether it shows the newest end of the log, and news come into it. */
  get followsEnd() { return this.#followsEnd; }

  /** The places that are held and shown here. */
  get coverage() { return this.#log.runs.intersection(this.#places); }

  /** The messages, oldest first, each with whether its place is held. */
  get values() { return this.#content.values; }

  /**
   * The gaps from the oldest place shown or declared up to the head, oldest first. Between two
   * messages that are not neighbours in the log there always is one.
   */
  get gaps() {
    const { version } = this;
    if (this.#gaps?.version !== version) {
      const { coverage } = this;
      const gaps = this.#bottom < Infinity ? this.#log.gapsIn(coverage, this.#bottom) : [];
      const all = withOuterGaps(gaps, coverage, this.values);
      const known = this.#gaps?.gaps;
      // The same array while nothing changed, for those who compare.
      const same = known !== undefined && JSON.stringify(known) === JSON.stringify(all);
      this.#gaps = { version, gaps: same ? known : all };
    }
    return this.#gaps.gaps;
  }

  /** The oldest place that is held, shown or a gap. */
  get oldest() {
    const oldest = Math.min(this.#low, (this.gaps[0]?.after ?? Infinity) + 1);
    return oldest === Infinity ? undefined : oldest;
  }

  /** Whether the log has more after the newest place that is held here. */
  get hasNewer() {
    const { head } = this.#log;
    return this.#isLoaded && head !== null && (this.coverage.last ?? head.floor - 1) < head.seq;
  }

  /** What is held here and what could be, for `loadFor`. @returns {Known | null} */
  get known() {
    const { head } = this.#log;
    const { coverage: runs } = this;
    if (head === null) return null;
    const closed = this.gaps.filter((gap) => !isFillable(gap) && gap.before - gap.after > 1)
      .map(({ after, before }) => /** @type {const} */ ([after + 1, before - 1]));
    return {
      runs, floor: head.floor, head: Math.max(head.seq, runs.last ?? 0),
      closed: new Coverage(closed),
    };
  }

  /** The places of the first and the last message in view; `null` if none is known to be. */
  get visiblePlaces() {
    const range = this.#visibleRange;
    if (range === undefined) return null;
    const places = [range[0], range[1] - 1].map((at) => this.values[at].message.seq);
    return /** @type {[number, number]} */ (places);
  }

  /**
   * Whether what an anchor names is in the window; of a moment nobody can say that.
   *
   * @param {Anchor} anchor
   */
  holds(anchor) {
    if (typeof anchor === 'number') return this.at(anchor) !== undefined;
    return typeof anchor === 'string' && this.message(anchor) !== undefined;
  }

  /**
   * The message at a place, if it is in the window.
   *
   * @param {number} seq
   */
  at(seq) {
    const message = this.#places.contains(seq) ? this.#log.value(seq) : undefined;
    return message && this.#log.shown(message);
  }

  /** @param {string} id */
  message(id) {
    const { values, index } = this.#content;
    return values[index.get(id) ?? -1]?.message;
  }

  /**
   * The messages as the rows of a view, in which neighbours of one category are one.
   *
   * @param {Category} category
   * @param {Iterable<string>} [revealed]  the ids of messages that are rows of their own
   */
  grouping(category, revealed) {
    const messages = this.values.map(({ message }) => message);
    const conversation = messages[0]?.conversation ?? '';
    const timeline = new Timeline(conversation);
    const hasMore = { before: true, after: true };
    const covers = this.coverage.runs;
    timeline.apply({ kind: 'initial', conversation, messages, covers, hasMore });
    return new Grouping(timeline, category, revealed);
  }

  /**
   * Says what the view shows, so that what is far from it can go.
   *
   * @param {string} first  the id of a message
   * @param {string} last
   */
  noteVisible(first, last) { this.#visible = [first, last]; }

  /** Lets go of all messages, to begin elsewhere in the log. */
  clear() {
    this.#places = Coverage.empty;
    this.#isLoaded = false;
    this.#followsEnd = false;
    this.#bottom = Infinity;
    this.#visible = null;
    this.#changes += 1;
  }

  /**
   * Drops messages from both ends, down to `count`.
   *
   * @param {number} count
   * @param {number} focus  where the view stands, from 0 (the oldest message) to 1 (the newest,
   *   also for what is no number)
   * @returns {boolean}  whether any went
   */
  trimTo(count, focus) {
    const { length } = this.values;
    const excess = length - Math.max(count, 0);
    if (!(excess > 0)) return false;
    const place = Number.isNaN(focus) ? 1 : focus;
    const older = Math.min(excess, Math.max(0, Math.trunc(place * excess)));
    this.#cut([length - (excess - older), length], [0, older]);
    return true;
  }

  /**
   * Begins with the newest messages that the log holds.
   *
   * @param {number} limit  of messages
   * @returns {boolean}  whether it could
   */
  join(limit) {
    const newest = this.#isLoaded ? null : this.#log.newest(limit);
    if (newest !== null) this.#begin(newest, []);
    return newest !== null;
  }

  /**
   * For the log: takes an answer, an event, or a page that another window asked for. What lies
   * below the window, or beyond its end where it does not follow that, is not of it.
   *
   * @param {Taken} frame
   * @param {boolean} begins  whether a window may begin with it
   */
  take({ deltas, covers, gaps, end }, begins) {
    if (!this.#isLoaded) {
      if (this.isOpen && begins) this.#begin(covers, gaps);
      return;
    }
    const { oldest = Infinity, coverage } = this;
    const low = Math.min(coverage.first ?? this.#log.head?.floor ?? 1, oldest);
    const high = this.#followsEnd ? Number.MAX_SAFE_INTEGER : coverage.last ?? low - 1;
    const strays = deltas.filter((delta) => this.#isStray(delta, end))
      .map(({ message: { seq } }) => /** @type {const} */ ([seq, seq]));
    this.add(new Coverage(covers).subtracting(new Coverage(strays)).clipped(low, high));
    this.#declare(gaps.filter(({ before }) => before > oldest));
    const visible = this.#visibleRange;
    if (visible && this.values.length > LIMIT) {
      this.#cut(this.#newerThan(visible), this.#olderThan(visible));
    }
  }

  /**
   * For the log: takes a page that it asked for.
   *
   * @param {PageResult} result
   * @param {PageRange} range
   */
  takePage({ covers, gaps, hasMore }, range) {
    const kind = pageKind(range, this.#isLoaded ? this.coverage : null, this.#log.head);
    const visible = this.#isLoaded ? this.#visibleRange : undefined;
    if (visible) this.#cut(this.#leftBehind(kind, visible));
    this.add(new Coverage(covers));
    this.#declare(gaps);
    this.#followsEnd ||= kind === 'latest' || !hasMore.after;
    this.#isLoaded = true;
  }

  /**
   * For the log: shows what it has at these places, too.
   *
   * @param {Coverage} places
   */
  add(places) {
    this.#places = this.#places.union(places);
    this.#bottom = Math.min(this.#bottom, this.#low);
    this.#changes += 1;
  }

  /**
   * For the log: shows no more than it has.
   *
   * @param {Coverage} places
   * @returns {Coverage}  what it shows
   */
  settle(places) {
    if (!places.containsAll(this.#places)) {
      this.#places = this.#places.intersection(places);
      this.#changes += 1;
    }
    return this.#places;
  }

  /** The oldest place that is held or shown; `Infinity` if there is none. */
  get #low() { return this.#places.first ?? Infinity; }

  get #content() {
    const { version } = this;
    if (this.#read?.version !== version) {
      const values = this.#log.values
        .filter(({ message }) => this.#places.contains(message.seq))
        .map((value) => {
          const message = this.#log.shown(value.message);
          return message === value.message ? value : { ...value, message };
        });
      const index = new Map(values.map(({ message }, at) => [message.id, at]));
      this.#read = { version, values, index };
    }
    return this.#read;
  }

  /** What the view shows, in indices of `values`. @returns {Range | undefined} */
  get #visibleRange() {
    if (this.#visible === null) return undefined;
    const [first, last] = this.#visible.map((id) => this.#content.index.get(id));
    return first === undefined || last === undefined ? undefined : [first, last + 1];
  }

  /**
   * @param {[number, number][]} covers
   * @param {Gap[]} gaps
   */
  #begin(covers, gaps) {
    this.clear();
    this.add(new Coverage(covers));
    this.#declare(gaps);
    this.#followsEnd = true;
    this.#isLoaded = true;
  }

  /** @param {Gap[]} gaps */
  #declare(gaps) { this.#bottom = Math.min(this.#bottom, ...gaps.map(({ after }) => after + 1)); }

  /**
   * Whether a change is of a message in a hole, that is not even shown: a run of its own for it
   * would only part the hole.
   *
   * @param {Delta} delta
   * @param {number} end  the newest place that was known before
   */
  #isStray({ type, via = 'live', message: { seq } }, end) {
    if (type === 'inserted' || via !== 'live') return false;
    return !(this.#followsEnd && seq > end) && !this.#places.contains(seq);
  }

  /**
   * What is far from the view, on the side that a walk for more leaves behind.
   *
   * @param {PageKind} kind
   * @param {Range} visible
   * @returns {Range}
   */
  #leftBehind(kind, visible) {
    if (kind === 'before') return this.#newerThan(visible);
    if (kind === 'after') return this.#olderThan(visible);
    if (kind !== 'around') return [0, 0];
    const [first] = visible;
    const from = this.values[first].message.seq;
    const left = this.coverage.runs.slice(0, -1).findLast(([, high]) => high < from);
    return [0, left ? this.values.findIndex(({ message: { seq } }) => seq > left[1]) : 0];
  }

  /**
   * The newest messages stay where it follows the end, so that a jump there costs nothing.
   *
   * @param {Range} visible
   * @returns {Range}
   */
  #newerThan([, end]) {
    return [end + KEPT_BESIDE, this.values.length - (this.#followsEnd ? KEPT_BESIDE - 1 : 0)];
  }

  /**
   * @param {Range} visible
   * @returns {Range}
   */
  #olderThan([first]) { return [0, first - KEPT_BESIDE]; }

  /**
   * Lets go of messages. What is missing below those that are left is history then.
   *
   * @param {Range[]} ranges  indices of `values`, the newer first
   */
  #cut(...ranges) {
    const { values } = this;
    const low = this.#low;
    for (const [from, to] of ranges) {
      if (from >= to) continue;
      const isEnd = to === values.length;
      if (isEnd) this.#followsEnd = false;
      this.#places = this.#places.subtracting(Coverage.interval(
        from === 0 ? 0 : values[from].message.seq,
        isEnd ? Number.MAX_SAFE_INTEGER : values[to - 1].message.seq,
      ));
      this.#changes += 1;
    }
    if (this.#low > low && this.#low !== Infinity) this.#bottom = this.#low;
  }
}
