/**
 * Writes every file of a plan after the point of no return. Each step depends only on what is on the disk, so that any number of attempts,
 * one after another or at the same time, reach the same result:
 *
 * 1. place: the target is renamed to a backup name of this attempt, and the temp file is linked to the path. A target that is not at its
 *    base belongs to a person and is not touched. If the temp file is gone, another attempt has finished the file.
 * 2. The directories are synced, so that the absence of a temp file never outlives its result.
 * 3. finish: the temp name is removed. The backups are hashed: a base is removed, anything else belongs to a person and is restored.
 * 4. The directories are synced, and every path is read. The outcome is what is found.
 */
import { join } from 'node:path';
import {
  isUnfinishedCopy,
  listBackups,
  restore,
  resultMode,
  backUp,
  resolveBackup,
  type Drive,
} from './backups.js';
import type { ClosedRecord, PlannedFile } from './record.js';
import { difference, isAt, look } from './sides.js';
import { dirOf, fileAt, targetDirs, targetPaths } from './paths.js';
import { isStillDirectory } from './resolve-path.js';
import { syncDirs } from './prepare.js';
import { orNull, unlinkIfThere } from '../../system/durable.js';
import { errnoOf, linksFail } from '../../system/sys.js';
import type { ConflictFile } from '../ports.js';

/** Carries a committed plan to its end and closes the record. Throws if the disk refuses; then the record stays open. */
export const goForward = async (drive: Drive): Promise<ClosedRecord> => {
  const { plan, record, sys } = drive;
  const written = [...plan.files.entries()].filter(([, file]) => file.write);
  for (const [index, file] of written) await place(drive, file, index);
  await fsyncDirs(drive);
  for (const [index, file] of written) await dropTemp(drive, file, index);
  for (const [index, backups] of await listBackups(drive, 'finish')) {
    if (!(await isStillDirectory(sys, plan.workspace, dirOf(fileAt(plan, index).real)))) continue;
    for (const backup of backups) await resolveBackup(drive, index, backup);
  }
  for (const dir of [...plan.dropDirs].reverse()) {
    if (!(await isStillDirectory(sys, plan.workspace, dirOf(dir)))) continue;
    await orNull(sys.rmdir(join(plan.workspace, dir)), STAYS);
  }
  await fsyncDirs(drive);
  return record.putClosed(await outcomeOf(drive));
};

/**
 * Returns whether the workspace has files that only a committed generation makes. If its verdict is lost (in a damaged home), a revert would
 * leave the change half done.
 */
export const hasBegun = async (drive: Drive): Promise<boolean> => {
  const idOf = async (path: string) =>
    (await orNull(drive.sys.lstat(path), ['ENOENT', 'ENOTDIR']))?.id;
  for (const index of drive.plan.files.keys()) {
    const { target, temp } = targetPaths(drive.plan, index);
    const ours = await idOf(temp);
    if (ours !== undefined && ours === (await idOf(target))) return true;
  }
  return (await listBackups(drive, 'all')).size > 0 || drive.record.isCopying();
};

/** Errnos of a directory that cannot be removed. It stays, which is no reason to stop half-way. */
export const STAYS = ['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY', 'EPERM', 'EACCES'];

/** Makes the files and directories of the plan durable: syncs every directory in which a name was made or removed. */
const fsyncDirs = ({ sys, plan }: Drive) =>
  syncDirs(sys, plan.workspace, [...targetDirs(plan), ...plan.dropDirs.map(dirOf)]);

/** Replaces the target by the temp file, unless another attempt has done so or the target belongs to a person. */
const place = async (drive: Drive, file: PlannedFile, index: number): Promise<void> => {
  const { sys, plan } = drive;
  const { target, temp, backup } = targetPaths(plan, index);
  if (!(await isStillDirectory(sys, plan.workspace, dirOf(file.real)))) return;
  const ours = await orNull(sys.lstat(temp));
  if (ours === null) return;
  const seen = await look(sys, target);
  let kept: string | null = null;
  if (seen.kind === 'absent') {
    if (file.result === null) return;
    // If an attempt renamed the target, there is a backup; otherwise a person deleted it.
    if (file.base !== null && !(await listBackups(drive, 'all')).has(index)) return;
  } else {
    if (seen.stat.id === ours.id || isAt(seen, file.result)) return;
    const isBase = file.base !== null && isAt(seen, file.base);
    if (!isBase && !(await isUnfinishedCopy(drive, file, seen))) return;
    kept = backup(drive.attempt, drive.nextBackup());
    if ((await orNull(sys.rename(target, kept).then(() => true))) === null) kept = null;
  }
  try {
    await putResult(drive, file, index, kept);
  } catch (error) {
    // The path must not stay absent until the disk is repaired. If this also fails, the next attempt does it.
    await giveWay(drive, file, index, kept).catch(() => undefined);
    throw error;
  }
};

