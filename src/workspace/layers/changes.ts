/** Lists what a command left in the upper layer of its overlay, against the layers below. No link is followed. */
import { constants, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { fail } from '../../shared/problems.js';
import { orNull } from '../../system/durable.js';
import { readdir } from '../../system/fs.js';
import { errnoOf } from '../../system/sys.js';
import { entriesIn, entryAt, isRemovalMark } from './entries.js';

/** One entry that a command wrote or removed; `path` is relative to the workspace. */
export interface Change {
  readonly path: string;
  readonly kind: 'file' | 'link' | 'removed' | 'other';
}

/** Returns the names that the command saw at its end in each of these directories. */
export type ShownNames = (
  directories: readonly string[],
) => Promise<ReadonlyMap<string, ReadonlySet<string>>>;

export interface ChangesRequest {
  readonly upper: string;
  /** Layers under `upper`, the highest first. */
  readonly below: readonly string[];
  readonly shownNames: ShownNames;
}

const CHANGES = 10_000; // bound: Entries of one upper layer that are listed.
const DIRECTORIES = 100_000; // bound: Directories of one upper layer that are entered to list its changes.
const COMPARED_BYTES = 65_536; // bound: Two files are compared in parts of this size.

/**
 * Lists the changed files, links and removals in the order of their paths; only those of a path that `isWanted` accepts, which must also
 * accept the directories above.
 */
export async function changesIn(
  request: ChangesRequest,
  isWanted: (path: string) => boolean = () => true,
): Promise<readonly Change[]> {
  const { upper, below } = request;
  const changes: Change[] = [];
  /** A directory that was removed and made again has no marks for the names that were in it. */
  const directories: string[] = [];
  const visit = async (dir: string): Promise<void> => {
    directories.push(dir);
    for (const { name, stat } of await entriesIn(join(upper, dir))) {
      const path = pathIn(dir, name);
      if (!isWanted(path)) continue;
      if (changes.length >= CHANGES || directories.length >= DIRECTORIES) return;
      // A repository that the command made is one change.
      if (stat.isDirectory() && name !== '.git') await visit(path);
      else if (!stat.isFile() || !(await isAsBelow(upper, below, path)))
        changes.push({ path, kind: kindOf(stat) });
    }
  };
  await visit('');
  const removed = (await removedWithoutMark(request, directories)).filter(isWanted);
  return [...changes, ...removed.map((path): Change => ({ path, kind: 'removed' }))]
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .slice(0, CHANGES);
}

const pathIn = (dir: string, name: string): string => (dir === '' ? name : `${dir}/${name}`);

const kindOf = (stat: Stats): Change['kind'] => {
  if (stat.isFile()) return 'file';
  if (stat.isSymbolicLink()) return 'link';
  return isRemovalMark(stat) ? 'removed' : 'other';
};

/** Returns whether the layers below show the same bytes and mode: a command that only touches a file has it copied up. */
async function isAsBelow(upper: string, below: readonly string[], path: string): Promise<boolean> {
  const there = await shownBelow(below, path);
  if (there === null) return false;
  const [ours, theirs] = [join(upper, path), join(there, path)];
  const [own, other] = [await entryAt(ours), await entryAt(theirs)];
  if (own === null || other?.isFile() !== true) return false;
  return own.mode === other.mode && own.size === other.size && haveSameBytes(ours, theirs);
}

/** Returns the highest layer that has the path; null: there is none, or a higher one hides it. */
async function shownBelow(layers: readonly string[], path: string): Promise<string | null> {
  for (const layer of layers) {
    const stat = await entryIn(layer, path);
    if (stat === 'hidden') return null;
    if (stat !== 'absent') return layer;
  }
  return null;
}

/** Looks a path up in one layer. `hidden`: the layer has something on the way that hides what lower layers have. */
async function entryIn(layer: string, path: string): Promise<Stats | 'absent' | 'hidden'> {
  const parts = path.split('/');
  for (let length = 1; length < parts.length; length++) {
    const parent = await entryAt(join(layer, ...parts.slice(0, length)));
    if (parent === null) return 'absent';
    if (!parent.isDirectory()) return 'hidden';
  }
  const stat = await entryAt(join(layer, path));
  if (stat === null) return 'absent';
  return isRemovalMark(stat) ? 'hidden' : stat;
}

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

async function haveSameBytes(one: string, two: string): Promise<boolean> {
  const files: FileHandle[] = [];
  try {
    for (const path of [one, two]) files.push(await open(path, READ));
    for (;;) {
      const [a, b] = await Promise.all(files.map((file) => nextBytes(file)));
      if (a === undefined || b === undefined || !a.equals(b)) return false;
      if (a.length === 0) return true;
    }
  } catch (error) {
    // A file that nobody may read counts as changed.
    if (['EACCES', 'EPERM', 'ENOENT'].includes(errnoOf(error) ?? '')) return false;
    throw error;
  } finally {
    for (const file of files) await file.close();
  }
}

async function nextBytes(file: FileHandle): Promise<Buffer> {
  const part = Buffer.alloc(COMPARED_BYTES);
  let length = 0;
  for (let count = -1; count !== 0 && length < part.length; length += count)
    count = (await file.read(part, length, part.length - length, null)).bytesRead;
  return part.subarray(0, length);
}

/** Returns the names below these directories that the command did not see at its end, and that have no mark in the upper layer. */
export async function removedWithoutMark(
  { upper, below, shownNames }: ChangesRequest,
  directories: readonly string[],
): Promise<readonly string[]> {
  const missing = new Map<string, readonly string[]>();
  // The workspace itself cannot be removed.
  for (const dir of directories.filter((path) => path !== '')) {
    const own = new Set((await entriesIn(join(upper, dir))).map(({ name }) => name));
    const names = (await namesBelow(below, dir)).filter((name) => !own.has(name));
    if (names.length > 0) missing.set(dir, names);
  }
  if (missing.size === 0) return [];
  const shown = await shownNames([...missing.keys()]);
  return [...missing].flatMap(([dir, names]) =>
    names.filter((name) => shown.get(dir)?.has(name) !== true).map((name) => pathIn(dir, name)),
  );
}

const UNREADABLE = ['ENOENT', 'ENOTDIR', 'EACCES'];

/** Lists the names that layers show together in a directory. Does not open one that is closed: it may be the workspace's. */
async function namesBelow(layers: readonly string[], dir: string): Promise<readonly string[]> {
  const names = new Map<string, boolean>();
  for (const layer of layers) {
    const own = await entryIn(layer, dir);
    if (own === 'absent') continue;
    // A link may lead anywhere.
    if (own === 'hidden' || !own.isDirectory()) break;
    for (const name of (await orNull(readdir(join(layer, dir)), UNREADABLE)) ?? []) {
      const stat = await entryAt(join(layer, dir, name));
      if (!names.has(name)) names.set(name, stat !== null && !isRemovalMark(stat));
    }
  }
  return [...names].filter(([, isThere]) => isThere).map(([name]) => name);
}

/**
 * Reads a file that a command left below `dir`, a directory of ours, after the command has ended. Returns null if there is nothing at that
 * path. Throws ProblemError `target_not_a_file` for anything but a regular file reached through real directories, and `target_too_large`.
 */
export async function readFromLayer(
  dir: string,
  path: string,
  max_bytes: number = STORE_BOUNDS.target_bytes,
): Promise<{ readonly bytes: Buffer; readonly mode: number } | null> {
  const file = await openInLayer(dir, path);
  if (file === null) return null;
  try {
    const { size, mode } = await file.stat();
    if (size > max_bytes)
      return fail('target_too_large', `A command left ${path} with more than ${max_bytes} bytes.`);
    return { bytes: await file.readFile(), mode: mode & 0o777 };
  } finally {
    await file.close();
  }
}

/** Opens a regular file that a command left, through real directories; null: there is nothing. Throws ProblemError `target_not_a_file`. */
export async function openInLayer(dir: string, path: string): Promise<FileHandle | null> {
  const notAFile = () =>
    fail('target_not_a_file', `A command left ${path} as something other than a file.`);
  const parts = path.split('/');
  let place = dir;
  for (const [index, part] of parts.entries()) {
    place = join(place, part);
    const stat = await entryAt(place);
    if (stat === null) return null;
    const isExpected = index === parts.length - 1 ? stat.isFile() : stat.isDirectory();
    if (!isExpected) return notAFile();
  }
  const file = await open(place, READ);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  return notAFile();
}
