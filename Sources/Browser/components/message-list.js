import { adopt, arrange, element, setAttribute, setText, soon } from './dom.js';
import { rowElement, rowSignature } from './message-row.js';
import { dayOf } from './moments.js';
import { listRows } from './rows.js';

/** @import { Conversation } from '../conversation.js' */
/** @import { Item } from '../items.js' */
/** @import { Gap, Message } from '../types.js' */
/** @import { RowContext } from './message-row.js' */

/** Older history is fetched when the view comes this near to the oldest row, in pixels. */
const PRELOAD = 900;
/** So near to the end counts as at the end, in pixels. */
const END = 48;
/** Who has read the newest message is named in conversations of at most this many people. */
const SEEN_LIMIT = 20;

/**
 * The messages of one conversation as rows that scroll. What a person looks at does not move when
 * rows come in above or below it: the list keeps an anchor, the first message in view and its
 * distance to the top, over each change. At the end it stays at the end.
 */
export class MessageList {
  #conversation;
  #context;
  /** @type {Map<string, {row: HTMLElement, signature: string}>} */
  #rows = new Map();
  #isAtEnd = true;
  #isPlaced = false;
  #isUpward = true;
  #lastTop = 0;
  /** @type {number | null} */
  #unreadAfter = null;
  #newest = 0;
  #seenNewest = 0;
  #scheduleUpdate = soon(() => this.#update());
  #scheduleScroll = soon(() => this.#scrolled());
  /** @type {(() => void)[]} */
  #stops = [];

