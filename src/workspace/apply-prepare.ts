/** Before the point of no return: temp files beside the targets, and their removal where nothing comes of it. */
import { join } from 'node:path';
import { resultMode } from './apply-keep.js';
import { dirOf, targetDirs, targetPaths } from './apply-names.js';
import type { TransactionPlan } from './apply-record.js';
import { orNull } from './sys-put.js';
import type { Sys } from './sys.js';
import type { BlobStore } from './types.js';
import { isStillDirectory } from './workspace-path.js';

const NEW_DIRECTORY = 0o777; // less the umask, as mkdir(1) does it
const TOMBSTONE = 0o600;

/** Writes every result (an empty tombstone for a deletion) beside its target, durably. Throws disk errors and `blob_lost`. */
export const prepare = async (sys: Sys, blobs: BlobStore, plan: TransactionPlan): Promise<void> => {
  for (const dir of plan.dirs) {
    await orNull(sys.mkdir(join(plan.workspace, dir), NEW_DIRECTORY), ['EEXIST']);
    await sys.fsyncDir(join(plan.workspace, dirOf(dir)));
  }
  for (const [index, file] of plan.files.entries()) {
    if (!file.write) continue;
    const { temp } = targetPaths(plan, index);
    if (file.result === null) {
      await sys.writeExclusive(temp, new Uint8Array(), { mode: TOMBSTONE });
      continue;
    }
    const bytes = await blobs.get(file.result.ref);
    const owner = file.owner === null ? {} : { owner: file.owner };
    await sys.writeExclusive(temp, bytes, { mode: resultMode(file), ...owner });
  }
  // A temp file that a power cut takes back would look like a finished one.
  for (const dir of targetDirs(plan)) await sys.fsyncDir(join(plan.workspace, dir));
};

/** Takes back what `prepare` made. Nothing of a person is touched: made directories go only where they are empty. */
export const takeBack = async (sys: Sys, plan: TransactionPlan): Promise<void> => {
  for (const [index, file] of plan.files.entries()) {
    // By its name alone: also where a link took the place of its directory, the name can only be ours.
    if (file.write) await orNull(sys.unlink(targetPaths(plan, index).temp), ['ENOENT', 'ENOTDIR']);
  }
  for (const dir of [...plan.dirs].reverse()) {
    if (!(await isStillDirectory(sys, plan.workspace, dir))) continue;
    await orNull(sys.rmdir(join(plan.workspace, dir)), ['ENOTEMPTY', 'EEXIST', 'ENOENT']);
  }
  for (const dir of [...targetDirs(plan), ...plan.dirs.map(dirOf)]) {
    await orNull(sys.fsyncDir(join(plan.workspace, dir)), ['ENOENT', 'ENOTDIR']);
  }
};
