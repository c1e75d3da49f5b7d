/** Random choices that a printed seed brings back: EMEND_SEED=<n>. */
export const seed = Number(process.env.EMEND_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** EMEND_WHOLE=1: matrices that take longer than `npm run test:long` may, which holds a sample of them (CONTRIBUTING.md). */
export const WHOLE = process.env.EMEND_WHOLE === '1';

/** How many `npm test` draws, and how many `npm run test:long`. */
export const drawn = (short: number, long: number): number =>
  process.env.EMEND_LONG === '1' ? long : short;

/** `npm test`: what is walked wholly elsewhere is looked at in places. */
const SHORT = process.env.EMEND_SHORT === '1';

/** In `npm test` the first, the last, and of the stretches between them one each, so that they are `count` in all; else every one. */
export const spread = <T>(items: readonly T[], count: number): readonly T[] => {
  if (!SHORT || items.length <= count) return items;
  const random = randomFrom(seed);
  const stretch = (items.length - 2) / (count - 2);
  const between = Array.from(
    { length: count - 2 },
    (_, i) => items[1 + Math.floor((i + random()) * stretch)]!,
  );
  return [items[0]!, ...between, items.at(-1)!];
};

/** mulberry32: numbers in [0, 1). */
export const randomFrom = (start: number): (() => number) => {
  let a = start >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Returns a number for a name (FNV-1a), so that two tables of the same length draw different items from one seed. */
const hashOf = (name: string): number =>
  [...Buffer.from(name)].reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 0x811c9dc5);

/**
 * `count` of the items in a random order, after those that must always be there; all of them where `whole` is set, which is
 * EMEND_LONG=1 unless told. Says which seed chose.
 */
export const sampled = <T>(
  what: string,
  items: readonly T[],
  count: number,
  always: readonly T[] = [],
  whole: boolean = process.env.EMEND_LONG === '1',
): readonly T[] => {
  if (whole) return items;
  const random = randomFrom(seed ^ hashOf(what));
  const pool = items.filter((item) => !always.includes(item));
  const chosen = [...always];
  for (let more = 0; pool.length > 0 && more < count; more++)
    chosen.push(...pool.splice(Math.floor(random() * pool.length), 1));
  process.stdout.write(`${what}: ${chosen.length} of ${items.length}, seed ${seed}\n`);
  return chosen;
};
