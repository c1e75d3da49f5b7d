/** What a chunk leaves behind: its files' results as blobs, and the new head of the chain of accepted results. */
import type { Edited } from '../edits/types.js';
import type { SaidUndone } from '../plan/undone.js';
import type { ProposeInput, ProposeResult } from '../shared/protocol.js';
import { NO_USAGE } from '../shared/usage.js';
import { looksSecret, NEW_FILE_MODE } from '../workspace/files.js';
import type { Accepted, FileChange } from './chain.js';
import type { ActivityDependencies } from './dependencies.js';
import { deleted, putJson, type Snapshot, type SnapshotTarget } from './snapshot.js';

/** To delete a file is not to show it: what looks like a secret stays out of prompts. */
export const shownGone = ({ targets }: Snapshot): readonly SnapshotTarget[] =>
  deleted(targets).filter(({ path }) => !looksSecret(path));

export const removal = ({ path, base }: SnapshotTarget): FileChange => ({ path, base, result: null });

/** Files that go by the job's own word: no call is made, nothing is paid. */
export const goes = async (
  dependencies: ActivityDependencies,
  input: ProposeInput,
  gone: readonly SnapshotTarget[],
): Promise<ProposeResult> => {
  const accepted = await keep(dependencies, input, [], gone, { result: null, undone: null });
  return { v: 1, usage: NO_USAGE, outcome: 'edited', accepted, changed: gone.map(({ path }) => path) };
};

/** The result as blobs, and the chain's new head. `undone` null: nobody was asked. */
export async function keep(
  { blobs }: ActivityDependencies,
  input: ProposeInput,
  targets: readonly SnapshotTarget[],
  gone: readonly SnapshotTarget[],
  { result: edits, undone }: { readonly result: Edited | null; readonly undone: readonly SaidUndone[] | null },
) {
  const bases = new Map(targets.map((target) => [target.path, target.base]));
  const changes = await Promise.all(
    [...(edits?.files ?? [])].map(async ([path, result]) => {
      const base = bases.get(path) ?? null;
      if (result === 'absent') return { path, base, result: null };
      return {
        path,
        base,
        result: { ref: await blobs.put(result.bytes), mode: result.mode ?? base?.mode ?? NEW_FILE_MODE },
      };
    }),
  );
  const accepted: Accepted = {
    v: 1,
    seq: input.seq,
    after: input.accepted,
    covers: [...gone, ...targets].map((target) => target.path),
    files: [...gone.map(removal), ...changes],
    moves: edits?.moves ?? [],
    rungs: (edits?.rungs ?? []).map(({ rung, path, line }) => ({ rung, path, line: line ?? null })),
    findings: edits?.findings ?? [],
    summary: edits?.summary ?? null,
    ...(undone === null ? { asked: false } : {}),
    ...(undone === null || undone.length === 0 ? {} : { undone }),
  };
  return putJson(blobs, accepted);
}
