import { ScrollView } from '../../Browser/scroll-view.js';
import { Announcer } from './announcer.js';
import { beginningElement, beginningSignature } from './beginning.js';
import { adopt, afterPaint, element, setAttribute, setText, soon } from './dom.js';
import { pickEmoji } from './emoji-picker.js';
import { Folding } from './folding.js';
import { markFound, messageKey } from './message-keys.js';
import { rowElement } from './message-row.js';
import { MissedBar } from './missed-bar.js';
import { dayOf } from './moments.js';
import { QuotedMessages } from './quoted.js';
import { focusBack } from './reactions.js';
import { showReactions } from './reactions-dialog.js';
import { Reading, shownRuns } from './reading.js';
import {
  beginningRow, countMissed, listRow, messageOf, newestSeq, nothingToRead, preload, rest, seenBy,
  shows,
} from './row-content.js';
import { listRows } from './rows.js';
import { Strip } from './strip.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { Conversation } from '../../Browser/conversation.js' */
/** @import { Item } from '../../Browser/items.js' */
/** @import { Message } from '../../Browser/types.js' */
/** @import { Health } from './health.js' */
/** @import { RowContext } from './message-row.js' */
/** @import { ListRow } from './row-content.js' */

/** The line above what is unread stands this far below the top, in pixels. */
const UNREAD_INSET = 80;

/**
 * The messages of one conversation as rows that scroll. It opens where reading goes on, fetches
 * what comes near the view, and says up to where was read.
 */
