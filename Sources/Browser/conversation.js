import { Administration } from './administration.js';
import { idOf } from './conversation-id.js';
import { ConversationLog } from './conversation-log.js';
import { listItems, settledItems } from './items.js';
import { MessageWindow } from './message-window.js';
import { Pages } from './pages.js';
import { Signal } from './signal.js';
import { pageLimit } from './window-pages.js';

/** @import { Connection } from './connection.js' */
/** @import { ConversationName } from './conversation-id.js' */
/** @import { Ending, LogView } from './conversation-log.js' */
/** @import { Item } from './items.js' */
/** @import { MessageStore } from './message-store.js' */
/** @import { Anchor } from './message-window.js' */
/** @import { Draft } from './drafts.js' */
/** @import { Seen } from './outbox.js' */
/** @import { SubscriptionPhase } from './subscription.js' */
/** @import { Gap, Mentions, MentionsPlace, MentionsResult, ReactionsPlace } from './types.js' */
/** @import { ReactionsResult, Reason, SendFields } from './types.js' */

/** How many messages a page holds: what a subscription starts with, and each step back. */
const PAGE = 100;

/**
 * A live message list of one conversation. It resumes with each session, fetches history on demand,
 * names each gap, sends, and knows who types and who has read up to where.
 *
 * All views of a conversation over one connection share a log and a subscription; each has a window
 * of its own. What a view left far behind is dropped, and fetched again when it comes back.
 */
export class Conversation {
  /** Something here changed, and why. @type {Signal<Reason>} */
  changed = new Signal();

  #connection;
  #log;
  #window;
  #pages;
  /** @type {LogView} */
  #view;
  #isAttached = false;
  /** @type {readonly string[]} */
  #typists = [];
  /** @type {Ending | null} */
  #ending = null;
  /**
   * The answer of `items` until the next change.
   *
   * @type {{version: number, drafts: readonly Draft[], user: string | null, items: Item[]} | null}
   */
  #items = null;

