import { isFillable } from '../../Browser/gaps.js';
import { element, setText, soon, uniqueId } from './dom.js';
import { clockTime } from './moments.js';
import { heldCount, placeAt, stretches } from './stretches.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { Conversation } from '../../Browser/conversation.js' */
/** @import { Gap } from '../../Browser/types.js' */

const number = new Intl.NumberFormat();
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
 * What this page knows and what it does not, in plain words: how many messages it holds, and where
 * the gaps are. As of which change, of which log, and the last that was heard, is for who asks.
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
    this.summary = element('p', { class: 'summary' });
    this.facts = element('dl', {});
    const details = element('details', {}, element('summary', {}, 'Details'), this.facts);
    this.gaps = element('ul', { class: 'gaps', 'aria-label': 'Gaps' });
    /** What to put on the page. */
    this.element = element('aside', {
      class: 'truth', id: uniqueId('truth'), 'aria-label': 'What this page holds', hidden: true,
    }, this.summary, this.bar, this.ends, this.gaps, details);
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
    this.bar.replaceChildren(...(have ? stretches(have, gaps, this.#view, 'across') : []));
    const { held, all } = heldCount(have);
    setText(this.summary, have === null ? 'Nothing is here yet.' : this.#summary(held, all));
    this.bar.setAttribute('aria-label',
      `${number.format(held)} of ${number.format(all)} messages are held`);
    this.ends.replaceChildren(...(have && all > 0
      ? [have.head.floor, have.head.seq].map((seq) => element('span', {}, number.format(seq)))
      : []));
    this.facts.replaceChildren(...this.#facts().flatMap(([name, value]) => [
      element('dt', {}, name), element('dd', {}, value),
    ]));
    this.gaps.replaceChildren(...gaps.map((gap) => this.#gap(gap)));
  }

  /**
   * @param {number} held
   * @param {number} all
   */
  #summary(held, all) {
    const { gaps, isOpen } = this.#conversation;
    const missing = gaps.filter(({ cause }) => cause !== 'trimmed');
    const counts = missing.map((gap) => gap.missing);
    const sum = counts.reduce((total, count) => Number(total) + Number(count), 0);
    const what = counts.includes(null) ? 'Messages'
      : `${number.format(Number(sum))} ${sum === 1 ? 'message' : 'messages'}`;
    return [
      held === all ? `You have all ${number.format(all)} messages.`
        : `You have ${number.format(held)} of ${number.format(all)} messages.`,
      missing.length === 0 ? 'Nothing is missing between the ones you see.'
        : `${what} ${sum === 1 ? 'is' : 'are'} missing between them.`,
      isOpen ? 'There may be newer ones that the gateway does not know yet.' : '',
    ].join(' ').trim();
  }

  /** @returns {[string, string][]} */
  #facts() {
    const { have, heard, isOpen } = this.#conversation;
    const { upstream, state } = this.#connection;
    const origin = upstream === null ? 'unknown'
      : `${upstream.state} since ${clockTime(upstream.since)}`;
    const asOf = have === null
      ? '–' : `${number.format(have.asOf)} of ${number.format(have.head.rev)}`;
    return [
      ['As of change', isOpen ? `${asOf}, there may be more` : asOf],
      ['Connection', state.phase],
      ['Where the log is kept', origin],
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
    this.#onShow(placeAt(head, (event.clientX - left) / width));
  }
}

/** @param {number} moment  milliseconds since 1970 */
function fullClock(moment) { return new Date(moment).toLocaleTimeString(); }
