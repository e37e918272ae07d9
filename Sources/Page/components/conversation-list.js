import { drawPresence, presenceDot } from './attendance.js';
import {
  arrange, element, hasKeyboard, icon, mark, setAttribute, setText, soon,
} from './dom.js';
import { briefTime } from './moments.js';
import { avatar, conversationName } from './people.js';
import { isEmote } from './rows.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { ConversationList } from '../../Browser/conversations.js' */
/** @import { UserPresence } from '../../Browser/presence.js' */
/** @import { ConversationRecord } from '../../Browser/types.js' */
/** @import { Attendance } from './attendance.js' */
/** @import { Health } from './health.js' */
/** @import { UnsentTexts } from './unsent.js' */

const PLUS = 'M10 4.5v11M4.5 10h11';
/** More of a long list is fetched when its end comes this near, in pixels. */
const PRELOAD = 600;

/**
 * The conversations as links, latest activity first, with what was said last and how much of it is
 * unread. Arrow keys go through them.
 */
export class ConversationListView {
  #connection;
  #list;
  #unsent;
  #health;
  #attendance;
  #onSelect;
  /** @type {string | null} */
  #selected = null;
  /** Whether the selected one was scrolled to since it was selected. */
  #isInView = false;
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  #scheduleDraw = soon(() => this.#draw());

  /**
   * @param {object} options
   * @param {Connection} options.connection
   * @param {ConversationList} options.list
   * @param {UnsentTexts} options.unsent
   * @param {Health} options.health
   * @param {Attendance} options.attendance
   * @param {(id: string) => void} options.onSelect
   * @param {() => void} options.onCreate
   */
  constructor({ connection, list, unsent, health, attendance, onSelect, onCreate }) {
    this.#connection = connection;
    this.#list = list;
    this.#unsent = unsent;
    this.#health = health;
    this.#attendance = attendance;
    this.#onSelect = onSelect;
    this.filter = element('input', {
      type: 'search', class: 'filter', 'aria-label': 'Filter conversations',
      placeholder: `Filter conversations${hasKeyboard() ? ' (Ctrl+K)' : ''}`,
      oninput: () => this.#draw(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#filterKey(event),
    });
    addEventListener('keydown', (event) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.filter.focus();
      this.filter.select();
    });
    this.items = element('ul', { class: 'conversations', role: 'list' });
    this.empty = element('p', { class: 'empty' });
    this.scroller = element('div', {
      class: 'sidebar-scroller',
      onscroll: () => this.#loadMore(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
    }, this.items, this.empty);
    /** What to put on the page. */
    this.elements = [
      element('header', { class: 'sidebar-head' },
        mark(),
        element('p', { class: 'brand', 'aria-hidden': true }, 'Gapless'),
        element('button', {
          type: 'button', class: 'round', title: 'New conversation',
          'aria-label': 'New conversation', onclick: onCreate,
        }, icon(PLUS))),
      this.filter, this.scroller,
    ];
    for (const { changed } of [list, unsent, health, attendance]) {
      changed.listen(this.#scheduleDraw);
    }
    this.#draw();
  }

  /**
   * Marks the conversation that is open.
   *
   * @param {string | null} id
   */
  select(id) {
    this.#selected = id;
    this.#isInView = false;
    this.#draw();
  }

  #draw() {
    const { records: all, isLoaded } = this.#list;
    const records = this.#filtered(all);
    const kept = new Set(records.map(({ id }) => id));
    for (const id of this.#entries.keys()) {
      if (!kept.has(id)) this.#entries.delete(id);
    }
    arrange(this.items, records.map((record) => this.#entry(record).element));
    const selected = this.#entries.get(this.#selected ?? '');
    if (selected && !this.#isInView) {
      // Once: from there on the list is the reader's to scroll.
      this.#isInView = true;
      selected.link.scrollIntoView({ block: 'nearest' });
    }
    this.empty.hidden = records.length > 0;
    if (all.length > records.length) {
      const rest = this.#list.hasMore ? ' Those that are not loaded yet were not looked at.' : '';
      this.empty.hidden = records.length > 0 && rest === '';
      setText(this.empty, `${records.length === 0 ? 'None is called that.' : ''}${rest}`.trim());
      return;
    }
    setText(this.empty, isLoaded ? 'No conversations yet. Begin one with the plus above.'
      : this.#health.reason === '' ? 'Loading…' : `Not loaded yet: ${this.#health.reason}.`);
  }

  /** @param {ConversationRecord} record */
  #entry(record) {
    let entry = this.#entries.get(record.id);
    if (!entry) {
      entry = new Entry(record.id, this.#onSelect);
      this.#entries.set(record.id, entry);
    }
    const isSelected = record.id === this.#selected;
    entry.draw(record, {
      user: this.#connection.user, isSelected,
      unsent: isSelected ? '' : this.#unsent.text(record.id),
      presence: this.#attendance.of(this.#attendance.partnerIn(record)),
    });
    return entry;
  }

  /**
   * Those whose name, or id, holds what stands in the filter.
   *
   * @param {ConversationRecord[]} records
   */
  #filtered(records) {
    const text = this.filter.value.trim().toLowerCase();
    if (text === '') return records;
    const { user } = this.#connection;
    return records.filter((record) => (
      `${conversationName(record, record.id, user)} ${record.id}`.toLowerCase().includes(text)
    ));
  }

  /** @param {KeyboardEvent} event */
  #filterKey(event) {
    if (event.key === 'Enter') {
      this.items.querySelector('a')?.click();
    } else if (event.key === 'ArrowDown') {
      event.preventDefault();
      this.items.querySelector('a')?.focus();
      return;
    } else if (event.key !== 'Escape') {
      return;
    }
    this.filter.value = '';
    this.#draw();
  }