  /**
   * @param {Connection} connection
   * @param {ConversationName} conversation
   * @param {object} [options]
   * @param {MessageStore | null} [options.store]  keeps the newest messages over reloads
   * @param {number} [options.limit]  messages at the beginning, and in a page
   */
  constructor(connection, conversation, { store = null, limit = PAGE } = {}) {
    const id = idOf(conversation);
    this.#connection = connection;
    /** The conversation's id. */
    this.id = id;
    this.#log = ConversationLog.of(connection, id, store);
    this.#window = new MessageWindow(this.#log.messages);
    this.#window.isOpen = false;
    this.#view = {
      window: this.#window,
      limit: pageLimit(limit),
      tell: (reason) => this.#told(reason),
      end: (ending) => this.#ended(ending),
    };
    this.#pages = new Pages({
      log: this.#log.messages,
      window: this.#window,
      limit: () => this.#view.limit,
      subscription: () => this.#log.number,
      request: (method, params, taking) => this.#log.request(method, params, taking),
      take: (result, takeIn) => {
        const { generation } = this.#log.messages;
        takeIn();
        this.#log.pageTaken(result, generation, this.#view);
      },
      changed: () => this.changed.emit(undefined),
    });
  }

  /** Messages at the beginning, and in a page, from 1 to 1,000. */
  get limit() { return this.#view.limit; }
  set limit(limit) { this.#view.limit = pageLimit(limit); }

  /** The subscription's state; `ended` until it is opened again. */
  get phase() { return /** @type {SubscriptionPhase} */ (this.#phase); }

  /** Why it ended, for people. */
  get ending() { return this.#ending?.text ?? null; }

  /** Why it ended: `removed`, `deleted`, `forbidden`, or the code of the refusal. */
  get endingReason() { return this.#ending?.reason ?? null; }

  /** Whether there may be changes that are not known here. */
  get isOpen() { return this.#log.isOpen; }

  /** What is held: `head`, `asOf`, `runs`. */
  get have() { return this.#log.messages.have; }

  /** The conversation's own record. */
  get record() { return this.#log.record; }

  /** Rises when the log turned out to be another: begin a new list. */
  get generation() { return this.#log.messages.generation; }

  /** The gaps from the oldest place shown to the head, oldest first. */
  get gaps() { return this.#window.gaps; }

  /** Messages, gaps and drafts, oldest first; the same array until they change. */
  get items() {
    const [{ version }, { user }, { drafts }] = [this.#window, this.#connection, this];
    const known = this.#items;
    if (known?.version === version && known.drafts === drafts && known.user === user) {
      return known.items;
    }
    const items = settledItems(listItems({
      values: /** @type {*} */ (this.#window.values), gaps: this.gaps, drafts, user,
    }), known?.items ?? []);
    this.#items = { version, drafts, user, items };
    return items;
  }

  /** What is being sent or failed, in the order of writing. */
  get drafts() { return this.#log.outbox.drafts(this.id); }

  /**
   * The edits and deletions that are unconfirmed, failed, or in conflict. Reactions are not among
   * them: `items` show those that are unconfirmed.
   */
  get edits() { return this.#log.outbox.edits(this.id); }

  /**
   * The messages in rows: see `Grouping`.
   *
   * @type {MessageWindow['grouping']}
   */
  grouping(category, revealed) { return this.#window.grouping(category, revealed); }

  /** Who else types; the same array until that changes. */
  get typists() {
    const { users } = this.#log.participants.typists;
    const others = users.filter((user) => user !== this.#connection.user);
    const isSame = others.length === this.#typists.length
      && others.every((user, at) => user === this.#typists[at]);
    if (!isSame) this.#typists = others;
    return this.#typists;
  }

  /** The participants by id, if they are few enough to be fetched. */
  get people() { return this.#log.participants.people; }

  /** The place up to which the user has read; `null` until it is known. */
  get lastReadSeq() { return this.#log.participants.marker.seq; }

  /** Whether there is older history. */
  get hasOlder() { return this.#pages.hasOlder; }

  /** Whether older history is being fetched, or why that failed. */
  get older() { return this.#pages.older; }

  /** Why fetching older history failed; null for none. */
  get olderError() { return this.#pages.olderError; }

  /**
   * The id of the first unread message of others that is not deleted; `null` if none is here: see
   * `loadUnread`.
   */
  get firstUnread() {
    const read = this.#read;
    if (read === null || (this.#window.oldest ?? Infinity) > read + 1) return null;
    for (const item of this.items) {
      if (item.kind === 'gap' && item.gap.before > read + 1) return null;
      if (item.kind !== 'message' || item.message.seq <= read) continue;
      const { id, author, deleted } = item.message;
      if (!deleted && author !== this.#connection.user) return id;
    }
    return null;
  }

  /**
   * Whether the log has more before the oldest message here, and more after the newest, or holes.
   */
  get hasMore() {
    const missing = this.gaps.filter(({ cause }) => cause !== 'trimmed');
    const first = this.#window.coverage.first ?? Infinity;
    return {
      before: this.hasOlder || missing.some(({ after }) => after < first),
      after: this.#window.hasNewer || missing.some(({ after }) => after >= first),
    };
  }

  /** Whether it shows the newest end, and grows there. */
  get followsEnd() { return this.#window.followsEnd; }

  /** What was heard last; `null` before that. */
  get heard() { return this.#log.heard; }

  /**
   * Subscribes, now and with each session, and shows at once what the store kept. One that ended
   * tries anew.
   */
  open() {
    this.#ending = null;
    this.#isAttached = true;
    this.#log.attach(this.#view);
  }

  /** Ends the subscription, if no other view needs it; what is held stays, and `open` resumes. */
  close() {
    this.#isAttached = false;
    this.#pages.forgetWishes();
    this.#log.detach(this.#view);
  }

  /**
   * Fetches the page before the oldest message, now or in the next session.
   *
   * @param {number} [limit]  of messages
   */
  async loadOlder(limit) { if (this.#isAttached) await this.#pages.loadOlder(this.#isLive, limit); }

  /**
   * Fetches the nearest gap towards the newest end, now or in the next session.
   *
   * @param {number} [limit]  of messages
   */
  async loadNewer(limit) {
    if (this.#isAttached) await this.#pages.loadNewer(this.#isLive, limit);
  }

  /**
   * Fetches what follows the last message seen.
   *
   * @param {number} seen  its place
   * @param {number} [limit]  of messages
   */
  async loadAbove(seen, limit) { if (this.#isLive) await this.#pages.loadAbove(seen, limit); }

  /**
   * Fetches one page of a gap.
   *
   * @param {Gap} gap
   * @param {'newer' | 'older'} [end]  from which it closes, if both touch what is held
   * @param {number} [limit]  of messages
   */
  async fill(gap, end = 'newer', limit = undefined) {
    if (this.#isLive) await this.#pages.fill(gap, end, limit);
  }

  /**
   * Whether a gap is being filled, or why that failed.
   *
   * @param {Gap} gap
   */
  filling(gap) { return this.#pages.filling(gap); }

  /**
   * Fetches a place with its neighbours, unless it is here.
   *
   * @param {Anchor} anchor
   * @param {{elsewhere?: boolean}} [options]  `elsewhere`: in place of all that is shown, which
   *   stays until then
   * @returns {Promise<boolean>}  whether it is here now; of a moment, whether the page came
   */
  async loadAround(anchor, { elsewhere = false } = {}) {
    if (this.#window.holds(anchor)) return true;
    if (!this.#isLive) return false;
    const hasCome = await this.#pages.loadAround(anchor, elsewhere);
    return typeof anchor === 'object' ? hasCome : this.#window.holds(anchor);
  }

  /**
   * Fetches the first unread message with its neighbours, unless it is here.
   *
   * @returns {Promise<string | null>}  its id, see `firstUnread`
   */
  async loadUnread() {
    const read = this.#read;
    const head = this.have?.head;
    if (read === null || !head || read >= head.seq) return null;
    await this.loadAround(read + 1);
    return this.firstUnread;
  }

  /**
   * Fetches the next message that mentions the user, or all, with its neighbours, unless it is
   * here.
   *
   * @param {number} [after]  a place; without it, the one up to which the user has read
   * @returns {Promise<string | null>}  its id; null where there is none, or it can't be had now;
   *   rejects as `fetchMentions` does
   */
  async loadMention(after = this.#read ?? 0) {
    const { places: [place] } = await this.fetchMentions({ after, limit: 1 });
    return place !== undefined && await this.loadAround(place.seq) ? place.id : null;
  }

  /**
   * Why a gap could not be filled; null for none.
   *
   * @param {Gap} gap
   */
  fillingError(gap) { return this.#pages.fillingError(gap); }

  /**
   * The message at a place, if it is here.
   *
   * @param {number} seq
   */
  at(seq) { return this.#window.at(seq); }

  /**
   * A message by its id, if it is here.
   *
   * @param {string} id
   */
  message(id) { return this.#window.message(id); }

  /**
   * Says which messages a view shows: what is missing near them comes first, what is far is
   * dropped.
   *
   * @param {string} first  an id
   * @param {string} last
   */
  noteVisible(first, last) { this.#window.noteVisible(first, last); }

  /** Drops all messages, to begin elsewhere in the history. */
  clear() {
    this.#pages.beginAnew();
    this.#window.clear();
    this.changed.emit('began');
  }

  /**
   * Drops messages from both ends, down to `count`.
   *
   * @param {number} count
   * @param {number} focus  where the view stands, from 0 (the oldest message) to 1 (the newest)
   * @returns {boolean}  whether any went
   */
  trimTo(count, focus) { return this.#window.trimTo(count, focus); }

  /**
   * Shows a message at once, and sends it now or in the next session.
   *
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   * @param {*} [attachment]
   * @param {SendFields} [fields]  the message to which it replies, and whom it mentions
   * @returns {string}  its id
   */
  send(body, metadata, attachment, fields) {
    this.#log.participants.report.finished();
    return this.#log.outbox.send(this.id, body, metadata, attachment, fields);
  }

  /** Title, people, admins, and deletion. */
  get administration() {
    return new Administration((method, params) => this.#log.request(method, params));
  }

  /** @param {string} id  of what failed, or is in conflict */
  resend(id) { this.#log.outbox.retry(id); }

  /**
   * Sends a failed draft, or one in conflict, with another text.
   *
   * @param {string} id
   * @param {string} body
   * @param {SendFields} [fields]  what is left out stays; what is `undefined` goes
   * @returns {string}  its id from now on
   */
  rewrite(id, body, fields) { return this.#log.outbox.rewrite(id, body, fields); }

  /** @param {string} id  of what failed, or is in conflict */
  discard(id) { this.#log.outbox.discard(id); }

  /**
   * Notes the value that its author sees when an edit begins. Given to `edit` or `delete` in place
   * of the id, it makes a value that came meanwhile a conflict.
   *
   * @param {string} id
   * @param {number} [rev]  of the value seen; without it, of the present one
   * @returns {Seen}
   */
  see(id, rev) { return this.#log.outbox.see(this.id, id, rev); }

  /**
   * Edits a message, now or in the next session.
   *
   * @param {string | Seen} of  an id (the present value), or what `see` gave
   * @param {string} body
   * @param {Mentions} [mentions]  what is left out stays
   * @returns {Promise<void>}  rejects with a `RequestError`; a `conflict` has `current`
   */
  edit(of, body, mentions) { return this.#log.outbox.edit(this.id, of, body, mentions); }

  /**
   * Deletes a message, now or in the next session.
   *
   * @param {string | Seen} of  an id (the present value), or what `see` gave
   * @returns {Promise<void>}  rejects with a `RequestError`; a `conflict` has `current`
   */
  delete(of) { return this.#log.outbox.delete(this.id, of); }

  /**
   * Has the user react to a message, or takes that back, now or in the next session. `items` show
   * it at once, and as it was before if it is refused. What is so already is no change.
   *
   * @param {string} id  of the message
   * @param {string} key  an emoji, or any other text of 1 to 64 bytes of UTF-8
   * @param {boolean} [on]  false takes it back
   * @param {{user?: string}} [options]  `user`: whose it is that an admin takes back
   * @returns {Promise<void>}  rejects with a `RequestError`: `forbidden` (`clients_react_off`),
   *   `too_large` (too many keys of a message, of a user on it, or reactions), `conflict` (the
   *   message is deleted), `not_found`, `bad_request`
   */
  react(id, key, on = true, options = {}) {
    return this.#log.outbox.react(this.id, id, key, on, options);
  }

  /**
   * Who reacted to a message, oldest first.
   *
   * @param {string} id  of the message
   * @param {ReactionsPlace} [place]
   * @returns {Promise<ReactionsResult>}  rejects with a `RequestError`: `not_found`, `bad_request`,
   *   `disconnected` while there is no session
   */
  fetchReactions(id, place = {}) { return this.#log.request('fetchReactions', { id, ...place }); }

  /**
   * Where others mention the user, or all, oldest first.
   *
   * @param {MentionsPlace} [place]
   * @returns {Promise<MentionsResult>}  rejects with a `RequestError`: `forbidden` (`not_enabled`),
   *   `bad_request`, `disconnected` while there is no session
   */
  fetchMentions(place = {}) { return this.#log.request('fetchMentions', place); }

  /** @param {number} seq  the newest place read; sent now or in the next session */
  markRead(seq) { this.#log.participants.marker.move(seq); }

  /** A key was hit in the box to send; `hasText`: whether it holds text. */
  typed(hasText = true) {
    const { report } = this.#log.participants;
    if (hasText) report.typed(); else report.finished();
  }

  /** Up to where was read, of what there still is; null if nobody knows. */
  get #read() {
    const { lastReadSeq } = this;
    return lastReadSeq === null ? null : Math.max(lastReadSeq, (this.have?.head.floor ?? 1) - 1);
  }

  get #isLive() { return this.#phase === 'live'; }

  get #phase() {
    if (!this.#isAttached) return this.#ending === null ? 'idle' : 'ended';
    const { phase } = this.#log;
    return phase === 'live' && this.#log.isJoining(this.#view) ? 'opening' : phase;
  }

  /** @param {Reason} reason */
  #told(reason) {
    const isAnswer = reason === 'began' || reason === 'resumed';
    if (isAnswer) this.#pages.clear();
    this.changed.emit(reason);
    if (isAnswer && this.#isLive) this.#pages.loadWished();
  }

  /** @param {Ending} ending */
  #ended(ending) {
    this.#isAttached = false;
    this.#window.isOpen = false;
    this.#ending = ending;
    this.#pages.forgetWishes();
    this.changed.emit(undefined);
  }
}
