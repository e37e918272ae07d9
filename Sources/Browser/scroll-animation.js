/** Animated scrolling: view heights a second, and how long it may take at most. */
const SPEED = 12;
const LONGEST = 700;
/** What a person does to scroll: it ends the scrolling that a program began. */
const INTERRUPTIONS = ['wheel', 'touchstart', 'pointerdown', 'keydown'];

/** Whether the person asked for less motion. */
export function prefersReducedMotion() {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/**
 * How long it takes to scroll so far, in milliseconds.
 *
 * @param {number} distance  in pixels
 * @param {number} height  of the view, in pixels
 * @param {object} [how]
 * @param {number} [how.speed]  view heights a second
 * @param {number} [how.longest]  at most so many milliseconds
 */
export function scrollDuration(distance, height, { speed = SPEED, longest = LONGEST } = {}) {
  return Math.min(longest, (distance / (speed * height)) * 1000);
}

/**
 * Goes a way in steps, one a frame and slower towards its end, unless a person scrolls meanwhile.
 *
 * A step is a share of what is left of the way, not of the whole: what scrolls learns on the way
 * how far it is. The last one is 1.
 *
 * @param {HTMLElement} element  the one that scrolls
 * @param {number} duration  milliseconds
 * @param {(share: number) => boolean} step  goes this share of what is left; false if nothing is
 *   left
 * @returns {Promise<boolean>}  whether it got there
 */
export async function animateScroll(element, duration, step) {
  const interruption = new AbortController();
  const { signal } = interruption;
  for (const kind of INTERRUPTIONS) {
    element.addEventListener(kind, () => interruption.abort(), { signal, passive: true });
  }
  const began = performance.now();
  let done = 0;
  try {
    while (done < 1) {
      const now = await new Promise((resolve) => { requestAnimationFrame(resolve); });
      if (signal.aborted) return false;
      const passed = Math.min(1, Math.max(0, now - began) / Math.max(1, duration));
      const eased = 1 - (1 - passed) ** 3;
      if (!step(eased >= 1 ? 1 : (eased - done) / (1 - done))) return false;
      done = eased;
    }
    return true;
  } finally {
    interruption.abort();
  }
}
