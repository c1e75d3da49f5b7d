/** Files as they stand in the workspace, for what a person or a commit hook made of them. */
import type { BlobRef } from '../../shared/ids.js';
import type { StagedByHook } from '../../shared/proposal-activities.js';
import { inspectTarget } from '../../workspace/files/index.js';
import { getJson, type BlobStore } from '../../stores/ports.js';
import type { ProposalFile } from '../../workspace/proposal.js';
import type { Snapshot } from './snapshot.js';
import { readGiven } from '../../system/given-file.js';

/** Null: no file that could be edited. The bytes are put into the blob store. */
export async function fileNow(
  blobs: BlobStore,
  root: string,
  path: string,
  maxFile_bytes: number | null = null,
): Promise<ProposalFile['base']> {
  const found = await inspectTarget(root, path, maxFile_bytes);
  if (!found.ok) return null;
  const bytes = await readGiven(found.value.realPath);
  return { ref: await blobs.put(bytes), mode: found.value.mode };
}

interface ManualFiles {
  readonly blobs: BlobStore;
  readonly root: string;
  readonly snapshot: Pick<Snapshot, 'targets' | 'limits'>;
  readonly staged: StagedByHook['files'];
}

/**
 * What became of a file after `manual`, or after `rebase` where a hook had changed what was to be committed: its bytes as they are now;
 * where a hook staged others and left the file alone, the staged ones, to be written like an edit. Null where nothing changed.
 */
export async function manualFile(
  { blobs, root, snapshot, staged }: ManualFiles,
  path: string,
): Promise<ProposalFile | null> {
  const base = snapshot.targets.find((target) => target.path === path)?.base ?? null;
  const now = await fileNow(blobs, root, path, snapshot.limits.maxFile_bytes);
  const hook = staged.find((file) => file.path === path);
  if (hook !== undefined && same(now, hook.disk) && !same(now, hook))
    return { path, base: now, result: { ref: hook.ref, mode: hook.mode }, by: 'model' };
  return same(now, base) ? null : { path, base, result: now, by: 'person' };
}

export const stagedFiles = async (blobs: BlobStore, ref: BlobRef | undefined): Promise<StagedByHook['files']> =>
  ref === undefined ? [] : (await getJson<StagedByHook>(blobs, ref, 'what a hook staged')).files;

const same = (a: ProposalFile['base'], b: ProposalFile['base']): boolean =>
  a === null || b === null ? a === b : a.ref === b.ref && a.mode === b.mode;
