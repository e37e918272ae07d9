import { nextLoad } from '../preload.js';
import { ScrollView } from '../scroll-view.js';
import { Announcer } from './announcer.js';
import { beginningElement, beginningSignature } from './beginning.js';
import { adopt, element, setAttribute, setText, soon } from './dom.js';
import { Folding } from './folding.js';
import { rowElement, rowSignature } from './message-row.js';
import { dayOf } from './moments.js';
import { listRows, newestMessage } from './rows.js';

/** @import { Conversation } from '../conversation.js' */
/** @import { Item } from '../items.js' */
/** @import { Gap, Message } from '../types.js' */
/** @import { RowContext } from './message-row.js' */
/** @import { Row } from './rows.js' */

/**
 * @typedef {{kind: 'beginning', key: string}} BeginningRow
 * @typedef {{id: string, hash: string, isLoose: boolean, row: Row | BeginningRow}} ListRow
 */

/** Who has read the newest message is named in conversations of at most this many people. */
const SEEN_LIMIT = 20;
/** The line above what is unread stands this far below the top, in pixels. */
const UNREAD_INSET = 80;
/** A message that was jumped to is marked for so long, in milliseconds. */
const FOUND_TIME = 2400;

/**
 * The messages of one conversation as rows that scroll. It opens where reading goes on, fetches
 * what comes near the view, and says up to where was read.
 */
export class MessageList {
  #conversation;
  #context;
  #onView;
  #onLost;
  #view;
  #announcer = new Announcer();
  #folding;
  #isPlaced = false;
  #isUpward = true;
  #lastTop = 0;
  /** @type {number | null} */
  #unreadAfter = null;
  #newest = 0;
  #seenNewest = 0;
  #scheduleUpdate = soon(() => this.#update());
  /** @type {(() => void)[]} */
  #stops = [];

