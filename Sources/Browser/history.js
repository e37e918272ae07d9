import { Conversation } from './conversation.js';
import { scenarioOf } from './history-scenario.js';

/** @import { ChatClient } from './chat-client.js' */
/** @import { HistoryScenario } from './history-scenario.js' */
/** @import { Anchor } from './message-window.js' */
/** @import { ConversationRecord, Message, Reason } from './types.js' */

/**
 * Who is told. `historyDidChange`: the rows, the banner or a loading state are others.
 * `historyMoveTo`: the view should move to a message and not take that for scrolling; it sets
 * `isProgrammaticallyScrolling` while it does.
 *
 * @typedef {object} HistoryDelegate
 * @property {(history: History) => void} historyDidChange
 * @property {(history: History, message: string, highlight: boolean) => void} historyMoveTo
 */

/** How many messages are loaded at once. */
const COUNT = 25;

/**
 * The history of one conversation, opened and walked by scenarios: 1 with unread messages, 2
 * without, 3 and 4 by scrolling to the top and the bottom, 5 coming back after an outage, 6 jumping
 * to a message, 7 to a moment.
 */
export class History {
  /** The view moves by itself, so that what it passes is no reason to load anything. */
  isProgrammaticallyScrolling = false;
  /** Who is told. @type {HistoryDelegate | null} */
  delegate = null;

  #record;
  #conversation;
  /** @type {(() => void) | null} */
  #stop = null;
  /** @type {HistoryScenario | null} */
  #scenario = null;
  /** @type {string | null} */
  #bannerAfter = null;
  #loading = { top: false, bottom: false, center: false };
  #requestCount = 0;
  #hasOpened = false;
  /** The newest message when the connection went. @type {string | null} */
  #lastBefore = null;

