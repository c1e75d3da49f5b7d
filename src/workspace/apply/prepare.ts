/** Writes temporary files next to the targets before the point of no return, and removes them if the change is reverted. */
import { join } from 'node:path';
import type { PlannedFile, TransactionPlan } from './record.js';
import { dirOf, targetDirs, targetPaths } from './paths.js';
import { isStillDirectory } from './resolve-path.js';
import { orNull } from '../../system/durable.js';
import type { Sys } from '../../system/sys.js';
import { together } from '../../system/together.js';
import type { BlobStore } from '../../stores/ports.js';
import { resultMode } from './backups.js';

const NEW_DIRECTORY = 0o777; // The umask is subtracted, as by mkdir(1).
const TOMBSTONE = 0o600;
const SYNCED_TOGETHER = 4; // bound: Number of results and directories synced at once: the threads of Node's pool. A disk handles simultaneous syncs together.

/**
 * Makes the names that were made and removed in the directories (relative to the workspace) durable, each directory once. `gone`: errnos of a
 * directory that may be absent.
 */
export const syncDirs = (
  sys: Sys,
  root: string,
  dirs: readonly string[],
  gone = ['ENOENT', 'ENOTDIR'],
) =>
  together(
    [...new Set(dirs)],
    (dir) => orNull(sys.fsyncDir(join(root, dir)), gone),
    SYNCED_TOGETHER,
  );

/** Writes every result (an empty tombstone for a deletion) next to its target, durably. Throws disk errors and `blob_lost`. */
export const prepare = async (sys: Sys, blobs: BlobStore, plan: TransactionPlan): Promise<void> => {
  for (const dir of plan.dirs)
    await orNull(sys.mkdir(join(plan.workspace, dir), NEW_DIRECTORY), ['EEXIST']);
  const write = async ([index, file]: readonly [number, PlannedFile]): Promise<void> => {
    if (!file.write) return;
    const { temp } = targetPaths(plan, index);
    if (file.result === null)
      return sys.writeExclusive(temp, new Uint8Array(), { mode: TOMBSTONE });
    const bytes = await blobs.get(file.result.ref);
    const owner = file.owner === null ? {} : { owner: file.owner };
    return sys.writeExclusive(temp, bytes, { mode: resultMode(file), ...owner });
  };
  await together([...plan.files.entries()], write, SYNCED_TOGETHER);
  // If a power cut removed a temp file, its target would look finished.
  await syncDirs(sys, plan.workspace, [...plan.dirs.map(dirOf), ...targetDirs(plan)], []);
};

/** Removes the files and directories that `prepare` made. Directories are removed only if they are empty, so that no file of a person is touched. */
export const takeBack = async (sys: Sys, plan: TransactionPlan): Promise<void> => {
  for (const [index, file] of plan.files.entries()) {
    // The name is enough: even if a link took the place of the directory, only Emend makes a file of this name.
    if (file.write) await orNull(sys.unlink(targetPaths(plan, index).temp), ['ENOENT', 'ENOTDIR']);
  }
  for (const dir of [...plan.dirs].reverse()) {
    if (!(await isStillDirectory(sys, plan.workspace, dir))) continue;
    await orNull(sys.rmdir(join(plan.workspace, dir)), ['ENOTEMPTY', 'EEXIST', 'ENOENT']);
  }
  await syncDirs(sys, plan.workspace, [...targetDirs(plan), ...plan.dirs.map(dirOf)]);
};
