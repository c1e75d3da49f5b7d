import { a } from './a.js';

/** Counts. */
export class Counter {
  #n = 0;

  // one more
  add(by: number): number {
    this.#n += by;
    return this.#n;
  }

  get value(): number {
    return this.#n;
  }
}

export const twice = (x: number): number => {
  return x * 2;
};

export function first(x: number): number {
  return x;
}
