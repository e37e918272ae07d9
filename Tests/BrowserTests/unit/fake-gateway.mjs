import { webcrypto } from 'node:crypto';
import { Connection } from '../../../Sources/Browser/connection.js';

// Node 18 has what browsers call `crypto` under another name only.
globalThis.crypto ??= webcrypto;

/** Time that passes only when it is told to. */
export class Clock {
  now = 1_000_000;
  /** How far the clock that people set is off. */
  skew = 0;
  #timers = new Map();
  #lastId = 0;

  setTimeout = (action, delay) => {
    this.#lastId += 1;
    this.#timers.set(this.#lastId, { at: this.now + delay, action });
    return this.#lastId;
  };

  clearTimeout = (id) => { this.#timers.delete(id); };

  /** Lets `delay` milliseconds pass, and what is due meanwhile happen in its order. */
  async advance(delay) {
    const end = this.now + delay;
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= end)
        .sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      this.#timers.delete(due[0]);
      this.now = due[1].at;
      due[1].action();
      await settled();
    }
    this.now = end;
    await settled();
  }
}

/** Lets what was promised happen. */
export function settled() { return new Promise((resolve) => { setImmediate(resolve); }); }

/** The gateway's end of one socket, driven by a test. */
export class FakeSocket {
  /** The requests that came and were not looked at yet. */
  requests = [];
  isClosed = false;

  constructor(url, protocol) {
    this.url = url;
    this.protocol = protocol;
  }

  send(text) { this.requests.push(JSON.parse(text)); }
  close() { this.isClosed = true; }

  /** Takes the oldest request of a method. */
  take(method) {
    const at = this.requests.findIndex((request) => request.method === method);
    if (at < 0) throw new Error(`${method} was not requested`);
    return this.requests.splice(at, 1)[0];
  }

  frame(frame) { this.onmessage({ data: JSON.stringify(frame) }); }
  reply({ id }, result, more = {}) { this.frame({ id, ...more, result }); }
  fail({ id }, error) { this.frame({ id, error: { message: '', retry: 'never', ...error } }); }
  end(code) { this.onclose({ code, reason: '' }); }

  /** Opens and answers `connect`. */
  async welcome(result = {}) {
    this.onopen();
    this.reply(this.take('connect'), {
      session: 's', user: 'alice', server: { name: 'gapless', version: '1' }, pingInterval: 20,
      limits: {}, upstream: { state: 'online', since: '' }, ...result,
    });
    await settled();
  }
}

/**
 * A connection to a gateway that a test plays, on a clock that a test moves; `connect` makes it.
 */
export function playedConnection(options = {}, connect = (all) => new Connection(all)) {
  const clock = new Clock();
  const sockets = [];
  const environment = {
    WebSocket: function WebSocket(url, protocol) {
      const socket = new FakeSocket(url, protocol);
      sockets.push(socket);
      return socket;
    },
    now: () => clock.now + clock.skew,
    tick: () => clock.now,
    device: {},
    setTimeout: clock.setTimeout,
    clearTimeout: clock.clearTimeout,
    random: () => 0.5,
  };
  const connection = connect({
    url: 'ws://gateway/v1/ws', credentials: () => ({ user: 'alice' }), ...options,
    environment: { ...environment, ...options.environment },
  });
  const begin = async () => {
    connection.open();
    await settled();
    await sockets.at(-1).welcome();
    return sockets.at(-1);
  };
  return { clock, connection, sockets, begin };
}
