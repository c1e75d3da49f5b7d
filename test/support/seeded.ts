/** Random choices that a printed seed brings back: EMEND_SEED=<n>. */
export const seed = Number(process.env.EMEND_SEED ?? Math.floor(Math.random() * 2 ** 31));

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

/**
 * `count` of the items in a random order, after those that must always be there; all of them under EMEND_LONG=1. Says which seed
 * chose.
 */
export const sampled = <T>(
  what: string,
  items: readonly T[],
  count: number,
  always: readonly T[] = [],
): readonly T[] => {
  if (process.env.EMEND_LONG === '1') return items;
  const random = randomFrom(seed);
  const pool = items.filter((item) => !always.includes(item));
  const chosen = [...always];
  for (let more = 0; pool.length > 0 && more < count; more++)
    chosen.push(...pool.splice(Math.floor(random() * pool.length), 1));
  process.stdout.write(`${what}: ${chosen.length} of ${items.length}, seed ${seed}\n`);
  return chosen;
};
