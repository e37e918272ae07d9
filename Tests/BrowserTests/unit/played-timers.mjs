/** Time that passes only when it is told to, in place of the real one. */
export class Timers {
  #due = new Map();
  #last = 0;

  install() {
    const { setTimeout, clearTimeout } = globalThis;
    globalThis.setTimeout = (action) => {
      this.#last += 1;
      this.#due.set(this.#last, action);
      return this.#last;
    };
    globalThis.clearTimeout = (id) => { this.#due.delete(id); };
    return () => Object.assign(globalThis, { setTimeout, clearTimeout });
  }

  /** Everything that waits is due. */
  fire() {
    const actions = [...this.#due.values()];
    this.#due.clear();
    for (const action of actions) action();
  }
}
