import { setAttribute, setText } from '../components/dom.js';

const SVG = 'http://www.w3.org/2000/svg';
const [WIDTH, HEIGHT] = [132, 62];

/**
 * A box of the drawing.
 *
 * @typedef {object} Node
 * @property {string} id
 * @property {string} name
 * @property {string[]} lines  up to two, below the name
 * @property {'good' | 'busy' | 'bad'} tone
 * @property {[number, number]} at  its middle
 *
 * @typedef {object} Edge
 * @property {string} id
 * @property {string} from
 * @property {string} to
 * @property {'flows' | 'slow' | 'quiet' | 'broken'} state
 */

/** Clients, gateways and origin, and what goes between them, drawn anew whenever that changes. */
export class Diagram {
  /** @type {Map<string, {group: SVGElement, texts: SVGElement[]}>} */
  #nodes = new Map();
  /** @type {Map<string, SVGElement>} */
  #edges = new Map();

  constructor() {
    /** What to put on the page. */
    this.element = drawn('svg', { viewBox: '-4 0 428 300', class: 'diagram', role: 'img' });
  }

  /**
   * @param {Node[]} nodes
   * @param {Edge[]} edges
   */
  draw(nodes, edges) {
    const places = new Map(nodes.map(({ id, at }) => [id, at]));
    for (const { id, from, to, state } of edges) {
      const [[x1, y1], [x2, y2]] = [from, to].map((end) => places.get(end) ?? [0, 0]);
      const line = this.#edges.get(id) ?? this.#addEdge(id, { x1, y1, x2, y2 });
      setAttribute(line, 'data-state', state);
    }
    for (const node of nodes) {
      const { group, texts } = this.#nodes.get(node.id) ?? this.#addNode(node);
      setAttribute(group, 'data-tone', node.tone);
      texts.forEach((text, at) => setText(text, [node.name, ...node.lines][at] ?? ''));
    }
    setAttribute(this.element, 'aria-label',
      nodes.map(({ name, lines }) => `${name}: ${lines.join(', ')}`).join('; '));
  }

  /** @param {Node} node */
  #addNode({ id, at: [x, y] }) {
    const group = drawn('g', { 'data-node': id });
    group.append(drawn('rect', {
      x: x - WIDTH / 2, y: y - HEIGHT / 2, width: WIDTH, height: HEIGHT, rx: 10,
    }));
    const texts = [-11, 6, 21].map((below) => drawn('text', { x, y: y + below }));
    group.append(...texts);
    this.element.append(group);
    const added = { group, texts };
    this.#nodes.set(id, added);
    return added;
  }

  /**
   * @param {string} id
   * @param {Record<string, number>} ends
   */
  #addEdge(id, ends) {
    const line = drawn('line', { ...ends, 'data-edge': id });
    this.#edges.set(id, line);
    // Below the boxes.
    this.element.prepend(line);
    return line;
  }
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}
