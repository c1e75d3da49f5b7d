/**
 * After the point of no return: every file goes forward. All that is done here is derived from what lies on the disk, so that any
 * number of attempts, one after another or at once, come to the same end:
 *
 * 1. place: the target is renamed to a backup name of this attempt, the temp file linked to the path. A target that is not at its
 *    base is a person's and is not touched. A temp file that is gone says that another attempt has finished the file.
 * 2. directories are fsynced, so that a temp file's absence never outlives its result.
 * 3. finish: the temp name is removed; backups are hashed: the base is dropped, anything else is a person's and goes back.
 * 4. directories are fsynced, every path is looked at, and the outcome is what is found.
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
import { difference, isAt, look, type ClosedRecord, type PlannedFile } from './record.js';
import { dirOf, fileAt, targetDirs, targetPaths, isStillDirectory } from './paths.js';
import { syncDirs } from './prepare.js';
import { orNull, unlinkIfThere } from '../../system/durable.js';
import { errnoOf, linksFail } from '../../system/sys.js';
import type { ConflictFile } from '../ports.js';

/** Carries a committed plan to its end and closes the record. Throws where the disk refuses; then the record stays open. */
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

/** What only a committed generation leaves: where its verdict is lost (a damaged home) going back would leave the change half done. */
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

/** An empty directory that stays is no reason to stop half-way. */
export const STAYS = ['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY', 'EPERM', 'EACCES'];

/** The step's files and directories as they are made durable: every directory in which a name came or went. */
const fsyncDirs = ({ sys, plan }: Drive) =>
  syncDirs(sys, plan.workspace, [...targetDirs(plan), ...plan.dropDirs.map(dirOf)]);

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
    // Absent because an attempt took it, or because a person deleted it?
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
    // The path must not stay absent while somebody mends the disk; if this fails too, the next attempt does it.
    await giveWay(drive, file, index, kept).catch(() => undefined);
    throw error;
  }
};

/** The temp file becomes the target, unless the path was taken meanwhile or another attempt has finished. */
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

/** After a failed placing: a half copy of ours goes, the kept file gets its path back where that is free. */
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

const dropTemp = async (drive: Drive, file: PlannedFile, index: number): Promise<void> => {
  const { sys, plan } = drive;
  const { target, temp } = targetPaths(plan, index);
  if (file.result !== null) {
    const ours = await orNull(sys.lstat(temp), ['ENOENT', 'ENOTDIR']);
    if (ours === null) return;
    const there = await orNull(sys.lstat(target), ['ENOENT', 'ENOTDIR']);
    // A person may have written through the path while temp and target were one file, and then saved another one over it.
    if (there?.id !== ours.id && !isAt(await look(sys, temp), file.result))
      return backUp(drive, file, temp);
  }
  await orNull(sys.unlink(temp), ['ENOENT', 'ENOTDIR']);
};

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
    const left = (backups.get(index) ?? []).map((k) => `; the previous content is now at ${k}`);
    const still = await isStillDirectory(sys, plan.workspace, dirOf(file.real));
    const seen = still ? await look(sys, target) : ({ kind: 'absent' } as const);
    if (
      isAt(seen, file.result) &&
      (still || file.result === null) &&
      notes.length + left.length === 0
    ) {
      files.push(file.path);
      continue;
    }
    const why = still ? difference(file.result, seen) : 'its directory was moved or replaced';
    conflicts.push({ path: file.path, why: [`${file.path}: ${why}`, ...notes, ...left].join('') });
  }
  return {
    outcome: conflicts.length === 0 ? 'applied' : 'conflict',
    files,
    conflicts,
    lock: plan.lock,
  };
};
