const WORD = 64;
const masked = (number) => BigInt.asUintN(WORD, number);

/** The seeded generator of the Swift tests, SplitMix64, and how Swift draws from it. */
export class SplitMix64 {
  #state;

  /** @param {number | bigint} seed */
  constructor(seed) { this.#state = masked(BigInt(seed)); }

  #next() {
    this.#state = masked(this.#state + 0x9e3779b97f4a7c15n);
    let mixed = this.#state;
    mixed = masked((mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n);
    mixed = masked((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
    return mixed ^ (mixed >> 31n);
  }

  /**
   * From 0 up to, not including, `bound` (Lemire's way, as Swift has it).
   *
   * @param {number} bound
   */
  up(bound) {
    const most = BigInt(bound);
    let product = this.#next() * most;
    if (masked(product) < most) {
      const least = masked(-most) % most;
      while (masked(product) < least) product = this.#next() * most;
    }
    return Number(product >> BigInt(WORD));
  }

  /** @template Element @param {Element[]} all */
  oneOf(all) { return all[this.up(all.length)]; }
}

/** How often each deed comes of 126 times, and what it says; `face` was drawn before. */
const deeds = [
  [14, (random) => ['write', random.up(10) === 0
    ? random.up(random.up(4) === 0 ? 5000 : 400) : random.up(30)]],
  [5, (random) => ['edit', random.up(1000)]],
  [3, (random) => ['delete', random.up(1000)]],
  [1, (random) => ['trim', random.up(600)]],
  [1, () => ['recreate']],
  [2, (random) => ['slow', random.up(1000), random.up(40)]],
  [2, (random) => ['lack', random.up(1000), random.up(40)]],
  [2, () => ['heal']],
  [5, () => ['cut']],
  [6, () => ['mend']],
  [2, (random) => ['refuse', 1 + random.up(3)]],
  [3, (random) => ['time', random.up(40000)]],
  [10, (random) => ['serve', 1 + random.up(4)]],
  [8, (random) => ['deliver', 1 + random.up(6)]],
  [10, (random) => ['tell', 1 + random.up(8)]],
  [5, (random, face) => ['open', face]],
  [2, (random, face) => ['close', face]],
  [4, (random, face) => ['top', face]],
  [5, (random, face) => ['bottom', face]],
  [6, (random, face) => ['scroll', face, random.up(1000)]],
  [2, (random, face) => ['jump', face, random.up(1300)]],
  [2, (random, face) => ['shrink', face, random.up(1000)]],
  [10, (random, face) => ['send', face]],
  [7, (random, face) => ['rewrite', face, random.up(1000)]],
  [2, (random, face) => ['read', face, random.up(1000)]],
  [2, () => ['again']],
  [1, () => ['forsake']],
  [2, (random) => ['rewind', random.up(1000)]],
  [2, () => ['restart']],
];

/**
 * The world of a seed, and what happens in it: the same as in Swift (`Deed`, `FaceWorld`).
 *
 * @param {number} seed
 */
export function deedsOf(seed) {
  const first = new SplitMix64(seed);
  const sizes = [7, 25, 100];
  const limit = first.oneOf(sizes);
  const page = first.oneOf([20, 100]);
  const retained = first.oneOf([150, 2000]);
  const messages = first.up(301);
  const seen = first.up(Math.max(1, messages) + 1);
  const limits = [limit, ...Array.from({ length: 3 }, () => first.oneOf(sizes))];
  const random = new SplitMix64(BigInt(seed) * 31n + 7n);
  const all = Array.from({ length: 60 }, () => {
    const face = random.up(4);
    let at = random.up(126);
    const [, made] = deeds.find(([often]) => (at -= often) < 0);
    return made(random, face);
  });
  return { seed, page, retained, messages, seen, limits, deeds: all };
}
