import { element } from './dom.js';

/**
 * Shows a dialog until it is answered.
 *
 * @template T
 * @param {object} of
 * @param {string} of.title
 * @param {(Node | string)[]} of.content
 * @param {string} of.answer  what the button says
 * @param {() => T | Promise<T>} of.take  reads the answer; if it throws, the dialog says why and
 *   stays
 * @param {boolean} [of.mayCancel]
 * @param {string} [of.other]  what the button that cancels says
 * @returns {Promise<T | null>} `null` if it was left without an answer
 */
function ask({ title, content, answer, take, mayCancel = true, other = 'Cancel' }) {
  return new Promise((resolve) => {
    const error = element('p', { class: 'failure', role: 'alert' });
    const submit = element('button', { type: 'submit', class: 'primary' }, answer);
    const close = (/** @type {T | null} */ result) => {
      dialog.close();
      dialog.remove();
      resolve(result);
    };
    const onsubmit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      submit.disabled = true;
      try {
        close(await take());
      } catch (reason) {
        error.textContent = /** @type {Error} */ (reason).message;
        submit.disabled = false;
      }
    };
    const cancel = mayCancel
      && element('button', { type: 'button', onclick: () => close(null) }, other);
    const dialog = element('dialog', {
      'aria-label': title,
      oncancel: (/** @type {Event} */ event) => {
        event.preventDefault();
        if (mayCancel) close(null);
      },
    }, element('form', { onsubmit }, element('h2', {}, title), ...content, error,
      element('div', { class: 'answers' }, cancel, submit)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * @param {string} label
 * @param {HTMLElement} input
 * @param {string} [hint]
 */
function field(label, input, hint) {
  return element('label', { class: 'field' }, element('span', {}, label), input,
    hint !== undefined && element('small', {}, hint));
}

/**
 * Asks who somebody is.
 *
 * @param {object} [of]
 * @param {string} [of.reason]  why they are asked
 * @param {string} [of.user]  who they were
 * @param {boolean} [of.wantsToken]  the gateway takes no mere name
 * @param {boolean} [of.mayCancel]
 * @returns {Promise<{user: string} | {token: string} | null>}
 */
export function signIn({ reason, user = '', wantsToken = false, mayCancel = false } = {}) {
  const name = element('input', {
    name: 'user', value: user, autocomplete: 'username', maxlength: 200, autocapitalize: 'none',
    spellcheck: 'false', autofocus: !wantsToken,
  });
  const token = element('input', {
    name: 'token', type: 'password', autocomplete: 'off', autofocus: wantsToken,
  });
  return ask({
    title: 'Who are you?',
    content: [
      reason ? element('p', { class: 'faint' }, reason) : '',
      wantsToken ? field('Token', token) : field('Name', name, 'The others see this name.'),
    ],
    answer: 'Continue',
    mayCancel,
    take: () => {
      const text = (wantsToken ? token : name).value.trim();
      if (text === '') throw new Error(wantsToken ? 'A token is needed.' : 'A name is needed.');
      return wantsToken ? { token: text } : { user: text };
    },
  });
}

/**
 * Asks for what a new conversation needs, and creates it.
 *
 * @param {(fields: {title?: string, participants: string[]}) => Promise<{id: string}>} create
 * @returns {Promise<{id: string} | null>}
 */
export function newConversation(create) {
  const title = element('input', {
    name: 'title', autofocus: true, maxlength: 200, autocomplete: 'off',
  });
  const people = element('input', {
    name: 'people', autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false',
  });
  return ask({
    title: 'New conversation',
    content: [
      field('Title', title),
      field('People', people, 'Names, with commas between them. You take part anyway.'),
    ],
    answer: 'Create',
    take: () => {
      const participants = [...new Set(people.value.split(/[,;\n]/u).map((name) => name.trim()))]
        .filter((name) => name !== '');
      const text = title.value.trim();
      if (text === '' && participants.length === 0) throw new Error('A title or a name is needed.');
      return create({ ...(text !== '' && { title: text }), participants });
    },
  });
}

/**
 * Asks a question with one or two answers.
 *
 * @param {{question: string, answer: string, isOnly?: boolean, other?: string}} of
 * @returns {Promise<boolean>}
 */
export async function confirmation({ question, answer, isOnly = false, other }) {
  const result = await ask({
    title: question, content: [], answer, take: () => true, mayCancel: !isOnly, other,
  });
  return result === true;
}
