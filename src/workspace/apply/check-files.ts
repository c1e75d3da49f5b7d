/** Checks before anything is written whether every file is at its base (or at its result already), and whether its place is in the workspace. */
import { join } from 'node:path';
import { difference, isAt, look, PERMISSIONS, type Seen } from './sides.js';
import type { PlannedFile } from './record.js';
import { dirOf } from './paths.js';
import { isStillDirectory, resolveInWorkspace } from './resolve-path.js';
import { sysBeneath } from './beneath-sys.js';
import { orNull } from '../../system/durable.js';
import type { FileStat, Sys } from '../../system/sys.js';
import type { ApplyRequest, ConflictFile } from '../ports.js';
import type { BlobStore } from '../../stores/ports.js';
import type { ProposalFile } from '../proposal.js';

export interface Checked {
  readonly files: readonly PlannedFile[];
  /** Directories to make, outermost first. */
  readonly dirs: readonly string[];
  readonly conflicts: readonly ConflictFile[];
  /** Attributes of the existing files, by `real`. */
  readonly stats: ReadonlyMap<string, FileStat>;
}

/**
 * Checks the files of a request. `root` and `home` are real paths. Writes nothing in the workspace, but puts each base into the blob store, as a
 * rollback needs it.
 */
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
  for (const file of requestedFiles(request)) {
    const refuse = (reason: string) =>
      conflicts.push({ path: file.path, why: `${file.path}: ${reason}` });
    const place = await resolveInWorkspace(sys, root, file.path);
    if (!place.ok) {
      refuse(place.reason);
      continue;
    }
    if (join(root, place.real).startsWith(`${home}/`)) refuse("it is inside Emend's home");
    const twin = places.get(place.real);
    if (twin !== undefined) refuse(`it is the same file as ${twin}`);
    places.set(place.real, file.path);
    const seen = await look(sysBeneath(sys, root), join(root, place.real));
    const write = file.by === 'model' && !isAt(seen, file.result);
    const refusal = write ? writeRefusal(file, seen, place.viaLink) : personRefusal(file, seen);
    if (refusal !== null) refuse(refusal);
    if (write && seen.kind === 'file') {
      stats.set(place.real, seen.stat);
      if (isAt(seen, file.base)) await blobs.put(seen.bytes);
    }
    if (write && file.result !== null) place.missing.forEach((dir) => dirs.add(dir));
    files.push({ ...file, real: place.real, write, ...attributes(seen) });
  }
  for (const { path, real } of files)
    if (dirs.has(real))
      conflicts.push({ path, why: `${path}: the proposal also makes files below it` });
  return { files, conflicts, stats, dirs: [...dirs].sort() };
};

/** Returns the reason for which Emend cannot write the file; null: it can. */
const writeRefusal = (
  { base, result }: ProposalFile,
  seen: Seen,
  isViaLink: boolean,
): string | null => {
  if (!isAt(seen, base)) return difference(base, seen);
  return isViaLink && result === null ? 'it is a symbolic link, which Emend does not delete' : null;
};

/** Returns how a file that a person changed differs from the proposal; null: it does not, or a person did not change it. */
const personRefusal = ({ by: author, result }: ProposalFile, seen: Seen): string | null =>
  author === 'person' && !isAt(seen, result) ? difference(result, seen) : null;

const requestedFiles = ({ proposal, files }: ApplyRequest): readonly ProposalFile[] => {
  const paths = new Set(files);
  return proposal.files.filter((file) => paths.has(file.path));
};

type Attributes = Pick<PlannedFile, 'special' | 'owner'>;
/** Returns the special mode bits and the owner of a file; `absent` if it is none. */
export const attributes = (
  seen: Seen,
  absent: Attributes = { special: 0, owner: null },
): Attributes => {
  if (seen.kind !== 'file') return absent;
  const { mode, uid, gid } = seen.stat;
  return { special: mode & ~PERMISSIONS, owner: { uid, gid } };
};

/** Returns whether the files are as they were when they were checked. Reads the bytes again only if the inode shows that they may differ. */
export const isUnchanged = async (
  sys: Sys,
  root: string,
  checked: Pick<Checked, 'files' | 'stats'>,
): Promise<boolean> => {
  for (const file of checked.files.filter((f) => f.write)) {
    if (!(await isStillDirectory(sys, root, dirOf(file.real)))) return false;
    const path = join(root, file.real);
    const before = checked.stats.get(file.real);
    const current = await orNull(sys.lstat(path), ['ENOENT', 'ENOTDIR']);
    const same =
      current !== null &&
      before?.id === current.id &&
      before.changed_ns === current.changed_ns &&
      before.size === current.size;
    if (!same && !isAt(await look(sys, path), file.base)) return false;
  }
  return true;
};
