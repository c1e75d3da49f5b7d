/**
 * What is used of node:fs/promises, made at once in the caller's thread while that is quick: through Node's thread pool a call costs ten times
 * the CPU and time of the system call itself, and a step makes some 600, one after the other (docs/decisions/0032). The event loop is not
 * held up: after `TURN_MS` of such calls in one of its turns, for a while after one that took `SLOW_MS`, for
 * many bytes and for every sync the pool does the work, as node:fs/promises would.
 */
import * as fs from 'node:fs';
import * as pooled from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';

const TURN_MS = 5; // bound: Of calls made at once in one turn of the event loop.
const SLOW_MS = 100; // bound: A call that took longer waited for a disk that sleeps, or a network; a busy machine alone seldom takes that long.
const POOLED_MS = 1_000; // bound: After a slow call all are left to the pool for so long.
const AT_ONCE_BYTES = 256 * 1024; // bound: Read or written at once; more takes milliseconds.

let spent_ms = 0;
let pooledUntil_ms = 0;

const atOnce = <T>(call: () => T): T => {
  if (spent_ms === 0) setImmediate(() => (spent_ms = 0));
  const from_ms = performance.now();
  try {
    return call();
  } finally {
    const took_ms = performance.now() - from_ms;
    spent_ms += took_ms;
    if (took_ms > SLOW_MS) pooledUntil_ms = from_ms + took_ms + POOLED_MS;
  }
};

/** One call in two forms: of the same meaning, with the types of `later`. `bytes` says how many it moves. */
const quick = <Later extends (...args: never[]) => Promise<unknown>>(
  now: (...args: Parameters<Later>) => unknown,
  later: Later,
  bytes: (...args: Parameters<Later>) => number = () => 0,
): Later =>
  (async (...args: Parameters<Later>) =>
    spent_ms < TURN_MS && performance.now() >= pooledUntil_ms && bytes(...args) <= AT_ONCE_BYTES
      ? atOnce(() => now(...args))
      : await later(...args)) as Later;

export const access = quick(fs.accessSync, pooled.access);
export const chmod = quick(fs.chmodSync, pooled.chmod);
export const link = quick(fs.linkSync, pooled.link);
export const lstat = quick(fs.lstatSync, pooled.lstat);
export const mkdir = quick(fs.mkdirSync, pooled.mkdir);
export const readdir = quick(fs.readdirSync, pooled.readdir);
export const readlink = quick(
  (path: string) => fs.readlinkSync(path),
  (path: string) => pooled.readlink(path),
);
export const realpath = quick(
  (path: string) => fs.realpathSync.native(path),
  (path: string) => pooled.realpath(path),
);
export const rename = quick(fs.renameSync, pooled.rename);
export const rmdir = quick(fs.rmdirSync, pooled.rmdir);
export const stat = quick(fs.statSync, pooled.stat);
export const unlink = quick(fs.unlinkSync, pooled.unlink);
export const utimes = quick(fs.utimesSync, pooled.utimes);

/** All of a file; a pipe that somebody put in its place is waited for in the pool. */
export const readFile = quick(
  (path: string) => fs.readFileSync(path),
  (path: string) => pooled.readFile(path),
  (path) => {
    const found = fs.statSync(path, { throwIfNoEntry: false });
    return found?.isFile() === false ? Infinity : (found?.size ?? 0);
  },
);

/** Files by their descriptor. */
const open = quick(fs.openSync, promisify(fs.open));
const close = quick(fs.closeSync, promisify(fs.close));
export const fchmod = quick(fs.fchmodSync, promisify(fs.fchmod));
export const fchown = quick(fs.fchownSync, promisify(fs.fchown));
export const fstat = quick(fs.fstatSync, promisify(fs.fstat));
export const fsync = promisify(fs.fsync);

export const withFile = async <T>(
  path: string,
  flags: number,
  mode: number,
  use: (file: number) => Promise<T>,
): Promise<T> => {
  const file = await open(path, flags, mode);
  try {
    return await use(file);
  } finally {
    await close(file);
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
  (file: number, into: Uint8Array, at: number | null) => fs.readSync(file, into, 0, into.length, at),
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
