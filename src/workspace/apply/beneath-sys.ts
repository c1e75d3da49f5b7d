/**
 * The system calls of a transaction on the files of its workspace: each path is looked up from the workspace without following a link, so
 * that a directory which is swapped for a link between a check and a write does not matter. Where there is no /proc, the paths are used as
 * they are, and only the checks before each step refuse links.
 */
import { relative, sep } from 'node:path';
import { canPinDirectories, withDirectory, withParent, type Found } from '../../system/beneath.js';
import { errnoOf, type Sys } from '../../system/sys.js';

/** Returns the system calls with all paths in `root` (a real path) looked up beneath it. Other paths are the home's. */
export function sysBeneath(sys: Sys, root: string): Sys {
  if (!canPinDirectories) return sys;
  const inside = (path: string): string | null => {
    const below = relative(root, path);
    return below === '' || below === '..' || below.startsWith(`..${sep}`) || below.startsWith(sep)
      ? null
      : below;
  };
  /** Works with the path of a name in its opened directory. */
  const inParent = async <T>(path: string, call: (place: string) => Promise<T>): Promise<T> => {
    const below = inside(path);
    if (below === null) return call(path);
    const result = await withParent(root, below, (dir, name) =>
      named(call(dir.pathOf(name)), dir.pathOf(name), path),
    );
    return valueAt(path, result);
  };
  const both = <T>(
    one: string,
    other: string,
    call: (one: string, other: string) => Promise<T>,
  ): Promise<T> => inParent(one, (first) => inParent(other, (second) => call(first, second)));
  /** Works with the path of an opened directory. */
  const within = async <T>(path: string, call: (place: string) => Promise<T>): Promise<T> => {
    const below = path === root ? '' : inside(path);
    if (below === null) return call(path);
    const result = await withDirectory(root, below, (dir) => named(call(dir.self), dir.self, path));
    return valueAt(path, result);
  };
  return {
    ...sys,
    writeExclusive: (path, ...rest) =>
      inParent(path, (place) => sys.writeExclusive(place, ...rest)),
    copyExclusive: (from, to, file) =>
      both(from, to, (one, other) => sys.copyExclusive(one, other, file)),
    rename: (from, to) => both(from, to, (one, other) => sys.rename(one, other)),
    link: (existing, path) => both(existing, path, (one, other) => sys.link(one, other)),
    unlink: (path) => inParent(path, (place) => sys.unlink(place)),
    unlinkReading: (path) => inParent(path, (place) => sys.unlinkReading(place)),
    mkdir: (path, mode) => inParent(path, (place) => sys.mkdir(place, mode)),
    rmdir: (path) => inParent(path, (place) => sys.rmdir(place)),
    lstat: (path) => inParent(path, (place) => sys.lstat(place)),
    readEntry: (path) => inParent(path, (place) => sys.readEntry(place)),
    readdir: (path) => within(path, (place) => sys.readdir(place)),
    fsyncDir: (path) => within(path, (place) => sys.fsyncDir(place)),
    touch: (path) => within(path, (place) => sys.touch(place)),
    openToWrite: (path) => inParent(path, (place) => sys.openToWrite(place)),
  };
}

/** Waits for a system call. Its error names the path, not the place by which it was reached. */
async function named<T>(work: Promise<T>, place: string, path: string): Promise<Found<T>> {
  try {
    return { ok: true, value: await work };
  } catch (error) {
    if (errnoOf(error) === null) throw error;
    const known = error as NodeJS.ErrnoException & { dest?: string };
    if (known.path === place) known.path = path;
    if (known.dest === place) known.dest = path;
    known.message = known.message.replaceAll(place, path);
    throw error;
  }
}

const ERRNOS = {
  absent: 'ENOENT',
  // The error is the same as for a file in the place of a directory: the path leads nowhere.
  link: 'ENOTDIR',
  not_a_directory: 'ENOTDIR',
  forbidden: 'EACCES',
} as const;

/** Returns the value that was found. Throws the error that a system call throws for such a path. */
function valueAt<T>(path: string, result: Found<T>): T {
  if (result.ok) return result.value;
  const code = result.reason in ERRNOS ? ERRNOS[result.reason as keyof typeof ERRNOS] : 'ENOENT';
  throw Object.assign(new Error(`${code}: ${path}`), { code, path });
}
