import assert from 'node:assert/strict';
import { ChatClient } from '../../../Sources/Browser/chat-client.js';
import { ChatDataSource } from '../../../Sources/Browser/chat-data-source.js';
import { Coverage } from '../../../Sources/Browser/coverage.js';
import { History } from '../../../Sources/Browser/history.js';
import { ManagedMessageList } from '../../../Sources/Browser/managed-message-list.js';
import { applyDelta } from '../../../Sources/Browser/merge.js';

/** Says that two lists are not one: quickly where they are, as they nearly always are. */
function checkSame(one, other, isSame, why) {
  if (one.length === other.length && one.every((each, at) => isSame(each, other[at]))) return;
  assert.deepEqual(one, other, why);
  assert.fail(why);
}

/**
 * A face as the oracle sees it.
 *
 * @typedef {object} Played
 * @property {() => {message: *, isHeld: boolean}[]} rows
 * @property {() => *[]} gaps
 * @property {() => {before: boolean, after: boolean} | null} hasMore  null where it does not say
 */

class PlayedList {
  /** What a plain list is that only takes what it is told. */
  plain = [];

  constructor(client, { limit, syncs, isOpen }, gateway) {
    this.gateway = gateway;
    this.list = new ManagedMessageList(client, { id: 'c1' }, {
      managedMessageListDidChange: (deltas) => { this.plain = applyDelta(deltas, this.plain); },
      managedMessageListDidEnd: () => { this.isOver = true; },
    });
    this.list.fetchLimit = limit;
    this.list.syncOnReconnect = syncs;
    if (isOpen) this.list.online();
    this.visible = null;
  }

  get conversation() { return this.list.conversation; }
  get limit() { return this.list.fetchLimit; }

  rows() {
    return Array.from({ length: this.list.messageCount() }, (_, at) => (
      { message: this.list.messageAt(at), isHeld: this.list.isHeldAt(at) }
    )).filter(({ message }) => message.seq !== undefined);
  }

  gaps() { return this.list.gaps; }
  hasMore() { return this.list.hasMore; }

  scroll(random) {
    const count = this.list.messageCount();
    if (count === 0) return;
    const first = random.int(0, count - 1);
    const last = Math.min(count - 1, first + random.int(0, 15));
    this.look(first, last);
    if (first === 0 && random.chance(0.5)) this.list.scrollViewDidReachTop();
    if (last === count - 1 && random.chance(0.5)) this.toBottom();
  }

  toBottom() {
    const count = this.list.messageCount();
    if (count > 0) this.look(Math.max(0, count - 10), count - 1);
    this.list.scrollViewDidReachBottom();
  }

  look(first, last) {
    this.visible = [this.list.messageAt(first), this.list.messageAt(last)];
    this.list.scrollViewDidScroll(first, last);
  }

  top() { this.list.scrollViewDidReachTop(); }

  close() { this.list.offline(); }
  open() {
    this.isOver = false;
    this.list.online();
  }

  check() {
    const shown = this.rows().map(({ message }) => message);
    const plain = this.plain.filter(({ seq }) => seq !== undefined);
    const isSame = (one, other) => one.id === other.id && one.rev === other.rev;
    checkSame(plain, shown, isSame, 'deltas make up the list');
    // The reader's place: what is in view stays, unless its log or the floor took it.
    const hasBegun = this.rows().some(({ isHeld }) => isHeld);
    if (hasBegun && this.visible && this.conversation.generation === this.generation) {
      const { floor } = this.conversation.have?.head ?? { floor: 1 };
      const count = this.list.messageCount();
      const ids = new Set(Array.from({ length: count }, (_, at) => this.list.messageAt(at).id));
      // What was in view before it was sent has its place by now. What the log lost has none: no
      // reset tells of it where all that is held is confirmed.
      const { values } = this.gateway.origin;
      const placeOf = (id) => values.findIndex((all) => all.at(-1)?.id === id);
      const isIn = this.visible.every(({ id }) => ids.has(id) || placeOf(id) < floor);
      assert.ok(!this.wasIn || isIn, 'what is in view stays');
      this.wasIn = isIn;
    } else {
      this.wasIn = false;
      this.visible = null;
    }
    this.generation = this.conversation.generation;
  }
}