  /**
   * @param {object} options
   * @param {Conversation} options.conversation
   * @param {string | null} options.user
   * @param {(message: Message) => void} options.onEdit
   * @param {(message: Message) => void} options.onDelete
   */
  constructor({ conversation, user, onEdit, onDelete }) {
    this.#conversation = conversation;
    /** @type {RowContext} */
    this.#context = {
      user,
      nameOf: (id) => conversation.people.get(id)?.name ?? id,
      filling: (gap) => conversation.filling(gap),
      onFill: (gap) => this.#fill(gap),
      onResend: (id) => conversation.resend(id),
      onDiscard: (id) => conversation.discard(id),
      onEdit,
      onDelete,
    };
    this.content = element('div', { class: 'rows' });
    this.top = element('div', { class: 'beginning' });
    this.scroller = element('div', {
      class: 'scroller', role: 'log', 'aria-label': 'Messages', tabindex: 0,
    }, this.top, this.content);
    this.jump = element('button', {
      type: 'button', class: 'jump', hidden: true, onclick: () => this.scrollToEnd(),
    });
    /** What to put on the page. */
    this.element = element('div', { class: 'messages' }, this.scroller, this.jump);
    this.#watch();
  }

  /** Stops following the conversation. */
  dispose() {
    for (const stop of this.#stops) stop();
  }

  /** Goes to the newest message and stays there. */
  scrollToEnd() {
    this.#isAtEnd = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.#lastTop = this.scroller.scrollTop;
    this.#scheduleScroll();
  }

  /** The line above what was unread has served: the user wrote something. */
  clearUnread() {
    this.#unreadAfter = null;
    this.#scheduleUpdate();
  }

  #watch() {
    const onScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = this.scroller;
      if (scrollTop !== this.#lastTop) this.#isUpward = scrollTop < this.#lastTop;
      this.#lastTop = scrollTop;
      this.#isAtEnd = scrollHeight - scrollTop - clientHeight < END;
      this.#scheduleScroll();
    };
    const onVisible = () => this.#scheduleScroll();
    this.scroller.addEventListener('scroll', onScroll, { passive: true });
    document.addEventListener('visibilitychange', onVisible);
    // A keyboard that opens or a box to send that grows must not push the newest message away.
    const sizes = new ResizeObserver(() => { if (this.#isAtEnd) this.scrollToEnd(); });
    sizes.observe(this.scroller);
    this.#stops = [
      this.#conversation.changed.listen(this.#scheduleUpdate),
      () => document.removeEventListener('visibilitychange', onVisible),
      () => sizes.disconnect(),
    ];
    this.#scheduleUpdate();
  }

  #update() {
    const conversation = this.#conversation;
    const { items } = conversation;
    const last = items.findLast((item) => item.kind === 'message');
    this.#newest = last?.kind === 'message' ? last.message.seq : 0;
    if (!this.#isPlaced && this.#isReady) this.#markUnread();
    const rows = listRows(items, {
      dayOf, user: this.#context.user, unreadAfter: this.#unreadAfter,
      seenBy: this.#seenBy(items.at(-1)),
    });
    const anchor = this.#isAtEnd ? null : this.#anchor();
    setAttribute(this.scroller, 'aria-busy', conversation.older === 'busy' || undefined);
    this.#drawTop(items);
    arrange(this.content, rows.map((row) => this.#rowElement(row)));
    if (this.#rows.size > rows.length) this.#forgetRows(new Set(rows.map(({ key }) => key)));
    this.#place(anchor);
    this.#scrolled();
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

  /**
   * @param {{elements: {row: Element, offset: number}[]} | null} anchor
   */
  #place(anchor) {
    if (!this.#isPlaced && this.#rows.size > 0) {
      this.#isPlaced = this.#isReady;
      this.scrollToEnd();
      const unread = this.#rows.get('unread')?.row;
      if (unread && this.scroller.scrollTop > unread.offsetTop - 80) {
        this.scroller.scrollTop = unread.offsetTop - 80;
        this.#isAtEnd = false;
      }
    } else if (anchor === null) {
      this.scrollToEnd();
    } else {
      const kept = anchor.elements.find(({ row }) => row.isConnected);
      if (kept) this.scroller.scrollTop += topOf(kept.row) - topOf(this.scroller) - kept.offset;
    }
    this.#lastTop = this.scroller.scrollTop;
  }

  /** The rows in view and their distance to the top, messages first: a gap row may go. */
  #anchor() {
    const top = topOf(this.scroller);
    const bottom = top + this.scroller.clientHeight;
    const elements = [];
    for (const row of rowsFrom(this.content, top)) {
      const offset = topOf(row);
      if (offset > bottom) break;
      elements.push({ row, offset: offset - top, isMessage: row.classList.contains('message') });
    }
    elements.sort((a, b) => Number(b.isMessage) - Number(a.isMessage));
    return { elements };
  }

  /** @param {import('./rows.js').Row} row */
  #rowElement(row) {
    const signature = rowSignature(row, this.#context);
    const known = this.#rows.get(row.key);
    if (known?.signature === signature) return known.row;
    const drawn = rowElement(row, this.#context);
    // The anchor and the focus are kept by the element, so it takes the new content where it can.
    if (known && known.row.className === drawn.className) {
      adopt(known.row, drawn);
      known.signature = signature;
      return known.row;
    }
    this.#rows.set(row.key, { row: drawn, signature });
    return drawn;
  }

  /** @param {Set<string>} kept */
  #forgetRows(kept) {
    for (const key of this.#rows.keys()) {
      if (!kept.has(key)) this.#rows.delete(key);
    }
  }

  /** @param {Item[]} items */
  #drawTop(items) {
    const { hasOlder, older, phase } = this.#conversation;
    const hasFailed = older !== 'idle' && older !== 'busy';
    const isTrimmed = items[0]?.kind === 'gap' && items[0].gap.cause === 'trimmed';
    this.top.dataset.state = hasFailed ? 'failed' : hasOlder ? 'older' : 'start';
    if (hasFailed && hasOlder) {
      this.top.replaceChildren(`Older messages could not be loaded: ${older}. `, element('button', {
        type: 'button', class: 'link', onclick: () => this.#conversation.loadOlder(),
      }, 'Try again'));
      return;
    }
    let text = 'This is the beginning.';
    if (hasOlder) text = 'Loading older messages…';
    else if (phase === 'ended' || isTrimmed) text = '';
    else if (items.length === 0 && phase === 'live') text = 'Nothing was said here yet.';
    else if (items.length === 0) text = 'Loading…';
    setText(this.top, text);
  }

  #scrolled() {
    const conversation = this.#conversation;
    if (this.#isAtEnd) this.#seenNewest = this.#newest;
    const isAway = !this.#isAtEnd && this.#rows.size > 0;
    if (this.jump.hidden === isAway) this.jump.hidden = !isAway;
    const count = Math.max(0, this.#newest - this.#seenNewest);
    setText(this.jump, count > 0 ? `${count} new ↓` : 'Latest ↓');
    if (!this.#isPlaced) return;
    const isNearTop = this.scroller.scrollTop < PRELOAD;
    if (isNearTop && conversation.older === 'idle') conversation.loadOlder();
    if (!document.hidden) this.#markRead();
  }

  #markRead() {
    const bottom = topOf(this.scroller) + this.scroller.clientHeight;
    let seq = this.#isAtEnd ? this.#newest : 0;
    if (!this.#isAtEnd) {
      for (const row of rowsFrom(this.content, topOf(this.scroller))) {
        if (row.getBoundingClientRect().bottom > bottom) break;
        seq = Math.max(seq, Number(/** @type {HTMLElement} */ (row).dataset.seq ?? 0));
      }
    }
    if (seq > (this.#conversation.lastReadSeq ?? 0)) this.#conversation.markRead(seq);
  }

  /** @param {Gap} gap */
  #fill(gap) {
    // The rows that a reader came from stay: from below the gap closes upwards, from above down.
    this.#conversation.fill(gap, this.#isUpward ? 'newer' : 'older');
  }

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
 * Where an element begins, in the window.
 *
 * @param {Element} of
 */
function topOf(of) { return of.getBoundingClientRect().top; }

/**
 * The rows that end below `top`, the first one found by halving: there may be thousands.
 *
 * @param {Element} parent
 * @param {number} top
 */
function* rowsFrom({ children }, top) {
  let low = 0;
  let high = children.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const { bottom } = children[middle].getBoundingClientRect();
    if (bottom <= top) low = middle + 1; else high = middle;
  }
  for (let at = low; at < children.length; at += 1) yield children[at];
}
