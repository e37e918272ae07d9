import { Coverage } from '../../../Sources/Browser/coverage.js';
import { Outbox } from '../../../Sources/Browser/outbox.js';
import { settled } from './fake-gateway.mjs';
import { checkFace, checkWhole, playedFace } from './played-faces.mjs';
import { PlayedGateway } from './played-gateway.mjs';
import { Timers } from './played-timers.mjs';
import { randomSource } from './random.mjs';

/** What can happen, each with how often; all that it decides comes from a seed of its own. */
const happenings = [
  ['process', 30], ['deliver', 40], ['say', 8], ['burst', 3], ['edit', 5], ['delete', 3],
  ['trim', 1], ['rewind', 1], ['recreate', 1], ['outage', 3], ['connect', 5], ['heal', 3],
  ['write', 5], ['rewrite', 3],
  ['scroll', 14], ['bottom', 4], ['close', 2], ['open', 3], ['another', 2], ['time', 3],
];

/** The case of a seed: what happens, in order. */
export function caseOf(seed) {
  const random = randomSource(seed);
  const sum = happenings.reduce((all, [, weight]) => all + weight, 0);
  const steps = Array.from({ length: random.int(10, 120) }, () => {
    let at = random.int(1, sum);
    const [name] = happenings.find(([, weight]) => (at -= weight) <= 0);
    return { name, seed: random.int(1, 2 ** 30) };
  });
  const size = random.chance(0.9) ? random.int(0, 150) : random.int(150, 2000);
  return { seed, size, steps };
}

/** What an app, its user and its machine do that nobody wants, each with how often. */
const mishaps = [['long', 3], ['half', 1], ['throw', 3], ['limited', 3], ['again', 2], ['rewriteFailed', 2]];

/** The case of a seed, with mishaps in it. */
export function mishapsOf(seed) {
  const { size, steps } = caseOf(seed);
  const random = randomSource(seed ^ 0x5bd1e995);
  const sum = mishaps.reduce((all, [, weight]) => all + weight, 0);
  for (let n = random.int(1, 20); n > 0; n -= 1) {
    let at = random.int(1, sum);
    const [name] = mishaps.find(([, weight]) => (at -= weight) <= 0);
    steps.splice(random.int(0, steps.length), 0, { name, seed: random.int(1, 2 ** 30) });
  }
  return { seed, size, steps };
}

/** From 1 up, small ones as likely as large ones. */
const sizeOf = (random, most) => Math.max(1, Math.floor(most ** random.next()));

export class World {
  faces = [];
  timers = new Timers();
  /** The messages that were sent, and the edits and deletions, as they were written. */
  sent = [];
  rewritten = [];

  /** The messages that failed, or were given up: they may be missing, or come late. */
  excused = new Set();
  /** What code of the app threw and was reported, and how often it did. */
  reported = [];
  thrown = 0;

  /** @param {{seed: number, size: number}} played */
  constructor(played, gateway = new PlayedGateway()) {
    this.gateway = gateway;
    for (let n = 0; n < played.size; n += 1) this.gateway.origin.say();
    this.gateway.connect();
    this.begin(played);
  }

  begin({ seed }) {
    const random = randomSource(seed);
    for (let n = random.int(1, 2); n > 0; n -= 1) this.faces.push(playedFace(this.gateway, random));
  }

