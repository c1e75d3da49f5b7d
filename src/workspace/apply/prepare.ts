/** Before anything is written: is every file at its base (or at its result already), and is its place inside the workspace? */
import { join } from 'node:path';
import {
  difference,
  isAt,
  look,
  PERMISSIONS,
  type Seen,
  type PlannedFile,
  type TransactionPlan,
} from './record.js';
import { dirOf, isStillDirectory, resolveInWorkspace, targetDirs, targetPaths } from './paths.js';
import { sysBeneath } from './beneath-sys.js';
import { orNull } from '../../system/durable.js';
import type { FileStat, Sys } from '../../system/sys.js';
import { together } from '../../system/together.js';
import type { ApplyRequest, ConflictFile } from '../ports.js';
import type { BlobStore } from '../../stores/ports.js';
import type { ProposalFile } from '../proposal.js';
import { resultMode } from './backups.js';

export interface Checked {
  readonly files: readonly PlannedFile[];
  /** Directories to make, outermost first. */
  readonly dirs: readonly string[];
  readonly conflicts: readonly ConflictFile[];
  /** By `real`: what was seen of files that are there. */
  readonly stats: ReadonlyMap<string, FileStat>;
}

/** Real paths. Reads only, but puts a missing base into the blob store: rollback needs it. */
export const checkFiles = async (
  sys: Sys,
  blobs: BlobStore,
  { root, home }: { readonly root: string; readonly home: string },
  request: ApplyRequest,
): Promise<Checked> => {
  const files: PlannedFile[] = [];
  const conflicts: ConflictFile[] = [];
  const stats = new Map<string, FileStat>();
  const dirs = new Set<string>();
  const places = new Map<string, string>();
  for (const file of wanted(request)) {
    const refuse = (why: string) =>
      conflicts.push({ path: file.path, why: `${file.path}: ${why}` });
    const place = await resolveInWorkspace(sys, root, file.path);
    if (!place.ok) {
      refuse(place.why);
      continue;
    }
    if (join(root, place.real).startsWith(`${home}/`)) refuse("it is inside Emend's home");
    const twin = places.get(place.real);
    if (twin !== undefined) refuse(`it is the same file as ${twin}`);
    places.set(place.real, file.path);
    const seen = await look(sysBeneath(sys, root), join(root, place.real));
    const write = file.by === 'model' && !isAt(seen, file.result);
    if (file.by === 'person' && !isAt(seen, file.result)) refuse(difference(file.result, seen));
    if (write && !isAt(seen, file.base)) refuse(difference(file.base, seen));
    else if (write && place.viaLink && file.result === null)
      refuse('it is a symbolic link, which Emend does not delete');
    if (write && seen.kind === 'file') {
      stats.set(place.real, seen.stat);
      const { base } = file;
      if (base !== null && isAt(seen, base)) await blobs.put(seen.bytes);
    }
    if (write && file.result !== null) place.missing.forEach((dir) => dirs.add(dir));
    files.push({ ...file, real: place.real, write, ...attributes(seen) });
  }
  for (const { path, real } of files)
    if (dirs.has(real))
      conflicts.push({ path, why: `${path}: the proposal makes files below it, too` });
  return { files, conflicts, stats, dirs: [...dirs].sort() };
};

const wanted = ({ proposal, files }: ApplyRequest): readonly ProposalFile[] => {
  const asked = new Set(files);
  return proposal.files.filter((file) => asked.has(file.path));
};

type Attributes = Pick<PlannedFile, 'special' | 'owner'>;
export const attributes = (
  seen: Seen,
  absent: Attributes = { special: 0, owner: null },
): Attributes => {
  if (seen.kind !== 'file') return absent;
  const { mode, uid, gid } = seen.stat;
  return { special: mode & ~PERMISSIONS, owner: { uid, gid } };
};

/** Did nothing happen to the files since they were checked? Bytes are read again only where the inode says that they may differ. */
export const isUnchanged = async (
  sys: Sys,
  root: string,
  checked: Pick<Checked, 'files' | 'stats'>,
): Promise<boolean> => {
  for (const file of checked.files.filter((f) => f.write)) {
    if (!(await isStillDirectory(sys, root, dirOf(file.real)))) return false;
    const path = join(root, file.real);
    const before = checked.stats.get(file.real);
    const now = await orNull(sys.lstat(path), ['ENOENT', 'ENOTDIR']);
    const same =
      now !== null &&
      before?.id === now.id &&
      before.changed_ns === now.changed_ns &&
      before.size === now.size;
    if (!same && !isAt(await look(sys, path), file.base)) return false;
  }
  return true;
};

// Before the point of no return: temporary files next to the targets, and their removal where nothing comes of it.

const NEW_DIRECTORY = 0o777; // less the umask, as mkdir(1) does it
const TOMBSTONE = 0o600;
const SYNCED_TOGETHER = 4; // bound: Results and directories made durable at once, as Node's pool has threads: a disk does those of one moment together.

/** Makes names that came and went in the directories (relative to the workspace) durable, each directory once. `gone`: errnos of one that need not be. */
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
  // A temp file that a power cut takes back would look like a finished one.
  await syncDirs(sys, plan.workspace, [...plan.dirs.map(dirOf), ...targetDirs(plan)], []);
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
  await syncDirs(sys, plan.workspace, [...targetDirs(plan), ...plan.dirs.map(dirOf)]);
};
