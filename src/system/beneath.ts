/**
 * Opens, reads, lists, writes and removes files beneath a root without following a link in any part of the path. A root is a directory of
 * ours or a workspace, by a path that is ours; what is beneath it was chosen by commands, or is changed by them meanwhile.
 *
 * Node.js has no `openat2`. On Linux each part is opened by `/proc/self/fd/<directory>/<name>` with O_PATH and O_NOFOLLOW: that name is looked
 * up in the very directory that was opened before, so a part that is swapped for a link later does not matter. A file is opened with
 * O_PATH first and read only if it is a regular one: a named pipe is never waited for, and no device is touched.
 *
 * Without /proc (macOS) the parts are checked by path before and after each use, and an open file is compared with what was checked. That
 * refuses a link that stays. It does not stop a process that swaps a directory for a link and back within the two checks.
 */
import { randomBytes } from 'node:crypto';
import { constants, existsSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import * as fs from './fs.js';
import { errnoOf } from './sys.js';

export type RefusalReason =
  | 'absent'
  | 'link'
  | 'not_a_directory'
  | 'not_a_file'
  | 'too_large'
  | 'forbidden'
  | 'not_empty'
  | 'changed'
  | 'outside';

/** `path`: relative to the root, up to the part that is the reason. */
export type Refusal = Readonly<{ ok: false; reason: RefusalReason; path: string }>;
export type Found<T> = Readonly<{ ok: true; value: T }> | Refusal;

/** An open directory that was reached without links. */
export interface Directory {
  readonly fd: number;
  /** Path of the directory itself, for system calls while it is open. */
  readonly self: string;
  /** Path of a name in it, for system calls that do not follow a link at the end of a path. */
  pathOf(name: string): string;
}

/** An entry that was opened without a right to read it (O_PATH): for its attributes, or as the source of a mount. */
export interface Pinned {
  readonly fd: number;
  readonly stat: Stats;
}

/** `descriptors`: by /proc/self/fd. `paths`: by path, with checks before and after. */
export type Way = 'descriptors' | 'paths';
const WAY: Way =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptors' : 'paths';

/** A directory that is open cannot be swapped: `at` names are looked up in it. */
export const canPinDirectories = WAY === 'descriptors';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_RDONLY } = constants;
/** Node.js does not export it. Its value is the same on all processors that Node.js supports on Linux. */
const O_PATH = 0o10_000_000;
const READ = O_RDONLY | O_NONBLOCK | O_NOCTTY;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW;
const READ_BYTES = 64 * 1024; // bound: Of a file that grows while it is read, so much at a time.
const NEW_DIRECTORY = 0o777; // less the umask, as mkdir(1) does it
const TEMPORARY_CHARS = 40; // bound: Characters of a target's name in that of its temporary file.

const found = <T>(value: T) => ({ ok: true, value }) as const;
const refused = (reason: RefusalReason, path: string): Refusal => ({ ok: false, reason, path });

const REASONS: Readonly<Record<string, RefusalReason>> = {
  ENOENT: 'absent',
  // No file can have such a name.
  ENAMETOOLONG: 'absent',
  ENOTDIR: 'not_a_directory',
  EISDIR: 'not_a_file',
  ELOOP: 'link',
  EMLINK: 'link',
  EACCES: 'forbidden',
  EPERM: 'forbidden',
  EROFS: 'forbidden',
  ENOTEMPTY: 'not_empty',
  EEXIST: 'not_empty',
};

/** Returns the refusal for an error of a system call at a path; throws any other error. */
function refusalFor(error: unknown, path: string): Refusal {
  const reason = REASONS[errnoOf(error) ?? ''];
  if (reason === undefined) throw error;
  return refused(reason, path);
}

const attempt = async <T>(work: Promise<T>, path: string): Promise<Found<T>> =>
  work.then(found, (error: unknown) => refusalFor(error, path));

