import { Conversation } from './conversation.js';
import { Face } from './face.js';
import { scenarioOf } from './history-scenario.js';
import { messagesOf } from './message-deltas.js';
import { guarded } from './report.js';

/** @import { ChatClient } from './chat-client.js' */
/** @import { HistoryScenario } from './history-scenario.js' */
/** @import { Anchor } from './message-window.js' */
/** @import { ListMessage } from './timeline.js' */
/** @import { ConversationRecord, Reason } from './types.js' */

/**
 * Who is told. `historyDidChange`: the rows, the banner or a loading state are others.
 * `historyMoveTo`: the view should move to a message and not take that for scrolling; it sets
 * `isProgrammaticallyScrolling` while it does. `historyDidEnd`: the history no longer follows its
 * conversation, see `ending`.
 *
 * @typedef {object} HistoryDelegate
 * @property {(history: History) => void} historyDidChange
 * @property {(history: History, message: string, highlight: boolean) => void} historyMoveTo
 * @property {(reason: string, history: History) => void} [historyDidEnd]
 */

/** How many messages are loaded at once. */
const COUNT = 25;

/**
 * The history of one conversation by scenarios: opening with unread messages (1) or without (2),
 * scrolling to the top (3) or bottom (4), coming back after an outage (5), jumping to a message (6)
 * or a moment (7).
 */
export class History extends Face {
  /** Whether the view moves by itself; what it passes then loads nothing. */
  isProgrammaticallyScrolling = false;
  /** Who is told. @type {HistoryDelegate | null} */
  delegate = null;

  #client;
  #record;
  /** @type {(() => void) | null} */
  #stop = null;
  /** @type {HistoryScenario | null} */
  #scenario = null;
  /** The last message seen: the banner stands above the place after it. @type {number | null} */
  #seen = null;
  #loading = { top: false, bottom: false, center: false };
  #requestCount = 0;
  #hasOpened = false;
  #isJumping = false;
  /**
   * The newest place that was held, and that of the log, when the connection went or the view, if
   * the list followed the end.
   *
   * @type {{held: number, head: number} | null}
   */
  #before = null;

  /**
   * @param {ChatClient} client
   * @param {ConversationRecord} record  as a reply gave it
   * @param {object} [options]
   * @param {number} [options.count]  messages loaded at once, from 1 to 1,000
   */
  constructor(client, record, { count = COUNT } = {}) {
    super(new Conversation(client.connection, record.id, { store: client.store, limit: count }));
    this.#client = client;
    this.#record = record;
  }