  /**
   * @param {object} options
   * @param {Conversation} options.conversation
   * @param {string | null} options.user
   * @param {(message: Message) => void} options.onReply
   * @param {(message: Message) => void} options.onEdit
   * @param {(message: Message) => void} options.onDelete
   * @param {(first: number, last: number) => void} options.onView  these places are in view
   * @param {() => void} options.onLost  a message that somebody asked for can't be shown now
   */
  constructor({ conversation, user, onReply, onEdit, onDelete, onView, onLost }) {
    this.#conversation = conversation;
    this.#onView = onView;
    this.#onLost = onLost;
    this.#folding = new Folding(user);
    /** @type {RowContext} */
    this.#context = {
      user,
      nameOf: (id) => conversation.people.get(id)?.name ?? id,
      filling: (gap) => conversation.filling(gap),
      onFill: (gap) => conversation.fill(gap, this.#isUpward ? 'newer' : 'older'),
      onResend: (id) => conversation.resend(id),
      onDiscard: (id) => conversation.discard(id),
      onQuote: ({ seq }) => this.reveal(seq),
      onReveal: (id) => {
        this.#folding.reveal(id);
        this.#unfolded(id);
      },
      onHide: (id) => {
        this.#folding.hide(id);
        this.#unfolded(id);
      },
      onReply,
      onEdit,
      onDelete,
    };
    this.scroller = element('div', {
      class: 'scroller', role: 'feed', 'aria-label': 'Messages', tabindex: 0,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    });
    /** @type {ScrollView<ListRow>} */
    this.#view = new ScrollView({
      element: this.scroller, draw: (item, known) => this.#draw(item, known),
    });
    this.jump = element('button', {
      type: 'button', class: 'jump', hidden: true, onclick: () => this.#jumpToEnd(),
    });
    /** What to put on the page. */
    this.element = element('div', { class: 'messages' },
      this.scroller, this.jump, this.#announcer.element);
    this.#watch();
  }

  /** Stops following the conversation. */
  dispose() {
    for (const stop of this.#stops) stop();
    this.#view.dispose();
  }

  /** Goes to the newest message and stays there. */
  scrollToEnd() { this.#view.scrollToEnd(); }

  /** The line above what was unread has served: the user wrote something. */
  clearUnread() {
    this.#unreadAfter = null;
    this.#scheduleUpdate();
  }

  /**
   * Shows a message, fetching it with its neighbours if it is not here.
   *
   * @param {number} seq
   * @returns {Promise<boolean>}  whether it could be shown
   */
  async reveal(seq) {
    const wasHere = this.#conversation.at(seq) !== undefined;
    const isHere = await this.#conversation.loadAround(seq);
    if (!isHere) {
      this.#onLost();
      return false;
    }
    const message = this.#conversation.at(seq);
    if (message?.deleted) this.#folding.reveal(message.id);
    this.#update();
    const id = this.#rowOf(seq)?.id;
    if (id === undefined) return false;
    this.#isPlaced = true;
    if (wasHere) await this.#view.scrollToItemAnimated(id, 'center');
    else this.#view.scrollToItem(id, 'center');
    const row = this.#view.row(id);
    if (row) {
      row.dataset.found = 'true';
      row.focus({ preventScroll: true });
      setTimeout(() => { delete row.dataset.found; }, FOUND_TIME);
    }
    return true;
  }

  #watch() {
    const onVisible = () => this.#moved();
    document.addEventListener('visibilitychange', onVisible);
    this.#stops = [
      this.#conversation.changed.listen(this.#scheduleUpdate),
      this.#view.laidOut.listen(() => this.#moved()),
      () => document.removeEventListener('visibilitychange', onVisible),
    ];
    this.#scheduleUpdate();
  }

  #update() {
    const conversation = this.#conversation;
    const { items } = conversation;
    this.#noteNewest(items);
    if (!this.#isPlaced && this.#isReady) this.#markUnread();
    const rows = listRows(this.#folding.fold(items, conversation), {
      dayOf, user: this.#context.user, unreadAfter: this.#unreadAfter,
      seenBy: this.#seenBy(items.at(-1)),
    });
    setAttribute(this.scroller, 'aria-busy', conversation.older === 'busy' || undefined);
    this.#view.updateItems([this.#beginning(items), ...rows.map((row) => this.#listRow(row))]);
    if (!this.#isPlaced && this.#isReady && items.length > 0) this.#open();
  }

  /**
   * A group was unfolded or folded: the focus goes to where it was.
   *
   * @param {string} id  of one of its messages
   */
  #unfolded(id) {
    this.#update();
    const row = this.#view.items.find((item) => holds(item.row, id));
    const drawn = row && this.#view.row(row.id);
    const target = drawn?.matches('.fold') ? drawn.querySelector('button') : drawn;
    target?.focus({ preventScroll: true });
  }

  /** @param {Item[]} items */
  #noteNewest(items) {
    const last = items.findLast((item) => item.kind === 'message');
    const newest = last?.kind === 'message' ? last.message.seq : 0;
    if (this.#isPlaced && newest > this.#newest) {
      this.#announcer.announce(items, this.#newest, this.#context);
    }
    this.#newest = newest;
  }

  /**
   * @param {Item[]} items
   * @returns {ListRow}
   */
  #beginning(items) {
    const hash = beginningSignature(this.#conversation, items);
    return { id: 'beginning', hash, isLoose: true, row: { kind: 'beginning', key: 'beginning' } };
  }

  /**
   * @param {Row} row
   * @returns {ListRow}
   */
  #listRow(row) {
    const isLoose = row.kind !== 'item' || row.item.kind === 'gap';
    return { id: row.key, hash: rowSignature(row, this.#context), isLoose, row };
  }

  /**
   * @param {ListRow} item
   * @param {HTMLElement | null} known
   */
  #draw({ hash, row }, known) {
    const drawn = row.kind === 'beginning'
      ? beginningElement(hash, () => this.#conversation.loadOlder())
      : rowElement(row, this.#context);
    // The focus is kept by the element, so it takes the new content where it can.
    if (known === null || known.className !== drawn.className) return drawn;
    adopt(known, drawn);
    return known;
  }

  /** Whether it is known what to show first: the messages, and up to where they were read. */
  get #isReady() {
    const { phase, lastReadSeq } = this.#conversation;
    return phase === 'live' && lastReadSeq !== null;
  }

  /** Where reading goes on: a line above the first unread message, and the view there. */
  #markUnread() {
    const read = this.#conversation.lastReadSeq ?? 0;
    this.#unreadAfter = read > 0 && read < this.#newest ? read : null;
  }

  /** Brings the view to where reading goes on; that may have to be fetched first. */
  async #open() {
    this.#isPlaced = true;
    if (this.#unreadAfter === null) {
      this.#view.scrollToEnd();
      return;
    }
    const isHere = await this.#conversation.loadAround(this.#unreadAfter + 1);
    if (isHere) this.#update();
    // A row below the line, so that what stands above it can be seen to have been read.
    if (!this.#view.scrollToItem('unread', 'top', UNREAD_INSET)) this.#view.scrollToEnd();
  }

  /** The view moved, or what is in it changed. */
  #moved() {
    const { scrollTop } = this.scroller;
    if (scrollTop !== this.#lastTop) this.#isUpward = scrollTop < this.#lastTop;
    this.#lastTop = scrollTop;
    if (this.#view.isAtEnd) this.#seenNewest = this.#newest;
    const isAway = !this.#view.isAtEnd && this.#newest > 0;
    if (this.jump.hidden === isAway) this.jump.hidden = !isAway;
    const count = Math.max(0, this.#newest - this.#seenNewest);
    setText(this.jump, count > 0 ? `${count} new ↓` : 'Latest ↓');
    if (!this.#isPlaced || this.#view.isScrolling) return;
    this.#noteVisible();
    this.#preload();
    if (!document.hidden) this.#markRead();
  }

  #noteVisible() {
    const messages = this.#visibleRows.map(({ row }) => messageOf(row)).filter(Boolean);
    const [first, last] = [messages[0], messages.at(-1)];
    if (!first || !last) return;
    this.#conversation.noteVisible(first.id, last.id);
    this.#onView(first.seq, last.seq);
  }

  get #visibleRows() {
    const { visible, items } = this.#view;
    return visible === null ? [] : items.slice(visible.first, visible.last + 1);
  }

  #preload() {
    const { visible, items } = this.#view;
    const conversation = this.#conversation;
    if (visible === null) return;
    const load = nextLoad({
      count: items.length, gapAt: (index) => gapOf(items[index].row), ...visible,
      isUpward: this.#isUpward,
      hasOlder: conversation.hasOlder && conversation.older === 'idle',
      mayFill: (gap) => conversation.filling(gap) === 'idle',
    });
    if (load === 'older') conversation.loadOlder();
    else if (load !== null) conversation.fill(load.gap, load.end);
  }

  #markRead() {
    let seq = this.#view.isAtEnd ? this.#newest : 0;
    const last = this.#view.lastWhole;
    if (seq === 0 && last !== null) {
      const { items } = this.#view;
      const whole = items.slice(0, (this.#view.indexOf(last.id) ?? -1) + 1);
      seq = messageOf(whole.findLast(({ row }) => messageOf(row))?.row)?.seq ?? 0;
    }
    if (seq > (this.#conversation.lastReadSeq ?? 0)) this.#conversation.markRead(seq);
  }

  #jumpToEnd() {
    const last = this.#view.items.at(-1);
    if (last) this.#view.scrollToItemAnimated(last.id, 'bottom');
  }

  /**
   * Arrow keys go from message to message; `r`, `e` and Delete act on the one that has the focus.
   *
   * @param {KeyboardEvent} event
   */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const row = /** @type {HTMLElement | null} */ (target.closest('.message'));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const next = this.#neighbour(row, step);
      if (next) {
        event.preventDefault();
        next.focus();
      }
      return;
    }
    const message = row && row === target && this.#conversation.at(Number(row.dataset.seq));
    if (!message || message.deleted) return;
    const isOwn = message.author === this.#context.user;
    if (event.key === 'r') this.#context.onReply(message);
    else if (event.key === 'e' && isOwn) this.#context.onEdit(message);
    else if (event.key === 'Delete' && isOwn) this.#context.onDelete(message);
    else return;
    event.preventDefault();
  }

  /**
   * The message above or below one; without one the last that is in view.
   *
   * @param {HTMLElement | null} row
   * @param {number} step
   */
  #neighbour(row, step) {
    const drawn = /** @type {HTMLElement[]} */ ([...this.scroller.querySelectorAll('.message')]);
    if (row) return drawn[drawn.indexOf(row) + step];
    const { bottom } = this.scroller.getBoundingClientRect();
    return drawn.findLast((each) => each.getBoundingClientRect().bottom <= bottom + 1);
  }

  /** @param {number} seq */
  #rowOf(seq) { return this.#view.items.find(({ row }) => messageOf(row)?.seq === seq); }

  /** @param {Item} [last] */
  #seenBy(last) {
    const { people } = this.#conversation;
    if (last?.kind !== 'message' || people.size > SEEN_LIMIT) return [];
    const { author, seq } = last.message;
    if (author !== this.#context.user) return [];
    return [...people.values()]
      .filter(({ id, lastReadSeq = 0 }) => id !== author && lastReadSeq >= seq)
      .map(({ id }) => this.#context.nameOf(id));
  }
}

/**
 * @param {Row | BeginningRow | undefined} row
 * @returns {Message | undefined}
 */
function messageOf(row) {
  const item = row?.kind === 'item' ? row.item : undefined;
  return item?.kind === 'message' || item?.kind === 'fold' ? newestMessage(item) : undefined;
}

/**
 * Whether a row shows a message, by itself or with others.
 *
 * @param {Row | BeginningRow} row
 * @param {string} id
 */
function holds(row, id) {
  if (row.kind !== 'item') return false;
  const { item } = row;
  return item.kind === 'fold' ? item.messages.some((message) => message.id === id)
    : item.kind === 'message' && item.message.id === id;
}

/**
 * @param {Row | BeginningRow} row
 * @returns {Gap | undefined}
 */
function gapOf(row) {
  return row.kind === 'item' && row.item.kind === 'gap' ? row.item.gap : undefined;
}
