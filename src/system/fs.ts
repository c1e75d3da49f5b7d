/**
 * Makes calls of node:fs/promises at once in the caller's thread while that is quick. Through Node's thread pool a call costs ten times the CPU
 * and time of the system call itself, and a step makes some 600, one after the other (docs/decisions/0032).
 *
 * The pool does the work, as node:fs/promises would, in these cases, so that the event loop turns in between and waits for no disk:
 * - `TURN_MS` have passed since the first call at once in this turn of the event loop,
 * - a call took `SLOW_MS` a short while ago,
 * - the path is on a file system that another machine or a program serves,
 * - the call moves many bytes, lists a directory, or syncs.
 */
import * as fs from 'node:fs';
import * as pooled from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { fail } from '../shared/problems.js';
import { kindOfFileSystem, mountOf, mountsIn, type MountedFileSystem } from './mount-table.js';

const TURN_MS = 10; // bound: Time from the first call at once in a turn of the event loop, with all that the program does in between.
const SLOW_MS = 25; // bound: A call that took longer waited for a disk; a busy machine alone seldom makes one wait so long.
const POOLED_MS = 1_000; // bound: The pool makes all calls for this time after a slow one.
const MOUNTS_MS = 10_000; // bound: The table of mounts is read again after this time.
const AT_ONCE_BYTES = 256 * 1024; // bound: Bytes that are read or written at once; more take milliseconds.

let mounts: readonly MountedFileSystem[] = [];
let mountsEnd_ms = -Infinity;
const isFarMount = (mount: MountedFileSystem): boolean => kindOfFileSystem(mount) !== 'local';
/** An open file by the path of its descriptor, or a name in an open directory. */
const DESCRIPTOR = /^\/proc\/self\/fd\/(\d+)(?:\/|$)/;
const isFar = (path: string): boolean => {
  const descriptor = DESCRIPTOR.exec(path)?.[1];
  if (descriptor !== undefined) return far.has(Number(descriptor));
  const now_ms = performance.now();
  if (now_ms > mountsEnd_ms) {
    mountsEnd_ms = now_ms + MOUNTS_MS;
    let text = '';
    try {
      text = fs.readFileSync('/proc/self/mountinfo', 'utf8');
    } catch {
      // Not Linux.
    }
    const all = mountsIn(text);
    mounts = all.some(isFarMount) ? all : [];
  }
  const mount = mountOf(mounts, path);
  return mount !== null && isFarMount(mount);
};
/** Descriptors of open files that another machine or a program serves. */
const far = new Set<number>();

/** Time from which the pool makes the calls of this turn; null: no call was made at once in this turn yet. */
let turnEnds_ms: number | null = null;
let pooledUntil_ms = 0;

/** Returns whether a call may be made at once. `file` is its path or descriptor. */
const mayBeAtOnce = (file: unknown): boolean => {
  const now_ms = performance.now();
  if (now_ms < pooledUntil_ms || (typeof file === 'number' ? far.has(file) : isFar(String(file))))
    return false;
  if (turnEnds_ms !== null) return now_ms < turnEnds_ms;
  turnEnds_ms = now_ms + TURN_MS;
  setImmediate(() => (turnEnds_ms = null));
  return true;
};

const atOnce = <T>(call: () => T): T => {
  const from_ms = performance.now();
  try {
    return call();
  } finally {
    const now_ms = performance.now();
    if (now_ms - from_ms > SLOW_MS) pooledUntil_ms = now_ms + POOLED_MS;
  }
};

/** Returns a call that is made by `callAtOnce` or by `later`, which do the same. `bytes` returns how many bytes the call moves. */
const quick = <Later extends (...args: never[]) => Promise<unknown>>(
  callAtOnce: (...args: Parameters<Later>) => unknown,
  later: Later,
  bytes?: (...args: Parameters<Later>) => number,
): Later =>
  (async (...args: Parameters<Later>) =>
    mayBeAtOnce(args[0]) && (bytes === undefined || atOnce(() => bytes(...args)) <= AT_ONCE_BYTES)
      ? atOnce(() => callAtOnce(...args))
      : await later(...args)) as Later;

