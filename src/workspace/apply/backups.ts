/**
 * Backups: each keeps the file that was under a target when an attempt renamed it away. Rule of this module: no name is removed unless its
 * bytes are the base or the result (both in the blob store), are under the target, or have been put into the blob store.
 */
import { join } from 'node:path';
import type { BlobRef } from '../../shared/ids.js';
import { groupBy } from '../../shared/text.js';
import type { PlannedFile, TransactionPlan, TransactionRecord } from './record.js';
import { isAt, look, PERMISSIONS, type Seen } from './sides.js';
import { fileAt, readBackupName, targetDirs, targetPaths } from './paths.js';
import { refOf } from '../../system/hash.js';
import { orNull, unlinkIfThere } from '../../system/durable.js';
import { errnoOf, linksFail, type Sys } from '../../system/sys.js';
import type { BlobStore } from '../../stores/ports.js';

const RESTORES = 20; // bound: Number of saves by a person in a row, during one restore, before the bytes that are restored go to the blob store.

/** The work of one attempt on one plan. */
export interface Drive {
  readonly sys: Sys;
  readonly blobs: BlobStore;
  readonly plan: TransactionPlan;
  readonly record: TransactionRecord;
  readonly attempt: string;
  /** Tells whether an attempt may still be at work. Such an attempt finishes its own backups. */
  readonly isLive: (attempt: string) => boolean;
  /** Returns the number of the next backup of this attempt. */
  readonly nextBackup: () => number;
}

/** Mode of an exclusive copy until it is complete (see Sys.copyExclusive). */
const COPYING = 0o600;

/** Returns whether a file is a copy of the result that an attempt did not finish. Copies are made only on filesystems without links. */
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
 * Puts a backup back to its path. Returns `taken` if something is there, which stays untouched, and `gone` if the backup does not exist.
 * On a filesystem without links the backup is renamed if the path is free at that moment: a copy could be cut off in the middle.
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
 * Returns the backups in the directories of all targets by the index of their file, the newest first. `finish`: without the backups of
 * other live attempts, which finish these themselves.
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
  found.sort((a, b) => Number(b.changed_ns > a.changed_ns) - Number(b.changed_ns < a.changed_ns));
  const byIndex = [...groupBy(found, ({ index }) => index)].sort(([a], [b]) => a - b);
  return new Map(byIndex.map(([index, all]) => [index, all.map(({ path }) => path)]));
};

/** Discards, restores or saves a backup, according to its bytes. It does not exist afterwards, unless no blob can hold it (a directory). */
export const resolveBackup = async (drive: Drive, index: number, backup: string): Promise<void> => {
  const file = fileAt(drive.plan, index);
  const { target } = targetPaths(drive.plan, index);
  const seen = await look(drive.sys, backup);
  if (seen.kind === 'absent') return;
  if (file.base !== null && seen.kind === 'file' && isAt(seen, file.base)) {
    await discard(drive, index, backup, file.base.ref);
  } else if (file.result !== null && seen.kind === 'file' && isAt(seen, file.result)) {
    // It is the finished work of another attempt, which was renamed by mistake.
    if ((await restore(drive, backup, target)) === 'taken')
      await discard(drive, index, backup, file.result.ref);
  } else if (await isUnfinishedCopy(drive, file, seen)) {
    await unlinkIfThere(drive.sys, backup);
  } else {
    await restoreTheirs(drive, index, backup);
  }
};

/** Removes a backup whose bytes are `ref`. If a writer with an open handle changes it at that moment, its bytes are restored to the path. */
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

/** Restores the bytes of a person to the path. They replace Emend's bytes; if the person has saved newer ones, they go to the blob store instead. */
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

/** Moves a file into the blob store, with a note in the record. The outcome reports the note to the reviewer. */
export const backUp = async (drive: Drive, file: PlannedFile, path: string): Promise<void> => {
  const seen = await look(drive.sys, path);
  if (seen.kind !== 'file') return; // A directory or a link stays under its backup name, which the outcome reports.
  const ref = await drive.blobs.put(seen.bytes);
  await drive.record.putSaved({ path: file.path, ref });
  await unlinkIfThere(drive.sys, path);
};

/** Returns the mode of a new result: the permissions of the proposal with the special bits of the replaced file. */
export const resultMode = (file: PlannedFile): number =>
  ((file.result?.mode ?? 0) & PERMISSIONS) | file.special;
