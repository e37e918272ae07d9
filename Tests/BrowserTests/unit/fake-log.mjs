import { ChatClient } from '../../../Sources/Browser/chat-client.js';
import { playedConnection, settled } from './fake-gateway.mjs';

/** The moment of a place: a minute for each. */
export const timeOf = (seq) => new Date(Date.UTC(2026, 10, 20, 0, seq)).toISOString();

/** The log of one conversation, and how a gateway answers from it. */
export class FakeLog {
  id = 'c1';
  epoch = 'e1';
  mark = 'm';
  floor = 1;
  lastReadSeq = 0;
  /** What was asked for, by method. */
  asked = [];
  /** The params of each page that was asked for. */
  pages = [];
  /** The code with which a request is refused; nothing for one that is answered. */
  refuses = null;
  /** The event of the last change. */
  told = null;
  #messages = new Map();
  /** Who has which key of a message. */
  #reactions = new Map();
  #rev = 1;

  /** @param {number} length */
  constructor(length) { for (let seq = 1; seq <= length; seq += 1) this.say(); }

  get head() {
    return { epoch: this.epoch, seq: this.#messages.size, rev: this.#rev, mark: this.mark, floor: this.floor };
  }

  get record() {
    return {
      id: this.id, title: 'Ops', participantCount: 500, rev: 1, head: this.head,
      lastMessage: this.#messages.get(this.head.seq) ?? null, lastReadSeq: this.lastReadSeq,
      unreadCount: this.head.seq - this.lastReadSeq,
    };
  }

  /** Writes a message. */
  say(more = {}) {
    const seq = this.#messages.size + 1;
    return this.#write({
      id: `m${seq}`, conversation: this.id, seq, author: 'bob', body: `message ${seq}`,
      metadata: {}, createdAt: timeOf(seq), editedAt: null, deleted: false, ...more,
    }, 'inserted');
  }

  edit(seq, body, more = {}) {
    const { contentRev, ...message } = this.#messages.get(seq);
    return this.#write({ ...message, body, editedAt: timeOf(seq), ...more }, 'updated');
  }

  delete(seq) {
    const {
      body, metadata, reactions, contentRev, replyTo, mentions, mentionAll, ...rest
    } = this.#messages.get(seq);
    this.#reactions.delete(seq);
    return this.#write({ ...rest, deleted: true }, 'deleted');
  }

  /** Has users react to a message, or take that back. */
  react(seq, key, users, on = true) {
    const all = this.#reactions.get(seq) ?? new Map();
    this.#reactions.set(seq, all);
    for (const user of users) {
      const of = new Set(all.get(key));
      if (on) of.add(user); else of.delete(user);
      if (of.size > 0) all.set(key, of); else all.delete(key);
    }
    const { rev, contentRev = rev, reactions, ...message } = this.#messages.get(seq);
    const now = [...all].map(([each, of]) => (
      { key: each, count: of.size, users: [...of].slice(0, 10) }
    ));
    return this.#write({
      ...message, contentRev, ...(now.length > 0 && { reactions: now }),
    }, 'updated');
  }

  /** The keys that a user has on a message. */
  keysOf(seq, user) {
    return [...this.#reactions.get(seq) ?? []].flatMap(([key, of]) => (of.has(user) ? [key] : []));
  }

  /** A message as it is. */
  at(seq) { return this.#messages.get(seq); }

  /** Loses its newest messages, as a backup that was restored: the next ones get their numbers. */
  rewind(length) {
    for (const seq of [...this.#messages.keys()]) if (seq > length) this.#messages.delete(seq);
    this.#rev = length + 1;
    this.mark += 'm';
  }

  /** The event of a change; `say`, `edit` and `delete` give it. */
  #write(message, type) {
    this.#rev += 1;
    const value = { ...message, rev: this.#rev };
    this.#messages.set(value.seq, value);
    this.told = {
      event: 'messages', conversation: this.id, deltas: [{ type, via: 'live', message: value }],
      covers: [[value.seq, value.seq]], prev: this.#rev - 1, asOf: this.#rev, head: this.head,
    };
    return this.told;
  }

  /** Has a socket answer by itself from here on. */
  serve(socket) {
    const answer = (request) => {
      this.asked.push(request.method);
      if (request.method === 'fetchMessages') this.pages.push(request.params);
      const code = this.refuses?.(request);
      if (code) {
        queueMicrotask(() => socket.fail(request, { code, message: code }));
        return;
      }
      const result = this.answer(request);
      if (result === undefined) socket.requests.push(request);
      // Not before the request has been made, as with any network.
      else queueMicrotask(() => socket.reply(request, result));
    };
    socket.send = (text) => answer(JSON.parse(text));
    for (const request of socket.requests.splice(0)) answer(request);
  }

  answer({ method, params }) {
    switch (method) {
      case 'subscribeMessages': return this.#subscribed(params);
      case 'fetchMessages': return this.#page(params);
      case 'fetchConversation': return { conversation: this.record };
      case 'unsubscribeMessages': return {};
      case 'markRead':
        this.lastReadSeq = Math.max(this.lastReadSeq, params.seq);
        return { lastReadSeq: this.lastReadSeq, unreadCount: 0 };
      default: return undefined;
    }
  }

  #subscribed({ have, limit }) {
    const { head } = this;
    const frame = { gaps: [], asOf: head.rev, head, conversation: this.record, boundaries: [] };
    if (!have || have.head.epoch !== head.epoch || have.head.mark !== head.mark) {
      const low = Math.max(head.floor, head.seq - limit + 1);
      const reset = have ? { reset: true } : {};
      return { ...frame, ...reset, deltas: this.#deltas(low, head.seq), covers: this.#covers(low) };
    }
    const high = have.runs.at(-1)?.[1] ?? 0;
    const changed = have.runs.flatMap(([low, up]) => this.#deltas(low, up))
      .filter(({ message }) => message.rev > have.asOf);
    const low = Math.max(high + 1, head.seq - limit + 1);
    if (low > high + 1) {
      frame.gaps.push({
        after: high, before: low, missing: low - high - 1, cause: 'limit', since: timeOf(high),
      });
    }
    return {
      ...frame, deltas: [...changed, ...this.#deltas(low, head.seq)], covers: this.#covers(low),
    };
  }

  #page({ before, after, around, limit, order = 'desc' }) {
    const { head } = this;
    let [low, high] = [head.floor, head.seq];
    if (around !== undefined) {
      const seq = this.#seqOf(around);
      [low, high] = [Math.max(head.floor, seq - limit), Math.min(head.seq, seq + limit)];
    } else {
      if (after !== undefined) low = this.#seqOf(after) + 1;
      if (before !== undefined) high = this.#seqOf(before) - 1;
      const isFromBelow = after !== undefined && (before === undefined || order === 'asc');
      if (isFromBelow) high = Math.min(high, low + limit - 1);
      else low = Math.max(low, high - limit + 1);
    }
    const messages = this.#deltas(low, high).map(({ message }) => message);
    if (order === 'desc') messages.reverse();
    return {
      messages, hasMore: { before: low > head.floor, after: high < head.seq },
      covers: low <= high ? [[low, high]] : [], gaps: [], asOf: head.rev, head, boundaries: [],
    };
  }

  #seqOf(anchor) {
    const all = [...this.#messages.values()];
    if (typeof anchor === 'number') return anchor;
    if (typeof anchor === 'string') return all.find(({ id }) => id === anchor)?.seq ?? 0;
    return all.find(({ createdAt }) => createdAt >= anchor.time)?.seq ?? this.head.seq;
  }

  #covers(low) { return low <= this.head.seq ? [[low, this.head.seq]] : []; }

  #deltas(low, high) {
    return Array.from({ length: Math.max(0, high - low + 1) }, (_, at) => (
      { type: 'inserted', via: 'replay', message: this.#messages.get(low + at) }
    ));
  }
}

/** A client whose gateway answers from a log, connected. */
export async function connected(log) {
  let client;
  const played = playedConnection({}, (options) => {
    client = new ChatClient(options);
    return client.connection;
  });
  client.connection.live.listen(() => log.serve(played.sockets.at(-1)));
  await played.begin();
  return { ...played, client };
}

/** Breaks the connection, lets something happen, and begins the next session. */
export async function outage({ clock, sockets }, meanwhile = () => {}) {
  sockets.at(-1).end(1006);
  await settled();
  meanwhile();
  await clock.advance(1000);
  await sockets.at(-1).welcome();
  await settled();
}