class PlayedHistory {
  constructor(client, { limit, seen, isOpen }, gateway) {
    this.limit = limit;
    this.gateway = gateway;
    const { head } = gateway.origin;
    const record = { id: 'c1', rev: 1, head, lastReadSeq: seen, lastMessage: null };
    this.history = new History(client, record, { count: this.limit });
    this.history.delegate = {
      historyDidChange: () => {}, historyMoveTo: () => {},
      historyDidEnd: () => { this.isOver = true; },
    };
    if (isOpen) this.history.open();
  }

  get conversation() { return this.history.conversation; }

  rows() {
    if (this.history.loading.center) return [];
    return this.conversation.items.filter(({ kind }) => kind === 'message');
  }

  gaps() { return this.history.gaps; }
  hasMore() { return this.history.loading.center ? null : this.history.hasMore; }

  scroll(random) {
    if (random.chance(0.2) && this.gateway.origin.seq > 0) {
      const seq = random.int(1, this.gateway.origin.seq);
      const id = this.gateway.origin.values[seq].at(-1)?.id ?? 'nobody';
      this.history.moveTo(random.chance(0.8) ? id : 'nobody').catch(() => {});
    } else if (random.chance(0.5)) this.history.scrolledToTop();
    else this.history.scrolledToBottom();
  }

  toBottom() { this.history.scrolledToBottom(); }
  top() { this.history.scrolledToTop(); }

  jump(seq) {
    const id = this.gateway.origin.values[seq]?.at(-1)?.id ?? 'nobody';
    this.history.moveTo(id).catch(() => {});
  }

  close() { this.history.close(); }
  open() {
    this.isOver = false;
    this.history.open();
  }

  check() {}
}

class PlayedSource {
  constructor(client, { limit }) {
    this.limit = limit;
    this.source = new ChatDataSource(client, 'c1', { pageSize: this.limit });
    this.items = this.source.chatItems;
    this.source.delegate = {
      chatDataSourceDidUpdate: ({ chatItems }) => { this.items = chatItems; },
      chatDataSourceDidEnd: () => { this.isOver = true; },
    };
  }

  get conversation() { return this.source.conversation; }
  rows() { return this.source.chatItems.filter(({ message }) => message.seq !== undefined); }
  gaps() { return this.source.gaps; }
  hasMore() { return { before: this.source.hasMorePrevious, after: this.source.hasMoreNext }; }

  scroll(random) {
    const way = random.int(0, 3);
    if (way === 0) this.shrink(random.int(1, 60), random.next());
    else if (way === 1) this.source.loadPrevious();
    else this.source.loadNext();
  }

  toBottom() { this.source.loadNext(); }
  top() { this.source.loadPrevious(); }

  shrink(preferredMaxCount, focusPosition) {
    this.source.adjustNumberOfMessages({ preferredMaxCount, focusPosition });
  }

  close() {
    this.source.close();
    this.isClosed = true;
  }

  check() {
    checkSame(this.items, this.source.chatItems, (one, other) => one.uid === other.uid,
      'the delegate was told of each change');
  }
}

class PlayedHandler {
  plain = [];
  told = [];
  limit = 100;

  constructor(client) {
    this.client = client;
    this.open();
  }

  rows() { return this.plain.map((message) => ({ message, isHeld: false })); }
  gaps() { return this.told; }
  hasMore() { return null; }
  scroll() {}
  toBottom() {}

  open() {
    this.plain = [];
    this.told = [];
    this.stop = this.client.subscribeMessages('c1', (deltas, { gaps, ending }) => {
      this.plain = applyDelta(deltas, this.plain);
      this.told = gaps;
      this.isOver = ending !== null;
    });
  }

  close() { this.stop(); }
  check() {}
}

const kinds = {
  list: PlayedList, history: PlayedHistory, source: PlayedSource, handler: PlayedHandler,
};

/** A face of a kind. */
export function faceOf(gateway, kind, options) {
  const client = gateway.client ?? {
    connection: gateway, store: null, subscribeMessages: ChatClient.prototype.subscribeMessages,
  };
  return new kinds[kind](client, options, gateway);
}

