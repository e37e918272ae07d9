import { element, icon, setAttribute, setText, soon } from './dom.js';
import { momentName } from './moments.js';
import { Presence } from '../../Browser/presence.js';
import { Signal } from '../../Browser/signal.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { ConversationList } from '../../Browser/conversations.js' */
/** @import { PresenceState } from '../../Browser/own-presence.js' */
/** @import { UserPresence } from '../../Browser/presence.js' */
/** @import { ConversationRecord } from '../../Browser/types.js' */

const PERSON = 'M10 9.6a3.3 3.3 0 1 0 0-6.6 3.3 3.3 0 0 0 0 6.6zM3.8 17c.6-3.3 2.9-4.9 6.2-4.9'
  + 's5.6 1.6 6.2 4.9';
const SLASH = 'M3 3l14 14';
/** Where the browser remembers that somebody appears hidden. */
const HIDDEN = 'gapless.hidden';
/** A tab at which nobody looks for so long says that its user is away, in milliseconds. */
const AWAY = 60_000;
/** Of so many conversations in the list it is shown whether the other one is there. */
const LISTED = 200;

/** How the user is there as a page begins. @returns {PresenceState} */
export function firstPresence() { return appearsHidden() ? 'hidden' : 'present'; }

/**
 * Who is there, for all parts of the page, and the switch by which the user appears hidden. Where
 * the gateway tells nobody, nothing is shown.
 */
export class Attendance {
  /** @type {Signal<void>} */
  changed = new Signal();
  #connection;
  #list;
  #presence;
  /** Whether anything was told yet. */
  #isKnown = false;
  #isAway = false;
  /** What the list watches, and what ends that. */
  #listed = '';
  #stop = () => {};
  #scheduleWatch = soon(() => this.#watchList());

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {ConversationList} options.list
   */
  constructor({ connection, list }) {
    this.#connection = connection;
    this.#list = list;
    this.#presence = Presence.of(connection);
    /** What to put on the page. It has its room from the beginning. */
    this.button = element('button', {
      type: 'button', class: 'round appear-hidden', 'aria-label': 'Appear hidden',
      onclick: () => this.#toggle(),
    });
    this.#presence.changed.listen(() => {
      this.#isKnown ||= this.#presence.states.size > 0;
      this.#draw();
      this.changed.emit();
    });
    list.changed.listen(this.#scheduleWatch);
    this.#followLooks();
    // Another tab turned it on or off.
    addEventListener('storage', () => this.#say());
    this.#draw();
  }

  /** Whether the gateway tells who is there. */
  get isOn() {
    const { error } = this.#presence;
    return this.#isKnown && (error === null || error.code === 'too_large');
  }

  /**
   * Whether a user is there; null where nothing is to be shown.
   *
   * @param {string | null} user
   * @returns {UserPresence | null}
   */
  of(user) { return user !== null && this.isOn ? this.#presence.get(user) : null; }

  /**
   * The other one of a conversation of two; null where there is none.
   *
   * @param {ConversationRecord | null | undefined} record
   */
  partnerIn(record) {
    const { participants = [], participantCount = participants.length } = record ?? {};
    const { user } = this.#connection;
    if (participants.length !== 2 || participantCount !== 2 || user === null) return null;
    return participants.includes(user) ? participants.find((each) => each !== user) ?? null : null;
  }

  /**
   * Watches users of a conversation, or all of them, until the function that it gives is called.
   *
   * @param {string} conversation
   * @param {string[]} [users]
   */
  watch(conversation, users) { return this.#presence.watch([{ conversation, users }]); }

  /** Watches the others of the conversations of two in the list, and the user. */
  #watchList() {
    /** The conversation by which each is watched: the same, whichever is the latest. */
    /** @type {Map<string, string>} */
    const by = new Map();
    const note = (/** @type {string | null} */ user, /** @type {string} */ id) => {
      if (user !== null && !(id > (by.get(user) ?? id))) by.set(user, id);
    };
    for (const record of this.#list.records.slice(0, LISTED)) {
      note(this.partnerIn(record), record.id);
      note(this.#connection.user, record.id);
    }
    const watch = [...by].map(([user, conversation]) => ({ conversation, users: [user] }));
    const listed = JSON.stringify(watch.map((each) => JSON.stringify(each)).sort());
    if (listed === this.#listed) return;
    this.#listed = listed;
    this.#stop();
    this.#stop = this.#presence.watch(watch);
  }

  #followLooks() {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let away;
    const note = () => {
      clearTimeout(away);
      if (document.hidden) {
        away = setTimeout(() => {
          this.#isAway = true;
          this.#say();
        }, AWAY);
      } else if (this.#isAway) {
        this.#isAway = false;
        this.#say();
      }
    };
    document.addEventListener('visibilitychange', note);
    note();
  }

  #say() {
    this.#connection.setPresence(appearsHidden() ? 'hidden' : this.#isAway ? 'away' : 'present');
    this.#draw();
  }

  #toggle() {
    if (appearsHidden()) localStorage.removeItem(HIDDEN);
    else localStorage.setItem(HIDDEN, 'true');
    this.#say();
  }

  #draw() {
    const isHidden = appearsHidden();
    setAttribute(this.button, 'aria-pressed', String(isHidden));
    setAttribute(this.button, 'title',
      isHidden ? 'Others don\'t see that you are here' : 'Others see that you are here');
    setAttribute(this.button, 'data-waiting', !this.#isKnown || undefined);
    this.button.hidden = this.#isKnown ? !this.isOn : this.#presence.error !== null;
    const drawn = isHidden ? `${PERSON}${SLASH}` : PERSON;
    if (this.button.dataset.drawn === drawn) return;
    this.button.dataset.drawn = drawn;
    this.button.replaceChildren(icon(drawn));
  }
}

function appearsHidden() { return localStorage.getItem(HIDDEN) !== null; }

/** A sign for whether somebody is there. It says nothing that the text beside it does not say. */
export function presenceDot() {
  return element('span', { class: 'presence', 'aria-hidden': true, hidden: true });
}

/**
 * Draws a sign and its text.
 *
 * @param {HTMLElement} dot
 * @param {HTMLElement} words
 * @param {UserPresence | null} presence  null: nothing is shown
 */
export function drawPresence(dot, words, presence) {
  dot.hidden = presence === null;
  words.hidden = presence === null;
  setAttribute(dot, 'data-state', presence === null ? null : stateNow(presence));
  setText(words, presence === null ? '' : presenceText(presence));
}

/**
 * What can be said of now.
 *
 * @param {UserPresence} presence
 */
function stateNow({ state, isOpen }) { return isOpen ? 'unknown' : state; }

/**
 * "here", "away since 10:32", "last seen Mon 10:32", "not here", "unknown".
 *
 * @param {UserPresence} presence
 */
export function presenceText(presence) {
  const { since } = presence;
  switch (stateNow(presence)) {
    case 'present': return 'here';
    case 'away': return since === undefined ? 'away' : `away since ${momentName(since)}`;
    case 'absent': return since === undefined ? 'not here' : `last seen ${momentName(since)}`;
    default: return 'unknown';
  }
}
