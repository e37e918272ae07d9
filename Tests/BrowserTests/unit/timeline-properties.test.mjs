import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Grouping } from '../../../Sources/Browser/grouping.js';
import { Timeline } from '../../../Sources/Browser/timeline.js';
import { forSeeds } from './random.mjs';
import { carriedOut } from './timeline-vector.mjs';

const category = ({ body, deleted }) => (deleted ? 'deleted' : body ?? null);

/** One conversation as it truly is, and the gateway that tells of it. */
class Origin {
  messages = [];
  rev = 0;
  isChained = true;

  constructor(random) { this.random = random; }

  get head() { return this.messages.at(-1)?.seq ?? 0; }

  append() {
    const before = this.head;
    this.rev += 1;
    const seq = before + 1;
    const message = {
      id: `m${seq}`, conversation: 'c', seq, rev: this.rev, deleted: false, editedAt: null,
      author: this.random.chance(0.3) ? 'me' : 'alice', createdAt: '2026-11-20T10:00:00.000Z',
      ...(this.random.chance(0.5) && { body: 'event' }),
    };
    this.messages.push(message);
    const covers = [[seq, seq]];
    return { delta: { type: 'inserted', via: 'live', message }, covers };
  }

  change() {
    if (this.messages.length === 0) return undefined;
    const at = this.random.int(0, this.messages.length - 1);
    this.rev += 1;
    const deleted = this.messages[at].deleted || this.random.chance(0.3);
    this.messages[at] = { ...this.messages[at], rev: this.rev, deleted };
    return {
      type: deleted ? 'deleted' : 'updated', via: 'live', message: this.messages[at],
    };
  }

  /** A page, with what the gateway says that it proves. */
  page(kind, anchor) {
    const limit = this.random.int(1, 5);
    const { messages } = this;
    let [from, to] = [0, messages.length];
    if (kind === 'latest') from = Math.max(0, to - limit);
    if (kind === 'initial' || kind === 'around') {
      const at = this.random.int(0, to);
      [from, to] = [Math.max(0, at - limit), Math.min(to, at + limit)];
    }
    const index = messages.findIndex(({ seq }) => seq === anchor);
    if (kind === 'before') [from, to] = [Math.max(0, index - limit), index];
    if (kind === 'after') [from, to] = [index + 1, Math.min(to, index + 1 + limit)];
    let low = from === 0 ? 1 : messages[from]?.seq ?? this.head + 1;
    let high = to === messages.length ? this.head : messages[to - 1]?.seq ?? 0;
    if (kind === 'before') high = messages[to].seq - 1;
    if (kind === 'after') low = messages[from - 1].seq + 1;
    return {
      kind, anchor, conversation: 'c', messages: messages.slice(from, to), head: this.head,
      asOf: this.rev, hasMore: { before: from > 0, after: to < messages.length },
      covers: low <= high ? [[low, high]] : [],
    };
  }
}

/** One random step of a world; returns the changes of its timeline. */
function step(world) {
  const { random, origin, timeline } = world;
  const live = () => {
    const { delta, covers } = origin.append();
    origin.isChained = world.isFed;
    if (!world.isFed) return undefined;
    return timeline.applyDeltas([delta], { covers, head: origin.head, asOf: origin.rev });
  };
  const page = (kind, anchor) => {
    const read = { ...origin.page(kind, anchor), generation: timeline.generation };
    read.isCached = random.chance(0.1);
    if (random.chance(0.25)) {
      world.late.push(read);
      return undefined;
    }
    const visible = random.chance(0.5)
      ? [random.int(0, timeline.length), timeline.length] : undefined;
    return timeline.apply(read, visible);
  };
  if (!timeline.isLoaded) return random.chance(0.15) ? live() : page('initial');
  const choice = random.int(0, 13);
  if (choice < 3) return page(['initial', 'latest', 'around'][choice]);
  if (choice < 7) {
    if (timeline.length === 0) return undefined;
    const { seq } = timeline.at(random.int(0, timeline.length - 1)).message;
    return page(choice < 5 ? 'before' : 'after', seq);
  }
  if (choice < 9) return live();
  if (choice < 11) {
    const delta = origin.change();
    if (delta === undefined) return undefined;
    const { seq } = delta.message;
    const asOf = origin.rev;
    return world.isFed
      ? timeline.applyDeltas([delta], { covers: [[seq, seq]], asOf })
      : timeline.applyDeltas([], { gaps: [[Math.max(1, seq - 1), seq + random.int(0, 2)]], asOf });
  }
  if (choice === 11) {
    world.isFed = !world.isFed;
    return undefined;
  }
  if (choice === 12) {
    if (world.late.length === 0) return undefined;
    return timeline.apply(world.late.splice(random.int(0, world.late.length - 1), 1)[0]);
  }
  if (random.chance(0.1)) return timeline.reset();
  return timeline.trimTo(random.int(0, 12), random.int(0, 4) / 4);
}

