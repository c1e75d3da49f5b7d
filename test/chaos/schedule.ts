/** What will be done to whom: drawn from a seed before anything runs. Pure. */
import type { Random } from './random.js';

export interface NamedKind {
  readonly name: string;
}
export interface Schedule<K extends NamedKind> {
  /** In the order of their drawing. */
  readonly planned: readonly K[];
  readonly notPlanned: readonly K[];
}

/** `count` kinds at random, each once before any is drawn again. */
export const draw = <K extends NamedKind>(
  kinds: readonly K[],
  count: number,
  random: Random,
): Schedule<K> => {
  const planned: K[] = [];
  while (planned.length < count && kinds.length > 0)
    planned.push(...random.shuffled(kinds).slice(0, count - planned.length));
  const names = new Set(planned.map(({ name }) => name));
  return { planned, notPlanned: kinds.filter(({ name }) => !names.has(name)) };
};

/** One of these, one of those, in turn. */
export const alternately = <T>(first: readonly T[], second: readonly T[]): T[] =>
  Array.from({ length: Math.max(first.length, second.length) }, (_, i) => [
    ...first.slice(i, i + 1),
    ...second.slice(i, i + 1),
  ]).flat();

/** One part of a schedule that several machines or days carry out. */
export interface Share {
  /** From 1. */
  readonly number: number;
  readonly of: number;
}
/** Every `of`-th, from the `number`-th on: the shares together are all, each once. */
export const shareOf = <T>(items: readonly T[], { number, of }: Share): readonly T[] =>
  items.filter((_, i) => i % of === number - 1);