  step({ name, seed }) {
    const random = randomSource(seed);
    const { gateway } = this;
    const { origin } = gateway;
    const face = this.faces[random.int(0, this.faces.length - 1)];
    const place = () => random.int(Math.max(1, origin.floor), Math.max(1, origin.seq));
    switch (name) {
      case 'process': gateway.process(random, true); break;
      case 'deliver': gateway.deliver(); break;
      case 'say': gateway.change([(log) => log.say()], false); break;
      case 'burst': this.#burst(random, sizeOf(random, 60)); break;
      case 'edit': if (origin.seq > 0) gateway.change([(log) => log.edit(place())], false); break;
      case 'delete':
        if (origin.seq > 0) gateway.change([(log) => log.delete(place())], false);
        break;
      case 'trim': if (origin.seq > 0) gateway.alter((log) => log.trim(place())); break;
      case 'rewind': gateway.alter((log) => log.rewind(random.int(0, log.rev))); break;
      case 'recreate': gateway.alter((log) => log.recreate(sizeOf(random, 100))); break;
      case 'outage': this.#outage(random); break;
      case 'connect': gateway.connect(); break;
      case 'heal': gateway.heal(); break;
      case 'scroll': if (!face.isClosed) face.scroll(random); break;
      case 'bottom': if (!face.isClosed) face.toBottom(); break;
      case 'long': if (face.conversation) this.#writeLong(face); break;
      case 'half': if (face.conversation) this.#writeHalf(face); break;
      case 'throw': this.#throwOnce(face); break;
      case 'limited': gateway.limited += random.int(1, 12); break;
      case 'again': this.#stopped(face, (real, { id }) => real.retry(id)); break;
      case 'rewriteFailed':
        this.#stopped(face, (real, { id, kind }) => {
          const next = real.rewrite(id, `shorter ${random.next()}`);
          if (kind === 'send') this.sent.push({ id: next, branch: gateway.origin.branch });
        });
        break;
      case 'write': this.#write(face, random); break;
      case 'rewrite': this.#rewrite(face, random); break;
      case 'close':
        if (!face.isClosed) face.close();
        face.isClosed = true;
        break;
      case 'open':
        if (!face.isClosed || !face.open) break;
        face.open();
        face.isClosed = false;
        break;
      case 'another':
        if (this.faces.length < 4) this.faces.push(playedFace(gateway, random));
        break;
      default: this.timers.fire();
    }
  }

  #burst(random, count) {
    const changes = Array.from({ length: count }, () => {
      const [way, at] = [random.next(), random.next()];
      return (log) => {
        if (way < 0.7 || log.seq === 0) return log.say();
        const seq = log.floor + Math.floor(at * (log.seq - log.floor + 1));
        return way < 0.85 ? log.edit(seq) : log.delete(seq);
      };
    });
    this.gateway.change(changes, random.chance(0.5));
  }

  #write(face, random) { if (face.conversation) this.send(face, `${random.next()}`); }

  send(face, body) {
    const { branch } = this.gateway.origin;
    this.sent.push({ id: realOf(face).send(body), branch });
  }

  /** A text that no frame holds fails at once, and stands where its author sees it. */
  #writeLong(face) {
    const id = realOf(face).send('x'.repeat(20_000));
    this.excused.add(id);
    const { state, code } = Outbox.of(this.gateway, null).all.find((each) => each.id === id);
    if (state !== 'failed' || code !== 'too_large') throw new Error(`a long text is ${state}`);
  }

  /** Half a character is refused, and not queued. */
  #writeHalf(face) {
    const { all } = Outbox.of(this.gateway, null);
    try {
      realOf(face).send('well done 👍'.slice(0, 11));
    } catch (error) {
      if (error.code === 'bad_request' && Outbox.of(this.gateway, null).all === all) return;
      throw error;
    }
    throw new Error('half a character is taken');
  }

  /** A listener throws, once, before all others that come after it are told. */
  #throwOnce(face) {
    const signal = face.conversation?.changed ?? this.gateway.changed;
    const stop = signal.listen(() => {
      stop();
      this.thrown += 1;
      throw new Error('of the app');
    });
  }

  /** Something is done about a message that failed. */
  #stopped(face, act) {
    const draft = Outbox.of(this.gateway, null).all
      .find(({ state, kind }) => state === 'failed' && kind === 'send');
    if (!draft || !face.conversation) return;
    this.excused.add(draft.id);
    act(realOf(face), draft);
  }

  /** Edits or deletes what a face shows, as the person who looks at it would. */
  #rewrite(face, random) {
    const rows = face.rows().filter(({ message }) => !message.deleted);
    if (!face.conversation || rows.length === 0) return;
    const { message } = rows[random.int(0, rows.length - 1)];
    this.rewrite(face, message, random.chance(0.7) ? `${random.next()}` : null);
  }

  rewrite(face, message, body) {
    const known = face.conversation.have;
    const isKnown = known !== null && this.gateway.origin.confirms(known.head);
    const mark = this.gateway.origin.marks[message.rev];
    this.rewritten.push({ id: message.id, of: message.rev, mark, isKnown });
    const real = realOf(face);
    const done = body === null ? real.delete(message.id) : real.edit(message.id, body);
    done.catch(() => {});
  }

  /** What was written arrived once and in its order, and nothing was overwritten unseen. */
  #checkWritten() {
    const { origin, edited } = this.gateway;
    const outbox = Outbox.of(this.gateway, null);
    const waiting = outbox.all.filter(({ state }) => state === 'sending');
    if (waiting.length > 0) throw new Error(`${waiting.length} were not sent`);
    const failed = new Set([...outbox.all.map(({ id }) => id), ...this.excused]);
    let last = 0;
    for (const { id, branch } of this.sent) {
      const at = origin.values.findLastIndex((values) => values.at(-1)?.id === id);
      const isLost = at < 1 && branch === origin.branch && !failed.has(id);
      if (isLost) throw new Error('a message is lost');
      if (at >= 1 && branch === origin.branch && !failed.has(id)) {
        if (at < last) throw new Error('one message overtook another');
        last = at;
      }
    }
    for (const { id, of, made, mark } of edited) {
      const isSeen = this.rewritten.some((each) => (
        each.id === id && (each.of === of || edited.some((own) => own.id === id && own.made === of))
          && (each.of !== of || !each.isKnown || each.mark === mark)
      ));
      if (!isSeen) throw new Error(`the edit ${made} of ${id} is of ${of}, which nobody saw`);
    }
  }

  #outage(random) {
    const { gateway } = this;
    gateway.disconnect();
    this.#burst(random, sizeOf(random, random.chance(0.1) ? 5000 : 300));
    if (random.chance(0.1)) gateway.alter((log) => log.rewind(random.int(0, log.rev)));
    if (random.chance(0.05)) gateway.alter((log) => log.recreate(sizeOf(random, 100)));
    if (random.chance(0.5)) gateway.connect();
  }

  check() {
    const own = this.reported.filter(({ message }) => message !== 'of the app');
    if (own.length > 0) throw own[0];
    if (this.reported.length !== this.thrown) throw new Error('what was thrown is not reported');
    for (const face of this.faces) {
      if (face.isClosed || face.isOver) continue;
      checkFace(face, this.gateway);
      face.check();
    }
  }

  /** Everything comes, and nobody does anything. */
  async quiet() {
    const random = randomSource(1);
    for (let rounds = 0; rounds < 40; rounds += 1) {
      while (!this.gateway.isQuiet) {
        this.gateway.process({ ...random, chance: () => false }, false);
        this.gateway.deliver();
        await settled();
        this.check();
      }
      this.gateway.heal();
      this.timers.fire();
      await settled();
      if (this.gateway.isQuiet) return;
    }
    throw new Error('it does not come to rest');
  }

  /** The end of each case: all is well, and every reader scrolls to the bottom. */
  async finish() {
    this.gateway.limited = 0;
    this.gateway.connect();
    await settled();
    await this.quiet();
    for (const face of this.faces.filter(({ isClosed, isOver }) => !isClosed && !isOver)) {
      const missing = this.gateway.origin.seq - this.gateway.origin.floor + 1;
      const most = Math.ceil(missing / face.limit) + face.gaps().length + 5;
      const before = this.gateway.pages;
      for (let n = 0; n < most && face.hasMore()?.after !== false; n += 1) {
        face.toBottom();
        await settled();
        await this.quiet();
        if (face.hasMore() === null) break;
      }
      face.toBottom();
      await settled();
      await this.quiet();
      if (this.gateway.pages - before > most) throw new Error('too many pages were asked for');
      try {
        checkWhole(face, this.gateway);
      } catch (error) {
        error.message += `\n${nameOf(face)}, ${this.gateway.pages - before} pages`;
        throw error;
      }
    }
    this.#checkWritten();
    if (this.gateway.doubled > 0) throw new Error('it subscribed twice');
  }
}

/** What an application has of a face. */
export const realOf = (face) => face.list ?? face.history ?? face.source;

/** What a face is and shows, for who looks for a fault. */
export function nameOf(face) {
  const seqs = face.rows().map(({ message }) => message.seq);
  const gaps = face.gaps().map(({ after, before, cause }) => [after, before, cause]);
  return `${face.constructor.name} by ${face.limit}: ${new Coverage(seqs.map((at) => [at, at]))}, `
    + `gaps ${JSON.stringify(gaps)} ${JSON.stringify(face.hasMore())}`;
}