/** Everything that can be read of rows. */
const reading = (grouping) => ({
  rows: grouping.rows,
  runs: grouping.runs,
  single: grouping.rows.map((_, row) => grouping.at(row)),
  unread: grouping.rows.map((_, row) => grouping.unreadBefore(row)),
});

test('any interleaving of pages and deltas gives the truth cut to the coverage', () => {
  forSeeds(10_000, (random) => {
    const origin = new Origin(random);
    for (let count = random.int(0, 14); count > 0; count -= 1) origin.append();
    const timeline = new Timeline('c', { reader: 'me' });
    timeline.setRead(random.int(0, 8));
    const world = { random, origin, timeline, late: [], isFed: true };
    const grouping = new Grouping(timeline, category);
    for (let count = 0; count < 10; count += 1) {
      const before = timeline.items.map(({ id }) => id);
      const changes = step(world);
      if (changes) grouping.apply(changes, timeline);
      const ids = timeline.items.map(({ id }) => id);
      assert.deepEqual(changes ? carriedOut(before, changes) : before, ids);
      const held = timeline.entries.filter(({ isHeld }) => isHeld).map(({ message }) => message);
      const runs = timeline.coverage;
      const truth = origin.messages.filter(({ seq }) => (
        runs.some(([low, high]) => low <= seq && seq <= high)
      ));
      assert.deepEqual(held, truth);
      const isUpToDate = world.isFed && origin.isChained;
      if (timeline.isLoaded && !timeline.hasMore.after && isUpToDate) {
        assert.ok((runs.at(-1)?.[1] ?? 0) >= origin.head, 'the end is held');
      }
      assert.deepEqual(reading(grouping), reading(new Grouping(timeline, category)));
    }
  });
});

test('what one delta costs', { skip: !process.env.MEASURE }, () => {
  for (const count of [1_000, 10_000, 100_000, 1_000_000]) {
    const message = (seq, rev = seq) => ({
      id: `m${seq}`, conversation: 'c', seq, rev, author: 'alice', deleted: false,
      createdAt: '2026-11-20T10:00:00.000Z', editedAt: null,
    });
    const timeline = new Timeline('c', { reader: 'me' });
    timeline.apply({
      kind: 'initial', conversation: 'c', hasMore: { before: false, after: false },
      messages: Array.from({ length: count }, (_, at) => message(at + 1)), covers: [[1, count]],
    });
    let began = performance.now();
    const grouping = new Grouping(timeline, category);
    const rebuild = performance.now() - began;
    const cost = (type, seqOf) => {
      began = performance.now();
      for (let at = 1; at <= 1000; at += 1) {
        const seq = seqOf(at);
        const delta = { type, message: message(seq, 3 * count + seq) };
        grouping.apply(timeline.applyDeltas([delta], { covers: [[seq, seq]] }), timeline);
      }
      return performance.now() - began;
    };
    const live = cost('inserted', (at) => count + at);
    const edit = cost('updated', (at) => (count >> 1) + at % (count >> 2));
    const deletion = cost('deleted', (at) => (count >> 2) + at % (count >> 2));
    console.log(`${count} messages: live ${live.toFixed(1)}, edit ${edit.toFixed(1)}, `
      + `deletion ${deletion.toFixed(1)} µs each; rebuild ${(rebuild * 1000).toFixed(0)} µs`);
  }
});
