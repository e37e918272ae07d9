import { Coverage } from '../../../Sources/Browser/coverage.js';
import { Outbox } from '../../../Sources/Browser/outbox.js';
import { realOf, World } from './faces-world.mjs';
import { faceOf } from './played-faces.mjs';

/** Requests are answered in their order, and nothing happens by chance. */
const IN_ORDER = { int: (low) => low, chance: () => false };
/** While the network is there, so many messages come at once. */
const MOST = 60;

/** A world in which happens what a seed says in Swift too: see `Tests/Vectors/deeds.json`. */
export class DeedsWorld extends World {
  begin({ limits, seen }) {
    const [list, history, source, other] = limits;
    this.kinds = [
      ['list', { limit: list, syncs: true }], ['history', { limit: history, seen }],
      ['source', { limit: source }], ['list', { limit: other, syncs: false }],
    ];
    this.appear();
  }

  /** The app begins, with nothing on its screen but the data source, which follows at once. */
  appear() {
    this.faces = this.kinds.map(([kind, options]) => (
      Object.assign(faceOf(this.gateway, kind, options), { isClosed: kind !== 'source' })
    ));
  }

  /** The program ends and begins again. */
  restart() {
    for (const face of this.faces) this.close(face);
    this.gateway.disconnect();
    this.appear();
  }

  open(face) {
    if (!face.isClosed || !face.open) return;
    face.open();
    face.isClosed = false;
  }

  close(face) {
    if (!face.isClosed) face.close();
    face.isClosed = true;
  }

  async play([name, ...parts], settled) {
    const { gateway } = this;
    const [first, part] = parts;
    if (name === 'serve' || name === 'deliver') {
      for (let n = 0; n < first; n += 1) {
        if (name === 'serve') gateway.process(IN_ORDER, false); else gateway.deliver();
        await settled();
        this.check();
      }
      return;
    }
    if (name in this.#withFace) {
      const face = this.faces[first];
      if (name === 'open' || name === 'close' || !face.isClosed) this.#withFace[name](face, part);
    } else {
      this.#happenings[name]?.(first, part);
    }
    await settled();
    this.check();
  }

  /** The place at so many thousandths of the log. */
  #place(part) { return Math.floor((this.gateway.origin.seq * part) / 1000) + 1; }

  #change(part, how) {
    const { origin } = this.gateway;
    const place = this.#place(part);
    if (place < origin.floor || place > origin.seq || origin.value(place).deleted) return;
    this.gateway.change([(log) => log[how](place)], false);
  }

  #lose(part, count, cause) {
    const { floor, seq } = this.gateway.origin;
    const low = Math.max(floor, Math.floor((seq * part) / 1000));
    const high = Math.min(low + count, seq);
    if (low <= high) this.gateway.lose(Coverage.interval(low, high), cause);
  }

  /** What failed is tried again, or given up. */
  #failed(how) {
    const [face] = this.faces;
    for (const { id, kind, state } of Outbox.of(this.gateway, null).all) {
      if (state === 'sending' || (how === 'retry' && state === 'conflict')) continue;
      if (kind === 'send') this.excused.add(id);
      realOf(face)[how](id);
    }
  }

  #happenings = {
    write: (count) => {
      const says = Array.from({ length: this.gateway.isLive ? Math.min(count, MOST) : count });
      this.gateway.change(says.map(() => (log) => log.say()), false);
    },
    edit: (part) => this.#change(part, 'edit'),
    delete: (part) => this.#change(part, 'delete'),
    trim: (part) => {
      const { seq } = this.gateway.origin;
      if (seq > 0) this.gateway.alter((log) => log.trim(Math.floor((seq * part) / 1000)));
    },
    recreate: () => this.gateway.alter((log) => log.recreate(0)),
    rewind: (part) => this.gateway.alter((log) => log.rewind(Math.floor((log.rev * part) / 1000))),
    slow: (part, count) => this.#lose(part, count, 'slow'),
    lack: (part, count) => this.#lose(part, count, 'upstream'),
    heal: () => this.gateway.heal(),
    cut: () => this.gateway.disconnect(),
    mend: () => this.gateway.connect(),
    refuse: (count) => { this.gateway.refusals += count; },
    time: () => this.timers.fire(),
    again: () => this.#failed('retry'),
    forsake: () => this.#failed('discard'),
    restart: () => this.restart(),
  };

  #withFace = {
    open: (face) => this.open(face),
    close: (face) => { if (face.open) this.close(face); },
    top: (face) => face.top(),
    bottom: (face) => face.toBottom(),
    scroll: (face, part) => {
      const count = face.list?.messageCount() ?? 0;
      const first = Math.floor(((count - 1) * part) / 1000);
      if (count > 0) face.look(first, Math.min(count - 1, first + 10));
    },
    jump: (face, part) => face.jump?.(this.#place(part)),
    shrink: (face, part) => face.shrink?.(part, (part % 11) / 10),
    send: (face) => this.send(face, `own ${this.sent.length}`),
    rewrite: (face, part) => {
      const rows = face.rows().filter(({ message }) => !message.deleted);
      if (rows.length === 0) return;
      const { message } = rows[Math.floor(((rows.length - 1) * part) / 1000)];
      this.rewrite(face, message, part % 10 < 7 ? `edit ${this.rewritten.length}` : null);
    },
    read: (face, part) => {
      const rows = face.rows();
      const row = rows[Math.floor(((rows.length - 1) * part) / 1000)];
      if (row) realOf(face).markRead(row.message.seq);
    },
  };

  async finish() {
    this.gateway.refusals = 0;
    for (const face of this.faces) this.open(face);
    await super.finish();
  }
}