/** Returns the parts of a relative path; null: it is absolute, has `..`, or is no normal path. */
function partsOf(path: string): readonly string[] | null {
  if (path === '') return [];
  const parts = path.split('/');
  const isNormal = parts.every(
    (part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'),
  );
  return isNormal ? parts : null;
}

const isSame = (one: Stats, other: Stats): boolean =>
  one.dev === other.dev && one.ino === other.ino;

/** A directory on the way, as it was when it was entered. */
interface Step {
  readonly path: string;
  readonly stat: Stats;
}

interface OpenedDirectory extends Directory {
  /** Null: reached by descriptors, where nothing can be swapped any more. */
  readonly steps: readonly Step[] | null;
}

const byDescriptor = (fd: number): OpenedDirectory => ({
  fd,
  self: `/proc/self/fd/${fd}`,
  pathOf: (name) => `/proc/self/fd/${fd}/${name}`,
  steps: null,
});

const byPath = (fd: number, path: string, steps: readonly Step[]): OpenedDirectory => ({
  fd,
  self: path,
  pathOf: (name) => join(path, name),
  steps,
});

/** Opens a directory by a path whose last part may be a link, which is refused. `place` names it in a refusal. */
async function openReal(
  path: string,
  place: string,
  way: Way,
  before: readonly Step[],
): Promise<Found<OpenedDirectory>> {
  const stat = await attempt(fs.lstat(path), place);
  if (!stat.ok) return stat;
  if (stat.value.isSymbolicLink()) return refused('link', place);
  if (!stat.value.isDirectory()) return refused('not_a_directory', place);
  const access = way === 'descriptors' ? O_PATH : O_RDONLY;
  const fd = await attempt(fs.openFile(path, access | O_DIRECTORY | O_NOFOLLOW, 0), place);
  // The kernel answers "not a directory" for a link.
  if (!fd.ok) return fd.reason === 'not_a_directory' ? refused('link', place) : fd;
  if (way === 'descriptors') return found(byDescriptor(fd.value));
  const steps = [...before, { path, stat: stat.value }];
  if (isSame(await fs.fstat(fd.value), stat.value)) return found(byPath(fd.value, path, steps));
  await fs.closeFile(fd.value);
  return refused('changed', place);
}

/** Returns whether each directory on the way is still the one that was entered. */
async function areStill(steps: readonly Step[] | null): Promise<boolean> {
  for (const { path, stat } of steps ?? []) {
    const current = await attempt(fs.lstat(path), path);
    if (!current.ok || !isSame(current.value, stat)) return false;
  }
  return true;
}

type Missing = 'refuse' | 'make';

/** Opens the root, then each directory in the one before. `missing`: a directory that is absent is made. */
async function openParts(
  root: string,
  parts: readonly string[],
  way: Way,
  missing: Missing,
): Promise<Found<OpenedDirectory>> {
  let current = await openReal(root, '', way, []);
  for (const [index, part] of parts.entries()) {
    if (!current.ok) return current;
    const above: OpenedDirectory = current.value;
    const place = parts.slice(0, index + 1).join('/');
    try {
      const refusal = missing === 'make' ? await makeDirectory(above.pathOf(part), place) : null;
      current = refusal ?? (await openReal(above.pathOf(part), place, way, above.steps ?? []));
    } finally {
      await fs.closeFile(above.fd);
    }
  }
  return current;
}

/** Makes a directory unless something is there. Returns a refusal, or null. */
async function makeDirectory(path: string, place: string): Promise<Refusal | null> {
  try {
    await fs.mkdir(path, { mode: NEW_DIRECTORY });
    return null;
  } catch (error) {
    return errnoOf(error) === 'EEXIST' ? null : refusalInOpen(error, place);
  }
}

/** Returns the refusal for a name that cannot be made in an open directory. If nothing is there, the directory was removed. */
function refusalInOpen(error: unknown, place: string): Refusal {
  if (errnoOf(error) === 'ENAMETOOLONG') throw error;
  const refusal = refusalFor(error, place);
  return refusal.reason === 'absent' ? refused('changed', place) : refusal;
}

export interface DirectoryOptions {
  /** `make`: directories that are absent are made. */
  readonly missing?: Missing;
  readonly way?: Way;
}

/** Opens a directory beneath the root ('' is the root itself) while `use` works. */
export async function withDirectory<T>(
  root: string,
  path: string,
  use: (directory: Directory) => Promise<Found<T>>,
  { missing = 'refuse', way = WAY }: DirectoryOptions = {},
): Promise<Found<T>> {
  const parts = partsOf(path);
  if (parts === null) return refused('outside', path);
  const opened = await openParts(root, parts, way, missing);
  if (!opened.ok) return opened;
  const { fd, steps } = opened.value;
  try {
    const result = await use(opened.value);
    return (await areStill(steps)) ? result : refused('changed', path);
  } finally {
    await fs.closeFile(fd);
  }
}

const split = (path: string): { readonly parent: string; readonly name: string } => {
  const end = path.lastIndexOf('/');
  return { parent: path.slice(0, Math.max(0, end)), name: path.slice(end + 1) };
};

/** Opens the directory above a path while `use` works with its last part. */
export const withParent = <T>(
  root: string,
  path: string,
  use: (directory: Directory, name: string) => Promise<Found<T>>,
  options?: DirectoryOptions,
): Promise<Found<T>> => {
  const { parent, name } = split(path);
  if (partsOf(path) === null || name === '') return Promise.resolve(refused('outside', path));
  return withDirectory(root, parent, (directory) => use(directory, name), options);
};

/** Returns the attributes of what is at a path, which may be a link itself. */
export const statBeneath = (root: string, path: string, way: Way = WAY): Promise<Found<Stats>> =>
  withParent(root, path, (parent, name) => attempt(fs.lstat(parent.pathOf(name)), path), { way });

/** Lists the names in a directory, in their order. */
export const listBeneath = (
  root: string,
  path: string,
  way: Way = WAY,
): Promise<Found<readonly string[]>> =>
  withDirectory(
    root,
    path,
    async (directory) => {
      const names = await attempt(fs.readdir(directory.self), path);
      return names.ok ? found(names.value.toSorted()) : names;
    },
    { way },
  );

/** Opens what is at a path without reading it, while `use` works. A link is refused. Linux only: macOS has no O_PATH. */
export const withPinned = <T>(
  root: string,
  path: string,
  use: (pinned: Pinned) => Promise<Found<T>>,
): Promise<Found<T>> =>
  withParent(root, path, async (parent, name) => {
    const fd = await attempt(fs.openFile(parent.pathOf(name), O_PATH | O_NOFOLLOW, 0), path);
    if (!fd.ok) return fd;
    try {
      const stat = await fs.fstat(fd.value);
      return stat.isSymbolicLink() ? refused('link', path) : await use({ fd: fd.value, stat });
    } finally {
      await fs.closeFile(fd.value);
    }
  });

const kindRefusal = (stat: Stats, path: string): Refusal | null => {
  if (stat.isSymbolicLink()) return refused('link', path);
  return stat.isFile() ? null : refused('not_a_file', path);
};

/** Opens a regular file in an open directory for reading, and nothing else. */
async function openRegular(
  directory: Directory,
  name: string,
  path: string,
  way: Way,
): Promise<Found<number>> {
  const place = directory.pathOf(name);
  if (way === 'descriptors') {
    const pinned = await attempt(fs.openFile(place, O_PATH | O_NOFOLLOW, 0), path);
    if (!pinned.ok) return pinned;
    try {
      const refusal = kindRefusal(await fs.fstat(pinned.value), path);
      return (
        refusal ?? (await attempt(fs.openFile(`/proc/self/fd/${pinned.value}`, READ, 0), path))
      );
    } finally {
      await fs.closeFile(pinned.value);
    }
  }
  const stat = await attempt(fs.lstat(place), path);
  if (!stat.ok) return stat;
  const refusal = kindRefusal(stat.value, path);
  if (refusal !== null) return refusal;
  const file = await attempt(fs.openFile(place, READ | O_NOFOLLOW, 0), path);
  if (!file.ok || isSame(await fs.fstat(file.value), stat.value)) return file;
  await fs.closeFile(file.value);
  return refused('changed', path);
}

export interface OpenFile {
  readonly fd: number;
  readonly stat: Stats;
}

/** Opens a regular file for reading while `use` works. */
export const withFileBeneath = <T>(
  root: string,
  path: string,
  use: (file: OpenFile) => Promise<Found<T>>,
  way: Way = WAY,
): Promise<Found<T>> =>
  withParent(
    root,
    path,
    async (parent, name) => {
      const fd = await openRegular(parent, name, path, way);
      if (!fd.ok) return fd;
      try {
        return await use({ fd: fd.value, stat: await fs.fstat(fd.value) });
      } finally {
        await fs.closeFile(fd.value);
      }
    },
    { way },
  );

export interface FileContent {
  readonly bytes: Buffer;
  /** Permission bits. */
  readonly mode: number;
}

/** Reads a regular file of at most `max_bytes`, also if it grows meanwhile. */
export const readBeneath = (
  root: string,
  path: string,
  max_bytes: number,
  way: Way = WAY,
): Promise<Found<FileContent>> =>
  withFileBeneath(
    root,
    path,
    async ({ fd, stat }) => {
      if (stat.size > max_bytes) return refused('too_large', path);
      const bytes = await readAtMost(fd, stat.size, max_bytes);
      if (bytes === null) return refused('too_large', path);
      return found({ bytes, mode: stat.mode & 0o777 });
    },
    way,
  );

/** Returns all bytes of a file; null: they are more than `max_bytes`. */
async function readAtMost(fd: number, size: number, max_bytes: number): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let total = 0;
  for (let length = size + 1; ; length = READ_BYTES) {
    const part = Buffer.allocUnsafe(length);
    const count = await fs.read(fd, part, null);
    if (count === 0) return Buffer.concat(parts);
    parts.push(part.subarray(0, count));
    total += count;
    if (total > max_bytes) return null;
  }
}

