/** Before anything is written: is every file at its base (or at its result already), and is its place inside the workspace? */
import { join } from 'node:path';
import { difference, isAt, look, PERMISSIONS, type Seen } from './apply-look.js';
import { dirOf } from './apply-names.js';
import type { PlannedFile } from './apply-record.js';
import { orNull } from './sys-put.js';
import type { FileStat, Sys } from './sys.js';
import type { ApplyRequest, BlobStore, FileConflict, ProposalFile } from './types.js';
import { isStillDirectory, resolveInWorkspace } from './workspace-path.js';

export interface Checked {
  readonly files: readonly PlannedFile[];
  /** Directories to make, outermost first. */
  readonly dirs: readonly string[];
  readonly conflicts: readonly FileConflict[];
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
  const conflicts: FileConflict[] = [];
  const stats = new Map<string, FileStat>();
  const dirs = new Set<string>();
  const places = new Map<string, string>();
  for (const file of wanted(request)) {
    const refuse = (why: string) => conflicts.push({ path: file.path, why: `${file.path}: ${why}` });
    const place = await resolveInWorkspace(sys, root, file.path);
    if (!place.ok) {
      refuse(place.why);
      continue;
    }
    if (join(root, place.real).startsWith(`${home}/`)) refuse("it lies in Emend's own home");
    const twin = places.get(place.real);
    if (twin !== undefined) refuse(`it is the same file as ${twin}`);
    places.set(place.real, file.path);
    const seen = await look(sys, join(root, place.real));
    const write = file.by === 'model' && !isAt(seen, file.result);
    if (file.by === 'person' && !isAt(seen, file.result)) refuse(difference(file.result, seen));
    if (write && !isAt(seen, file.base)) refuse(difference(file.base, seen));
    else if (write && place.viaLink && file.result === null)
      refuse('it is a symbolic link, which Emend does not delete');
    if (write && seen.kind === 'file') {
      stats.set(place.real, seen.stat);
      if (isAt(seen, file.base)) await keepBase(blobs, file, seen);
    }
    if (write && file.result !== null) place.missing.forEach((dir) => dirs.add(dir));
    files.push({ ...file, real: place.real, write, ...attributes(seen) });
  }
  return { files, conflicts, stats, dirs: [...dirs].sort() };
};

const wanted = ({ proposal, files }: ApplyRequest): readonly ProposalFile[] => {
  const asked = new Set(files);
  return proposal.files.filter((file) => asked.has(file.path));
};

const attributes = (seen: Seen): Pick<PlannedFile, 'special' | 'owner'> => {
  if (seen.kind !== 'file') return { special: 0, owner: null };
  const { mode, uid, gid } = seen.stat;
  return { special: mode & ~PERMISSIONS, owner: { uid, gid } };
};

const keepBase = async (
  blobs: BlobStore,
  { base }: ProposalFile,
  seen: Extract<Seen, { kind: 'file' }>,
): Promise<void> => {
  if (base !== null && !(await blobs.has(base.ref))) await blobs.put(seen.bytes);
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
      now !== null && before?.id === now.id && before.changed_ns === now.changed_ns && before.size === now.size;
    if (!same && !isAt(await look(sys, path), file.base)) return false;
  }
  return true;
};
