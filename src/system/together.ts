// bound: Items that are worked on at once, by default. More are no faster, and each may hold a file open.
const TOGETHER = 64;

/**
 * Does the same work with each item, at most `most` at a time, and returns the results in the order of the items. After a failure it begins no
 * more, and throws the failure once no work is running.
 */
export const together = async <T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  most = TOGETHER,
): Promise<readonly R[]> => {
  const results: R[] = [];
  const queue = items.entries();
  const next = async (): Promise<void> => {
    for (const [index, item] of queue)
      results[index] = await work(item).catch((error: unknown) => {
        Array.from(queue);
        throw error;
      });
  };
  const all = Array.from({ length: Math.min(most, items.length) }, next);
  await Promise.allSettled(all);
  await Promise.all(all);
  return results;
};