export interface NewFile {
  readonly mode: number;
  /** Writes the bytes to the open file. */
  readonly write: (fd: number) => Promise<void>;
}

/**
 * Writes a file beneath the root, in place of a regular file or of nothing, and makes the directories above it. The new file is in the same
 * directory, and is renamed to the path when it is complete.
 */
export const replaceBeneath = (
  root: string,
  path: string,
  { mode, write }: NewFile,
  way: Way = WAY,
): Promise<Found<null>> =>
  withParent(
    root,
    path,
    async (parent, name) => {
      const stat = await attempt(fs.lstat(parent.pathOf(name)), path);
      const refusal = stat.ok ? kindRefusal(stat.value, path) : stat;
      if (refusal !== null && refusal.reason !== 'absent') return refusal;
      const random = randomBytes(6).toString('hex');
      const temporary = parent.pathOf(`.emend-${random}-${name.slice(0, TEMPORARY_CHARS)}`);
      try {
        await fs.withFile(temporary, CREATE, 0o600, async (fd) => {
          await write(fd);
          await fs.fchmod(fd, mode);
        });
        await fs.rename(temporary, parent.pathOf(name));
        return found(null);
      } catch (error) {
        await fs.unlink(temporary).catch(() => undefined);
        return refusalInOpen(error, path);
      }
    },
    { way, missing: 'make' },
  );

