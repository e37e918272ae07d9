import { Backoff } from './backoff.js';

/** @import { Connection } from './connection.js' */
/** @import { RequestError } from './request-error.js' */
/** @import { EventFrame, Reason } from './types.js' */

/** @typedef {'idle' | 'opening' | 'live' | 'waiting' | 'ended'} SubscriptionPhase */

/**
 * What a subscription is about, and who is told of it.
 *
 * @typedef {object} SubscriptionOwner
 * @property {() => Promise<void> | null} ready  what a request has to wait for
 * @property {(isCurrent: () => boolean) => Promise<*>} subscribe  asks for the subscription and
 *   takes the answer, if it is the current one still; rejects with a `RequestError`
 * @property {() => Promise<*>} unsubscribe
 * @property {(event: EventFrame) => void} event  takes an event of the conversation while live
 * @property {() => void} online  the gateway stands at the present again
 * @property {() => void} lost  the connection went
 * @property {() => void} closing  the subscription ends
 * @property {(reason?: Reason) => void} changed  called after each change of a phase or `isOpen`
 */

/**
 * The subscription to one conversation: it begins whenever a session does, tries again where the
 * gateway says that this may help, and ends for good where it can't.
 */
export class Subscription {
  #connection;
  #conversation;
  #owner;
  #backoff = new Backoff();
  /** @type {SubscriptionPhase} */
  #phase = 'idle';
  /** @type {{reason: string, text: string} | null} */
  #ending = null;
  /** The session of the connection in which it was asked for last. */
  #session = 0;
  #isOpen = false;
  /** What the last frame said: `online` closes what it does not contradict. */
  #wasOpen = false;
  #number = 0;
  /** @type {(() => void)[]} */
  #listening = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;

  /**
   * @param {Connection} connection
   * @param {string} conversation
   * @param {SubscriptionOwner} owner
   */
  constructor(connection, conversation, owner) {
    this.#connection = connection;
    this.#conversation = conversation;
    this.#owner = owner;
  }

  /** Where it stands; `ended` is for good. */
  get phase() { return this.#phase; }

  /** Why it ended: in a word, and for a person to read. */
  get ending() { return this.#ending; }

  /** Whether there may be changes that are not known here. */
  get isOpen() { return this.#isOpen; }

  /** Counts the subscriptions: what was asked during an earlier one is only shown. */
  get number() { return this.#number; }

  /** Subscribes, now and whenever a session begins; one that ended tries anew. */
  open() {
    if (this.#listening.length > 0) return;
    this.#ending = null;
    this.#phase = 'idle';
    this.#listening = [
      // A caller may have opened it because a session began: that must not ask for it twice.
      this.#connection.live.listen(() => {
        if (this.#session !== this.#connection.session) this.begin();
      }),
      this.#connection.changed.listen(() => this.#connectionChanged()),
      this.#connection.events.listen((event) => this.#event(event)),
    ];
    if (this.#connection.isLive) this.begin();
  }

  /** Ends it until it is opened again. */
  close() {
    for (const stop of this.#listening) stop();
    this.#listening = [];
    clearTimeout(this.#retry);
    this.#owner.closing();
    this.#number += 1;
    if (this.#phase === 'live' || this.#phase === 'opening') {
      this.#owner.unsubscribe().catch(() => {});
    }
    if (this.#phase !== 'ended') this.#phase = 'idle';
  }

  /** Asks for the subscription, anew if there is one. */
  async begin() {
    clearTimeout(this.#retry);
    this.#number += 1;
    this.#session = this.#connection.session;
    const number = this.#number;
    const isCurrent = () => number === this.#number;
    this.#setPhase('opening');
    const ready = this.#owner.ready();
    if (ready) {
      await ready;
      if (!isCurrent()) return;
    }
    const answer = this.#owner.subscribe(isCurrent);
    try {
      await answer;
    } catch (error) {
      if (isCurrent()) this.#failed(/** @type {RequestError} */ (error));
    }
  }

  /**
   * The answer was taken.
   *
   * @param {Reason} reason
   */
  begun(reason) {
    this.#backoff.reset();
    this.#setPhase('live', reason);
  }

  /**
   * Ends it for good.
   *
   * @param {string} reason  `removed`, `deleted`, `forbidden`, or the code of an error
   * @param {string} text  for a person to read
   */
  end(reason, text) {
    this.#ending = { reason, text };
    this.#phase = 'ended';
    this.close();
    this.#owner.changed();
  }

  /**
   * Takes what a frame says of `isOpen`.
   *
   * @param {boolean | undefined} isOpen
   */
  noteOpen(isOpen) {
    this.#wasOpen = isOpen === true;
    this.#isOpen = this.#wasOpen;
  }

  /** @param {RequestError} error */
  #failed(error) {
    if (error.code === 'disconnected') return;
    if (error.retry === 'never') {
      const text = error.code === 'not_found'
        ? 'This conversation does not exist, or you take no part in it.' : error.message;
      // An app's author who mistyped an id sees an empty list, and looks here.
      console.warn(`gapless: subscribing to ${JSON.stringify(this.#conversation)}: ${error.code}: `
        + text);
      this.end(error.code, text);
      return;
    }
    this.#setPhase('waiting');
    this.#retry = setTimeout(() => this.begin(), error.after ?? this.#backoff.next());
  }

  /** @param {EventFrame} event */
  #event(event) {
    if (event.event === 'upstream') {
      this.#isOpen = event.state !== 'online' || this.#wasOpen;
      if (event.state === 'online') this.#owner.online();
      this.#owner.changed();
    }
    const { conversation } = event;
    if (conversation !== this.#conversation && conversation?.id !== this.#conversation) return;
    if (this.#phase !== 'live') return;
    if (event.event === 'renewed') {
      // Another tab subscribed too: what the gateway was to push may go by.
      this.#owner.online();
      this.#owner.changed();
    } else {
      this.#owner.event(event);
    }
  }

  #connectionChanged() {
    if (!this.#connection.isLive && this.#phase !== 'ended' && this.#phase !== 'idle') {
      clearTimeout(this.#retry);
      this.#owner.lost();
      this.#setPhase('waiting');
    }
  }

  /**
   * @param {SubscriptionPhase} phase
   * @param {Reason} [reason]
   */
  #setPhase(phase, reason) {
    this.#phase = phase;
    this.#owner.changed(reason);
  }
}
