import { Coverage } from '../../../Sources/Browser/coverage.js';
import { refusalBeforeSending } from '../../../Sources/Browser/encoding.js';
import { Patience } from '../../../Sources/Browser/patience.js';
import { RequestError } from '../../../Sources/Browser/request-error.js';
import { Signal } from '../../../Sources/Browser/signal.js';
import { gapsOf, Origin, page, subscribed } from './played-origin.mjs';

const written = new Set(['sendMessage', 'editMessage', 'deleteMessage']);

/**
 * A gateway and the connection to it, frame by frame: requests wait until one is processed, what
 * it sends waits in one order until it is delivered. It is what a client's `Connection` is to the
 * faces.
 */
export class PlayedGateway {
  origin = new Origin();
  user = 'alice';
  session = 0;
  limits = { inbound_frame: 10_000 };
  tick = 0;
  isLive = false;
  state = { phase: 'connecting' };
  live = new Signal();
  changed = new Signal();
  events = new Signal();
  /** How many pages were asked for. */
  pages = 0;
  /** How many subscriptions the gateway was asked for and had already. */
  doubled = 0;
  /** The edits and deletions that were carried out: what of, and what they made. */
  edited = [];
  /** All sessions on the log: what one changes, each hears of. @type {PlayedGateway[]} */
  sessions = [this];
  /** Whether a subscription that is made again is pushed only what the new one lacks. */
  forgetsOwed = false;
  /** How many of the next pages, or of what is written, are refused for now. */
  refusals = 0;
  /** How many of the next requests are more than this user may ask for. */
  limited = 0;
  #patience = new Patience((...request) => this.#queue(...request), {
    setTimeout: (...timer) => setTimeout(...timer), clearTimeout: (timer) => clearTimeout(timer),
  });
  #requests = [];
  #frames = [];
  #isSubscribed = false;
  /** Whom the session watches. @type {string[]} */
  watched = [];
  /** Of them, who changed and was not told of yet. @type {Set<string>} */
  owed = new Set();
  /** How many users a session may watch. */
  watchLimit = Infinity;
  /** Places that the gateway lacks for the moment; it heals them by itself. */
  #lacking = Coverage.empty;

  get isQuiet() {
    return this.#requests.length === 0 && this.#frames.length === 0 && this.owed.size === 0;
  }

  connect() {
    if (this.isLive) return;
    this.isLive = true;
    this.session += 1;
    this.state = { phase: 'live' };
    this.changed.emit();
    this.live.emit();
  }

  disconnect() {
    if (!this.isLive) return;
    this.isLive = false;
    this.#isSubscribed = false;
    this.watched = [];
    this.owed.clear();
    this.#lacking = Coverage.empty;
    const lost = this.#requests.splice(0);
    const frames = this.#frames.splice(0);
    this.state = { phase: 'waiting' };
    this.changed.emit();
    this.#patience.end();
    for (const { reject } of [...lost, ...frames]) reject?.(RequestError.disconnected());
  }

  refuses(method, params) { return refusalBeforeSending(method, params, this.limits); }

  request(method, params, taking = {}) {
    if (!this.isLive) return Promise.reject(RequestError.disconnected());
    const refusal = this.refuses(method, params);
    if (refusal !== null) return Promise.reject(refusal);
    return Patience.has(method) ? this.#patience.ask(method, params, taking)
      : this.#queue(method, params, taking);
  }

  #queue(method, params, taking) {
    if (method === 'fetchMessages') this.pages += 1;
    return new Promise((resolve, reject) => {
      this.#requests.push({ method, params: structuredClone(params), taking, resolve, reject });
    });
  }

  /** Answers one of the requests that wait, or refuses it. */
  process(random, mayRefuse) {
    if (this.#requests.length === 0) return;
    let at = random.int(0, this.#requests.length - 1);
    // What begins and ends a subscription, and what is written, keeps its order.
    if (this.#requests[at].method !== 'fetchMessages') {
      at = this.#requests.findIndex(({ method }) => method !== 'fetchMessages');
    }
    const [request] = this.#requests.splice(at, 1);
    if (this.limited > 0 && request.method !== 'unsubscribeMessages') {
      this.limited -= 1;
      const error = { code: 'rate_limited', message: 'too much', retry: 'later', after: 10 };
      this.#frames.push({ ...request, error: new RequestError(error) });
      return;
    }
    const isRefused = this.refusals > 0
      && (request.method === 'fetchMessages' || written.has(request.method));
    if (isRefused) this.refusals -= 1;
    if (isRefused
      || (mayRefuse && random.chance(0.15) && request.method !== 'unsubscribeMessages')) {
      const error = { code: 'origin_unavailable', message: 'no', retry: 'later', after: 10 };
      this.#frames.push({ ...request, error: new RequestError(error) });
      return;
    }
    const before = this.#frames.length;
    const answered = this.#answer(request, random);
    if (request.method === 'fetchMessages' && !answered.error && random.chance(0.3)) {
      this.#frames.push({ cached: stale(this.origin, answered.result, random), ...request });
    }
    // What was written may be answered before its event comes, or after it.
    const isAhead = this.#frames.length > before && written.has(request.method)
      && random.chance(0.5);
    const place = isAhead ? before : this.#frames.length;
    this.#frames.splice(place, 0, { ...request, ...answered });
  }

  /** Hands one frame over. */
  deliver() {
    if (this.#frames.length === 0) this.#tellOwed();
    const frame = this.#frames.shift();
    if (frame === undefined) return;
    if (frame.event) {
      this.events.emit(structuredClone(frame.event));
    } else if (frame.cached) {
      frame.taking.cached?.(structuredClone(frame.cached));
    } else if (frame.error) {
      frame.reject(frame.error);
    } else {
      frame.taking.final?.(structuredClone(frame.result));
      frame.resolve(frame.result);
    }
  }

  /** Makes changes, of which a subscriber hears: each, or one gap for all. */
  change(makes, isShed) {
    const { rev } = this.origin;
    const deltas = makes.map((make) => make(this.origin));
    for (const session of this.sessions) session.#tell(deltas, rev, isShed && session === this);
  }

  /** Hears of changes. */
  #tell(deltas, rev, isShed) {
    if (!this.#isSubscribed) return;
    const { head } = this.origin;
    if (isShed) {
      const touched = new Coverage(deltas.map(({ message: { seq } }) => [seq, seq]));
      const gaps = gapsOf(touched.coarsened(16), 'slow');
      this.#send({ event: 'gap', gaps, prev: rev, asOf: head.rev, head });
      return;
    }
    let newest = head.seq - deltas.filter(({ type }) => type === 'inserted').length;
    for (const delta of deltas) {
      const { seq, rev: asOf } = delta.message;
      newest = Math.max(newest, seq);
      this.#send({
        event: 'messages', deltas: [delta], covers: [[seq, seq]], prev: asOf - 1, asOf,
        head: { ...head, seq: newest, rev: asOf, mark: this.origin.marks[asOf] },
      });
    }
  }

  /** A user comes or goes; who watches them is told. */
  move(user, state) {
    this.origin.people.set(user, state);
    for (const { watched, owed } of this.sessions) if (watched.includes(user)) owed.add(user);
  }

  /** Tells of those who changed, if an answer has not told of them meanwhile. */
  #tellOwed() {
    const changes = [...this.owed].map((user) => ({ user, state: this.origin.people.get(user) }));
    this.owed.clear();
    if (changes.length > 0) this.#frames.push({ event: { event: 'presence', changes } });
  }

  /** The origin has a lower end now, or another log. */
  alter(how) {
    const { branch } = this.origin;
    how(this.origin);
    for (const session of this.sessions) session.#hearOfLog(branch);
  }

  /** Hears that the log is another one than that of a branch, or begins later. */
  #hearOfLog(branch) {
    if (!this.#isSubscribed) return;
    const { head } = this.origin;
    if (branch === this.origin.branch) {
      const { rev } = head;
      this.#send({ event: 'messages', deltas: [], covers: [], prev: rev, asOf: rev, head });
    } else {
      this.#isSubscribed = false;
      this.#lacking = Coverage.empty;
      this.#send({ event: 'reset', head });
    }
  }

  /** Tells that places are held no more: for the client to fetch, or to wait for. */
  lose(places, cause) {
    if (cause === 'upstream') this.#lacking = this.#lacking.union(places);
    if (!this.#isSubscribed) return;
    const { head } = this.origin;
    const gaps = gapsOf(places, cause);
    this.#send({ event: 'gap', gaps, prev: head.rev, asOf: head.rev, head });
  }

  /** What the gateway lacked comes, if anybody listens. */
  heal() {
    const lacking = this.#lacking.clipped(this.origin.floor, this.origin.seq);
    this.#lacking = Coverage.empty;
    if (lacking.isEmpty || !this.#isSubscribed) return;
    const { head } = this.origin;
    const deltas = lacking.runs.flatMap(([low, high]) => (
      Array.from({ length: high - low + 1 }, (_, at) => (
        { type: 'inserted', via: 'fill', message: this.origin.value(low + at) }
      ))
    ));
    this.#send({
      event: 'messages', deltas, covers: lacking.runs, prev: head.rev, asOf: head.rev, head,
    });
  }

  #send(event) { this.#frames.push({ event: { conversation: 'c1', ...event } }); }

  #answer({ method, params }, random) {
    switch (method) {
      case 'subscribeMessages': {
        if (this.#isSubscribed && !params.have) this.doubled += 1;
        if (this.forgetsOwed) this.#lacking = Coverage.empty;
        this.#isSubscribed = true;
        return { result: this.#withhold(subscribed(this.origin, params), 'deltas', random) };
      }
      case 'unsubscribeMessages':
        this.#isSubscribed = false;
        return { result: {} };
      case 'fetchMessages': {
        const result = page(this.origin, params);
        return result ? { result: this.#withhold(result, 'messages', random) }
          : { error: new RequestError({ code: 'not_found', message: 'no such message' }) };
      }
      case 'sendMessage': return this.#sent(params);
      case 'editMessage':
      case 'deleteMessage': return this.#edited(method, params);
      case 'watchPresence': return this.#watch(params, random);
      case 'markRead': return { result: { lastReadSeq: params.seq, unreadCount: 0 } };
      case 'fetchConversation':
        return { result: { conversation: { id: 'c1', lastReadSeq: 0, head: this.origin.head } } };
      default: return { error: new RequestError({ code: 'invalid', message: method }) };
    }
  }

  #watch({ watch }, random) {
    this.owed.clear();
    this.watched = [...new Set(watch.flatMap(({ users }) => users))];
    if (this.watched.length > this.watchLimit) {
      this.watched = [];
      return { error: new RequestError({ code: 'too_large', message: 'too many' }) };
    }
    if (random.chance(0.1)) {
      const presence = this.watched.map((user) => ({ user, state: 'unknown' }));
      return { result: { presence, open: true } };
    }
    const presence = this.watched.map((user) => (
      { user, state: this.origin.people.get(user) ?? 'absent' }));
    return { result: { presence } };
  }

  #sent({ id, body }) {
    const at = this.origin.values.findLastIndex((values) => values.at(-1)?.id === id);
    if (at < 1) this.change([(origin) => origin.say(this.user, id, body)], false);
    const seq = at < 1 ? this.origin.seq : at;
    return { result: { message: this.origin.value(seq) } };
  }

  #edited(method, { id, body, ifRev }) {
    const at = this.origin.values.findLastIndex((values) => values.at(-1)?.id === id);
    const value = at < this.origin.floor ? undefined : this.origin.value(at);
    if (!value) return { error: new RequestError({ code: 'not_found', message: 'gone' }) };
    const isDone = method === 'editMessage' ? value.body === body : value.deleted;
    if (!isDone && ifRev !== undefined && ifRev !== value.rev) {
      const error = new RequestError({ code: 'conflict', message: 'it is another one' });
      return { error: Object.assign(error, { current: { message: value } }) };
    }
    if (!isDone && method === 'editMessage' && value.deleted) {
      return { error: new RequestError({ code: 'conflict', message: 'deleted' }) };
    }
    if (!isDone) {
      const { marks, rev } = this.origin;
      this.edited.push({ id, of: value.rev, made: rev + 1, mark: marks[value.rev] });
      this.change([(origin) => (
        method === 'editMessage' ? origin.edit(at, body) : origin.delete(at)
      )], false);
    }
    return { result: { message: this.origin.value(at) } };
  }

  /** Takes a part out of an answer that the gateway lacks itself for the moment. */
  #withhold(result, name, random) {
    const run = result.covers.at(-1);
    if (!this.#isSubscribed || !run || !random.chance(0.1)) return result;
    const low = random.int(run[0], run[1]);
    const lost = Coverage.interval(low, Math.min(run[1], low + random.int(0, 20)));
    this.#lacking = this.#lacking.union(lost);
    return {
      ...result, open: true, gaps: [...result.gaps, ...gapsOf(lost, 'upstream')],
      covers: new Coverage(result.covers).subtracting(lost).runs,
      [name]: result[name].filter((each) => !lost.contains((each.message ?? each).seq)),
    };
  }
}

/** The answer of a cache that is behind. */
function stale(origin, result, random) {
  const messages = result.messages.map((message) => (
    random.chance(0.3) ? origin.values[message.seq]?.[0] ?? message : message
  ));
  return { ...result, messages };
}
