/**
 * Makes a scroll view of `count` rows in place of the page, and `window.scrollTest` to drive it.
 *
 * @param {number} count
 */
async (count) => {
  const { ScrollView } = await import('/scroll-view.js');
  const element = document.createElement('div');
  Object.assign(element.style, { width: '500px', height: '600px' });
  element.tabIndex = 0;
  document.body.replaceChildren(element);
  const make = (length, name) => Array.from({ length }, (_, at) => {
    // Between 20 and 219 pixels, the same for the same row, and nothing like its neighbours.
    const height = 20 + ((at * 7919) % 200);
    return { id: name === '' ? String(at) : `${name} ${at}`, hash: String(height), height };
  });
  const test = {
    element, make, count: 0,
    frame: () => new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); }),
    grown: (item, height) => ({ ...item, hash: String(height), height }),
    rows: () => [...element.querySelectorAll('.rows > *')],
    row: (index) => test.view.row(test.view.items[index].id),
    reset() {
      element.style.width = '500px';
      test.view.updateItems(make(count, ''));
    },
    pointAt(row) {
      const { top, height } = row.getBoundingClientRect();
      element.dispatchEvent(new PointerEvent('pointermove', {
        pointerType: 'mouse', clientY: top + height / 2,
      }));
    },
    /** How far a row is from where it was to be brought. */
    distance(index, edge) {
      const [row, view] = [test.row(index), element].map((each) => each.getBoundingClientRect());
      return {
        top: row.top - view.top, bottom: row.bottom - view.bottom,
        center: (row.top + row.bottom - view.top - view.bottom) / 2,
      }[edge];
    },
    isInView(index) {
      const drawn = test.row(index);
      if (!drawn) return false;
      const [row, view] = [drawn, element].map((each) => each.getBoundingClientRect());
      return row.bottom > view.top + 1 && row.top < view.bottom - 1;
    },
    /** How much of the view has rows. */
    covered() {
      const view = element.getBoundingClientRect();
      const cells = test.rows().map((row) => row.getBoundingClientRect());
      const top = Math.max(view.top, Math.min(...cells.map((cell) => cell.top)));
      return Math.min(view.bottom, Math.max(...cells.map((cell) => cell.bottom))) - top;
    },
  };
  test.view = new ScrollView({
    element,
    draw: ({ height }, known) => {
      test.count += 1;
      const row = known ?? document.createElement('div');
      row.style.height = `${height}px`;
      return row;
    },
  });
  window.scrollTest = test;
  test.reset();
  await test.frame();
}
