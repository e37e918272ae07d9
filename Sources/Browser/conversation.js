import { listItems } from './items.js';
import { MessageWindow } from './message-window.js';
import { Outbox } from './outbox.js';
import { Pages } from './pages.js';
import { Participants } from './participants.js';
import { Saving } from './saving.js';
import { Signal } from './signal.js';
import { Subscription } from './subscription.js';

/** @import { Connection } from './connection.js' */
/** @import { MessageStore } from './message-store.js' */
/** @import { Anchor } from './message-window.js' */
/** @import { RequestError } from './request-error.js' */
/** @import { EventFrame, Gap, Heard, Message, PageResult, Reason } from './types.js' */
/** @import { SubscribeResult } from './types.js' */

/** How many messages a page holds: what a subscription starts with, and each step back. */
const PAGE = 100;

/**
 * A live message list of one conversation. It subscribes, resumes with its `have` whenever a
 * session begins, fetches history on demand, names each gap, sends, and knows who types and who
 * has read up to where. `changed` tells that anything of it is new.
 *
 * It holds exactly what the protocol allows it to hold (`Holder`); everything else is shown only.
 * What a view has left far behind is let go of, and fetched again when it comes back there.
 */
export class Conversation {
  /** Anything that can be read here changed, and why. @type {Signal<Reason>} */
  changed = new Signal();

  #connection;
  #window;
  #limit;
  #subscription;
  #pages;
  #outbox;
  #participants;
  #saving;
  /** @type {Heard | null} */
  #heard = null;

