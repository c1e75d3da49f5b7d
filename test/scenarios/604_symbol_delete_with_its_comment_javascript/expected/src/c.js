import { a } from './a.js';

/** Counts. */
class Counter {
  #n = 0;


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
