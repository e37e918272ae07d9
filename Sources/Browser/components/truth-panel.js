import { isFillable } from '../gaps.js';
import { element, setText, soon } from './dom.js';
import { clockTime } from './moments.js';

/** @import { Connection } from '../connection.js' */
/** @import { Conversation } from '../conversation.js' */
/** @import { Gap, Head } from '../types.js' */

const number = new Intl.NumberFormat();
/** A stretch is drawn at least so wide, in percent of the bar: a single message can be seen. */
const LEAST = 0.4;
/** Why messages are missing, and who brings them. */
const causes = {
  upstream: 'the gateway missed them and is catching up',
  cache: 'the gateway reads them again',
  slow: 'came faster than this page took them',
  limit: 'came while you were away',
  cold: 'not loaded',
  trimmed: 'no longer kept by anybody',
};

/**
 * What this page knows and what it does not: which messages it holds, as of which change, where the
 * gaps are, how its gateway stands with the origin, and the last that was heard.
 */
export class TruthPanel {
  #connection;
  #conversation;
  #onShow;
  /** @type {[number, number] | null} */
  #view = null;
  #schedule = soon(() => this.#draw());
  /** @type {(() => void)[]} */
  #stops = [];

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {Conversation} options.conversation
   * @param {(seq: number) => void} options.onShow  a place of the bar was chosen
   */
  constructor({ connection, conversation, onShow }) {
    this.#connection = connection;
    this.#conversation = conversation;
    this.#onShow = onShow;
    this.bar = element('div', {
      class: 'coverage', role: 'img', onclick: (/** @type {MouseEvent} */ event) => this.#go(event),
    });
    this.ends = element('div', { class: 'ends', 'aria-hidden': true });
    this.facts = element('dl', {});
    this.gaps = element('ul', { class: 'gaps', 'aria-label': 'Gaps' });
    /** What to put on the page. */
    this.element = element('aside', {
      class: 'truth', id: 'truth', 'aria-label': 'What this page holds', hidden: true,
    }, this.bar, this.ends, this.facts, this.gaps);
    this.#stops = [conversation, connection].map(({ changed }) => changed.listen(this.#schedule));
  }

  /** Whether it is shown. */
  get isShown() { return !this.element.hidden; }

  set isShown(isShown) {
    this.element.hidden = !isShown;
    this.#draw();
  }

  /** The places in view. @param {[number, number]} view */
  set view(view) {
    this.#view = view;
    if (this.isShown) this.#schedule();
  }

  /** Stops following the conversation. */
  dispose() { for (const stop of this.#stops) stop(); }

  #draw() {
    if (!this.isShown) return;
    const { have, gaps } = this.#conversation;
    this.bar.replaceChildren(...(have ? stretches(have, gaps, this.#view) : []));
    const held = (have?.runs ?? []).reduce((sum, [low, high]) => sum + high - low + 1, 0);
    const all = have ? have.head.seq - have.head.floor + 1 : 0;
    this.bar.setAttribute('aria-label',
      `${number.format(held)} of ${number.format(all)} messages are held`);
    this.ends.replaceChildren(...(have && all > 0
      ? [have.head.floor, have.head.seq].map((seq) => element('span', {}, number.format(seq)))
      : []));
    this.facts.replaceChildren(...this.#facts(held, all).flatMap(([name, value]) => [
      element('dt', {}, name), element('dd', {}, value),
    ]));
    this.gaps.replaceChildren(...gaps.map((gap) => this.#gap(gap)));
  }

  /**
   * @param {number} held
   * @param {number} all
   * @returns {[string, string][]}
   */
  #facts(held, all) {
    const { have, heard, isOpen } = this.#conversation;
    const { upstream, state } = this.#connection;
    const origin = upstream === null ? 'unknown'
      : `${upstream.state} since ${clockTime(upstream.since)}`;
    const asOf = have === null
      ? '–' : `${number.format(have.asOf)} of ${number.format(have.head.rev)}`;
    return [
      ['Held', `${number.format(held)} of ${number.format(all)} messages`],
      ['As of change', isOpen ? `${asOf}, there may be more` : asOf],
      ['Connection', state.phase],
      ['Upstream', origin],
      ['Log', have === null ? '–' : have.head.epoch],
      ['Last heard', heard === null ? '–'
        : `${heard.name}${heard.count > 0 ? ` (${number.format(heard.count)})` : ''} at ${
          fullClock(heard.at)}`],
    ];
  }

  /** @param {Gap} gap */
  #gap(gap) {
    const { after, before, missing, cause } = gap;
    const state = this.#conversation.filling(gap);
    const text = `${number.format(after + 1)} – ${number.format(before - 1)}: `
      + `${missing === null ? '' : `${number.format(missing)} `}${causes[cause]}`;
    return element('li', {}, element('span', {}, text), isFillable(gap) && element('button', {
      type: 'button', class: 'quiet', disabled: state === 'busy',
      onclick: () => this.#conversation.fill(gap),
    }, state === 'busy' ? 'Loading…' : 'Load'));
  }

  /** @param {MouseEvent} event */
  #go(event) {
    const head = this.#conversation.have?.head;
    const { left, width } = this.bar.getBoundingClientRect();
    if (!head || head.seq < head.floor) return;
    const share = Math.min(1, Math.max(0, (event.clientX - left) / width));
    this.#onShow(head.floor + Math.round(share * (head.seq - head.floor)));
  }
}

/**
 * The stretches of the bar: what is held, each gap by its cause, and where the view is.
 *
 * @param {{head: Head, runs: [number, number][]}} have
 * @param {Gap[]} gaps
 * @param {[number, number] | null} view
 */
function stretches({ head, runs }, gaps, view) {
  const all = head.seq - head.floor + 1;
  /** @type {(kind: string, low: number, high: number) => HTMLElement} */
  const stretch = (kind, low, high) => {
    const drawn = element('span', { 'data-kind': kind });
    const width = Math.max(LEAST, ((high - low + 1) / all) * 100);
    const left = Math.min(100 - width, ((low - head.floor) / all) * 100);
    Object.assign(drawn.style, { left: `${left}%`, width: `${width}%` });
    return drawn;
  };
  return [
    ...gaps.map(({ after, before, cause }) => stretch(cause, after + 1, before - 1)),
    ...runs.map(([low, high]) => stretch('held', low, high)),
    ...(view ? [stretch('view', ...view)] : []),
  ];
}

/** @param {number} moment  milliseconds since 1970 */
function fullClock(moment) { return new Date(moment).toLocaleTimeString(); }
