import { STORE_BOUNDS } from '../shared/bounds.js';

/** Does the same with each of many, some at a time; what came of them, in order. */
export const together = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> => {
  const done: R[] = [];
  for (let from = 0; from < items.length; from += STORE_BOUNDS.together)
    for (const result of await Promise.all(items.slice(from, from + STORE_BOUNDS.together).map(work)))
      done.push(result);
  return done;
};
