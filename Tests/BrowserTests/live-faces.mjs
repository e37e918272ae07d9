/**
 * The worlds of `unit/faces-properties.test.mjs` on the real gateway: the same generator and the
 * same oracle, with a log that the server API writes and the client's connection by a way that
 * breaks and stands still. What has no counterpart there happens not at all: a log that is trimmed,
 * rewound or recreated, and a gateway that lacks a part of it.
 *
 *     node live-faces.mjs HOST:PORT API-KEY FIRST-SEED COUNT
 */
import { webcrypto } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { ChatClient } from '../../Sources/Browser/gapless.js';
import { NodeSocket } from './node-socket.mjs';
import { caseOf, nameOf, World } from './unit/faces-world.mjs';
import { checkFace, checkWhole } from './unit/played-faces.mjs';

globalThis.crypto ??= webcrypto;
globalThis.WebSocket = NodeSocket;

/** Only a failure takes so long, in milliseconds. */
const PATIENCE = 120_000;
/** So many changes are made at once at most: each edit is a call. */
const MOST = 300;
const LOG = '/v1/conversations/c1';

const pause = (delay) => new Promise((resolve) => { setTimeout(resolve, delay); });

/** Waits until something is so. */
async function until(what, isSo) {
  const end = Date.now() + PATIENCE;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(`waited for ${what}`);
    await pause(2);
  }
}

/** The server API. */
class Backend {
  #agent = new Agent({ keepAlive: true });

  constructor(address, key) {
    this.address = address;
    this.key = key;
  }

