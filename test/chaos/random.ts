/** Choices that a seed brings back. One source a purpose, so that what one of them draws does not shift the others. */
import { randomFrom } from '../support/seeded.js';

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number;
  pick<T>(items: readonly T[]): T;
  /** In a new order. */
  shuffled<T>(items: readonly T[]): T[];
  chance(part: number): boolean;
}

/** FNV-1a: a number from a text. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
};

export const randomOf = (seed: number, purpose: string): Random => {
  const next = randomFrom((seed ^ hashOf(purpose)) >>> 0);
  const whole = (least: number, most: number): number =>
    least + Math.floor(next() * (most - least + 1));
  return {
    next,
    whole,
    pick: (items) => {
      const item = items[whole(0, items.length - 1)];
      if (item === undefined) throw new RangeError('nothing to pick from');
      return item;
    },
    shuffled: (items) => {
      const rest = [...items];
      for (let i = rest.length - 1; i > 0; i--) {
        const j = whole(0, i);
        [rest[i], rest[j]] = [rest[j]!, rest[i]!];
      }
      return rest;
    },
    chance: (part) => next() < part,
  };
};