/** A face of a random kind. */
export function playedFace(gateway, random) {
  const kind = Object.keys(kinds)[random.int(0, 3)];
  const options = { isOpen: true };
  if (kind !== 'handler') options.limit = random.int(3, 40);
  if (kind === 'list') options.syncs = random.chance(0.8);
  if (kind === 'history') options.seen = random.int(0, gateway.origin.head.seq + 1);
  return faceOf(gateway, kind, options);
}

/** Says what is wrong with a face at this moment; every frame must leave it right. */
export function checkFace(face, gateway) {
  const rows = face.rows();
  const missing = coverageOf(face.gaps());
  for (let at = 1; at < rows.length; at += 1) {
    const [low, high] = [rows[at - 1].message.seq, rows[at].message.seq];
    if (high === low + 1) continue;
    assert.ok(low < high, `rows in order: ${low}, ${high}`);
    const silent = Coverage.interval(low + 1, high - 1).subtracting(missing);
    assert.ok(silent.isEmpty, `silent hole at ${silent}`);
  }
  const { have } = face.conversation ?? {};
  const { origin } = gateway;
  if (!have || !origin.confirms(have.head)) return;
  for (const { message, isHeld } of rows) {
    const values = origin.values[message.seq];
    if (!isHeld || !values || message.seq < origin.floor) continue;
    const known = values.findLast(({ rev }) => rev <= have.asOf);
    if (message.rev < (known?.rev ?? 0)) assert.fail(`held ${message.seq} is outdated`);
    // A reply may be ahead of all that the subscription told: that its log was lost since, as the
    // origin knows at once, nobody can have told. At rest it is judged in any case.
    if (message.rev > have.head.rev) continue;
    const was = values.some(({ rev }) => rev === message.rev);
    if (!was) assert.fail(`held ${message.seq} never was so`);
  }
}

/** Says what is wrong with what a handler was told: whatever lies in no gap is the log. */
function checkTold(face, origin) {
  const rows = new Map(face.rows().map(({ message }) => [message.seq, message]));
  const first = Math.max(origin.floor, Math.min(...rows.keys(), origin.seq + 1));
  const missing = coverageOf(face.gaps());
  for (let seq = first; seq <= origin.seq; seq += 1) {
    if (missing.contains(seq)) continue;
    const { id, rev } = rows.get(seq) ?? {};
    const value = origin.value(seq);
    if (id !== value.id || rev !== value.rev) assert.fail(`${seq} was told as ${id} at ${rev}`);
  }
  for (const seq of rows.keys()) {
    if (seq > origin.seq) assert.fail(`${seq} was told, and the log ends at ${origin.seq}`);
  }
}

function coverageOf(gaps) {
  return new Coverage(gaps.filter(({ after, before }) => before - after > 1)
    .map(({ after, before }) => [after + 1, before - 1]));
}

/** Says what is wrong with a face that was scrolled to the bottom when all is quiet. */
export function checkWhole(face, gateway) {
  const { origin } = gateway;
  if (face instanceof PlayedHandler) {
    checkTold(face, origin);
    return;
  }
  const shown = face.rows();
  // What is shown below all that is held is reached by scrolling up.
  const rows = shown.slice(Math.max(0, shown.findIndex(({ isHeld }) => isHeld)));
  const first = rows[0]?.message.seq ?? origin.seq + 1;
  const written = ({ seq, id, rev }) => `${seq} ${id} ${rev}`;
  rows.forEach(({ message }, at) => {
    assert.equal(written(message), written(origin.value(first + at)), 'it is the log');
  });
  assert.equal(first + rows.length - 1, origin.seq, 'up to the end');
  assert.ok(origin.seq < origin.floor || rows.length > 0, 'something is shown');
  const gaps = face.gaps().filter(({ cause, after }) => cause !== 'trimmed' && after >= first);
  assert.equal(JSON.stringify(gaps), '[]', 'without a gap');
  const hasMore = face.hasMore();
  assert.deepEqual(hasMore, { before: first > origin.floor, after: false }, 'and says so');
}
