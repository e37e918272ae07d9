import { MessageLog } from './message-log.js';
import { storeFor } from './message-store.js';
import { Outbox } from './outbox.js';
import { Participants } from './participants.js';
import { Reactions } from './reactions.js';
import { Saving } from './saving.js';
import { Subscription } from './subscription.js';

/** @import { Connection } from './connection.js' */
/** @import { MessageStore } from './message-store.js' */
/** @import { MessageWindow } from './message-window.js' */
/** @import { EventFrame, Heard, Message, PageResult, Reason, SubscribeResult } from './types.js' */

/**
 * One that looks at a conversation.
 *
 * @typedef {object} LogView
 * @property {MessageWindow} window
 * @property {number} limit  how many messages it begins with
 * @property {(reason?: Reason) => void} tell  anything of it is new, and why
 * @property {(ending: Ending) => void} end  the subscription is over for good
 *
 * @typedef {{reason: string, text: string}} Ending  in a word, and for a person to read
 */

/** @type {WeakMap<Connection, Map<string, WeakRef<ConversationLog>>>} */
const logs = new WeakMap();

/**
 * All that is one and the same for those who look at a conversation over one connection: the
 * subscription, what is held, what is being sent, who takes part, what a store keeps. It is
 * subscribed for as long as anybody looks.
 */
export class ConversationLog {
  /** What is held. */
  messages = new MessageLog();

  #connection;
  #subscription;
  #saving;
  /** @type {Set<LogView>} */
  #views = new Set();
  /** Those that have not begun yet. @type {WeakSet<LogView>} */
  #joining = new WeakSet();
  /** @type {Heard | null} */
  #heard = null;
  /**
   * The reason that goes with the next change of the phase.
   *
   * @type {((view: LogView) => Reason) | null}
   */
  #reasonOf = null;

