import { Administration } from '../../Browser/administration.js';
import { drawPresence, presenceDot } from './attendance.js';
import { confirmation } from './dialogs.js';
import { element } from './dom.js';

/** @import { Connection } from '../../Browser/connection.js' */
/** @import { ConversationRecord, Participant } from '../../Browser/types.js' */
/** @import { Attendance } from './attendance.js' */

/**
 * Shows who takes part in a conversation, and lets them be changed as far as the user may.
 *
 * @param {object} of
 * @param {Connection} of.connection
 * @param {ConversationRecord} of.record
 * @param {() => void} of.onLeft
 * @param {Attendance} [of.attendance]
 */
export async function showPeople({ connection, record, onLeft, attendance }) {
  const conversation = record.id;
  const error = element('p', { class: 'failure', role: 'alert' });
  const list = element('ul', { class: 'people' });
  const title = element('input', {
    'aria-label': 'Title', value: record.title ?? '', maxlength: 200, autocomplete: 'off',
  });
  const names = element('input', {
    'aria-label': 'Add people', placeholder: 'Names, with commas between them',
    autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false',
  });
  let admins = record.admins ?? [];
  /** Where it stands whether somebody is there, by user. */
  /** @type {Map<string, {dot: HTMLElement, words: HTMLElement}>} */
  const marks = new Map();
  const markOf = (/** @type {string} */ id) => {
    const mark = marks.get(id)
      ?? { dot: presenceDot(), words: element('small', { class: 'faint' }) };
    marks.set(id, mark);
    return mark;
  };
  const drawMarks = () => {
    for (const [id, { dot, words }] of marks) drawPresence(dot, words, attendance?.of(id) ?? null);
  };
  const stops = attendance
    ? [attendance.watch(conversation), attendance.changed.listen(drawMarks)] : [];
  const request = (/** @type {string} */ method, /** @type {object} */ params) => (
    connection.request(method, { conversation, ...params })
  );
  const administration = new Administration(request);
  /** Whether something could be done; if not, it is said why. */
  const attempt = async (/** @type {() => Promise<*>} */ act) => {
    error.textContent = '';
    try {
      await act();
      return true;
    } catch (reason) {
      error.textContent = /** @type {Error} */ (reason).message;
      return false;
    }
  };
  const draw = () => attempt(async () => {
    const read = await request('fetchConversation', { cached: false });
    const result = await request('fetchParticipants', { cached: false });
    admins = read.conversation.admins ?? [];
    const isAdmin = admins.length === 0 || admins.includes(connection.user ?? '');
    for (const form of [renaming, adding]) form.hidden = !isAdmin;
    list.replaceChildren(...result.participants.map((/** @type {Participant} */ person) => (
      personElement(person, {
        admins, isAdmin, user: connection.user, administration, act, mark: markOf(person.id),
      })
    )));
    drawMarks();
  });
  const act = async (/** @type {() => Promise<*>} */ change) => {
    if (await attempt(change)) await draw();
  };
  const form = (/** @type {HTMLElement} */ input, /** @type {string} */ name, take = () => {}) => (
    element('form', {
      class: 'line', onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        take();
      },
    }, input, element('button', { type: 'submit', class: 'quiet' }, name))
  );
  const renaming = form(title, 'Rename', () => {
    act(() => administration.update({ title: title.value.trim() }));
  });
  const adding = form(names, 'Add', () => {
    const users = names.value.split(/[,;\n]/u).map((name) => name.trim()).filter(Boolean);
    names.value = '';
    if (users.length > 0) act(() => administration.addParticipants(users));
  });
  const leave = async () => {
    const isSure = await confirmation({ question: 'Leave this conversation?', answer: 'Leave' });
    if (!isSure || !await attempt(() => administration.leave())) return;
    close();
    onLeft();
  };
  const closed = () => {
    for (const stop of stops) stop();
    dialog.remove();
  };
  const dialog = element('dialog', { 'aria-label': 'People', onclose: closed },
    element('h2', {}, 'People'), renaming, list, adding, error,
    element('div', { class: 'answers' },
      element('button', { type: 'button', onclick: () => { leave(); } }, 'Leave'),
      element('button', { type: 'button', class: 'primary', onclick: () => close() }, 'Done')));
  const close = () => dialog.close();
  document.body.append(dialog);
  dialog.showModal();
  await draw();
}

/**
 * @param {Participant} person
 * @param {object} of
 * @param {string[]} of.admins
 * @param {boolean} of.isAdmin  whether the user may change others
 * @param {string | null} of.user
 * @param {Administration} of.administration
 * @param {(change: () => Promise<*>) => void} of.act
 * @param {{dot: HTMLElement, words: HTMLElement}} of.mark  whether they are there
 */
function personElement({ id, name }, { admins, isAdmin, user, administration, act, mark }) {
  const is = admins.includes(id);
  const users = [id];
  const button = (
    /** @type {string} */ text,
    /** @type {'addAdmins' | 'removeAdmins' | 'removeParticipants'} */ change,
  ) => element('button', {
    type: 'button', class: 'quiet', 'aria-label': `${text}: ${id}`,
    onclick: () => act(() => administration[change](users)),
  }, text);
  return element('li', {}, mark.dot,
    element('span', { class: 'person' }, element('bdi', {}, name ?? id), mark.words),
    id === user && ' (you)',
    is && element('span', { class: 'faint' }, ' admin'),
    isAdmin && button(is ? 'No admin' : 'Make admin', is ? 'removeAdmins' : 'addAdmins'),
    isAdmin && id !== user && button('Remove', 'removeParticipants'));
}
