/**
 * Keep files: what stood under a target at the moment it was taken away. Rule of this module: no name is removed unless its bytes
 * are the base or the result (both in the blob store), lie under the target, or have been put into the blob store.
 */
import { join } from 'node:path';
import type { BlobRef } from '../../shared/ids.js';
import { groupBy } from '../../shared/text.js';
import {
  isAt,
  look,
  PERMISSIONS,
  type Seen,
  type PlannedFile,
  type TransactionPlan,
  type TransactionRecord,
} from './record.js';
import { fileAt, readBackupName, targetDirs, targetPaths } from './paths.js';
import { refOf } from '../../system/hash.js';
import { orNull, unlinkIfThere } from '../../system/durable.js';
import { errnoOf, linksFail, type Sys } from '../../system/sys.js';
import type { BlobStore } from '../../stores/ports.js';

const RESTORES = 20; // bound: Saves of a person in a row, during one restore, before ours gives way to the blob store.

/** One attempt's way through one plan. */
export interface Drive {
  readonly sys: Sys;
  readonly blobs: BlobStore;
  readonly plan: TransactionPlan;
  readonly record: TransactionRecord;
  readonly attempt: string;
  /** Attempts that may still be at work: their backups are theirs to finish. */
  readonly isLive: (attempt: string) => boolean;
  /** Counts this attempt's backups. */
  readonly nextBackup: () => number;
}

/** Until it is whole, an exclusive copy has this mode (see Sys.copyExclusive). */
const COPYING = 0o600;

/** A copy of the result that an attempt did not finish: on filesystems without links only. */
export const isUnfinishedCopy = async (
  drive: Drive,
  file: PlannedFile,
  seen: Seen,
): Promise<boolean> => {
  if (file.result === null || seen.kind !== 'file' || (seen.stat.mode & 0o7777) !== COPYING)
    return false;
  if (!(await drive.record.isCopying())) return false;
  const result = await drive.blobs.get(file.result.ref);
  return Buffer.from(seen.bytes).equals(result.subarray(0, seen.bytes.length));
};

/**
 * Gives the kept file its path back without touching what stands there: `taken` where something does. Without links a directory
 * or file is renamed when the path is free at that moment; a copy could be cut off in the middle.
 */
export const restore = async (
  { sys }: Drive,
  backup: string,
  target: string,
): Promise<'back' | 'taken' | 'gone'> => {
  try {
    await sys.link(backup, target);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'EEXIST') return 'taken';
    if (code === 'ENOENT') return 'gone';
    if (!linksFail(error)) throw error;
    if ((await orNull(sys.lstat(target))) !== null) return 'taken';
    await sys.rename(backup, target);
    return 'back';
  }
  await unlinkIfThere(sys, backup);
  return 'back';
};

/**
 * Keep files in the directories of all targets, by the index of their file, the one taken last first. `settle`: only those that
 * are ours to settle.
 */
export const listBackups = async (
  drive: Drive,
  whose: 'finish' | 'all',
): Promise<ReadonlyMap<number, readonly string[]>> => {
  const { sys, plan } = drive;
  const found: { index: number; path: string; changed_ns: bigint }[] = [];
  for (const dir of targetDirs(plan)) {
    for (const name of (await orNull(sys.readdir(join(plan.workspace, dir)), [
      'ENOENT',
      'ENOTDIR',
    ])) ?? []) {
      const backup = readBackupName(plan, name);
      if (backup === null) continue;
      if (whose === 'finish' && backup.attempt !== drive.attempt && drive.isLive(backup.attempt))
        continue;
      const path = join(plan.workspace, dir, name);
      const stat = await orNull(sys.lstat(path));
      if (stat !== null) found.push({ index: backup.index, path, changed_ns: stat.changed_ns });
    }
  }
  found.sort((a, b) => (a.changed_ns === b.changed_ns ? 0 : a.changed_ns > b.changed_ns ? -1 : 1));
  const byIndex = [...groupBy(found, ({ index }) => index)].sort(([a], [b]) => a - b);
  return new Map(byIndex.map(([index, all]) => [index, all.map(({ path }) => path)]));
};

/** Does what the bytes of a backup ask for. After this it is gone, except where no blob can hold it (a directory). */
export const resolveBackup = async (drive: Drive, index: number, backup: string): Promise<void> => {
  const file = fileAt(drive.plan, index);
  const { target } = targetPaths(drive.plan, index);
  const seen = await look(drive.sys, backup);
  if (seen.kind === 'absent') return;
  if (file.base !== null && seen.kind === 'file' && isAt(seen, file.base)) {
    await discard(drive, index, backup, file.base.ref);
  } else if (file.result !== null && seen.kind === 'file' && isAt(seen, file.result)) {
    // Another attempt's finished work, taken by mistake.
    if ((await restore(drive, backup, target)) === 'taken')
      await discard(drive, index, backup, file.result.ref);
  } else if (await isUnfinishedCopy(drive, file, seen)) {
    await unlinkIfThere(drive.sys, backup);
  } else {
    await restoreTheirs(drive, index, backup);
  }
};

/** Removes a backup whose bytes are `ref`; what a writer with an open handle adds in that moment goes back to the path. */
const discard = async (
  drive: Drive,
  index: number,
  backup: string,
  ref: BlobRef,
): Promise<void> => {
  const { sys, plan } = drive;
  const before = await orNull(sys.lstat(backup));
  const bytes = await orNull(sys.unlinkReading(backup));
  if (before === null || bytes === null || refOf(bytes) === ref) return;
  const again = targetPaths(plan, index).backup(drive.attempt, drive.nextBackup());
  await sys.writeExclusive(again, bytes, { mode: before.mode });
  await restoreTheirs(drive, index, again);
};

/** A person's bytes go back to the path: over ours, but under anything that they saved later, which sends these to the blob store. */
const restoreTheirs = async (drive: Drive, index: number, backup: string): Promise<void> => {
  const { sys, plan } = drive;
  const file = fileAt(drive.plan, index);
  const { target, backup: backupPath } = targetPaths(plan, index);
  const ours: string[] = [];
  for (let turn = 0; turn < RESTORES; turn++) {
    if ((await restore(drive, backup, target)) !== 'taken') break;
    const second = backupPath(drive.attempt, drive.nextBackup());
    if ((await orNull(sys.rename(target, second).then(() => true))) === null) continue;
    const seen = await look(sys, second);
    if (isAt(seen, file.result) || isAt(seen, file.base)) {
      ours.push(second);
      continue;
    }
    if ((await restore(drive, second, target)) === 'taken') await backUp(drive, file, second);
    await backUp(drive, file, backup);
    break;
  }
  if ((await orNull(sys.lstat(backup))) !== null) await backUp(drive, file, backup);
  for (const second of ours) await resolveBackup(drive, index, second);
};

/** Into the blob store, with a note in the record that the outcome tells the person. */
export const backUp = async (drive: Drive, file: PlannedFile, path: string): Promise<void> => {
  const seen = await look(drive.sys, path);
  if (seen.kind !== 'file') return; // A directory or link stays under its backup name; the outcome names it.
  const ref = await drive.blobs.put(seen.bytes);
  await drive.record.putSaved({ path: file.path, ref });
  await unlinkIfThere(drive.sys, path);
};

/** Mode of a new result: the proposal's permissions with the special bits of the file it replaces. */
export const resultMode = (file: PlannedFile): number =>
  ((file.result?.mode ?? 0) & PERMISSIONS) | file.special;