  /**
   * @param {Connection} connection
   * @param {string} id
   * @param {MessageStore | null} store  keeps the newest messages over reloads
   */
  constructor(connection, id, store) {
    this.#connection = connection;
    this.id = id;
    const changed = () => this.#tell(undefined);
    const request = this.request.bind(this);
    this.#saving = new Saving(id, this.messages, storeFor(store, connection));
    this.#subscription = new Subscription(connection, id, {
      ready: () => this.#saving.restoring,
      subscribe: (isCurrent) => this.#subscribe(isCurrent),
      unsubscribe: () => this.request('unsubscribeMessages', {}),
      event: (event) => this.#event(event),
      online: () => this.messages.renew(),
      lost: () => {
        this.messages.unsubscribed();
        this.participants.typists.clear();
      },
      closing: () => {
        this.messages.unsubscribed();
        this.#saving.flush();
        this.participants.report.finished();
      },
      changed: (reason) => this.#phaseChanged(reason),
    });
    this.reactions = new Reactions({
      request,
      self: () => connection.user,
      values: () => this.messages.values,
      changed: () => {
        this.messages.shownAnew();
        changed();
      },
    });
    this.messages.shown = (message) => this.reactions.shown(message);
    this.outbox = Outbox.of(connection, store);
    this.outbox.watch(this);
    this.reactions.take(this.outbox.reactions(id));
    this.participants = new Participants({ request, changed, self: () => connection.user });
  }

  /**
   * The one log of a conversation for all who share a connection.
   *
   * @param {Connection} connection
   * @param {string} id
   * @param {MessageStore | null} store
   * @returns {ConversationLog}
   */
  static of(connection, id, store) {
    const known = logs.get(connection) ?? new Map();
    logs.set(connection, known);
    const log = known.get(id)?.deref() ?? new ConversationLog(connection, id, store);
    known.set(id, new WeakRef(log));
    return log;
  }

  /** Where the subscription stands. */
  get phase() { return this.#subscription.phase; }

  /** Whether there may be changes that are not known here. */
  get isOpen() { return this.#subscription.isOpen; }

  /** Whether anybody looks, so that there is or will be a subscription. */
  get isFollowed() { return this.#views.size > 0; }

  /** Whether a subscription was asked for and not answered. */
  get isOpening() { return this.isFollowed && this.phase === 'opening'; }

  /** Counts the subscriptions: what was asked during an earlier one is only shown. */
  get number() { return this.#subscription.number; }

  /** The conversation's own record. */
  get record() { return this.participants.recordWith(this.messages.record); }

  /** What was heard last; `null` before that. */
  get heard() { return this.#heard; }

  /**
   * Whether a view waits for its beginning.
   *
   * @param {LogView} view
   */
  isJoining(view) { return this.#joining.has(view); }

  /**
   * Follows the conversation for a view: subscribes for the first one.
   *
   * @param {LogView} view
   */
  attach(view) {
    if (this.#views.has(view)) return;
    this.#views.add(view);
    view.window.isOpen = true;
    if (!view.window.isLoaded) this.#joining.add(view);
    if (this.#views.size === 1) {
      this.#saving.restore(() => this.#restored());
      this.#subscription.open();
    }
    // Who opens a view may set it up before anything is told.
    queueMicrotask(() => this.#join(view));
  }

  /**
   * Ends that; with the last view the subscription ends.
   *
   * @param {LogView} view
   */
  detach(view) {
    if (!this.#views.delete(view)) return;
    view.window.isOpen = false;
    if (this.#views.size > 0) return;
    this.#subscription.close();
    // It waited for an answer that does not come.
    this.outbox.resume(this.id);
  }

  /**
   * @param {string} method
   * @param {object} params
   * @param {import('./pending.js').Taking} [taking]
   */
  request(method, params, taking) {
    return this.#connection.request(method, { conversation: this.id, ...params }, taking);
  }

  /**
   * For the outbox: a message was sent, and has its place. If another is held there, what is held
   * is of another log; where nobody follows the conversation, nothing else would tell of that.
   *
   * @param {Message} message
   */
  meets(message) {
    if (this.isFollowed || this.messages.hasRoomFor(message)) return;
    this.outbox.wasReset(this.id);
    this.#forget();
  }

  /**
   * For the outbox: what was written is here, and shown until its event comes.
   *
   * @param {Message} message
   */
  arrived(message) {
    this.messages.show([message]);
    this.#tell(undefined);
  }

  /** For the outbox: what is being sent is other than before. */
  outboxChanged() {
    if (this.reactions.take(this.outbox.reactions(this.id))) this.messages.shownAnew();
    this.#tell(undefined);
  }

  /**
   * A page was taken by one of the views.
   *
   * @param {PageResult} page
   * @param {number} generation  of what was held before
   * @param {LogView} asker
   */
  pageTaken({ messages, open }, generation, asker) {
    this.#note('fetchMessages', messages.length);
    this.reactions.note(messages);
    this.#subscription.noteOpen(open);
    for (const view of [...this.#views]) view.tell(view === asker ? 'page' : undefined);
    if (generation !== this.messages.generation) this.#beginAnew();
  }

  /** @param {LogView} view */
  #join(view) {
    if (!this.#views.has(view)) return;
    const isLive = this.phase === 'live';
    if (view.window.isLoaded || view.window.join(view.limit)) {
      const hasBegun = this.#joining.has(view);
      if (isLive) this.#joining.delete(view);
      if (hasBegun) view.tell(isLive ? 'began' : 'restored');
      else view.tell(isLive ? 'resumed' : undefined);
    } else if (isLive) {
      this.#subscription.begin();
    } else {
      // What it showed before may be gone.
      view.tell(undefined);
    }
  }

  #restored() {
    for (const view of [...this.#views]) if (view.window.isLoaded) view.tell('restored');
  }

  /** @param {() => boolean} isCurrent */
  #subscribe(isCurrent) {
    const have = this.messages.resumable();
    const limit = Math.max(...[...this.#views].map((view) => view.limit));
    return this.request('subscribeMessages', { ...(have && { have }), limit }, {
      final: (result) => { if (isCurrent()) this.#subscribed(result, have !== null); },
    });
  }

  /**
   * @param {SubscribeResult} result
   * @param {boolean} resumed
   */
  #subscribed(result, resumed) {
    const { generation } = this.messages;
    this.messages.subscribed(result, resumed);
    for (const view of this.#views) view.window.join(view.limit);
    const isOther = generation !== this.messages.generation || !resumed;
    this.#note('subscribeMessages', result.deltas.length);
    this.outbox.confirm(this.id, result.deltas.map((delta) => delta.message));
    if (generation !== this.messages.generation) this.outbox.wasReset(this.id);
    this.#subscription.noteOpen(result.open);
    if (result.reset) this.participants.forget();
    this.participants.fetchMarker(result.conversation);
    const joining = this.#joining;
    this.#joining = new WeakSet();
    this.#reasonOf = (view) => (isOther || joining.has(view) ? 'began' : 'resumed');
    this.#subscription.begun('resumed');
    this.participants.fetch(this.messages.record);
    this.reactions.begin();
    this.#noteAuthors(result.deltas);
    this.outbox.resume(this.id);
    this.participants.marker.resume();
  }

  /** @param {Reason} reason */
  #phaseChanged(reason) {
    const { ending } = this.#subscription;
    if (this.phase === 'ended' && ending !== null) {
      const views = [...this.#views];
      this.#views.clear();
      for (const view of views) view.end(ending);
      this.outbox.resume(this.id);
      return;
    }
    if (this.phase === 'waiting') this.outbox.resume(this.id);
    const reasonOf = reason === undefined ? null : this.#reasonOf;
    for (const view of [...this.#views]) view.tell(reasonOf ? reasonOf(view) : reason);
  }

  /** @param {EventFrame} event */
  #event(event) {
    this.#note(event.event, event.deltas?.length ?? 0);
    switch (event.event) {
      case 'messages':
      case 'gap':
      case 'conversation':
        this.#changed(event);
        return;
      case 'reset':
        this.#forget();
        this.#beginAnew();
        break;
      case 'unsubscribed':
        this.#forget();
        this.#subscription.end(event.reason ?? 'removed', event.reason === 'deleted'
          ? 'This conversation was deleted.' : 'You no longer take part in this conversation.');
        break;
      case 'typing':
        this.participants.typists.note(event.user, event.state);
        return;
      case 'read':
        this.participants.noteRead(event.user, event.seq, event.user === this.#connection.user);
        break;
      default:
        return;
    }
    this.#tell(undefined);
  }

  /** @param {EventFrame} event */
  #changed(event) {
    const { generation } = this.messages;
    this.messages.event(event);
    this.#subscription.noteOpen(event.open);
    const messages = (event.deltas ?? []).map((/** @type {*} */ delta) => delta.message);
    this.outbox.confirm(this.id, messages);
    this.reactions.note(messages);
    for (const { author, contentRev } of /** @type {Message[]} */ (messages)) {
      // Somebody else may have reacted to what its author said before.
      if (contentRev === undefined) this.participants.typists.finish(author);
    }
    this.#noteAuthors(event.deltas ?? []);
    if (event.event === 'conversation') this.participants.fetch(this.messages.record);
    this.#tell('messages');
    if (generation !== this.messages.generation) this.#beginAnew();
  }

  /** @param {readonly {message: Message}[]} deltas */
  #noteAuthors(deltas) {
    const messages = deltas.map(({ message }) => message);
    this.participants.noteAuthors(messages, this.#connection.user);
  }

  /** The log is another one. */
  #beginAnew() {
    this.outbox.wasReset(this.id);
    this.#subscription.begin();
  }

  #forget() {
    this.messages.forget();
    this.reactions.forget();
    this.participants.forget();
    this.#saving.forget();
  }

  /** @param {Reason} reason */
  #tell(reason) { for (const view of [...this.#views]) view.tell(reason); }

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