/** Removes a file or a link, or a directory that is empty. Value: whether anything was there. */
export const removeBeneath = (
  root: string,
  path: string,
  way: Way = WAY,
): Promise<Found<boolean>> =>
  withParent(
    root,
    path,
    async (parent, name) => {
      const place = parent.pathOf(name);
      const stat = await attempt(fs.lstat(place), path);
      if (!stat.ok) return stat.reason === 'absent' ? found(false) : stat;
      const removed = stat.value.isDirectory() ? fs.rmdir(place) : fs.unlink(place);
      const done = await attempt(removed, path);
      return done.ok ? found(true) : done;
    },
    { way },
  );

const WORDS: Readonly<Record<RefusalReason, string>> = {
  absent: 'does not exist',
  link: 'is a symbolic link',
  not_a_directory: 'is not a directory',
  not_a_file: 'is not a regular file',
  too_large: 'is too large',
  forbidden: 'cannot be changed or read with the rights of this user',
  not_empty: 'is a directory that is not empty',
  changed: 'was replaced or removed in the meantime',
  outside: 'is no path beneath the root',
};

/** Returns the reason as a sentence without its period: "build/out is a symbolic link". */
export const refusalText = ({ reason, path }: Refusal): string =>
  `${path === '' ? 'the root' : path} ${WORDS[reason]}`;
