import { Conversation } from './conversation.js';
import { Face } from './face.js';
import { messagesOf } from './message-deltas.js';
import { sameReactions } from './reactions.js';
import { guarded } from './report.js';

/** @import { ChatClient } from './chat-client.js' */
/** @import { ConversationName } from './conversation-id.js' */
/** @import { ListMessage } from './timeline.js' */
/** @import { Gap, Reason } from './types.js' */

/**
 * A message as a row: its `type` is that of a message that is there, or of a tombstone.
 *
 * @typedef {object} ChatMessageItem
 * @property {string} uid  the message's id, also before it is sent
 * @property {'message' | 'deleted message'} type
 * @property {ListMessage} message
 * @property {boolean} isHeld  whether it is the present value, not from a cache or a draft
 *
 * How a view should take an update: `normal`, something changed, and can be animated; `firstLoad`,
 * the first items; `firstSync`, the first answer after items that the client had kept;
 * `pagination`, a page came, keep the position; `reload`, everything is another;
 * `messageCountReduction`, items far from the view were taken out, keep the position.
 *
 * @typedef {'normal' | 'firstLoad' | 'firstSync' | 'pagination' | 'reload'
 *   | 'messageCountReduction'} UpdateType
 *
 * @typedef {object} ChatDataSourceDelegate
 * @property {(source: ChatDataSource, updateType: UpdateType) => void} chatDataSourceDidUpdate
 * @property {(reason: string, source: ChatDataSource) => void} [chatDataSourceDidEnd]  it no longer
 *   follows its conversation
 */

/** How many messages are loaded at once. */
const PAGE = 50;

/**
 * The items of a chat view: a window of one conversation's messages. It grows as the view asks, and
 * by itself while it touches the newest end.
 */
export class ChatDataSource extends Face {
  /** Who is told. @type {ChatDataSourceDelegate | null} */
  delegate = null;

  #client;
  #stop;
  #hasItems = false;
  #isSynced = false;
  #generation = 0;
  /** @type {readonly Gap[]} */
  #shownGaps = [];
  /** @type {ChatMessageItem[]} */
  #items = [];

  /**
   * A data source that begins to follow the conversation at once.
   *
   * @param {ChatClient} client
   * @param {ConversationName} conversation
   * @param {object} [options]
   * @param {number} [options.pageSize]  messages loaded at once, from 1 to 1,000
   */
  constructor(client, conversation, { pageSize = PAGE } = {}) {
    super(new Conversation(client.connection, conversation, {
      store: client.store, limit: pageSize,
    }));
    this.#client = client;
    this.#stop = this.conversation.changed.listen((reason) => this.#changed(reason));
    this.conversation.open();
  }

  /** Stops following the conversation. */
  close() {
    this.#stop();
    this.conversation.close();
  }

  /** @param {string} id */
  shownRev(id) {
    if (this.#generation !== this.conversation.generation) return 0;
    return this.#items.find(({ uid }) => uid === id)?.message.rev ?? undefined;
  }

  /** The items, oldest first. */
  get chatItems() { return this.#items; }

  /** Whether there are older messages. */
  get hasMorePrevious() { return this.conversation.hasMore.before; }

  /** Whether there are newer messages, or holes. */
  get hasMoreNext() { return this.conversation.hasMore.after; }

  /** Loads older messages; an update of type `pagination` follows. */
  loadPrevious() { this.conversation.loadOlder(); }

  /** Loads newer messages, the lowest hole first. */
  loadNext() { this.conversation.loadNewer(); }

  /**
   * Takes out items far from the view, and tells the delegate.
   *
   * @param {object} to
   * @param {number | null} [to.preferredMaxCount]  how many to keep; null to keep all
   * @param {number} to.focusPosition  where the view stands, from 0 (the oldest item) to 1
   * @param {(didAdjust: boolean) => void} [completion]  called before this returns
   */
  adjustNumberOfMessages({ preferredMaxCount = null, focusPosition }, completion = () => {}) {
    const didAdjust = preferredMaxCount !== null
      && this.conversation.trimTo(preferredMaxCount, focusPosition);
    if (didAdjust) this.#read();
    completion(didAdjust);
    if (didAdjust) this.#tell('messageCountReduction');
  }

  #read() {
    const { items, id } = this.conversation;
    const shown = messagesOf(items, id, this.#client.connection.user);
    this.#items = shown.map(({ message, isHeld }) => ({
      uid: message.id, type: message.deleted ? 'deleted message' : 'message', message, isHeld,
    }));
  }

  /** @param {Reason} reason */
  #changed(reason) {
    const old = this.#items;
    this.#read();
    const isOther = old.length !== this.#items.length || old.some(({ message, isHeld }, at) => (
      message.id !== this.#items[at].message.id || isHeld !== this.#items[at].isHeld
      || message.rev !== this.#items[at].message.rev
      || !sameReactions(message, this.#items[at].message)
    ));
    const { endingReason, generation, gaps } = this.conversation;
    const isReset = generation !== this.#generation && this.#hasItems;
    const hasOtherGaps = gaps !== this.#shownGaps && gaps.length + this.#shownGaps.length > 0;
    this.#generation = generation;
    this.#shownGaps = gaps;
    if (endingReason !== null) {
      if (isOther) this.#tell('reload');
      guarded(() => this.delegate?.chatDataSourceDidEnd?.(endingReason, this));
      return;
    }
    const isAnswer = reason === 'began' || reason === 'resumed';
    const isFirstSync = isAnswer && !this.#isSynced && this.#hasItems;
    if (isAnswer) this.#isSynced = true;
    if (!this.#hasItems && (isAnswer || reason === 'restored')) {
      this.#hasItems = true;
      this.#tell('firstLoad');
    } else if (isFirstSync) this.#tell('firstSync');
    else if (reason === 'began' || isReset) this.#tell('reload');
    else if (reason === 'page') this.#tell('pagination');
    else if (isOther || hasOtherGaps) this.#tell('normal');
  }

  /** @param {UpdateType} type */
  #tell(type) { guarded(() => this.delegate?.chatDataSourceDidUpdate(this, type)); }
}
