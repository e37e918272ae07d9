/**
 * The demonstration: alice, what happens, bob. The programs behind it are real, and so is what its
 * buttons do to them; `deploy/demo` starts them, and says over its own address how they stand.
 */

import { element, setAttribute, setText, soon } from '../components/dom.js';
import { Diagram } from './diagram.js';
import { NaiveList } from './naive-list.js';
import { Person } from './person.js';

/** @import { Edge, Node } from './diagram.js' */
/** @import { Head } from '../../Browser/types.js' */

/**
 * @typedef {object} GatewayState
 * @property {string} name
 * @property {'starting' | 'running' | 'dead'} state
 * @property {string} [feed]
 * @property {number} [openGaps]
 * @property {number} [clients]
 * @property {number} [written]
 * @property {number} [sheds]
 *
 * @typedef {object} State  as the supervisor tells it
 * @property {string | null} upstream  what two gateways share; null where one keeps the log itself
 * @property {string} conversation
 * @property {Record<string, boolean>} pressed
 * @property {Record<string, boolean>} possible
 * @property {{state: string, head: Head | null}} origin
 * @property {GatewayState[]} gateways
 * @property {number} rate
 * @property {{at: number, text: string}[]} news
 */

const number = new Intl.NumberFormat('en');
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
/** Each button: what it does, and what it does when it is pressed. */
const buttons = /** @type {const} */ ([
  ['cut', 'Cut alice’s link', 'Mend alice’s link'],
  ['slow', 'Make it slow', 'Make it fast again'],
  ['kill', 'Kill a gateway (kill -9)', 'Kill a gateway (kill -9)'],
  ['origin', 'Stop what keeps the log', 'Start what keeps the log'],
  ['restore', 'Restore yesterday’s backup', 'Restore yesterday’s backup'],
]);
const part = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** What stands between alice and bob. */
class Middle {
  #diagram = new Diagram();
  #sum = element('p', { class: 'sum', role: 'status' });
  #rest = element('p', { class: 'faint rest' });
  #trouble = element('p', { class: 'trouble', role: 'alert', hidden: true });
  #news = element('ol', { class: 'news', 'aria-label': 'What happened' });
  #newest = 0;
  /** @type {Map<string, HTMLButtonElement>} */
  #buttons = new Map();

  /** @param {(name: string) => void} onPress */
  constructor(onPress) {
    for (const [name] of buttons) {
      this.#buttons.set(name, element('button', {
        type: 'button', 'data-button': name, onclick: () => onPress(name),
      }));
    }
    part('middle').replaceChildren(
      element('h1', {}, 'Break something. Nothing goes missing unsaid.'),
      this.#sum, this.#rest, this.#diagram.element,
      element('div', { class: 'buttons' }, ...this.#buttons.values()), this.#trouble, this.#news);
  }

  /** @param {string} text  empty for nothing */
  set trouble(text) {
    this.#trouble.hidden = text === '';
    setText(this.#trouble, text);
  }

  /**
   * @param {State} state
   * @param {Person} alice
   * @param {Person} bob
   */
  draw(state, alice, bob) {
    this.#drawSum(state, alice);
    this.#drawButtons(state);
    this.#drawNews(state);
    const { nodes, edges } = drawing(state, alice, bob);
    this.#diagram.draw(nodes, edges);
  }

  /**
   * @param {State} state
   * @param {Person} alice
   */
  #drawSum({ origin }, alice) {
    const { sent, held, missing, onTheWay, unasked, isEqual } = alice.ledger(origin.head);
    const [all, here, gone] = [sent, held, missing].map((count) => number.format(count));
    setAttribute(this.#sum, 'data-equal', isEqual);
    const sign = isEqual ? '=' : '≠';
    setText(this.#sum, `sent ${all} ${sign} held ${here} + declared missing ${gone}`);
    setText(this.#rest, [
      'alice, counted row by row',
      onTheWay > 0 && `${number.format(onTheWay)} more on their way to her`,
      unasked > 0 && `${number.format(unasked)} older ones are not loaded`,
    ].filter(Boolean).join('; '));
  }

  /** @param {State} state */
  #drawButtons({ pressed, possible }) {
    for (const [name, text, undone] of buttons) {
      const button = this.#buttons.get(name);
      if (button === undefined) continue;
      setText(button, pressed[name] ? undone : text);
      setAttribute(button, 'aria-pressed', name in pressed ? pressed[name] === true : null);
      button.disabled = possible[name] === false;
      button.title = button.disabled
        ? 'The log is in the gateway’s own file: it can’t be stopped alone' : '';
    }
  }

  /** @param {State} state */
  #drawNews({ news }) {
    const newest = news.at(-1)?.at ?? 0;
    if (newest === this.#newest) return;
    this.#newest = newest;
    this.#news.replaceChildren(...news.toReversed().map(({ at, text }) => element('li', {},
      element('time', {}, clock.format(at)), ` ${text}`)));
  }
}

/**
 * @param {State} state
 * @param {Person} alice
 * @param {Person} bob
 * @returns {{nodes: Node[], edges: Edge[]}}
 */