/** Links the temp file to the target, unless the path was taken in the meantime or another attempt has finished. */
const putResult = async (
  drive: Drive,
  file: PlannedFile,
  index: number,
  kept: string | null,
): Promise<void> => {
  const { sys, plan } = drive;
  const { target, temp } = targetPaths(plan, index);
  const finishedElsewhere = async (): Promise<void> => {
    if (kept !== null) await restore(drive, kept, target);
  };
  if (file.result === null) {
    if ((await orNull(sys.lstat(temp))) === null) await finishedElsewhere();
    return;
  }
  try {
    await sys.link(temp, target).catch(async (error: unknown) => {
      if (!linksFail(error)) throw error;
      await drive.record.putCopying();
      const owner = file.owner === null ? {} : { owner: file.owner };
      return sys.copyExclusive(temp, target, { mode: resultMode(file), ...owner });
    });
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') return finishedElsewhere();
    if (code !== 'EEXIST') throw error;
  }
};

/** Cleans up after a failed placing: removes an incomplete copy, and restores the backup to its path if that is free. */
const giveWay = async (
  drive: Drive,
  file: PlannedFile,
  index: number,
  kept: string | null,
): Promise<void> => {
  const { sys, plan } = drive;
  const { target, backup } = targetPaths(plan, index);
  const seen = await look(sys, target);
  if (seen.kind !== 'absent' && (await isUnfinishedCopy(drive, file, seen))) {
    const half = backup(drive.attempt, drive.nextBackup());
    await sys.rename(target, half);
    if (await isUnfinishedCopy(drive, file, await look(sys, half))) await unlinkIfThere(sys, half);
    else await restore(drive, half, target);
  }
  if (kept !== null) await restore(drive, kept, target);
};

/** Removes the temp name of a file. Bytes that a person wrote into it are saved before. */
const dropTemp = async (drive: Drive, file: PlannedFile, index: number): Promise<void> => {
  const { sys, plan } = drive;
  const { target, temp } = targetPaths(plan, index);
  if (file.result !== null) {
    const ours = await orNull(sys.lstat(temp), ['ENOENT', 'ENOTDIR']);
    if (ours === null) return;
    const there = await orNull(sys.lstat(target), ['ENOENT', 'ENOTDIR']);
    // While temp and target were one file, a person may have written into it, and then have saved another file over the target.
    if (there?.id !== ours.id && !isAt(await look(sys, temp), file.result))
      return backUp(drive, file, temp);
  }
  await orNull(sys.unlink(temp), ['ENOENT', 'ENOTDIR']);
};

/** Reads every path of the plan. Returns the files that have their result, and a conflict for each of the others. */
const outcomeOf = async (drive: Drive): Promise<ClosedRecord> => {
  const { sys, plan, record } = drive;
  const saved = await record.saved();
  const backups = await listBackups(drive, 'finish');
  const files: string[] = [];
  const conflicts: ConflictFile[] = [];
  for (const [index, file] of plan.files.entries()) {
    const { target } = targetPaths(plan, index);
    const notes = saved
      .filter((s) => s.path === file.path)
      .map((s) => `; bytes saved in the meantime and then replaced are kept as ${s.ref}`);
    const places = (backups.get(index) ?? []).map((k) => `; the previous content is now at ${k}`);
    const still = await isStillDirectory(sys, plan.workspace, dirOf(file.real));
    const seen = still ? await look(sys, target) : ({ kind: 'absent' } as const);
    if (
      isAt(seen, file.result) &&
      (still || file.result === null) &&
      notes.length + places.length === 0
    ) {
      files.push(file.path);
      continue;
    }
    const reason = still ? difference(file.result, seen) : 'its directory was moved or replaced';
    const parts = [`${file.path}: ${reason}`, ...notes, ...places];
    conflicts.push({ path: file.path, why: parts.join('') });
  }
  return {
    outcome: conflicts.length === 0 ? 'applied' : 'conflict',
    files,
    conflicts,
    lock: plan.lock,
  };
};
