/**
 * What is used of node:fs/promises, made at once in the caller's thread while that is quick: through Node's thread pool a call costs ten times
 * the CPU and time of the system call itself, and a step makes some 600, one after the other (docs/decisions/0032). The pool does the work, as
 * node:fs/promises would, once `TURN_MS` have passed since the first such call of a turn of the event loop, for a while after one that took
 * `SLOW_MS`, on a network's filesystem, for many bytes, directories and every sync: so the loop turns in between and waits for no disk.
 */
import * as fs from 'node:fs';
import * as pooled from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { fail } from '../shared/problems.js';
import { kindOfFileSystem, mountOf, mountsIn, type MountedFileSystem } from './mount-table.js';

const TURN_MS = 10; // bound: From the first call made at once in a turn of the event loop, with all that the program does in between.
const SLOW_MS = 25; // bound: A call that took longer waited for a disk; a busy machine alone seldom makes one wait so long.
const POOLED_MS = 1_000; // bound: After a slow call all are left to the pool for so long.
const MOUNTS_MS = 10_000; // bound: What is mounted is looked at this often.
const AT_ONCE_BYTES = 256 * 1024; // bound: Read or written at once; more takes milliseconds.

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
/** Open files of a network. */
const far = new Set<number>();

/** The time from which on the pool works; null: no call was made at once in this turn yet. */
let turnEnds_ms: number | null = null;
let pooledUntil_ms = 0;

const mayBeAtOnce = (of: unknown): boolean => {
  const now_ms = performance.now();
  if (now_ms < pooledUntil_ms || (typeof of === 'number' ? far.has(of) : isFar(String(of))))
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

/** One call in two forms: of the same meaning, with the types of `later`. `bytes` says how many it moves. */
const quick = <Later extends (...args: never[]) => Promise<unknown>>(
  now: (...args: Parameters<Later>) => unknown,
  later: Later,
  bytes?: (...args: Parameters<Later>) => number,
): Later =>
  (async (...args: Parameters<Later>) =>
    mayBeAtOnce(args[0]) && (bytes === undefined || atOnce(() => bytes(...args)) <= AT_ONCE_BYTES)
      ? atOnce(() => now(...args))
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

/** Infinite: it is none. Where nobody can tell the call itself says why. */
const sizeOf = (path: string): number => {
  try {
    const found = fs.statSync(path);
    return found.isFile() ? found.size : Infinity;
  } catch (error) {
    return isLoop(error) ? Infinity : 0;
  }
};
const isLoop = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ELOOP';
/** Who reads a pipe waits, and a device may have no end: none that stands in a file's place is opened. Throws ProblemError `disk`. */
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
/** The number is another file's from then on. */
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
/** All that follows where the file was left. */
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
/** From `at`, or from where the file was left (null). How many bytes were read. */
export const read = quick(
  (file: number, into: Uint8Array, at: number | null) =>
    fs.readSync(file, into, 0, into.length, at),
  async (file: number, into: Uint8Array, at: number | null) =>
    (await pool.read(file, into, 0, into.length, at)).bytesRead,
  (_, into) => into.length,
);
/** One write; how many bytes were written. */
export const write = quick(
  (file: number, bytes: Uint8Array) => fs.writeSync(file, bytes),
  async (file: number, bytes: Uint8Array) => (await pool.write(file, bytes)).bytesWritten,
  (_, bytes) => bytes.length,
);