function drawing({ upstream, pressed, origin, gateways }, alice, bob) {
  const isShared = upstream !== null;
  /** @type {Node[]} */
  const nodes = [
    person('alice', alice, [66, 255]), person('bob', bob, [354, 255]),
    ...gateways.map((gateway, at) => gatewayNode(gateway,
      isShared ? [at === 0 ? 90 : 330, 145] : [210, 145])),
    {
      id: 'origin', name: isShared ? `the log: ${upstream}` : 'the log: its file', at: [210, 40],
      tone: origin.state === 'running' ? 'good' : 'bad',
      lines: [origin.head === null ? '' : `${number.format(origin.head.seq)} messages`,
        origin.state === 'running' ? 'runs' : 'stopped'],
    },
  ];
  const [first, last] = [gateways[0], gateways[gateways.length - 1]];
  /** @type {Edge[]} */
  const edges = [
    link('alice', alice, first.name, pressed.cut, pressed.slow),
    link('bob', bob, last.name, false, false),
    ...gateways.map(({ name, state, feed }) => ({
      id: `${name}-origin`, from: name, to: 'origin',
      state: /** @type {Edge['state']} */ (
        state === 'running' && (feed === 'online' || !isShared) ? 'flows' : 'broken'),
    })),
  ];
  return { nodes, edges };
}

/**
 * @param {string} name
 * @param {Person} of
 * @param {[number, number]} at
 * @returns {Node}
 */
function person(name, { connection, conversation }, at) {
  const { gaps, isOpen } = conversation;
  const inner = gaps.filter(({ cause }) => cause !== 'cold').length;
  const state = connection.isLive ? isOpen ? 'live, may lack news' : 'live' : 'offline';
  return {
    id: name, name, at, tone: connection.isLive ? isOpen || inner > 0 ? 'busy' : 'good' : 'bad',
    lines: [state, `${inner} ${inner === 1 ? 'gap' : 'gaps'}`],
  };
}

/**
 * @param {GatewayState} gateway
 * @param {[number, number]} at
 * @returns {Node}
 */
function gatewayNode({ name, state, feed = '', clients = 0, written = 0, sheds = 0 }, at) {
  const isUp = state === 'running';
  return {
    id: name, name, at, tone: isUp ? feed === 'online' ? 'good' : 'busy' : 'bad',
    lines: isUp
      ? [`${feed}, ${clients} ${clients === 1 ? 'client' : 'clients'}`,
        `${number.format(written)} sent, ${number.format(sheds)} left out`]
      : [state === 'dead' ? 'killed' : 'starting', ''],
  };
}

/**
 * @param {string} from
 * @param {Person} person
 * @param {string} to
 * @param {boolean} isCut
 * @param {boolean} isSlow
 * @returns {Edge}
 */
function link(from, { connection }, to, isCut, isSlow) {
  const state = isCut || !connection.isLive ? 'broken' : isSlow ? 'slow' : 'flows';
  return { id: from, from, to, state };
}

async function start() {
  const { address } = await (await fetch('/demo/supervisor')).json();
  if (address === null) {
    part('middle').replaceChildren(element('p', { class: 'trouble' },
      'This page needs the programs that deploy/demo starts: make run.'));
    return;
  }
  const middle = new Middle((name) => {
    fetch(`http://${address}/press/${name}`, { method: 'POST' }).catch(() => {
      middle.trouble = 'The demonstration does not answer: was it stopped?';
    });
  });
  /** @type {State | null} */
  let state = null;
  /** @type {{alice: Person, bob: Person, naive: NaiveList} | null} */
  let people = null;
  const begin = (/** @type {string} */ id) => {
    const of = (/** @type {string} */ user) => new Person({
      user, url: `ws://${address}/links/${user}`, id, place: part(user),
    });
    const [alice, bob] = [of('alice'), of('bob')];
    const { connection, conversation } = alice;
    const naive = new NaiveList({ connection, conversation, place: part('naive') });
    conversation.changed.listen(draw);
    connection.changed.listen(draw);
    return { alice, bob, naive };
  };
  const draw = soon(() => {
    if (state === null || people === null) return;
    const { origin: { head } } = state;
    middle.draw(state, people.alice, people.bob);
    people.alice.draw(head, state.pressed.slow === true);
    people.bob.draw(head, false);
    people.naive.draw(head, people.alice.isAtPresent);
  });
  const stream = new EventSource(`http://${address}/events`);
  stream.onmessage = ({ data }) => {
    state = /** @type {State} */ (JSON.parse(data));
    people ??= begin(state.conversation);
    middle.trouble = '';
    draw();
  };
  stream.onerror = () => { middle.trouble = 'The demonstration does not answer: was it stopped?'; };
  // For a person at the console, and for its tests.
  Object.assign(window, {
    demonstration: {
      ledger: () => people?.alice.ledger(state?.origin.head ?? null),
      naive: () => people?.naive.verdict(state?.origin.head ?? null),
      get state() { return state; },
      get alice() { return people?.alice; },
    },
  });
}

start();
