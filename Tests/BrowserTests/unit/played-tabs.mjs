import { Signal } from '../../../Sources/Browser/signal.js';
import { PlayedGateway } from './played-gateway.mjs';

/** The session of a tab that leads, on the one log. */
export class TabSession extends PlayedGateway {
  stranger = new Signal();
  upstream = null;
  forgetsOwed = true;
  isWanted = false;

  open() { this.isWanted = true; }

  close() {
    this.isWanted = false;
    this.disconnect();
  }

  setPresence(state) { this.presence = state; }
  cut() { this.disconnect(); }
  wake() {}
}

/**
 * A browser: its tabs' locks, and what they say to each other, which comes as late as the adversary
 * wants, but in order from one tab to another. What a tab said before it was killed may be lost.
 */
export class PlayedBrowser {
  now = 1_000_000;
  /** The tabs that are there. @type {Set<PlayedTab>} */
  tabs = new Set();
  /** What is kept: drafts by their keys, as one store for all. */
  drafts = new Map();
  /** Messages on their way, by their ends. @type {Map<string, {from: *, to: *, data: *[]}>} */
  #ways = new Map();
  #locks = new Map();

  get isQuiet() {
    return [...this.#ways.values()].every(({ data }) => data.length === 0)
      && [...this.tabs].every(({ due, isFrozen }) => isFrozen || due.length === 0);
  }

  /** Sends a message to all other tabs that listen. */
  post(from, name, data) {
    for (const to of this.tabs) {
      if (to === from || !to.channels.has(name)) continue;
      const key = `${from.number} ${to.number}`;
      const way = this.#ways.get(key) ?? { from, to, data: [] };
      this.#ways.set(key, way);
      way.data.push([name, structuredClone(data)]);
    }
  }

  /** Hands over one message, or something that a lock brings. */
  deliver(random) {
    // What a channel brings comes to a frozen tab too; its timers, tasks, locks and sockets stand.
    const ways = [...this.#ways.values()].filter(({ data }) => data.length > 0);
    const due = [...this.tabs].filter((tab) => tab.due.length > 0 && !tab.isFrozen);
    const at = random.int(0, ways.length + due.length - 1);
    if (ways.length + due.length === 0) return;
    if (at >= ways.length) {
      due[at - ways.length].due.shift()();
      return;
    }
    const [name, data] = ways[at].data.shift();
    ways[at].to.channels.get(name)?.onmessage?.({ data });
  }

  /** One thing that a leader said does not arrive at one tab. */
  lose(random) {
    const ways = [...this.#ways.values()].filter(({ data }) => data[0]?.[1].term !== undefined);
    if (ways.length > 0) ways[random.int(0, ways.length - 1)].data.shift();
  }

  /** Ends a tab; some of what it said last does not arrive. */
  kill(tab, random) {
    this.tabs.delete(tab);
    tab.isDead = true;
    for (const { from, to, data } of this.#ways.values()) {
      if (from === tab) data.length = random.int(0, data.length);
      if (to === tab) data.length = 0;
    }
    for (const [name, lock] of this.#locks) {
      lock.queue = lock.queue.filter((each) => each.tab !== tab);
      lock.held = lock.held.filter((each) => each.tab !== tab);
      this.#grant(name);
    }
    for (const session of tab.sessions) session.close();
  }

  /** As `navigator.locks` of a tab. */
  locksOf(tab) {
    return {
      request: (name, ...rest) => {
        const [options, callback] = rest.length === 1 ? [{}, rest[0]] : rest;
        return this.#request(tab, name, options, callback);
      },
    };
  }

  #request(tab, name, options, callback) {
    const { mode = 'exclusive', steal = false, ifAvailable = false, signal } = options;
    const lock = this.#locks.get(name) ?? { held: [], queue: [] };
    this.#locks.set(name, lock);
    return new Promise((resolve, reject) => {
      const request = { tab, mode, callback, resolve, reject };
      if (steal) {
        for (const { tab: of, reject: end } of lock.held) {
          of.due.push(() => end(new Error('stolen')));
        }
        lock.held = [];
        lock.queue.unshift(request);
      } else if (ifAvailable && (lock.queue.length > 0 || !mayHold(lock, request))) {
        tab.due.push(() => Promise.resolve(callback(null)).then(resolve, reject));
        return;
      } else {
        lock.queue.push(request);
      }
      signal?.addEventListener('abort', () => {
        if (!lock.queue.includes(request)) return;
        lock.queue.splice(lock.queue.indexOf(request), 1);
        reject(new Error('aborted'));
        this.#grant(name);
      });
      this.#grant(name);
    });
  }

  #grant(name) {
    const lock = this.#locks.get(name);
    while (lock.queue.length > 0 && mayHold(lock, lock.queue[0])) {
      const request = lock.queue.shift();
      lock.held.push(request);
      request.tab.due.push(async () => {
        try {
          request.resolve(await request.callback({ name }));
        } catch (error) {
          request.reject(error);
        }
        if (!lock.held.includes(request)) return;
        lock.held.splice(lock.held.indexOf(request), 1);
        this.#grant(name);
      });
    }
  }
}

function mayHold({ held }, { mode }) {
  return held.length === 0 || (mode === 'shared' && held.every((each) => each.mode === 'shared'));
}

/** One tab: what it is to a `SharedConnection`. */
export class PlayedTab {
  channels = new Map();
  /** What locks bring, in order. @type {(() => void)[]} */
  due = [];
  isFrozen = false;
  isDead = false;
  /** What the browser says of the page. */
  device = { document: new EventTarget() };
  sessions = [];
  #timers = new Map();
  #last = 0;

