/** Small plots of the last hour, one line for each value, from zero up to the largest. */

const HOUR = 3_600_000;
const WIDTH = 360;
const HEIGHT = 56;
const SVG = 'http://www.w3.org/2000/svg';

const PLOTS = [
  { name: 'connections', title: 'Connections', show: count, values: [point => point.connections] },
  { name: 'requests', title: 'Requests a second', show: rate, values: [point => point.requests] },
  { name: 'changes', title: 'Changes a second', show: rate, values: [point => point.changes] },
  {
    name: 'written', title: 'Deltas a second', show: rate,
    values: [point => point.written, point => point.coalesced],
  },
  times('turn', 'Turn of the loop'),
  times('fanout', 'Change to sockets'),
  times('fetch', 'Origin answers'),
  times('operation', 'Origin writes'),
];

function times(name, title) {
  return {
    name, title, show: seconds, values: [point => point[name]?.[0], point => point[name]?.[1]],
  };
}

export function count(value) {
  return Math.round(value).toLocaleString('en');
}

export function rate(value) {
  return value < 10 ? value.toFixed(1) : count(value);
}

/** A duration, in the unit that suits it. */
export function seconds(value) {
  if (value === 0) return '0 s';
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${Number((value * 1000).toPrecision(3))} ms`;
  if (value < 120) return `${Number(value.toPrecision(3))} s`;
  return value < 7200 ? `${Math.round(value / 60)} min` : `${Math.round(value / 3600)} h`;
}

/** The plots, below an element that they fill. */
export class Plots {
  #points = [];
  #drawn;

  constructor(place) {
    this.#drawn = PLOTS.map(plot => {
      const figure = place.appendChild(document.createElement('figure'));
      const caption = figure.appendChild(document.createElement('figcaption'));
      caption.append(document.createElement('span'), document.createElement('span'));
      caption.firstChild.textContent = plot.title;
      const svg = figure.appendChild(document.createElementNS(SVG, 'svg'));
      svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
      svg.setAttribute('preserveAspectRatio', 'none');
      svg.setAttribute('role', 'img');
      const lines = plot.values.map(() =>
        svg.appendChild(document.createElementNS(SVG, 'polyline')));
      figure.dataset.plot = plot.name;
      return { plot, svg, lines, latest: caption.lastChild };
    });
  }

  /** All points of the last hour. */
  begin(points) {
    this.#points = points.map(point => ({ ...point, time: Date.parse(point.at) }));
    this.#draw();
  }

  add(point) {
    const time = Date.parse(point.at);
    this.#points = this.#points.filter(one => one.time > time - HOUR);
    this.#points.push({ ...point, time });
    this.#draw();
  }

  #draw() {
    const end = this.#points.at(-1)?.time ?? 0;
    for (const { plot, svg, lines, latest } of this.#drawn) {
      const rows = plot.values.map(value => this.#points
        .map(point => ({ time: point.time, value: value(point) }))
        .filter(one => typeof one.value === 'number'));
      const largest = Math.max(0, ...rows.flat().map(one => one.value));
      rows.forEach((row, index) => {
        const places = row.map(({ time, value }) => {
          const x = WIDTH * (1 - (end - time) / HOUR);
          const y = HEIGHT - 3 - (HEIGHT - 6) * (largest > 0 ? value / largest : 0);
          return `${x.toFixed(1)},${y.toFixed(1)}`;
        });
        // A line of one point would not be seen.
        if (places.length === 1) places.unshift(places[0].replace(/^[^,]*/u, `${WIDTH - 6}`));
        lines[index].setAttribute('points', places.join(' '));
      });
      const news = rows.map(row => row.at(-1)).filter(one => one?.time === end);
      const now = news.map(one => plot.show(one.value)).join(', ');
      latest.textContent = now === '' ? 'none now' : now;
      svg.setAttribute('aria-label', largest > 0
        ? `${plot.title}: now ${now || 'none'}, at most ${plot.show(largest)}`
        : `${plot.title}: none in the last hour`);
    }
  }
}
