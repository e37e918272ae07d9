import { hasHistory, loadFor, loadForGap } from './loading.js';
import { RequestError } from './request-error.js';
import { pageLimit } from './window-pages.js';

/** @import { Load, Want } from './loading.js' */
/** @import { MessageLog } from './message-log.js' */
/** @import { Anchor, MessageWindow, PageRange } from './message-window.js' */
/** @import { Gap, PageResult } from './types.js' */

/**
 * The pages of history that one conversation fetches into its window, each under a key of its own,
 * so that no page is asked for twice at once, and a failure stays known until somebody asks again.
 */
export class Pages {
  /** @type {Map<string, 'busy' | Error>} */
  #states = new Map();
  /** What is under way, by what was asked for. @type {Map<string, Promise<void>>} */
  #asked = new Map();
  /** What was wished for without a session. @type {Map<'older' | 'newer', number | undefined>} */
  #wishes = new Map();
  /** Counts the places at which the window began anew: what was asked at another is not taken. */
  #beginnings = 0;
  #log;
  #window;
  #limit;
  #subscription;
  #request;
  #take;
  #changed;

  /**
   * @param {object} options
   * @param {MessageLog} options.log
   * @param {MessageWindow} options.window
   * @param {() => number} options.limit  how many messages a page holds, unless it is asked for
   *   another
   * @param {() => number} options.subscription  the number of the present one
   * @param {(method: string, params: object,
   *   taking?: import('./pending.js').Taking) => Promise<*>} options.request  of the conversation
   * @param {(page: PageResult, takeIn: () => void) => void} options.take  has a page taken in
   * @param {() => void} options.changed  called after each change of a state, and of what is shown
   */
  constructor({ log, window, limit, subscription, request, take, changed }) {
    this.#log = log;
    this.#window = window;
    this.#limit = limit;
    this.#subscription = subscription;
    this.#request = request;
    this.#take = take;
    this.#changed = changed;
  }

  /** Whether there is history before the oldest message held, that can be asked for. */
  get hasOlder() {
    const { known, isLoaded } = this.#window;
    return isLoaded && known !== null && hasHistory(known);
  }

