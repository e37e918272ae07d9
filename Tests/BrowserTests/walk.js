/**
 * Scrolls through a conversation, up or down, until it ends, and says what was seen on the way.
 *
 * `drift` is how far a row stood from where the step alone should have brought it, at most, in what
 * was painted: rows that come, go or are measured elsewhere must not move it, nor a banner above the
 * list. `notices`: what the page said meanwhile of its connection, and of what it may lack.
 *
 * @param {{direction: 1 | -1, step: number, newest: number, patience: number}} way  `step`: in
 *   pixels; where gaps may come, less than the page draws beyond the view; `newest`: the seq at
 *   which a walk down ends; `patience` in milliseconds, for one page to come
 */
async ({ direction, step, newest, patience }) => {
  const scroller = document.querySelector('.scroller');
  const [seen, frames, notices] = [new Set(), [], new Set()];
  const banners = [...document.querySelectorAll('.notice, .restored')];
  // Behind the frame: what is laid out before it, and never painted, nobody has seen.
  const painted = () => new Promise((resolve) => {
    requestAnimationFrame((now) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve(now);
      port2.postMessage(null);
    });
  });
  let [mostRows, drift, last] = [0, 0, performance.now()];
  let progressAt = last;
  const rows = () => [...scroller.querySelectorAll('.message[data-seq]')];
  const isOver = () => (direction < 0
    ? scroller.scrollTop < 1 && scroller.querySelector('.beginning[data-state="start"]') !== null
    : scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 2
      && seen.has(newest) && rows().at(-1)?.dataset.seq === String(newest));
  let followed = null;
  for (;;) {
    const now = await painted();
    for (const { hidden, textContent } of banners) if (!hidden) notices.add(textContent);
    frames.push(now - last);
    last = now;
    mostRows = Math.max(mostRows, scroller.querySelectorAll('.rows > *').length);
    const known = seen.size;
    for (const row of rows()) seen.add(Number(row.dataset.seq));
    if (seen.size > known) progressAt = now;
    if (followed?.row.isConnected) {
      const moved = followed.row.getBoundingClientRect().top - followed.top - followed.by;
      // With nothing above it the first row follows the view's own top, as a banner goes.
      const edge = scroller.getBoundingClientRect().top - followed.edge;
      const [least, most] = scroller.scrollTop < 1 ? [Math.min(0, edge), Math.max(0, edge)] : [0, 0];
      drift = Math.max(drift, least - moved, moved - most);
    }
    if (isOver()) break;
    if (now - progressAt > patience) throw new Error(`nothing came after ${seen.size} messages`);
    const { top, bottom, height } = scroller.getBoundingClientRect();
    // A reader waits until there is something to read where the last step has led.
    const drawn = [...scroller.querySelectorAll('.beginning, .rows > *')]
      .map((each) => each.getBoundingClientRect());
    if (direction < 0
      ? Math.min(...drawn.map((each) => each.top)) > top + 1 && scroller.scrollTop >= 1
      : Math.max(...drawn.map((each) => each.bottom)) < bottom - 1
        && scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight >= 2) {
      followed = null;
      continue;
    }
    // A reader waits for what is missing instead of scrolling over it.
    const left = Math.min(step, ...[...scroller.querySelectorAll('.gap')].map((gap) => {
      const bounds = gap.getBoundingClientRect();
      return Math.max(0, direction > 0 ? bounds.bottom - bottom : top - bounds.top);
    }));
    const row = rows().find((each) => each.getBoundingClientRect().top > top + height / 2);
    const before = scroller.scrollTop;
    const rowTop = row?.getBoundingClientRect().top;
    scroller.scrollTop = before + direction * left;
    // At an end the browser goes less far than it is told.
    followed = row ? { row, edge: top, top: rowTop, by: before - scroller.scrollTop } : null;
  }
  const sorted = frames.slice(1).sort((a, b) => a - b);
  const share = (part) => Math.round(sorted[Math.floor((sorted.length - 1) * part)] * 10) / 10;
  const missing = [];
  for (let seq = 1; seq <= newest && missing.length < 10; seq += 1) {
    if (!seen.has(seq)) missing.push(seq);
  }
  return {
    seen: seen.size, missing, mostRows, drift, notices: [...notices], frames: sorted.length,
    milliseconds: { median: share(0.5), p95: share(0.95), p99: share(0.99), longest: share(1) },
  };
}