  /** How the history was opened; `null` before that. */
  get scenario() { return this.#scenario; }

  /**
   * The messages, oldest first, then drafts, without `seq`; none while it moves elsewhere.
   *
   * @returns {ListMessage[]}
   */
  get messages() {
    if (this.#isJumping) return [];
    const { items, id } = this.conversation;
    return messagesOf(items, id, this.#client.connection.user).map(({ message }) => message);
  }

  /** The message below which the unread banner stands; `null` if none is here. */
  get unreadBannerAfter() { return this.#hasNews ? this.#idAt(this.#seen) : null; }

  /** The message above which the unread banner stands; `null` if none is here. */
  get unreadBannerBefore() {
    return this.#seen !== null && this.#hasNews ? this.#idAt(this.#seen + 1) : null;
  }

  /** What is being loaded: above the rows, below them, or in place of them. */
  get loading() { return { ...this.#loading }; }

  /** Requests for pages that were made. */
  get requestCount() { return this.#requestCount; }

  /** Whether there are older messages, and newer ones or holes. */
  get hasMore() { return this.conversation.hasMore; }

  /**
   * Opens the history by the scenario that fits. A closed one goes on where it was, with a banner
   * above what is new.
   *
   * @param {ConversationRecord} [record]  of a later reply: opens anew by it
   */
  open(record) {
    // What it ended with is gone, and with it the place.
    if (record !== undefined || this.ending !== null) this.#forgetPlace();
    if (this.#stop) return;
    this.#record = record ?? this.#record;
    if (!this.#hasOpened) {
      const read = Math.max(this.#record.lastReadSeq ?? 0, this.conversation.lastReadSeq ?? 0);
      this.#scenario = scenarioOf({ ...this.#record, ...(read > 0 && { lastReadSeq: read }) });
      this.#loading.center = true;
    }
    this.#stop = this.conversation.changed.listen((reason) => this.#changed(reason));
    this.conversation.open();
  }

  /** Stops following; `open` goes on. */
  close() {
    if (this.#stop && this.#hasOpened) this.#leave();
    this.#stop?.();
    this.#stop = null;
    this.#loading.center = false;
    this.conversation.close();
  }

  /** Scenario 3: the view was scrolled near its top. */
  async scrolledToTop() {
    const { top, center } = this.#loading;
    if (this.isProgrammaticallyScrolling || top || center || !this.hasMore.before) return;
    await this.#load('top', () => this.conversation.loadOlder());
  }

  /** Scenario 4: the view was scrolled near its bottom. */
  async scrolledToBottom() {
    const { bottom, center } = this.#loading;
    if (this.isProgrammaticallyScrolling || bottom || center || !this.hasMore.after) return;
    await this.#load('bottom', () => this.conversation.loadNewer());
  }

  /**
   * Scenarios 6 and 7: moves to a message, without a request if it is here, or to a moment.
   * Otherwise all is loaded anew around it; if that fails, what was here is back.
   *
   * @param {string | {time: string}} target  a message's id, or a moment
   * @returns {Promise<boolean>}  whether it got there
   */
  async moveTo(target) {
    if (typeof target === 'string' && this.messages.some(({ id }) => id === target)) {
      guarded(() => this.delegate?.historyMoveTo(this, target, true));
      return true;
    }
    if (!await this.#jump(target)) return false;
    const message = typeof target === 'string' ? target : this.#nearest(target.time);
    if (message === undefined) return false;
    guarded(() => this.delegate?.historyMoveTo(this, message, typeof target === 'string'));
    return true;
  }

  /**
   * Clears everything and loads what is around a place.
   *
   * @param {Anchor} anchor
   */
  async #jump(anchor) {
    this.#isJumping = true;
    const jump = async () => {
      const hasCome = await this.conversation.loadAround(anchor, { elsewhere: true });
      this.#isJumping = false;
      return hasCome;
    };
    return this.#load('center', jump);
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

  /** @param {Reason} reason */
  #changed(reason) {
    const { phase, endingReason } = this.conversation;
    if (endingReason !== null) {
      this.#ended(endingReason);
      return;
    }
    if (phase === 'waiting') this.#leave();
    if (phase === 'live' && (reason === 'began' || reason === 'resumed')) {
      if (this.#hasOpened) this.#cameBack(reason === 'began'); else this.#opened();
    }
    this.#tell();
  }

  /** What comes from here on was missed. */
  #leave() {
    const { followsEnd, have, items } = this.conversation;
    if (!followsEnd || !have || this.#before !== null) return;
    const last = items.findLast((item) => item.kind === 'message' && item.isHeld);
    if (last?.kind === 'message') this.#before = { held: last.message.seq, head: have.head.seq };
  }

  #forgetPlace() {
    this.close();
    this.#hasOpened = false;
    [this.#before, this.#seen] = [null, null];
  }

  /** @param {string} reason */
  #ended(reason) {
    this.#stop?.();
    this.#stop = null;
    this.#loading = { top: false, bottom: false, center: false };
    this.#tell();
    guarded(() => this.delegate?.historyDidEnd?.(reason, this));
  }

  /** The subscription has begun, with the newest messages. */
  async #opened() {
    this.#hasOpened = true;
    this.#before = null;
    this.#loading.center = false;
    const scenario = this.#scenario;
    const floor = this.conversation.have?.head.floor ?? 1;
    switch (scenario?.kind) {
      case 'unread':
        await this.#openAt(Math.max(scenario.lastSeen, floor - 1), floor);
        break;
      case 'moveToTime':
        this.#hasOpened = await this.moveTo({ time: scenario.time }) || this.#isLive;
        break;
      case 'neverOpened':
        if (this.hasMore.before) await this.#jump(floor);
        this.#moveTo(this.messages[0]?.id);
        break;
      default:
        this.#moveTo(this.messages.at(-1)?.id);
    }
  }

  /**
   * Shows the place up to which was read, with a banner below it.
   *
   * @param {number} seen
   * @param {number} floor
   */
  async #openAt(seen, floor) {
    const place = Math.max(seen, floor);
    if (!this.conversation.at(place) && !await this.#jump(place)) {
      // The next session tries again, if it was the connection.
      this.#hasOpened = this.#isLive;
      return;
    }
    this.#seen = seen;
    this.#moveTo(this.unreadBannerAfter ?? this.unreadBannerBefore ?? undefined);
    this.#tell();
  }

  get #isLive() { return this.conversation.phase === 'live'; }

  /**
   * Scenario 5: the connection came back. What is new has a banner above it, and the first page of
   * it is loaded; the rest comes by scrolling. A reader who was not at the end keeps the earlier
   * banner: all that is new stands behind it.
   *
   * @param {boolean} isOther  whether the list began anew
   */
  #cameBack(isOther) {
    const before = this.#before;
    this.#before = null;
    if (isOther) this.#seen = null;
    const head = this.conversation.have?.head;
    if (isOther || before === null || head === undefined || head.seq <= before.head) return;
    const seen = Math.max(before.held, head.floor - 1);
    this.#seen = seen;
    if (this.conversation.gaps.length > 0) {
      this.#load('bottom', () => this.conversation.loadAbove(seen));
    }
  }

  /** Whether there is, or may be, something to read behind the place that was seen last. */
  get #hasNews() {
    const seen = this.#seen ?? Infinity;
    const { user } = this.#client.connection;
    return !this.conversation.followsEnd || this.conversation.items.some((item) => {
      if (item.kind === 'gap') return item.gap.before > seen + 1;
      if (item.kind === 'draft') return false;
      const { seq, deleted, author } = item.message;
      return seq > seen && !deleted && author !== user;
    });
  }

  /**
   * The id of the message at a place; null if it is not here.
   *
   * @param {number | null} place
   */
  #idAt(place) {
    return place === null || this.#isJumping ? null : this.conversation.at(place)?.id ?? null;
  }

  /** @param {string | undefined} message */
  #moveTo(message) {
    if (message !== undefined) guarded(() => this.delegate?.historyMoveTo(this, message, false));
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

  #tell() { guarded(() => this.delegate?.historyDidChange(this)); }
}
