/**
 * Tables that change in place: who stands in a row with the keyboard stays there. Of rows with the
 * same key each has a place of its own, in their order.
 */

/**
 * @param {HTMLTableElement} table
 * @param {{key: string, cells: (string | Node | {text: string, tone?: string})[]}[]} rows
 */
export function fill(table, rows) {
  const body = table.tBodies[0];
  const known = new Map([...body.rows].map(row => [row.dataset.key, row]));
  const counts = new Map();
  rows.forEach(({ key: name, cells }, index) => {
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    const key = `${name} ${count}`;
    const row = known.get(key) ?? document.createElement('tr');
    known.delete(key);
    row.dataset.key = key;
    while (row.cells.length < cells.length) row.insertCell();
    cells.forEach((cell, at) => put(row.cells[at], cell));
    if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null);
  });
  for (const row of known.values()) row.remove();
}

function put(place, cell) {
  if (cell instanceof Node) {
    const old = place.firstChild;
    if (old instanceof Element && old.isEqualNode(cell)) return;
    // The same button with other words keeps the focus.
    if (old instanceof Element && old.tagName === cell.tagName && cell.tagName === 'METER') {
      for (const { name, value } of cell.attributes) old.setAttribute(name, value);
      return;
    }
    place.replaceChildren(cell);
    return;
  }
  const { text, tone } = typeof cell === 'string' ? { text: cell } : cell;
  if (place.textContent !== text || place.firstElementChild) place.textContent = text;
  if (tone) place.dataset.tone = tone;
  else delete place.dataset.tone;
}

/** A share of a limit, as a bar. */
export function bar(used, limit, label) {
  const meter = document.createElement('meter');
  const attributes = {
    min: 0, max: limit, low: limit * 0.7, high: limit * 0.9, optimum: 0, value: used,
    'aria-label': label,
  };
  for (const [name, value] of Object.entries(attributes)) meter.setAttribute(name, String(value));
  return meter;
}

/** A button that looks like a link. */
export function button(text, title) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.title = title;
  return made;
}