export class MessageList {
  #conversation;
  #context;
  #health;
  #onView;
  #onLost;
  #view;
  #announcer = new Announcer();
  #folding;
  #reading = new Reading();
  #isPlaced = false;
  /** The view is where reading goes on: what it shows is seen. */
  #isOpen = false;
  /** The message at the top of the view when the log became another one. @type {string | null} */
  #place = null;
  /** The page was away from the conversation until a moment ago. */
  #isBack = false;
  #isUpward = true;
  #lastTop = 0;
  /** @type {number | null} */
  #unreadAfter = null;
  #newest = 0;
  #seenNewest = 0;
  /** The place of the mention that was shown last. */
  #mentionShown = 0;
  #scheduleUpdate = soon(() => this.#update());
  #tellRead = afterPaint(() => this.#moveMarker());
  /** @type {(() => void)[]} */
  #stops = [];

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {Conversation} options.conversation
   * @param {string | null} options.user
   * @param {Health} options.health
   * @param {(message: Message) => void} options.onReply
   * @param {(message: Message) => void} options.onEdit
   * @param {(draft: import('../../Browser/drafts.js').Draft) => void} options.onRewrite
   * @param {(draft: import('../../Browser/drafts.js').Draft) => void} options.onPlain
   * @param {(message: Message) => void} options.onDelete
   * @param {(message: Message, key: string, on: boolean) => void} options.onReact
   * @param {(first: number, last: number) => void} options.onView  these places are in view
   * @param {() => void} options.onLost  a message that somebody asked for can't be shown now
   */
  constructor({ connection, conversation, user, health, onView, onLost, ...actions }) {
    this.#conversation = conversation;
    this.#health = health;
    this.#onView = onView;
    this.#onLost = onLost;
    this.#folding = new Folding(user);
    /** @type {RowContext} */
    this.#context = {
      user,
      nameOf: (id) => conversation.people.get(id)?.name ?? id,
      editOf: (id) => conversation.edits.findLast((edit) => edit.id === id),
      filling: (gap) => conversation.filling(gap),
      onFill: (gap) => conversation.fill(gap, this.#isUpward ? 'newer' : 'older'),
      onReadFrom: (gap) => this.#readFrom(gap),
      onResend: (id) => conversation.resend(id),
      onDiscard: (id) => conversation.discard(id),
      quoted: new QuotedMessages({
        connection, conversation, changed: this.#scheduleUpdate,
      }),
      onQuote: ({ seq }) => this.reveal(seq),
      onAddReaction: (message, button) => this.#addReaction(message, button),
      onShowReactions: (message, button) => showReactions({
        conversation, message, user, nameOf: this.#context.nameOf, onClose: focusBack(button),
      }),
      onReveal: (id) => {
        this.#folding.reveal(id);
        this.#unfolded(id);
      },
      onHide: (id) => {
        this.#folding.hide(id);
        this.#unfolded(id);
      },
      ...actions,
    };
    this.scroller = element('div', {
      class: 'scroller', role: 'region', 'aria-label': 'Messages', tabindex: 0,
      onkeydown: (/** @type {KeyboardEvent} */ event) => messageKey(event, {
        scroller: this.scroller, at: (seq) => conversation.at(seq), ...this.#context,
        onEnd: () => this.#goToEnd(),
      }),
    });
    /** @type {ScrollView<ListRow>} */
    this.#view = new ScrollView({
      element: this.scroller, draw: (item, known) => this.#draw(item, known),
    });
    this.jump = element('button', {
      type: 'button', class: 'jump', hidden: true, onclick: () => this.#goToEnd(true),
    });
    this.mention = element('button', {
      type: 'button', class: 'next-mention', hidden: true, onclick: () => this.#showNextMention(),
    });
    this.missed = new MissedBar({
      onFirst: () => this.#showFirstMissed(), onRead: () => this.#takeAsRead(),
    });
    this.strip = new Strip({ conversation, onShow: (seq) => this.reveal(seq) });
    /** What to put on the page. */
    this.element = element('div', { class: 'messages' },
      this.scroller, this.strip.element, this.missed.element, this.jump, this.mention,
      this.#announcer.element);
    this.#watch();
  }

  /** Stops following the conversation. */
  dispose() {
    for (const stop of this.#stops) stop();
    this.#context.quoted.dispose();
    this.strip.dispose();
    this.#view.dispose();
  }

  /** Goes to the newest message and stays there. */
  scrollToEnd() { this.#view.scrollToEnd(); }

  /** The line above what was unread has served: the user wrote something. */
  clearUnread() {
    this.#unreadAfter = null;
    this.#scheduleUpdate();
  }

  /** How many unread messages mention the user, wherever they stand: a button leads to them. */
  set unreadMentions(count) {
    const hadFocus = count === 0 && document.activeElement === this.mention;
    this.mention.hidden = count === 0;
    if (hadFocus) this.scroller.focus({ preventScroll: true });
    setText(this.mention, `@ ${count}`);
    const what = count === 1 ? 'the unread mention of you' : `the next of ${count} unread mentions`;
    setAttribute(this.mention, 'aria-label', `Go to ${what}`);
    setAttribute(this.mention, 'title', `Go to ${what}`);
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
    await rest(this.#view);
    if (!isHere) {
      this.#onLost();
      return false;
    }
    const message = this.#conversation.at(seq);
    if (message?.deleted) this.#folding.reveal(message.id);
    this.#update();
    const id = this.#view.items.find(({ row }) => messageOf(row)?.seq === seq)?.id;
    if (id === undefined) return false;
    this.#isPlaced = this.#isOpen = true;
    if (wasHere) await this.#view.scrollToItemAnimated(id, 'center');
    else this.#view.scrollToItem(id, 'center');
    markFound(this.#view.row(id));
    return true;
  }

  #watch() {
    const onVisible = () => this.#moved();
    document.addEventListener('visibilitychange', onVisible);
    this.#stops = [
      this.#conversation.changed.listen((reason) => {
        if (reason === 'resumed') this.#isBack = true;
        this.#scheduleUpdate();
      }),
      this.#health.changed.listen(this.#scheduleUpdate),
      this.#view.laidOut.listen(() => this.#moved()),
      () => document.removeEventListener('visibilitychange', onVisible),
    ];
    this.#scheduleUpdate();
  }

  #update() {
    const conversation = this.#conversation;
    const { items } = conversation;
    if (this.#reading.follow(conversation.generation)) this.#beginAnew();
    const hasMissed = this.#noteNewest(items);
    if (!this.#isPlaced && this.#isReady) this.#markUnread(items);
    const rows = listRows(this.#folding.fold(items, conversation), {
      dayOf, user: this.#context.user, unreadAfter: this.#unreadAfter,
      seenBy: seenBy(conversation.people, items.at(-1), this.#context),
    });
    setAttribute(this.scroller, 'role', items.length > 0 ? 'feed' : 'region');
    setAttribute(this.scroller, 'aria-busy', conversation.older === 'busy' || undefined);
    const wasAtEnd = this.#view.isAtEnd;
    const beginning = beginningRow(beginningSignature(conversation, items, this.#health.reason));
    const listed = [beginning, ...rows.map((row) => listRow(row, this.#context))];
    this.#view.updateItems(listed, false, hasMissed);
    // What fits below the last message seen is shown at once; for more, the place is kept.
    if (hasMissed && wasAtEnd && this.#view.fitsFrom('unread')) this.#view.scrollToEnd();
    if (!this.#isPlaced && this.#isReady && items.length > 0) this.#open();
  }

  /**
   * A group was unfolded or folded: the focus goes to where it was.
   *
   * @param {string} id  of one of its messages
   */
  #unfolded(id) {
    this.#update();
    const row = this.#view.items.find((item) => shows(item.row, id));
    const drawn = row && this.#view.row(row.id);
    const target = drawn?.matches('.fold') ? drawn.querySelector('button') : drawn;
    target?.focus({ preventScroll: true });
  }

  /**
   * @param {Item[]} items
   * @returns {boolean}  whether something came while nobody looked
   */
  #noteNewest(items) {
    const newest = newestSeq(items);
    const [before, isBack] = [this.#newest, this.#isBack];
    this.#newest = newest;
    this.#isBack = false;
    if (!this.#isPlaced || newest <= before) return false;
    this.#announcer.announce(items, before, this.#context);
    if (!this.#isOpen || !(isBack || document.hidden)) return false;
    const count = countMissed(items, before, newest, this.#context.user);
    if (count === 0) return false;
    if (this.#reading.missed === null) this.#unreadAfter = before;
    this.#reading.miss({ after: before, upTo: newest, isUnread: false });
    return true;
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

  /**
   * Where reading goes on: a line above the first unread message, and the view there.
   *
   * @param {Item[]} items
   */
  #markUnread(items) {
    const read = this.#read;
    const newest = this.#newest;
    this.#unreadAfter = read > 0 && read < newest ? read : null;
    const count = countMissed(items, read, newest, this.#context.user);
    if (count === 0 || this.#comesIn) return;
    this.#reading.miss({ after: read, upTo: newest, isUnread: true });
  }

  /** Brings the view to where reading goes on; that may have to be fetched first. */
  async #open() {
    this.#isPlaced = true;
    const place = this.#place;
    this.#place = null;
    // Somebody who has scrolled meanwhile reads on where they are.
    const isReading = place === null && !this.#view.isAtEnd;
    if (!isReading && (place === null || !await this.#showAgain(place))) {
      await this.#showLine(this.#unreadAfter);
      if (this.#view.indexOf('unread') === undefined) this.#view.scrollToEnd();
    }
    this.#isOpen = true;
    this.#moved();
  }

  /** The log is another one, or was restored: the reader stays where they were, if that is there. */
  #beginAnew() {
    const shown = this.#visibleRows.map(({ row }) => messageOf(row)).find(Boolean);
    if (this.#isPlaced) this.#place = this.#view.isAtEnd ? null : shown?.id ?? null;
    this.#isPlaced = this.#isOpen = false;
    [this.#newest, this.#seenNewest, this.#unreadAfter] = [0, 0, null];
    this.#mentionShown = 0;
  }

  /**
   * Brings a message to the top of the view again.
   *
   * @param {string} id
   * @returns {Promise<boolean>}  whether it is there
   */
  async #showAgain(id) {
    if (!await this.#conversation.loadAround(id)) return false;
    this.#update();
    await rest(this.#view);
    const row = this.#view.items.find((item) => shows(item.row, id));
    if (row === undefined) return false;
    this.#view.scrollToItem(row.id, 'top');
    return true;
  }

  /**
   * Whether a place was on the screen.
   *
   * @param {number} seq
   */
  hasSeen(seq) { return this.#reading.hasSeen(seq); }

  /**
   * Brings the line above what is unread near the top, so that what stands above it can be seen to
   * have been read.
   *
   * @param {number | null} after  the last place above it
   * @returns {Promise<boolean>}  whether what stands below it could be had
   */
  async #showLine(after) {
    if (after === null) return false;
    const isHere = await this.#conversation.loadAround(after + 1);
    if (isHere) this.#update();
    await rest(this.#view);
    this.#view.scrollToItem('unread', 'top', UNREAD_INSET);
    return isHere;
  }

  /** Goes to the unread mention behind the one shown last, or to the first one. */
  async #showNextMention() {
    const conversation = this.#conversation;
    const read = conversation.lastReadSeq ?? 0;
    const after = Math.max(read, this.#mentionShown);
    try {
      let id = await conversation.loadMention(after);
      if (id === null && after > read) id = await conversation.loadMention(read);
      const message = id === null ? undefined : conversation.message(id);
      if (message === undefined) return;
      this.#mentionShown = message.seq;
      await this.reveal(message.seq);
    } catch {
      this.#onLost();
    }
  }

  async #showFirstMissed() {
    this.#unreadAfter = this.#reading.missed?.after ?? null;
    this.#update();
    const isHere = await this.#showLine(this.#unreadAfter);
    if (!isHere) this.#onLost();
    else this.scroller.focus({ preventScroll: true });
  }

  /**
   * Shows what stands before a gap, and fetches what comes next.
   *
   * @param {import('../../Browser/types.js').Gap} gap
   */
  async #readFrom(gap) {
    await this.#conversation.fill(gap, 'older');
    this.#update();
    await this.reveal(gap.after + 1);
  }

  /**
   * Lets the user choose a reaction; one that they have is taken back.
   *
   * @param {Message} message
   * @param {HTMLElement} button
   */
  #addReaction({ id }, button) {
    const keys = () => new Set((this.#conversation.message(id)?.reactions ?? [])
      .flatMap(({ key, own }) => (own ? [key] : [])));
    pickEmoji({
      button, own: keys(), onClose: focusBack(button),
      onChoose: (key) => {
        const message = this.#conversation.message(id);
        if (message) this.#context.onReact(message, key, !keys().has(key));
      },
    });
  }

  /** Somebody says that what they did not see is read. */
  #takeAsRead() {
    if (this.#conversation.phase !== 'live') return;
    this.#conversation.markRead(this.#newest);
    this.#reading.dismiss();
    this.clearUnread();
    this.scroller.focus({ preventScroll: true });
  }

  /**
   * Who has read nothing of a short conversation, which is here whole, begins where they come in.
   * Of a longer one, what is above was never even near the screen.
   */
  get #comesIn() {
    const { gaps, hasOlder } = this.#conversation;
    return this.#read === 0 && gaps.length === 0 && !hasOlder;
  }

  /** Up to where was read: sending says so too. */
  get #read() {
    const { items, lastReadSeq } = this.#conversation;
    return Math.max(lastReadSeq ?? 0, newestSeq(items, this.#context.user));
  }

  /** The view moved, or what is in it changed. */
  #moved() {
    const { scrollTop } = this.scroller;
    if (scrollTop !== this.#lastTop) this.#isUpward = scrollTop < this.#lastTop;
    this.#lastTop = scrollTop;
    if (this.#view.isAtEnd) this.#seenNewest = this.#newest;
    setAttribute(this.jump, 'hidden', this.#view.isAtEnd || this.#newest === 0);
    const { items } = this.#conversation;
    const count = countMissed(items, this.#seenNewest, this.#newest, this.#context.user);
    setText(this.jump, count > 0 ? `${count} new ↓` : 'Latest ↓');
    if (!this.#isOpen || this.#view.isScrolling) return;
    this.#noteVisible();
    preload(this.#view, this.#conversation, this.#isUpward);
    if (!document.hidden) this.#markRead();
    const others = nothingToRead(this.#conversation.items, this.#context.user);
    this.missed.draw(this.#reading.missed, this.#reading.count({ read: this.#read, others }));
  }

  #noteVisible() {
    const messages = this.#visibleRows.map(({ row }) => messageOf(row)).filter(Boolean);
    const [first, last] = [messages[0], messages.at(-1)];
    if (!first || !last) return;
    this.#conversation.noteVisible(first.id, last.id);
    this.strip.view = [first.seq, last.seq];
    this.#onView(first.seq, last.seq);
  }

  get #visibleRows() {
    const { visible, items } = this.#view;
    return visible === null ? [] : items.slice(visible.first, visible.last + 1);
  }

  /** Notes what is on the screen, and moves the marker as far as that goes without a break. */
  #markRead() {
    const { visible, lastWhole, items } = this.#view;
    const conversation = this.#conversation;
    const last = this.#view.indexOf(lastWhole?.id ?? '');
    if (visible === null || last === undefined || !conversation.have) return;
    const { floor } = conversation.have.head;
    const read = Math.max(this.#read, floor - 1);
    const runs = shownRuns(items, visible.first, last, {
      isFromStart: !conversation.hasOlder,
      beginsHere: this.#comesIn,
    });
    this.#reading.see(runs, { floor, read });
    this.#tellRead();
  }

  /** What was on the screen is read; who left before it was painted has not seen it. */
  #moveMarker() {
    const { have, phase, lastReadSeq } = this.#conversation;
    if (!this.scroller.isConnected || phase !== 'live' || !have) return;
    const seq = this.#reading.upTo(Math.max(this.#read, have.head.floor - 1));
    if (seq > (lastReadSeq ?? Infinity)) this.#conversation.markRead(seq);
  }

  /**
   * Goes to the newest message there is, which may have to be fetched.
   *
   * @param {boolean} [isAnimated]
   */
  async #goToEnd(isAnimated = false) {
    const { have } = this.#conversation;
    const isHere = !have || this.#conversation.at(have.head.seq) !== undefined;
    if (!isHere && await this.#conversation.loadAround(have.head.seq)) this.#update();
    const last = this.#view.items.at(-1);
    const isJump = !isAnimated || !isHere || last === undefined;
    // What came on the way there is newer.
    const isThere = isJump || await this.#view.scrollToItemAnimated(last.id, 'bottom');
    if (isThere) this.#view.scrollToEnd();
  }
}
