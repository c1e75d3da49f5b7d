import { a } from './a.js';

/** Counts. */
class Counter {
  #n = 0;

  // one more
  add(by) {
    this.#n += by;
    return this.#n;
  }

  get value() {
    return this.#n;
  }
}

export const twice = (x) => {
  return x * 2;
};

export function first(x) {
  return x;
}

export function first(x) {
  return x;
}
