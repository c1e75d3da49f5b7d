/** Tries whether a store has the property that Emend relies on: of several writers of one key, one wins, and all get its value. */
import { randomBytes } from 'node:crypto';
import { fail } from '../shared/problems.js';
import { openStores, storePaths, type Store } from './location.js';
import type { RecordStore } from './ports.js';

const WRITERS = 4; // bound: Writers of one key at once with which `emend doctor` tries a store.
const KEYS = 8; // bound: Keys with which `emend doctor` tries a store.
const SLOW_MS = 250; // bound: A store in which one small write takes longer than this is reported as slow.

/** Lets several writers put one key at once. Throws ProblemError `store_unusable` unless one wins and all get its value. */
const race = async (records: RecordStore, key: string, place: string): Promise<void> => {
  const writers = Array.from({ length: WRITERS }, (_, writer) =>
    records.putIfAbsent(key, { writer }),
  );
  const results = await Promise.all(writers);
  const winners = results.flatMap(({ created }, writer) => (created ? [writer] : []));
  const stored: { readonly writer?: number } | null = await records.get(key);
  const isSame = results.every(({ value }) => value.writer === stored?.writer);
  if (winners.length === 1 && winners[0] === stored?.writer && isSame) return;
  fail(
    'store_unusable',
    `${place}: of ${WRITERS} writers of one key at once, ${winners.length} won${isSame ? '' : ', and they received different values'}; exactly one must win.`,
    'Use a service with conditional writes (If-None-Match).',
  );
};

/** Returns how long one write took without other writers, and whether that is slow. Throws ProblemError `store_unusable`. */
export const tryStore = async (home: string, store: Store) => {
  const { records, files } = await openStores(home, store);
  const keys = Array.from({ length: KEYS + 1 }, () => `doctor/${randomBytes(8).toString('hex')}`);
  const [alone = '', ...raced] = keys;
  try {
    const before = performance.now();
    await records.putIfAbsent(alone, { writer: 0 });
    const ms = Math.round(performance.now() - before);
    await Promise.all(raced.map((key) => race(records, key, store.dir)));
    return { ms, slow: ms > SLOW_MS };
  } finally {
    await Promise.allSettled(
      keys.map((key) => files.remove(`${storePaths(store.dir).records}/${key}.json`)),
    );
  }
};
