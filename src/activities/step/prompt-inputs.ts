/** What every prompt of a step shows beside the files: instructions, rules, hints, context. */
import type { BlobStore } from '../../stores/ports.js';
import { latestByPath, makerOf, type Accepted, type FileChange } from './accepted.js';
import type { ActivityPorts } from '../frame/ports.js';
import type { FileBytes } from '../frame/edit-work.js';
import { deleted, getText, type Snapshot, type SnapshotTarget, type TextRef } from './snapshot.js';

const readAll = (blobs: BlobStore, refs: readonly TextRef[]) =>
  Promise.all(refs.map(async ({ path, ref }) => ({ path, content: await getText(blobs, ref) })));

export async function references(blobs: BlobStore, snapshot: Snapshot) {
  const [instructions, rules, context] = await Promise.all([
    getText(blobs, snapshot.instructions),
    readAll(blobs, snapshot.rules),
    readAll(blobs, snapshot.context),
  ]);
  return {
    instructions: withDeleted(instructions, snapshot),
    rules,
    context,
    hints: snapshot.hints,
  };
}

/** What nobody is asked for is said, so that the other files stop using it. */
function withDeleted(instructions: string, { targets }: Snapshot): string {
  const paths = deleted(targets).map(({ path }) => `- ${path}`);
  if (paths.length === 0) return instructions;
  return `${instructions.trimEnd()}\n\nThe same change deletes these files. That is done already; nothing may use them any more:\n${paths.join('\n')}\n`;
}

/** A target with its base's bytes. */
export type LoadedTarget = SnapshotTarget & { readonly content: Uint8Array | null };

export const loadTargets = (
  blobs: BlobStore,
  targets: readonly SnapshotTarget[],
): Promise<readonly LoadedTarget[]> =>
  Promise.all(
    targets.map(async (target) => ({
      ...target,
      content: target.base === null ? null : await blobs.get(target.base.ref),
    })),
  );

export const bytesOf = ({ path, content, encoding }: LoadedTarget): FileBytes => ({
  path,
  bytes: content,
  encoding,
});

// Diffs of other files accepted so far in this step, for the prompt.

export const diffInput = async (blobs: BlobStore, file: FileChange) => ({
  path: file.path,
  base: file.base === null ? null : await blobs.get(file.base.ref),
  result: file.result === null ? null : await blobs.get(file.result.ref),
  ...(file.base === null ? {} : { baseMode: file.base.mode }),
  ...(file.result === null ? {} : { resultMode: file.result.mode }),
});

export type FileDiff = Readonly<Record<'path' | 'diff', string>>;

/** In the order given, as diffs for the prompt. */
export const diffsOf = (
  { blobs, edits }: ActivityPorts,
  changes: readonly FileChange[],
  signal: AbortSignal,
): Promise<readonly FileDiff[]> =>
  Promise.all(
    changes.map(async (change) => {
      const { text } = await edits.run('diff', [await diffInput(blobs, change)], signal);
      return { path: change.path, diff: text };
    }),
  );

/** Oldest first; the files of the call itself are left out: they are shown as they are, and those that its answer made are made anew. */
export const acceptedDiffs = (
  ports: ActivityPorts,
  results: readonly Accepted[],
  except: readonly string[],
  signal: AbortSignal,
): ReturnType<typeof diffsOf> => {
  const changes = [...latestByPath(results).values()]
    .filter(
      ({ result, change }) => change !== null && !except.includes(makerOf(result, change.path)),
    )
    .sort((a, b) => a.result.seq - b.result.seq)
    .flatMap(({ change }) => (change === null ? [] : [change]));
  return diffsOf(ports, changes, signal);
};
