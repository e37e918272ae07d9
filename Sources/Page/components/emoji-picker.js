import { element } from './dom.js';

/** Those that people react with most, and what each is called. */
const EMOJI = [
  ['👍', 'thumbs up'], ['❤️', 'heart'], ['😂', 'laughing'], ['🎉', 'party'],
  ['😮', 'surprised'], ['😢', 'sad'], ['🙏', 'thank you'], ['👎', 'thumbs down'],
  ['😀', 'grinning'], ['😅', 'relieved'], ['😍', 'in love'], ['🤔', 'thinking'],
  ['😎', 'cool'], ['😡', 'angry'], ['🥳', 'celebrating'], ['👏', 'applause'],
  ['🙌', 'hurray'], ['💪', 'strong'], ['🔥', 'fire'], ['🚀', 'rocket'],
  ['✅', 'done'], ['❌', 'no'], ['👀', 'looking'], ['💯', 'a hundred'],
];
/** Pixels between the button and what opens, and to the edges of the window. */
const SPACE = 8;

/**
 * Lets a person choose a reaction, beside the button that they used. Arrow keys go from one to the
 * next, Escape leaves.
 *
 * @param {object} of
 * @param {HTMLElement} of.button
 * @param {ReadonlySet<string>} of.own  what the user has chosen before
 * @param {(key: string) => void} of.onChoose
 * @param {() => void} of.onClose  gives the focus back
 */
export function pickEmoji({ button, own, onChoose, onClose }) {
  /** @type {string | null} */
  let chosen = null;
  const buttons = EMOJI.map(([key, name]) => element('button', {
    type: 'button', tabindex: -1, title: name, 'aria-label': `${key} ${name}`,
    'aria-pressed': String(own.has(key)),
    onclick: () => {
      chosen = key;
      dialog.close();
    },
  }, key));
  const place = () => placeBeside(dialog, button.getBoundingClientRect());
  const dialog = element('dialog', {
    class: 'picker', 'aria-label': 'Choose a reaction',
    onkeydown: (/** @type {KeyboardEvent} */ event) => moveFocus(event, buttons),
    // Only what lies around it is the dialog itself.
    onclick: (/** @type {Event} */ event) => { if (event.target === dialog) dialog.close(); },
    onclose: () => {
      removeEventListener('resize', place);
      button.removeAttribute('aria-expanded');
      dialog.remove();
      onClose();
      if (chosen !== null) onChoose(chosen);
    },
  }, element('div', { class: 'emoji' }, ...buttons));
  addEventListener('resize', place);
  button.setAttribute('aria-expanded', 'true');
  document.body.append(dialog);
  dialog.showModal();
  place();
  focusOn(buttons[0], buttons);
}

/**
 * @param {HTMLElement} dialog
 * @param {DOMRect} rect  of what it stands beside
 */
function placeBeside(dialog, { top, bottom, right }) {
  const { width, height } = dialog.getBoundingClientRect();
  const above = top - height - SPACE;
  const left = Math.min(right - width, innerWidth - width - SPACE);
  const y = above >= SPACE ? above : Math.min(bottom + SPACE, innerHeight - height - SPACE);
  Object.assign(dialog.style, {
    left: `${Math.max(SPACE, left)}px`, top: `${Math.max(SPACE, y)}px`,
  });
}

/**
 * @param {HTMLElement} button
 * @param {HTMLElement[]} buttons
 */
function focusOn(button, buttons) {
  for (const each of buttons) each.tabIndex = each === button ? 0 : -1;
  button.focus();
}

/**
 * @param {KeyboardEvent} event
 * @param {HTMLElement[]} buttons
 */
function moveFocus(event, buttons) {
  const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  // As many as stand in the first line, which is for the style sheet to say.
  const columns = buttons.filter(({ offsetTop }) => offsetTop === buttons[0].offsetTop).length;
  const steps = /** @type {Record<string, number>} */ ({
    ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns,
    Home: -at, End: buttons.length - 1 - at,
  });
  const step = steps[event.key];
  if (step === undefined || at < 0) return;
  event.preventDefault();
  const next = buttons[at + step];
  if (next) focusOn(next, buttons);
}