export const access = quick(fs.accessSync, pooled.access);
export const link = quick(fs.linkSync, pooled.link);
export const lstat = quick(fs.lstatSync, pooled.lstat);
export const mkdir = quick(fs.mkdirSync, pooled.mkdir);
export const readlink = quick<(path: string) => Promise<string>>(fs.readlinkSync, pooled.readlink);
export const realpath = quick<(path: string) => Promise<string>>(
  fs.realpathSync.native,
  pooled.realpath,
);
export const rename = quick(fs.renameSync, pooled.rename);
export const rmdir = quick(fs.rmdirSync, pooled.rmdir);
export const stat = quick(fs.statSync, pooled.stat);
export const unlink = quick(fs.unlinkSync, pooled.unlink);
export const utimes = quick(fs.utimesSync, pooled.utimes);
/** A directory may have any size. */
export const readdir = promisify(fs.readdir);

/** Returns the size of a file; infinite: it is no regular file. If there is no answer, 0: then the call itself reports the reason. */
const sizeOf = (path: string): number => {
  try {
    const found = fs.statSync(path);
    return found.isFile() ? found.size : Infinity;
  } catch (error) {
    return isLoop(error) ? Infinity : 0;
  }
};
const isLoop = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ELOOP';
/** Reads a regular file. Throws ProblemError `disk` for anything else: the reader of a pipe waits, and a device may have no end. */
const readLater = async (path: string): Promise<Buffer> => {
  const found = await pooled
    .stat(path)
    .then(kindOf, (error: unknown) => (isLoop(error) ? 'a loop of links' : 'a file'));
  if (found === 'a file') return pooled.readFile(path);
  return fail(
    'disk',
    `${path} is ${found}, expected a file.`,
    'Put the file back, or remove what is there.',
  );
};
export const readFile = quick(fs.readFileSync as (path: string) => Buffer, readLater, sizeOf);

export const kindOf = (
  found: Pick<fs.Stats, 'isFile' | 'isDirectory' | 'isFIFO' | 'isSocket'>,
): string => {
  if (found.isFile()) return 'a file';
  if (found.isDirectory()) return 'a directory';
  if (found.isFIFO()) return 'a named pipe';
  if (found.isSocket()) return 'a socket';
  return 'a device';
};

/** Files by their descriptor. */
const open = quick(fs.openSync, promisify(fs.open));
const closeLater = promisify(fs.close);
const close = quick(fs.closeSync, closeLater);
export const fchmod = quick(fs.fchmodSync, promisify(fs.fchmod));
export const fchown = quick(fs.fchownSync, promisify(fs.fchown));
export const fstat = quick(fs.fstatSync, promisify(fs.fstat));
export const fsync = promisify(fs.fsync);

/** Opens a file and returns its descriptor, which `closeFile` closes. */
export const openFile = async (path: string, flags: number, mode: number): Promise<number> => {
  const file = await open(path, flags, mode);
  if (isFar(path)) far.add(file);
  return file;
};
/** Closes a file. The number may be that of another file afterwards. */
export const closeFile = (file: number): Promise<void> =>
  far.delete(file) ? closeLater(file) : close(file);

export const withFile = async <T>(
  path: string,
  flags: number,
  mode: number,
  use: (file: number) => Promise<T>,
): Promise<T> => {
  const file = await openFile(path, flags, mode);
  try {
    return await use(file);
  } finally {
    await closeFile(file);
  }
};

const pool = {
  readFile: promisify(fs.readFile),
  writeFile: promisify(fs.writeFile),
  read: promisify(fs.read),
  write: promisify(fs.write),
};
/** Reads all bytes from the current position of the file. */
export const readAll = quick(
  (file: number) => fs.readFileSync(file),
  (file: number) => pool.readFile(file),
  (file) => fs.fstatSync(file).size,
);
export const writeAll = quick(
  (file: number, bytes: Uint8Array) => fs.writeFileSync(file, bytes),
  (file: number, bytes: Uint8Array) => pool.writeFile(file, bytes),
  (_, bytes) => bytes.length,
);
/** Reads into a buffer from `position`, or from the file's current position (null). Returns the number of bytes read. */
export const read = quick(
  (file: number, into: Uint8Array, position: number | null) =>
    fs.readSync(file, into, 0, into.length, position),
  async (file: number, into: Uint8Array, position: number | null) =>
    (await pool.read(file, into, 0, into.length, position)).bytesRead,
  (_, into) => into.length,
);
/** Makes one write. Returns the number of bytes written, which may be fewer than all. */
export const write = quick(
  (file: number, bytes: Uint8Array) => fs.writeSync(file, bytes),
  async (file: number, bytes: Uint8Array) => (await pool.write(file, bytes)).bytesWritten,
  (_, bytes) => bytes.length,
);