  call(method, path, body) {
    const [host, port] = this.address.split(':');
    return new Promise((resolve, reject) => {
      const headers = { 'X-API-Key': this.key };
      const call = request({ host, port, method, path, headers, agent: this.#agent }, (answer) => {
        const parts = [];
        answer.on('data', (part) => parts.push(part));
        answer.on('end', () => {
          const text = Buffer.concat(parts).toString();
          resolve({ status: answer.statusCode, body: text === '' ? {} : JSON.parse(text) });
        });
      });
      call.on('error', reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  close() { this.#agent.destroy(); }
}

/** The log of the conversation, as far as it is known here. */
class LiveOrigin {
  floor = 1;
  branch = 1;
  marks = [];
  /** The values of each place, oldest first. */
  values = [[]];
  /** Whether that is all there is: the writers are done. */
  isSettled = false;
  rev = 0;
  #waiting = [];
  #writing = null;

  constructor(backend) { this.backend = backend; }

  get seq() { return this.values.length - 1; }
  get head() { return { epoch: '', seq: this.seq, rev: this.rev, mark: '', floor: this.floor }; }

  value(seq) { return this.values[seq].at(-1); }
  confirms() { return this.isSettled; }

  say() { this.#write({ body: `said ${this.#waiting.length}` }); }

  edit(seq) {
    const id = this.values[seq]?.at(-1)?.id;
    if (id === undefined) this.say(); else this.#write({ id, method: 'PATCH' });
  }

  delete(seq) {
    const id = this.values[seq]?.at(-1)?.id;
    if (id === undefined) this.say(); else this.#write({ id, method: 'DELETE' });
  }

  /** All that was to be written is. */
  async written() { while (this.#writing) await this.#writing; }

  /** Reads all of it. */
  async settle() {
    const { body } = await this.backend.call('GET', `${LOG}/messages?limit=1`);
    this.rev = body.head.rev;
    this.values = [[]];
    while (this.seq < body.head.seq) {
      const page = `${LOG}/messages?after=${this.seq}&order=asc&limit=1000`;
      const { messages } = (await this.backend.call('GET', page)).body;
      if (messages.length === 0) throw new Error(`the log ends at ${this.seq}`);
      for (const message of messages) this.#take(message);
    }
    this.isSettled = true;
  }

  #write(change) {
    this.#waiting.push(change);
    this.#writing ??= this.#writeAll().finally(() => { this.#writing = null; });
  }

  async #writeAll() {
    await pause(0);
    while (this.#waiting.length > 0) {
      const edit = this.#waiting.findIndex(({ id }) => id !== undefined);
      const said = this.#waiting.splice(0, edit < 0 ? this.#waiting.length : edit);
      if (said.length > 0) {
        const messages = said.map(({ body }) => ({ author: 'bob', body }));
        const { body } = await this.backend.call('POST', `${LOG}/messages`, messages);
        for (const message of body.messages) this.#take(message);
      } else {
        const { id, method } = this.#waiting.shift();
        const path = `${LOG}/messages/${encodeURIComponent(id)}`;
        const change = method === 'PATCH' ? { body: 'edited' } : undefined;
        // What was deleted meanwhile can't be edited.
        const { body } = await this.backend.call(method, path, change);
        if (body.message) this.#take(body.message);
      }
    }
  }

  #take(message) {
    while (this.seq < message.seq) this.values.push([]);
    this.values[message.seq].push(message);
  }
}

/** The gateway and the way to it, as a world of faces sees them. */
class LiveGateway {
  pages = 0;
  underWay = 0;
  #sockets = new Set();
  #isOpen = false;
  #isHeld = false;

  constructor(backend) {
    this.origin = new LiveOrigin(backend);
    const [host, port] = backend.address.split(':');
    this.server = createServer((near) => {
      const far = connect(Number(port), host);
      if (!this.#isOpen) near.destroy();
      for (const [from, to] of [[near, far], [far, near]]) {
        this.#sockets.add(from);
        from.on('data', (data) => to.write(data));
        from.on('error', () => {});
        from.on('close', () => {
          to.destroy();
          this.#sockets.delete(from);
        });
      }
      far.isFar = true;
      if (this.#isHeld) far.pause();
    });
  }

  async begin() {
    await new Promise((resolve) => { this.server.listen(0, '127.0.0.1', resolve); });
    const url = `ws://127.0.0.1:${this.server.address().port}/v1/ws`;
    this.client = new ChatClient({ url, credentials: async () => ({ user: 'alice' }) });
    const { connection } = this.client;
    const asked = connection.request.bind(connection);
    connection.request = (method, ...rest) => {
      const answer = asked(method, ...rest);
      if (method !== 'fetchMessages') return answer;
      this.pages += 1;
      this.underWay += 1;
      const ended = () => { this.underWay -= 1; };
      answer.then(ended, ended);
      return answer;
    };
  }

  connect() {
    this.#isOpen = true;
    this.heal();
    this.client.open();
    this.client.connection.wake();
  }

  disconnect() {
    this.#isOpen = false;
    for (const socket of [...this.#sockets]) socket.destroy();
  }

  /** What the gateway says comes no further, until `heal`. */
  process(random) {
    if (!random.chance(0.05)) return;
    this.#isHeld = true;
    for (const socket of this.#sockets) if (socket.isFar) socket.pause();
  }

  heal() {
    this.#isHeld = false;
    for (const socket of this.#sockets) socket.resume();
  }

  deliver() {}
  alter() {}

  change(makes) {
    for (const make of makes.slice(0, MOST)) make(this.origin);
  }

  close() {
    this.client.close();
    this.disconnect();
    this.server.close();
  }
}

function isWhole(face, gateway) {
  try {
    checkWhole(face, gateway);
    return true;
  } catch {
    return false;
  }
}

/** Brings all to rest, and has every reader scroll to the bottom: as `World.finish` does. */
async function finish(world) {
  const { gateway } = world;
  const { origin, client } = gateway;
  gateway.connect();
  await until('the session', () => client.connection.isLive);
  await origin.written();
  const isSent = () => client.outbox.all.every(({ state }) => state !== 'sending');
  await until('what was written', isSent);
  await origin.settle();
  const faces = world.faces.filter(({ isClosed }) => !isClosed);
  const isAtRest = () => gateway.underWay === 0 && faces.every(({ conversation }) => (
    !conversation || (conversation.phase === 'live' && conversation.have?.asOf === origin.rev)
  ));
  for (const face of faces) {
    await until(`rest of ${nameOf(face)}`, isAtRest);
    const most = Math.ceil(origin.seq / face.limit) + face.gaps().length + 5;
    const before = gateway.pages;
    for (let n = 0; n < most && face.hasMore()?.after !== false; n += 1) {
      if (face.hasMore() === null) break;
      face.toBottom();
      await pause(0);
      await until('a page', isAtRest);
    }
    face.toBottom();
    await until('the last page', isAtRest);
    if (gateway.pages - before > most) throw new Error('too many pages were asked for');
    checkFace(face, gateway);
    // A plain handler does not say where it stands: it is told in the end, or never.
    if (!face.conversation) {
      await until('what a handler is told', () => isWhole(face, gateway)).catch(() => {});
    }
    checkWhole(face, gateway);
  }
  const ids = origin.values.map((values) => values.at(-1)?.id);
  const places = world.sent.map(({ id }) => ids.indexOf(id));
  const failed = new Set(client.outbox.all.map(({ id }) => id));
  world.sent.forEach(({ id }, at) => {
    if (places[at] < 0 && !failed.has(id)) throw new Error('a message is lost');
    if (at > 0 && places[at] < places[at - 1]) throw new Error('one message overtook another');
    if (ids.indexOf(id) !== ids.lastIndexOf(id)) throw new Error('a message was sent twice');
  });
}

/** Plays the case of a seed. */
async function play(seed, backend) {
  const { steps, size } = caseOf(seed);
  await backend.call('DELETE', LOG);
  await backend.call('PUT', LOG, { participants: ['alice', 'bob'] });
  const gateway = new LiveGateway(backend);
  await gateway.begin();
  for (let n = 0; n < Math.min(size, MOST); n += 1) gateway.origin.say();
  await gateway.origin.written();
  const world = new World({ seed, size: 0 }, gateway);
  let failure = null;
  const check = () => {
    try {
      world.check();
    } catch (error) {
      failure ??= error;
    }
  };
  gateway.client.connection.events.listen(() => queueMicrotask(check));
  try {
    for (const step of steps) {
      world.step(step);
      // As long as the way of an answer now and then, and mostly shorter.
      await pause(step.seed % 16 === 0 ? 5 : 0);
      check();
      if (failure) throw failure;
    }
    await finish(world);
    if (failure) throw failure;
    return world.faces.length;
  } finally {
    gateway.close();
  }
}

const [address, key, first, count] = process.argv.slice(2);
const backend = new Backend(address, key);
let faces = 0;
for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
  try {
    faces += await play(seed, backend);
  } catch (error) {
    console.log(`seed ${seed}: ${error.stack}`);
    process.exit(1);
  }
}
backend.close();
console.log(`${faces} faces`);
process.exit(0);
