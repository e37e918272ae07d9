import { isFillable } from './gaps.js';
import { RequestError } from './request-error.js';

/** @import { Anchor, MessageWindow, PageRange } from './message-window.js' */
/** @import { Gap, PageResult } from './types.js' */

/**
 * The pages of history that one conversation fetches into its window, each under a key of its own,
 * so that no page is asked for twice at once, and a failure stays known until somebody asks again.
 */
export class Pages {
  /** @type {Map<string, 'busy' | string>} */
  #states = new Map();
  /** Counts the places at which the window began anew: what was asked at another is not taken. */
  #beginnings = 0;
  #window;
  #limit;
  #subscription;
  #request;
  #taken;
  #changed;

  /**
   * @param {object} options
   * @param {MessageWindow} options.window
   * @param {number} options.limit  how many messages a page holds, unless it is asked for another
   * @param {() => number} options.subscription  the number of the present one
   * @param {(method: string, params: object,
   *   taking?: import('./pending.js').Taking) => Promise<*>} options.request  of the conversation
   * @param {(page: PageResult) => void} options.taken  called when the window holds a page
   * @param {() => void} options.changed  called after each change of a state, and of what is shown
   */
  constructor({ window, limit, subscription, request, taken, changed }) {
    this.#window = window;
    this.#limit = limit;
    this.#subscription = subscription;
    this.#request = request;
    this.#taken = taken;
    this.#changed = changed;
  }

  /** Whether there is history before the oldest message shown. */
  get hasOlder() {
    const { head, oldest } = this.#window;
    return head !== null && oldest !== undefined && oldest > head.floor;
  }

  /** `idle`, `busy`, or why the last page before the oldest message failed. */
  get older() { return this.#state('older'); }

  /**
   * `idle`, `busy`, or why a gap could not be filled.
   *
   * @param {Gap} gap
   */
  filling({ after }) { return this.#state(`gap ${after}`); }

  /** Forgets what failed: a new session may do better. */
  clear() { this.#states.clear(); }

  /** The window begins at another place: pages that are under way are not taken. */
  beginAnew() { this.#beginnings += 1; }

  /**
   * Fetches the page before the oldest message shown.
   *
   * @param {number} [limit]  of messages
   */
  async loadOlder(limit) {
    if (this.hasOlder) await this.#load('older', { before: this.#window.oldest, limit });
  }

  /**
   * Fetches what is missing nearest to the newest end.
   *
   * @param {number} [limit]  of messages
   */
  async loadNewer(limit) {
    const gap = this.#window.gaps.at(-1);
    if (!gap || !isFillable(gap)) return;
    const isAtHead = gap.before > (this.#window.head?.seq ?? 0);
    await this.fill(gap, isAtHead ? 'older' : 'newer', limit);
  }

  /**
   * Fetches one page of a gap; what remains of it stays a gap.
   *
   * @param {Gap} gap
   * @param {'newer' | 'older'} end  from which it closes
   * @param {number} [limit]  of messages
   */
  async fill({ after, before }, end, limit) {
    const order = end === 'newer' ? 'desc' : 'asc';
    await this.#load(`gap ${after}`, { after, before, order, limit });
  }

  /**
   * Fetches a place with its neighbours.
   *
   * @param {Anchor} anchor
   * @returns {Promise<boolean>}  whether the page came
   */
  async loadAround(anchor) {
    const key = `around ${JSON.stringify(anchor)}`;
    await this.#load(key, { around: anchor });
    return this.#state(key) === 'idle';
  }

  /** @param {string} key */
  #state(key) { return this.#states.get(key) ?? 'idle'; }

  /**
   * Fetches a page, unless one is under way for the key.
   *
   * @param {string} key
   * @param {PageRange & {limit?: number}} range
   */
  async #load(key, range) {
    if (this.#state(key) === 'busy') return;
    this.#states.set(key, 'busy');
    this.#changed();
    try {
      await this.#fetch(range);
      this.#states.delete(key);
    } catch (error) {
      if (RequestError.is(error, 'disconnected')) this.#states.delete(key);
      else this.#states.set(key, /** @type {Error} */ (error).message);
    }
    this.#changed();
  }

  /** @param {PageRange & {limit?: number}} range */
  #fetch({ limit = this.#limit, ...range }) {
    const [subscription, beginnings] = [this.#subscription(), this.#beginnings];
    const show = (/** @type {PageResult} */ { messages, head }) => {
      if (beginnings !== this.#beginnings) return;
      this.#window.show(messages, head);
      this.#changed();
    };
    return this.#request('fetchMessages', { ...range, limit }, {
      cached: show,
      final: (/** @type {PageResult} */ result) => {
        // A page that was asked for before the subscription was renewed is not part of the `have`
        // that it was renewed with, so changes since then would be missed.
        if (subscription !== this.#subscription() || beginnings !== this.#beginnings) {
          show(result);
          return;
        }
        this.#window.fetched(result, range);
        this.#taken(result);
      },
    });
  }
}