  /**
   * @param {Connection} connection
   * @param {string} id
   * @param {object} [options]
   * @param {MessageStore | null} [options.store]  keeps the newest messages over reloads
   * @param {number} [options.limit]  how many messages it begins with, and a page holds
   */
  constructor(connection, id, { store = null, limit = PAGE } = {}) {
    this.#connection = connection;
    this.#limit = limit;
    /** The conversation's id. */
    this.id = id;
    this.#window = new MessageWindow(id);
    this.#saving = new Saving(id, this.#window, store);
    this.#subscription = new Subscription(connection, id, {
      ready: () => this.#saving.restoring,
      subscribe: (isCurrent) => this.#subscribe(isCurrent),
      unsubscribe: () => this.#request('unsubscribeMessages', {}),
      event: (event) => this.#event(event),
      lost: () => {
        this.#window.unsubscribed();
        this.#participants.typists.clear();
      },
      closing: () => {
        this.#window.unsubscribed();
        this.#saving.flush();
        this.#participants.report.finished();
      },
      changed: (reason) => this.changed.emit(reason),
    });
    this.#pages = new Pages({
      window: this.#window,
      limit,
      subscription: () => this.#subscription.number,
      request: (method, params, taking) => this.#request(method, params, taking),
      taken: (page) => this.#pageTaken(page),
      changed: () => this.changed.emit(undefined),
    });
    this.#outbox = new Outbox({
      send: async ({ id: draft, body, metadata }) => (
        this.#act('sendMessage', { id: draft, body, metadata })
      ),
      changed: () => this.changed.emit(undefined),
    });
    this.#participants = new Participants({
      request: (method, params, taking) => this.#request(method, params, taking),
      changed: () => this.changed.emit(undefined),
    });
  }

  /** Where the subscription stands; `ended` is for good. */
  get phase() { return this.#subscription.phase; }

  /** Why it ended, for a person to read. */
  get ending() { return this.#subscription.ending; }

  /** Whether there may be changes that nobody here knows yet. */
  get isOpen() { return this.#subscription.isOpen; }

  /** What is held: `head`, `asOf`, `runs`. */
  get have() { return this.#window.have; }

  /** The conversation's own record. */
  get record() { return this.#window.record; }

  /** The gaps between the oldest place held and the head, oldest first. */
  get gaps() { return this.#window.gaps; }

  /** Messages, gaps and what is being sent, oldest first. */
  get items() {
    return listItems({
      values: this.#window.values, gaps: this.gaps, drafts: this.#outbox.drafts,
      user: this.#connection.user,
    });
  }

  /** The messages in rows: see `MessageWindow.grouping`. @type {MessageWindow['grouping']} */
  grouping(category, revealed) { return this.#window.grouping(category, revealed); }

  /** Who else is typing. */
  get typists() {
    return this.#participants.typists.users.filter((user) => user !== this.#connection.user);
  }

  /** The participants by id, where they are few enough to be fetched. */
  get people() { return this.#participants.people; }

  /** Up to where we have read; `null` until that is known. */
  get lastReadSeq() { return this.#participants.marker.seq; }

  /** Whether there is history before the oldest message shown. */
  get hasOlder() { return this.#pages.hasOlder; }

  /** Whether older history is being fetched, or why that failed. */
  get older() { return this.#pages.older; }

  /** Whether there is more beyond the two ends of what is here. */
  get hasMore() { return this.#window.hasMore; }

  /** The last that was heard of it; `null` before the first. */
  get heard() { return this.#heard; }

  /**
   * Subscribes, now and whenever a session begins. What the store kept is shown at once, and the
   * subscription resumes from there.
   */
  open() {
    this.#saving.restore(() => this.changed.emit('restored'));
    this.#subscription.open();
  }

  /** Ends the subscription; what is held stays, and `open` resumes it. */
  close() { this.#subscription.close(); }

  /**
   * Fetches the page before the oldest message shown.
   *
   * @param {number} [limit]  of messages
   */
  async loadOlder(limit) { if (this.phase === 'live') await this.#pages.loadOlder(limit); }

  /**
   * Fetches what is missing nearest to the newest end: the next page where the window was left, or
   * the newer end of the newest gap.
   *
   * @param {number} [limit]  of messages
   */
  async loadNewer(limit) { if (this.phase === 'live') await this.#pages.loadNewer(limit); }

  /**
   * Fetches one page of a gap; what remains of it stays a gap.
   *
   * @param {Gap} gap
   * @param {'newer' | 'older'} [end]  from which it closes
   * @param {number} [limit]  of messages
   */
  async fill(gap, end = 'newer', limit = undefined) {
    if (this.phase === 'live') await this.#pages.fill(gap, end, limit);
  }

  /**
   * Whether a gap is being filled, or why that failed.
   *
   * @param {Gap} gap
   */
  filling(gap) { return this.#pages.filling(gap); }

  /**
   * Fetches a place of the history with its neighbours, unless it is here.
   *
   * @param {Anchor} anchor
   * @returns {Promise<boolean>}  whether what is asked for is here now; of a moment, whether the
   *   page came
   */
  async loadAround(anchor) {
    if (this.#window.holds(anchor)) return true;
    if (this.phase !== 'live') return false;
    const hasCome = await this.#pages.loadAround(anchor);
    return typeof anchor === 'object' ? hasCome : this.#window.holds(anchor);
  }

  /**
   * The message at a place, if it is here.
   *
   * @param {number} seq
   */
  at(seq) { return this.#window.at(seq); }

  /**
   * Says which messages a view shows, so that what is far from them can be let go of.
   *
   * @param {string} first  an id
   * @param {string} last
   */
  noteVisible(first, last) { this.#window.noteVisible(first, last); }

  /** Lets go of all messages, to begin elsewhere in the history. */
  clear() {
    this.#pages.beginAnew();
    this.#window.clear();
    this.changed.emit('began');
  }

  /**
   * Lets go of as many messages as it takes to keep `count`, from both ends.
   *
   * @param {number} count
   * @param {number} focus  where the view stands, from 0 (the oldest message) to 1 (the newest)
   * @returns {boolean}  whether any went
   */
  trimTo(count, focus) { return this.#window.trimTo(count, focus); }

  /**
   * Sends a message; it is among the items at once.
   *
   * @param {string} body
   * @param {Record<string, *>} [metadata]
   */
  send(body, metadata) {
    this.#participants.report.finished();
    this.#outbox.add(body, metadata);
  }

  /** @param {string} id  of a failed draft */
  resend(id) { this.#outbox.retry(id); }

  /** @param {string} id  of a failed draft */
  discard(id) { this.#outbox.discard(id); }

  /**
   * @param {string} id
   * @param {string} body
   * @throws {RequestError}
   */
  async edit(id, body) { await this.#act('editMessage', { id, body }); }

  /**
   * @param {string} id
   * @throws {RequestError}
   */
  async delete(id) { await this.#act('deleteMessage', { id }); }

  /** @param {number} seq  everything up to here was read */
  markRead(seq) { if (this.phase === 'live') this.#participants.marker.move(seq); }

  /** A key was hit in the box to send; `hasText` is whether something stands in it. */
  typed(hasText = true) {
    if (hasText) this.#participants.report.typed(); else this.#participants.report.finished();
  }

  /**
   * @param {string} method
   * @param {object} params
   * @param {import('./pending.js').Taking} [taking]
   */
  #request(method, params, taking) {
    return this.#connection.request(method, { conversation: this.id, ...params }, taking);
  }

  /**
   * A request that is answered with a message, which is shown until its event comes.
   *
   * @param {string} method
   * @param {object} params
   */
  #act(method, params) {
    return this.#request(method, params, {
      final: ({ message }) => {
        this.#window.show([message]);
        this.#outbox.confirm([message], this.#connection.user);
        this.changed.emit(undefined);
      },
    });
  }

  /** @param {() => boolean} isCurrent */
  #subscribe(isCurrent) {
    const have = this.#window.resumable();
    return this.#request('subscribeMessages', { ...(have && { have }), limit: this.#limit }, {
      final: (result) => { if (isCurrent()) this.#subscribed(result, have !== null); },
    });
  }

  /**
   * @param {SubscribeResult} result
   * @param {boolean} resumed
   */
  #subscribed(result, resumed) {
    const hasBegun = this.have === null || !resumed || result.reset === true;
    this.#window.subscribed(result, resumed);
    this.#note('subscribeMessages', result.deltas.length);
    this.#outbox.confirm(result.deltas.map((delta) => delta.message), this.#connection.user);
    this.#subscription.noteOpen(result.open);
    if (result.reset) this.#participants.marker.forget();
    this.#participants.fetchMarker(result.conversation);
    this.#pages.clear();
    this.#subscription.begun(hasBegun ? 'began' : 'resumed');
    this.#participants.fetch(this.record);
    this.#outbox.resume();
    this.#participants.marker.resume();
  }

  /** @param {PageResult} page */
  #pageTaken({ messages, open }) {
    this.#note('fetchMessages', messages.length);
    this.#subscription.noteOpen(open);
    this.changed.emit('page');
  }

  /** @param {EventFrame} event */
  #event(event) {
    this.#note(event.event, event.deltas?.length ?? 0);
    switch (event.event) {
      case 'messages':
      case 'gap':
      case 'conversation':
        this.#window.event(event);
        this.#subscription.noteOpen(event.open);
        this.#arrived((event.deltas ?? []).map((/** @type {*} */ delta) => delta.message));
        this.changed.emit('messages');
        return;
      case 'reset':
        this.#forget();
        this.#subscription.begin();
        break;
      case 'unsubscribed':
        this.#forget();
        this.#subscription.end(event.reason === 'deleted'
          ? 'This conversation was deleted.' : 'You take no part in this conversation any more.');
        break;
      case 'typing':
        this.#participants.typists.note(event.user, event.state);
        return;
      case 'read':
        this.#participants.noteRead(event.user, event.seq, event.user === this.#connection.user);
        break;
      default:
        return;
    }
    this.changed.emit(undefined);
  }

  /** @param {Message[]} messages */
  #arrived(messages) {
    this.#outbox.confirm(messages, this.#connection.user);
    for (const { author } of messages) this.#participants.typists.finish(author);
  }

  #forget() {
    this.#window.forget();
    this.#participants.marker.forget();
    this.#saving.forget();
  }

  /**
   * Notes what was heard, and has it saved soon.
   *
   * @param {string} name
   * @param {number} count
   */
  #note(name, count) {
    this.#heard = { name, at: Date.now(), count };
    this.#saving.schedule();
  }
}
