/**
 * Builds an element. Text comes in as strings and becomes text nodes, never markup, so nothing that
 * a person wrote can become part of the page's structure.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, *>} [attributes]  `class`, `data-…`, `aria-…` and other attributes;
 *   `on…` takes a listener; a boolean sets or leaves out; `undefined` and `null` are left out
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const built = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) built.addEventListener(name.slice(2), value);
    else setAttribute(built, name, value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) built.append(child);
  }
  return built;
}

/**
 * Sets an attribute, or takes it away for `false`, `null` and `undefined`. What does not change is
 * not touched, so that a screen reader is not told again.
 *
 * @param {Element} target
 * @param {string} name
 * @param {*} value
 */
export function setAttribute(target, name, value) {
  if (value === false || value === null || value === undefined) {
    target.removeAttribute(name);
  } else {
    const text = value === true && !name.startsWith('aria-') && !name.startsWith('data-')
      ? '' : String(value);
    if (target.getAttribute(name) !== text) target.setAttribute(name, text);
  }
}

/**
 * Sets the text of an element if it changed.
 *
 * @param {Element} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/**
 * Makes the children of `parent` be `wanted`, in this order, moving only what is out of place.
 *
 * @param {Element} parent
 * @param {Element[]} wanted
 */
export function arrange(parent, wanted) {
  const kept = new Set(wanted);
  for (const child of [...parent.children]) {
    if (!kept.has(child)) child.remove();
  }
  let next = parent.firstElementChild;
  for (const child of wanted) {
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
}

/**
 * Gives `target` the attributes and children of `source`. The focus stays on the control of the
 * same name: on another one the next key would do something that nobody meant. Where that is gone,
 * what held it takes the focus, if it can.
 *
 * @param {HTMLElement} target
 * @param {HTMLElement} source
 */
export function adopt(target, source) {
  const focused = document.activeElement;
  const name = focused && target.contains(focused) ? nameOf(focused) : null;
  for (const { name } of [...target.attributes]) {
    if (!source.hasAttribute(name)) target.removeAttribute(name);
  }
  for (const { name, value } of source.attributes) setAttribute(target, name, value);
  target.replaceChildren(...source.childNodes);
  if (name === null) return;
  const controls = /** @type {NodeListOf<HTMLElement>} */ (target.querySelectorAll('a, button'));
  const again = [...controls].find((control) => nameOf(control) === name);
  if (again) again.focus(); else target.focus({ preventScroll: true });
}

/**
 * By what a control is known again; `data-control` is for one whose label changes.
 *
 * @param {Element} control
 */
function nameOf(control) {
  return control.getAttribute('data-control') ?? control.getAttribute('aria-label')
    ?? control.textContent;
}

/** Whether there seems to be a keyboard beside the screen. */
export function hasKeyboard() { return matchMedia('(hover: hover)').matches; }

/** Milliseconds that a page waits for a frame: one that is hidden, or goes to be, gets none. */
const FRAMELESS = 250;

/**
 * Makes a function that runs `action` once, soon, however often it is called until then: before the
 * next frame, or within a quarter of a second where none comes.
 *
 * @param {() => void} action
 * @returns {() => void}
 */
export function soon(action) {
  let [frame, timer] = [0, 0];
  const run = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    timer = 0;
    action();
  };
  return () => {
    if (timer !== 0) return;
    frame = requestAnimationFrame(run);
    timer = setTimeout(run, FRAMELESS);
  };
}

/**
 * Makes a function that runs `action` once, as soon as a frame was painted, however often it is
 * called until then. A page that is hidden paints none.
 *
 * @param {() => void} action
 * @returns {() => void}
 */
export function afterPaint(action) {
  let isDue = false;
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    isDue = false;
    action();
  };
  return () => {
    if (isDue) return;
    isDue = true;
    // What runs before a frame is before its paint; the task of a message comes behind it.
    requestAnimationFrame(() => port2.postMessage(null));
  };
}

let ids = 0;

/**
 * An id that no other element of the document has: of a view there may be several on one page.
 *
 * @param {string} name
 */
export function uniqueId(name) {
  ids += 1;
  return `${name}-${ids}`;
}

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @param {string} name
 * @param {Record<string, *>} attributes
 * @param {...Node} children
 */
function drawn(name, attributes, ...children) {
  const built = document.createElementNS(SVG, name);
  for (const [of, value] of Object.entries(attributes)) built.setAttribute(of, value);
  built.append(...children);
  return built;
}

/**
 * A line icon of 20 × 20, in the colour of the text around it.
 *
 * @param {string} path  the data of an SVG path
 */
export function icon(path) {
  return drawn('svg', { viewBox: '0 0 20 20', class: 'icon', 'aria-hidden': 'true' },
    drawn('path', { d: path }));
}

/** The mark of Gapless, as in `icon.svg`; drawn here, since a picture would be a request more. */
export function mark() {
  return drawn('svg', { viewBox: '0 0 32 32', class: 'mark', 'aria-hidden': 'true' },
    drawn('rect', { width: 32, height: 32, rx: 9 }),
    drawn('path', { d: 'M8 11h16M8 16h16M8 21h9' }));
}
