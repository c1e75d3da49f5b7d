/**
 * Accepted results, as a graph in the blob store: each names the heads it came after, so that history carries only heads however
 * many files a step has. The latest result of a file (highest `seq`) is the one that counts.
 */
import type { ClaimedUnfinished } from '../../shared/unfinished.js';
import type { BlobRef } from '../../shared/ids.js';
import { getJson, putJson, type BlobStore } from '../../stores/ports.js';
import type { ProposalFile } from '../../workspace/proposal.js';
import { deleted, type Snapshot, type SnapshotTarget } from './snapshot.js';
import type { Edited } from '../../edits/index.js';
import type { ProposeInput, ProposeResult } from '../../shared/step-activities.js';
import { NO_USAGE } from '../../shared/usage.js';
import { NEW_FILE_MODE } from '../../workspace/files/index.js';
import { looksSecret } from '../../workspace/secret-files.js';
import type { ActivityPorts } from '../frame/ports.js';

export type FileChange = Pick<ProposalFile, 'path' | 'base' | 'result'> & {
  /** The model sent the file whole. */
  readonly rewritten?: true;
};
export interface Accepted {
  readonly seq: number;
  readonly after: readonly BlobRef[];
  /** Every file that the call was for, changed or not. */
  readonly covers: readonly string[];
  readonly files: readonly FileChange[];
  readonly renames: readonly { readonly from: string; readonly to: string }[];
  readonly tolerances: readonly {
    readonly tolerance: string;
    readonly path: string;
    readonly line: number | null;
  }[];
  /** Tasks of a plan's phase that the answer says it leaves undone; absent: none. */
  readonly unfinished?: readonly ClaimedUnfinished[];
  /** False: by the job's own word, no model was asked; absent: an answer. */
  readonly asked?: boolean;
}

/** All results behind the heads, latest first; at most `limit` of them. */
export async function acceptedResults(
  blobs: BlobStore,
  heads: readonly BlobRef[],
  limit = Infinity,
): Promise<readonly Accepted[]> {
  const seen = new Set<BlobRef>(heads);
  let wave: readonly BlobRef[] = heads;
  const found: Accepted[] = [];
  while (wave.length > 0 && found.length < limit) {
    const results = await Promise.all(
      wave.map((ref) => getJson<Accepted>(blobs, ref, 'accepted result')),
    );
    found.push(...results);
    const next = results.flatMap((result) => result.after).filter((ref) => !seen.has(ref));
    for (const ref of next) seen.add(ref);
    wave = [...new Set(next)];
  }
  return found.sort((a, b) => b.seq - a.seq).slice(0, limit);
}

/** Whose answer a file belongs to: its own, or that which made it beside others. */
export const makerOf = ({ covers }: Pick<Accepted, 'covers'>, path: string): string =>
  covers.includes(path) ? path : (covers.at(-1) ?? path);

/** The result that counts, per path. A file that an answer made goes with that answer. */
export function latestByPath(
  results: readonly Accepted[],
): ReadonlyMap<string, { readonly result: Accepted; readonly change: FileChange | null }> {
  const latest = new Map<string, { result: Accepted; change: FileChange | null }>();
  for (const result of [...results].sort((a, b) => b.seq - a.seq)) {
    const paths = new Set([...result.covers, ...result.files.map((file) => file.path)]);
    for (const path of paths) {
      const maker = makerOf(result, path);
      if (latest.has(path) || (maker !== path && latest.get(maker)?.result !== result)) continue;
      latest.set(path, { result, change: result.files.find((file) => file.path === path) ?? null });
    }
  }
  return latest;
}

// What a chunk leaves behind: its files' results as blobs, and the new head of the chain of accepted results.

/** To delete a file is not to show it: what looks like a secret stays out of prompts. */
export const shownDeleted = ({ targets }: Snapshot): readonly SnapshotTarget[] =>
  deleted(targets).filter(({ path }) => !looksSecret(path));

export const removal = ({ path, base }: SnapshotTarget): FileChange => ({
  path,
  base,
  result: null,
});

/** Files that go by the job's own word: no call is made, nothing is paid. */
export const deletedByJob = async (
  ports: ActivityPorts,
  input: ProposeInput,
  gone: readonly SnapshotTarget[],
): Promise<ProposeResult> => {
  const accepted = await keepAccepted(
    ports,
    input,
    { targets: [], gone },
    { result: null, unfinished: null },
  );
  return { usage: NO_USAGE, outcome: 'edited', accepted, changed: gone.map(({ path }) => path) };
};

/** The result as blobs, and the chain's new head. `undone` null: nobody was asked. */
export async function keepAccepted(
  { blobs }: ActivityPorts,
  input: ProposeInput,
  {
    targets,
    gone,
  }: { readonly targets: readonly SnapshotTarget[]; readonly gone: readonly SnapshotTarget[] },
  {
    result: edits,
    unfinished,
  }: { readonly result: Edited | null; readonly unfinished: readonly ClaimedUnfinished[] | null },
) {
  const bases = new Map(targets.map((target) => [target.path, target.base]));
  const changes = await Promise.all(
    [...(edits?.files ?? [])].map(async ([path, result]) => {
      const base = bases.get(path) ?? null;
      if (result === 'absent') return { path, base, result: null };
      return {
        path,
        base,
        result: {
          ref: await blobs.put(result.bytes),
          mode: result.mode ?? base?.mode ?? NEW_FILE_MODE,
        },
        ...(input.format === 'whole-file' ? { rewritten: true as const } : {}),
      };
    }),
  );
  const accepted: Accepted = {
    seq: input.seq,
    after: input.accepted,
    covers: [...gone, ...targets].map((target) => target.path),
    files: [...gone.map(removal), ...changes],
    renames: edits?.renames ?? [],
    tolerances: (edits?.tolerances ?? []).map(({ tolerance, path, line }) => ({
      tolerance,
      path,
      line: line ?? null,
    })),
    ...(unfinished === null ? { asked: false } : {}),
    ...(unfinished === null || unfinished.length === 0 ? {} : { unfinished }),
  };
  return putJson(blobs, accepted);
}
