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

/** Oldest first; the files of the call itself are left out: they are shown as they are. */
export async function acceptedDiffs(
  { blobs, edits }: ActivityDependencies,
  results: readonly Accepted[],
  except: readonly string[],
  signal: AbortSignal,
): Promise<readonly { readonly path: string; readonly diff: string }[]> {
  const changes = [...latestByPath(results).values()]
    .filter(({ change }) => change !== null && !except.includes(change.path))
    .sort((a, b) => a.result.seq - b.result.seq);
  return Promise.all(
    changes.flatMap(({ change }) => {
      if (change === null) return [];
      const drawn = diffInput(blobs, change).then((file) => edits.run('diff', [file], signal));
      return [drawn.then(({ text }) => ({ path: change.path, diff: text }))];
    }),
  );
}
