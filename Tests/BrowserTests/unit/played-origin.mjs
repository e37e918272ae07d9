import { Coverage } from '../../../Sources/Browser/coverage.js';

const ID = 'c1';

/** The log of one conversation as it really is, with every value that it ever had. */
export class Origin {
  /** Who is there. @type {Map<string, string>} */
  people = new Map();
  epoch = 'e1';
  branch = 1;
  floor = 1;
  /** The values of each place, oldest first. */
  values = [[]];
  /** The mark of each change. */
  marks = ['b1'];
  #ids = 0;

  get seq() { return this.values.length - 1; }
  get rev() { return this.marks.length - 1; }

  get head() {
    const { epoch, seq, rev, floor } = this;
    return { epoch, seq, rev, mark: this.marks[rev], floor };
  }

  /** The present value of a place. */
  value(seq) { return this.values[seq].at(-1); }

  say(author = 'bob', id = undefined, body = undefined) {
    this.#ids += 1;
    const seq = this.seq + 1;
    this.values.push([]);
    const name = id ?? `m${this.#ids}`;
    return this.#write(seq, {
      id: name, conversation: ID, seq, author, body: body ?? name, deleted: false,
      createdAt: `2026-11-20T10:00:00.${seq}Z`,
    }, 'inserted');
  }

  edit(seq, body) {
    const value = this.value(seq);
    if (value.deleted) return this.say();
    return this.#write(seq, { ...value, body: body ?? `${value.body}*` }, 'updated');
  }

  delete(seq) {
    const { body, ...value } = this.value(seq);
    return this.#write(seq, { ...value, deleted: true }, 'deleted');
  }

  trim(floor) { this.floor = Math.max(this.floor, Math.min(floor, this.seq)); }

  /** Loses its newest changes; what comes next is of another branch. */
  rewind(rev) {
    this.marks.length = Math.max(1, rev + 1);
    this.values = this.values.map((values) => values.filter((value) => value.rev <= rev));
    while (this.values.length > 1 && this.values.at(-1).length === 0) this.values.pop();
    this.floor = Math.min(this.floor, Math.max(1, this.seq));
    this.branch += 1;
    // The log goes on at once, so that no two branches end with one and the same mark.
    this.say();
  }

  recreate(length) {
    this.epoch += 'e';
    this.branch += 1;
    this.values = [[]];
    this.marks = [`b${this.branch}`];
    this.floor = 1;
    for (let n = 0; n < length; n += 1) this.say();
  }

  confirms({ epoch, rev, mark }) { return epoch === this.epoch && this.marks[rev] === mark; }

  #write(seq, value, type) {
    this.marks.push(`b${this.branch}`);
    const message = { ...value, rev: this.rev };
    this.values[seq].push(message);
    return { type, via: 'live', message };
  }
}

/** The answer of `subscribeMessages`, by the protocol. */
export function subscribed(origin, { have, limit }) {
  const { head, floor, seq } = origin;
  const conversation = { id: ID, rev: 1, participantCount: 500, lastReadSeq: 0, head };
  const frame = { asOf: head.rev, head, conversation, boundaries: [] };
  const insert = (at) => ({ type: 'inserted', via: 'replay', message: origin.value(at) });
  if (!have || !origin.confirms(have.head)) {
    const low = Math.max(floor, seq - limit + 1);
    return {
      ...frame, ...(have && { reset: true }), gaps: [], covers: low <= seq ? [[low, seq]] : [],
      deltas: places(low, seq).map(insert).reverse(),
    };
  }
  const held = new Coverage(have.runs);
  const kept = held.clipped(floor, seq);
  const changed = kept.runs.flatMap(([low, high]) => places(low, high))
    .filter((at) => origin.value(at).rev > have.asOf)
    .sort((a, b) => origin.value(b).rev - origin.value(a).rev);
  const told = changed.slice(0, limit);
  const high = Math.max(held.last ?? 0, floor - 1);
  const low = Math.max(high + 1, seq - (limit - told.length) + 1);
  const lost = new Coverage([...changed.slice(limit).map((at) => [at, at]),
    ...(low > high + 1 ? [[high + 1, Math.min(low - 1, seq)]] : [])]
    .filter(([from, to]) => from <= to));
  const covers = [...told.map((at) => [at, at]), ...(low <= seq ? [[low, seq]] : [])];
  const named = gapsOf(lost.isEmpty ? lost : lost.coarsened(16), 'limit');
  const trimmed = (held.first ?? floor) < floor ? gapsOf(Coverage.interval(1, floor - 1), 'trimmed')
    : [];
  const taken = Coverage.empty.union(new Coverage(named.map(({ after, before }) => (
    [after + 1, before - 1]
  ))));
  return {
    ...frame, gaps: [...gapsOf(held.holes.clipped(floor, seq), 'cold'), ...trimmed, ...named],
    covers: new Coverage(covers).subtracting(taken).runs,
    deltas: [...told, ...places(low, seq).reverse()].filter((at) => !taken.contains(at))
      .map((at) => ({ ...insert(at), type: 'updated' })),
  };
}

/** The answer of `fetchMessages`; null where the anchor is not known. */
export function page(origin, { before, after, around, limit, order = 'desc' }) {
  const { head, floor, seq } = origin;
  let [low, high] = [floor, seq];
  const seqOf = (anchor) => (typeof anchor === 'number' ? anchor
    : origin.values.findLastIndex((values, at) => values.at(-1)?.id === anchor && at >= floor));
  if (around !== undefined) {
    const at = typeof around === 'object' ? seq : seqOf(around);
    if (at < floor || at > seq) return null;
    [low, high] = [Math.max(floor, at - limit), Math.min(seq, at + limit)];
  } else {
    if (after !== undefined) low = Math.max(low, seqOf(after) + 1);
    if (before !== undefined) high = Math.min(high, seqOf(before) - 1);
    const isFromBelow = after !== undefined && (before === undefined || order === 'asc');
    if (isFromBelow) high = Math.min(high, low + limit - 1);
    else low = Math.max(low, high - limit + 1);
  }
  const messages = places(low, high).map((at) => origin.value(at));
  if (order === 'desc') messages.reverse();
  return {
    messages, hasMore: { before: low > floor, after: high < seq }, gaps: [], asOf: head.rev, head,
    covers: low <= high ? [[low, high]] : [], boundaries: [],
  };
}

/** The gaps of places, as the protocol writes them. */
export function gapsOf(coverage, cause) {
  return coverage.runs.map(([low, high]) => (
    { after: low - 1, before: high + 1, missing: high - low + 1, cause, since: '' }
  ));
}

function places(low, high) {
  return Array.from({ length: Math.max(0, high - low + 1) }, (_, at) => low + at);
}
