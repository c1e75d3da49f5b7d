/** Whether a store does what everything relies on: of those who write one key at once, one wins, and all are told the same. */
import { randomBytes } from 'node:crypto';
import { fail } from '../shared/problems.js';
import { openStores, storePaths, type Store } from './location.js';

const WRITERS = 4; // bound: `emend doctor` has so many writers race in a store
const KEYS = 8; // bound: for each of so many keys.
const SLOW_MS = 250; // bound: A store in which one small write takes longer than this is reported as slow.

/** How long one write took, with nobody else; `slow`: it will be felt. Throws ProblemError `store_unusable`. */
export const tryStore = async (home: string, store: Store) => {
  const { records, files } = await openStores(home, store);
  const keys = Array.from({ length: KEYS + 1 }, () => `doctor/${randomBytes(8).toString('hex')}`);
  const [alone = '', ...raced] = keys;
  try {
    const before = performance.now();
    await records.putIfAbsent(alone, { writer: 0 });
    const ms = Math.round(performance.now() - before);
    await Promise.all(
      raced.map(async (key) => {
        const writers = Array.from({ length: WRITERS }, (_, writer) => records.putIfAbsent(key, { writer }));
        const told = await Promise.all(writers);
        const winners = told.flatMap(({ created }, writer) => (created ? [writer] : []));
        const stands: { readonly writer?: number } | null = await records.get(key);
        const same = told.every(({ value }) => value.writer === stands?.writer);
        if (winners.length === 1 && winners[0] === stands?.writer && same) return;
        fail(
          'store_unusable',
          `${store.dir}: of ${WRITERS} writers of one key at once, ${winners.length} won${same ? '' : ', and they received different values'}; exactly one must win.`,
          'Use a service with conditional writes (If-None-Match), or a file system with hard links.',
        );
      }),
    );
    return { ms, slow: ms > SLOW_MS };
  } finally {
    await Promise.allSettled(keys.map((key) => files.remove(`${storePaths(store.dir).records}/${key}.json`)));
  }
};
