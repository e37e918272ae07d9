import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connection } from '../../../Sources/Browser/connection.js';
import { Conversation } from '../../../Sources/Browser/conversation.js';
import { Clock, FakeSocket, settled } from './fake-gateway.mjs';
import { vectors } from './vectors.mjs';

/** A client with what surrounds it played by a vector, step for step. */
class Machine {
  clock = new Clock();
  sockets = [];
  /** What the client asked for: that credentials be given. */
  wanted = [];
  asked = [];
  /** What a vector calls an id that the client chose. */
  names = new Map();
  #opened = 0;
  #seen = 0;

  constructor() {
    const machine = this;
    this.connection = new Connection({
      url: 'ws://gateway/v1/ws',
      credentials: (need) => new Promise((give) => { this.wanted.push({ need, give }); }),
      environment: {
        WebSocket: function WebSocket(url, protocol) {
          const socket = new FakeSocket(url, protocol);
          const { send } = socket;
          socket.send = (text) => {
            machine.asked.push(JSON.parse(text));
            send.call(socket, text);
          };
          machine.sockets.push(socket);
          return socket;
        },
        now: () => this.clock.now, tick: () => this.clock.now,
        setTimeout: this.clock.setTimeout,
        clearTimeout: this.clock.clearTimeout,
        random: () => 0,
      },
    });
    this.conversation = new Conversation(this.connection, 'c1');
  }

  /** What a vector says, with the ids that the client chose in place of their names. */
  named(value) {
    let text = JSON.stringify(value);
    for (const [name, id] of this.names) text = text.replaceAll(`"${name}"`, JSON.stringify(id));
    return JSON.parse(text);
  }

  async take(step) {
    const socket = this.sockets.at(-1);
    const { conversation, connection } = this;
    if ('do' in step) this.#do(this.named(step));
    else if ('credentials' in step) this.wanted.at(-1).give(step.credentials);
    else if ('opened' in step) socket.onopen();
    else if ('closed' in step) socket.end(step.closed ?? 1006);
    else if ('answer' in step) {
      const { id } = socket.take(step.answer);
      const { result, error } = this.named(step);
      socket.frame({ id, ...(error ? { error } : { result }) });
    } else if ('event' in step) socket.frame(this.named(step.event));
    else if ('text' in step) socket.onmessage({ data: step.text });
    else if ('pass' in step) await this.clock.advance(step.pass);
    else throw new Error(`nothing happens: ${JSON.stringify(step)}`);
    for (let n = 0; n < 4; n += 1) await settled();
    this.#check(this.named(step), connection.state, conversation);
  }

  #do(step) {
    const { conversation } = this;
    switch (step.do) {
      case 'open': this.connection.open(); break;
      case 'close': this.connection.close(); break;
      case 'wake': this.connection.wake(); break;
      case 'follow': conversation.open(); break;
      case 'unfollow': conversation.close(); break;
      case 'send': this.names.set(step.as, conversation.send(step.body, step.metadata)); break;
      case 'edit': conversation.edit(step.id, step.body).catch(() => {}); break;
      case 'delete': conversation.delete(step.id).catch(() => {}); break;
      case 'markRead': conversation.markRead(step.seq); break;
      case 'retry': conversation.resend(step.id); break;
      case 'discard': conversation.discard(step.id); break;
      default: throw new Error(`nobody does ${step.do}`);
    }
  }

  #check(step, { phase, retryAt }, conversation) {
    const wanted = this.wanted.slice(this.#seen).map(({ need }) => need);
    if (step.wants || wanted.length > 0) assert.deepEqual(wanted, step.wants ? [step.wants] : []);
    this.#seen = this.wanted.length;
    assert.equal(this.sockets.length - this.#opened, step.connects ? 1 : 0, 'sockets');
    this.#opened = this.sockets.length;
    if (step.state) assert.equal(phase, step.state);
    if ('retryIn' in step) assert.equal(retryAt - this.clock.now, step.retryIn);
    if (step.have) assert.deepEqual(conversation.have, step.have);
    if (step.drafts) assert.deepEqual(statesOf(conversation.drafts), step.drafts);
    if (step.edits) assert.deepEqual(statesOf(conversation.edits), step.edits);
    if (!step.asked) return;
    const asked = this.asked.splice(0).filter(({ method }) => !method.startsWith('fetch'));
    assert.deepEqual(asked.map(({ method }) => method), step.asked.map(({ method }) => method));
    step.asked.forEach(({ method, ...params }, at) => {
      for (const [name, value] of Object.entries(params)) {
        assert.deepEqual(asked[at].params[name] ?? null, value, `${method} ${name}`);
      }
    });
  }
}

const statesOf = (written) => written.map(({ id, state }) => [id, state]);

for (const file of ['session', 'outbox']) {
  for (const { name, steps } of vectors(file)) {
    test(`${file}: ${name}`, async (context) => {
      context.mock?.method(console, 'warn', () => {});
      const machine = new Machine();
      const { setTimeout } = globalThis;
      globalThis.setTimeout = machine.clock.setTimeout;
      try {
        for (const [at, step] of steps.entries()) {
          await machine.take(step).catch((error) => {
            error.message = `step ${at}, ${JSON.stringify(step).slice(0, 200)}: ${error.message}`;
            throw error;
          });
        }
      } finally {
        globalThis.setTimeout = setTimeout;
      }
    });
  }
}
