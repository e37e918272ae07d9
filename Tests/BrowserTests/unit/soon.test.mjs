import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import { soon } from '../../../Sources/Page/components/dom.js';

/** Frames that come when the test says so, as a page that is hidden gets none. */
function playFrames() {
  const frames = new Map();
  let last = 0;
  globalThis.requestAnimationFrame = (run) => {
    last += 1;
    frames.set(last, run);
    return last;
  };
  globalThis.cancelAnimationFrame = (id) => frames.delete(id);
  return () => {
    const due = [...frames.values()];
    frames.clear();
    for (const run of due) run();
  };
}

test('what is due is done once: by the next frame, or without one', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const frame = playFrames();
  let done = 0;
  const paint = soon(() => { done += 1; });
  paint();
  paint();
  frame();
  mock.timers.tick(1_000);
  assert.equal(done, 1);
  // The page is hidden before the frame that it asked for.
  paint();
  mock.timers.tick(1_000);
  assert.equal(done, 2);
  frame();
  assert.equal(done, 2);
  paint();
  frame();
  assert.equal(done, 3);
  mock.timers.reset();
});