  /** @param {Map<string, string>} [kept]  what it kept over a reload */
  constructor(browser, number, kept = new Map()) {
    this.kept = kept;
    this.browser = browser;
    this.number = number;
    browser.tabs.add(this);
    this.environment = {
      locks: browser.locksOf(this),
      channel: (name) => this.#channel(name),
      now: () => browser.now,
      tick: () => browser.now,
      device: this.device,
      kept: {
        getItem: (key) => kept.get(key) ?? null,
        setItem: (key, value) => { if (!this.isDead) kept.set(key, value); },
        removeItem: (key) => { if (!this.isDead) kept.delete(key); },
      },
      task: (action) => { this.due.push(action); },
      setTimeout: (action, delay) => {
        this.#last += 1;
        this.#timers.set(this.#last, { at: browser.now + delay, action });
        return this.#last;
      },
      clearTimeout: (id) => { this.#timers.delete(id); },
    };
    const { drafts } = browser;
    const write = (change) => { if (!this.isDead) change(); };
    /** What of a `MessageStore` the outbox needs. */
    this.store = {
      loadDrafts: async () => structuredClone([...drafts.values()]),
      saveDraft: async (key, draft) => write(() => drafts.set(key, structuredClone(draft))),
      removeDraft: async (key) => write(() => drafts.delete(key)),
      load: async () => null, save: async () => {}, remove: async () => {},
      loadList: async () => null, saveList: async () => {},
    };
  }

  /** Stands still; a browser may say so before. */
  freeze(isTold) {
    if (isTold && !this.isFrozen) this.device.document.dispatchEvent(new Event('freeze'));
    this.isFrozen = true;
  }

  /** What is due happens. */
  tick() {
    if (this.isFrozen || this.isDead) return;
    for (const [id, { at, action }] of [...this.#timers]) {
      if (at > this.browser.now || !this.#timers.delete(id)) continue;
      action();
    }
  }

  #channel(name) {
    const channel = {
      onmessage: null,
      postMessage: (data) => { if (!this.isDead) this.browser.post(this, name, data); },
      close: () => { this.channels.delete(name); },
    };
    this.channels.set(name, channel);
    return channel;
  }
}