  /** `idle`, `busy`, or why the last page before the oldest message failed. */
  get older() { return this.#state('older'); }

  /**
   * `idle`, `busy`, or why a gap could not be filled.
   *
   * @param {Gap} gap
   */
  filling({ after }) { return this.#state(`gap ${after}`); }

  /** The error with which the last page before the oldest message failed. */
  get olderError() { return this.#error('older'); }

  /**
   * The error with which a gap could not be filled.
   *
   * @param {Gap} gap
   */
  fillingError({ after }) { return this.#error(`gap ${after}`); }

  /** Forgets what failed: a new session may do better. */
  clear() { this.#states.clear(); }

  /** The window begins at another place: pages that are under way are not taken. */
  beginAnew() { this.#beginnings += 1; }

  /** No view looks at the window now. */
  forgetWishes() { this.#wishes.clear(); }

  /** Loads what was wished for while there was no session. */
  loadWished() {
    const wishes = [...this.#wishes];
    this.#wishes.clear();
    for (const [name, limit] of wishes) {
      if (name === 'older') this.loadOlder(true, limit); else this.loadNewer(true, limit);
    }
  }

  /**
   * Fetches the page before the oldest message shown.
   *
   * @param {boolean} isLive  false: as soon as there is a session
   * @param {number} [limit]  of messages
   */
  async loadOlder(isLive, limit) {
    if (!isLive) {
      this.#wishes.set('older', limit);
      return;
    }
    const { oldest } = this.#window;
    await this.#loadFor('older', { up: oldest === undefined ? null : [oldest, oldest] }, limit);
  }

  /**
   * Fetches what is missing nearest to what is visible, towards the newest end.
   *
   * @param {boolean} isLive  false: as soon as there is a session
   * @param {number} [limit]  of messages
   */
  async loadNewer(isLive, limit) {
    if (!isLive) this.#wishes.set('newer', limit);
    else await this.#loadFor('newer', { down: this.#window.visiblePlaces }, limit);
  }

  /**
   * Fetches what follows the last message seen.
   *
   * @param {number} seen
   * @param {number} [limit]  of messages
   */
  async loadAbove(seen, limit) { await this.#loadFor('banner', { banner: seen }, limit); }

  /**
   * Fetches one page of a gap.
   *
   * @param {Gap} gap
   * @param {'newer' | 'older'} end  from which it closes
   * @param {number} [limit]  of messages
   */
  async fill(gap, end, limit) {
    const { known } = this.#window;
    const load = known && loadForGap(gap, end, known);
    if (load) await this.#load(`gap ${gap.after}`, { ...load, limit });
  }

  /**
   * Fetches a place with its neighbours.
   *
   * @param {Anchor} anchor
   * @param {boolean} elsewhere  in place of all that is shown
   * @returns {Promise<boolean>}  whether the page came
   */
  async loadAround(anchor, elsewhere) {
    const key = `around ${JSON.stringify(anchor)}`;
    await this.#load(key, { around: anchor }, elsewhere);
    return this.#state(key) === 'idle';
  }

  /** @param {string} key */
  #state(key) {
    const state = this.#states.get(key) ?? 'idle';
    return typeof state === 'string' ? state : state.message;
  }

  /** @param {string} key */
  #error(key) {
    const state = this.#states.get(key);
    return state instanceof RequestError ? state : null;
  }

  /**
   * @param {string} key
   * @param {Want} want
   * @param {number} [limit]  of messages
   */
  async #loadFor(key, want, limit) {
    const { known } = this.#window;
    const load = known && loadFor(want, known);
    if (load) await this.#load(key, { ...load, limit });
  }

  /**
   * Fetches a page, unless the same is under way, or one for the key.
   *
   * @param {string} key
   * @param {PageRange & {limit?: number}} range
   * @param {boolean} [elsewhere]
   */
  async #load(key, range, elsewhere = false) {
    if (this.#state(key) === 'busy') return;
    const name = `${elsewhere} ${JSON.stringify(range)}`;
    const underWay = this.#asked.get(name);
    if (underWay) {
      await underWay.catch(() => {});
      return;
    }
    this.#states.set(key, 'busy');
    this.#changed();
    const page = this.#fetch(range, elsewhere);
    this.#asked.set(name, page);
    try {
      await page;
      this.#states.delete(key);
    } catch (error) {
      const isLost = RequestError.is(error, 'disconnected');
      if (isLost && (key === 'older' || key === 'newer')) this.#wishes.set(key, range.limit);
      if (isLost && !elsewhere && !key.startsWith('around')) this.#states.delete(key);
      else this.#states.set(key, /** @type {Error} */ (error));
    } finally {
      this.#asked.delete(name);
    }
    this.#changed();
  }

  /**
   * @param {PageRange & {limit?: number}} range
   * @param {boolean} elsewhere
   */
  #fetch({ limit = this.#limit(), ...range }, elsewhere) {
    const [subscription, beginnings] = [this.#subscription(), this.#beginnings];
    const { generation } = this.#log;
    const show = (/** @type {PageResult} */ { messages, head }) => {
      // It may be of a branch of the log that is lost.
      if (generation !== this.#log.generation) return;
      if (beginnings !== this.#beginnings || elsewhere) return;
      this.#log.show(messages, { head, asker: this.#window });
      this.#changed();
    };
    return this.#request('fetchMessages', { ...range, limit: pageLimit(limit) }, {
      cached: show,
      final: (/** @type {PageResult} */ result) => {
        // A page that was asked for before the subscription was renewed is not part of the `have`
        // that it was renewed with, so changes since then would be missed.
        if (subscription !== this.#subscription() || beginnings !== this.#beginnings) {
          show(result);
          return;
        }
        this.#take(result, () => {
          if (elsewhere) {
            this.beginAnew();
            this.#window.clear();
          }
          this.#log.fetched(result, range, this.#window);
        });
      },
    });
  }
}
