/** Diffs of other files accepted so far in this step, for the prompt. */
import type { BlobStore } from '../workspace/types.js';
import { latestByPath, type Accepted, type FileChange } from './chain.js';
import type { ActivityDependencies } from './dependencies.js';

export const diffInput = async (blobs: BlobStore, file: FileChange) => ({
  path: file.path,
  base: file.base === null ? null : await blobs.get(file.base.ref),
  result: file.result === null ? null : await blobs.get(file.result.ref),
  ...(file.base === null ? {} : { baseMode: file.base.mode }),
  ...(file.result === null ? {} : { resultMode: file.result.mode }),
});

/** In the order given, as diffs for the prompt. */
export const diffsOf = (
  { blobs, edits }: ActivityDependencies,
  changes: readonly FileChange[],
  signal: AbortSignal,
): Promise<readonly { readonly path: string; readonly diff: string }[]> =>
  Promise.all(
    changes.map(async (change) => {
      const { text } = await edits.run('diff', [await diffInput(blobs, change)], signal);
      return { path: change.path, diff: text };
    }),
  );

/** Oldest first; the files of the call itself are left out: they are shown as they are. */
export const acceptedDiffs = (
  dependencies: ActivityDependencies,
  results: readonly Accepted[],
  except: readonly string[],
  signal: AbortSignal,
): ReturnType<typeof diffsOf> => {
  const changes = [...latestByPath(results).values()]
    .filter(({ change }) => change !== null && !except.includes(change.path))
    .sort((a, b) => a.result.seq - b.result.seq)
    .flatMap(({ change }) => (change === null ? [] : [change]));
  return diffsOf(dependencies, changes, signal);
};