  #loadMore() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (scrollHeight - scrollTop - clientHeight < PRELOAD) this.#list.loadMore();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const links = [...this.items.querySelectorAll('a')];
    const next = links[links.findIndex((link) => link === document.activeElement) + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  }
}

/** One conversation in the list. */
class Entry {
  /** @type {string | null} */
  #name = null;

  /**
   * @param {string} id
   * @param {(id: string) => void} onSelect
   */
  constructor(id, onSelect) {
    this.picture = element('span', { class: 'picture' });
    this.dot = presenceDot();
    this.words = element('span', { class: 'visually-hidden' });
    this.title = element('span', { class: 'title' });
    this.time = element('time', { class: 'when' });
    this.preview = element('span', { class: 'preview' });
    this.mentions = element('span', { class: 'mentions' });
    this.badge = element('span', { class: 'badge' });
    this.link = element('a', {
      href: `?conversation=${encodeURIComponent(id)}`,
      onclick: (/** @type {MouseEvent} */ event) => {
        // A click with a modifier opens a tab, as links do.
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        onSelect(id);
      },
    }, this.picture,
    element('span', { class: 'line' }, this.title, this.words, this.time),
    element('span', { class: 'line' }, this.preview, this.mentions, this.badge));
    this.element = element('li', {}, this.link);
  }

  /**
   * @param {ConversationRecord} record
   * @param {{user: string | null, isSelected: boolean, unsent: string,
   *   presence: UserPresence | null}} context
   */
  draw(record, { user, isSelected, unsent, presence }) {
    const name = conversationName(record, record.id, user);
    if (name !== this.#name) {
      this.#name = name;
      setText(this.title, name);
      this.picture.replaceChildren(avatar(name, 'group'), this.dot);
    }
    drawPresence(this.dot, this.words, presence);
    const last = record.lastMessage;
    const { unreadCount: unread = 0, unreadMentions: mentions = 0 } = record;
    setText(this.preview, unsent === '' ? previewText(last, user) : `Not sent yet: ${unsent}`);
    setAttribute(this.preview, 'data-unsent', unsent !== '' || undefined);
    setText(this.time, last ? briefTime(last.createdAt) : '');
    setAttribute(this.time, 'datetime', last?.createdAt);
    setText(this.badge, unread > 999 ? '999+' : String(unread));
    setAttribute(this.badge, 'aria-label', unread > 0 ? `${unread} unread` : undefined);
    this.badge.hidden = unread === 0;
    setText(this.mentions, mentions > 99 ? '@99+' : `@${mentions}`);
    setAttribute(this.mentions, 'aria-label',
      `${mentions} ${mentions === 1 ? 'mentions' : 'mention'} you`);
    this.mentions.hidden = mentions === 0;
    setAttribute(this.link, 'data-unread', unread > 0 || undefined);
    setAttribute(this.link, 'aria-current', isSelected ? 'page' : undefined);
  }
}

/**
 * What was said last, in a line.
 *
 * @param {ConversationRecord['lastMessage']} last
 * @param {string | null} user
 */
export function previewText(last, user) {
  if (!last) return 'No messages yet';
  const said = last.deleted ? 'deleted' : last.body || (last.attachment ? 'Attachment' : '');
  if (isEmote(last)) return `${last.author} ${said}`;
  return `${last.author === user ? 'You' : last.author}: ${said}`;
}