  /**
   * @param {ChatClient} client
   * @param {ConversationRecord} record  as a reply gave it, with the reader's own part
   * @param {object} [options]
   * @param {number} [options.count]  how many messages are loaded at once, from 1 to 1,000
   */
  constructor(client, record, { count = COUNT } = {}) {
    this.#record = record;
    this.#conversation = new Conversation(client.connection, record.id, {
      store: client.store, limit: count,
    });
  }

  /** How the history was opened; `null` before that. */
  get scenario() { return this.#scenario; }

  /** The messages, oldest first. @returns {Message[]} */
  get messages() {
    return this.#conversation.items.flatMap((item) => (
      item.kind === 'message' ? [item.message] : []
    ));
  }

  /** The message below which the unread banner stands; `null` for no banner. */
  get unreadBannerAfter() { return this.#bannerAfter; }

  /** Where something is being loaded: above the rows, below them, or in place of them. */
  get loading() { return { ...this.#loading }; }

  /** Requests for pages that were made; a jump to a message that is there makes none. */
  get requestCount() { return this.#requestCount; }

  /** Whether there are older messages, and newer ones that are not here. */
  get hasMore() {
    const { hasMore, gaps } = this.#conversation;
    return { before: this.#conversation.hasOlder, after: hasMore.after || gaps.length > 0 };
  }

  /** Opens the history, by the scenario that fits. */
  open() {
    if (this.#stop) return;
    this.#scenario = scenarioOf(this.#record);
    this.#loading.center = true;
    this.#stop = this.#conversation.changed.listen((reason) => this.#changed(reason));
    this.#conversation.open();
  }

  /** Follows the conversation no more. */
  close() {
    this.#stop?.();
    this.#stop = null;
    this.#conversation.close();
  }

  /** Scenario 3: the view was scrolled near its top. */
  async scrolledToTop() {
    const { top, center } = this.#loading;
    if (this.isProgrammaticallyScrolling || top || center || !this.hasMore.before) return;
    await this.#load('top', () => this.#conversation.loadOlder());
  }

  /** Scenario 4: the view was scrolled near its bottom. */
  async scrolledToBottom() {
    const { bottom, center } = this.#loading;
    if (this.isProgrammaticallyScrolling || bottom || center) return;
    await this.#loadNewer();
  }

  /**
   * Scenario 6: moves to a message. One that is there is moved to at once, without a request;
   * otherwise everything is cleared and loaded anew around it. Scenario 7: moves to a moment.
   *
   * @param {string | {time: string}} target  a message's id, or a moment
   * @returns {Promise<boolean>}  whether it got there
   */
  async moveTo(target) {
    if (typeof target === 'string' && this.messages.some(({ id }) => id === target)) {
      this.delegate?.historyMoveTo(this, target, true);
      return true;
    }
    if (!await this.#jump(target)) return false;
    const message = typeof target === 'string' ? target : this.#nearest(target.time);
    if (message === undefined) return false;
    this.delegate?.historyMoveTo(this, message, typeof target === 'string');
    return true;
  }

  /**
   * Clears everything and loads what is around a place.
   *
   * @param {Anchor} anchor
   */
  async #jump(anchor) {
    this.#conversation.clear();
    return this.#load('center', () => this.#conversation.loadAround(anchor));
  }

  /**
   * @template Result
   * @param {'top' | 'bottom' | 'center'} where
   * @param {() => Promise<Result>} load
   */
  async #load(where, load) {
    this.#requestCount += 1;
    this.#loading[where] = true;
    this.#tell();
    try {
      return await load();
    } finally {
      this.#loading[where] = false;
      this.#tell();
    }
  }

  async #loadNewer() {
    if (this.#conversation.gaps.length === 0) return;
    await this.#load('bottom', () => this.#conversation.loadNewer());
  }

  /** @param {Reason} reason */
  #changed(reason) {
    const { phase } = this.#conversation;
    if (phase === 'waiting') this.#lastBefore ??= this.messages.at(-1)?.id ?? null;
    if (phase === 'live' && (reason === 'began' || reason === 'resumed')) {
      if (this.#hasOpened) this.#cameBack(); else this.#opened();
    }
    this.#tell();
  }

  /** The subscription has begun, with the newest messages. */
  async #opened() {
    this.#hasOpened = true;
    this.#lastBefore = null;
    this.#loading.center = false;
    const scenario = this.#scenario;
    switch (scenario?.kind) {
      case 'unread':
        if (!this.#conversation.at(scenario.lastSeen)) await this.#jump(scenario.lastSeen);
        this.#showBanner(scenario.lastSeen);
        break;
      case 'moveToTime':
        await this.moveTo({ time: scenario.time });
        break;
      case 'neverOpened':
        if (this.hasMore.before) await this.#jump(this.#conversation.have?.head.floor ?? 1);
        this.#moveTo(this.messages[0]?.id);
        break;
      default:
        this.#moveTo(this.messages.at(-1)?.id);
    }
  }

  /**
   * Scenario 5: the connection came back. What is new has a banner above it, and as much of it as
   * fits one page is loaded; the rest comes by scrolling.
   */
  #cameBack() {
    const last = this.#lastBefore;
    this.#lastBefore = null;
    if (last === null) return;
    const isNew = this.messages.at(-1)?.id !== last || this.#conversation.gaps.length > 0;
    if (isNew) this.#bannerAfter = last;
    this.#loadNewer();
  }

  /** @param {number} seen */
  #showBanner(seen) {
    const message = this.messages.findLast(({ seq }) => seq <= seen);
    if (message === undefined) return;
    this.#bannerAfter = message.id;
    this.#moveTo(message.id);
    this.#tell();
  }

  /** @param {string | undefined} message */
  #moveTo(message) {
    if (message !== undefined) this.delegate?.historyMoveTo(this, message, false);
  }

  /**
   * The first message at or after a moment, or the last one.
   *
   * @param {string} time
   */
  #nearest(time) {
    const { messages } = this;
    return (messages.find(({ createdAt }) => createdAt >= time) ?? messages.at(-1))?.id;
  }

  #tell() { this.delegate?.historyDidChange(this); }
}
