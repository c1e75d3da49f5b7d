/**
 * Directories for the moment, below TMPDIR: `emend-<what>.<where>.<pid>.<born>.<random>`. The name says which process made it, so that
 * what a killed one left is told from what a live one works in: `where` stands for this boot and pid namespace, `born` for the process's
 * start. Who comes after a killed process clears up: the next that needs one, a worker's start, `emend recover` and `emend gc`.
 */
import { existsSync, rmSync } from 'node:fs';
import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from './hash.js';
import { ownProcess, pidNamespace, processOf } from './process.js';
import { realSys } from './sys.js';

// bound: Scratch directories of processes that cannot be asked: nothing that works in one takes a day.
export const FOREIGN_SCRATCH_MS = 86_400_000;

/** Parent of directories that TMPDIR is not for: a socket's path has at most 107 bytes, and every user can enter this one. */
export const SHORT_TMP = '/tmp';

const NAME =
  /^emend-(?:back|base|commit|empty|estimate|format|network|note|sign|wheel)\.([0-9a-f]{8})\.(\d+)\.([0-9a-f]{8})\./;

/**
 * Makes a directory below `parent` whose name says which process made it: `<what>.<where>.<pid>.<born>.<random>`, mode 0700.
 * `leftBehind` finds it once that process has ended.
 */
export const makeOwnedDirectory = async (parent: string, what: string): Promise<string> => {
  const { pid, started } = await ownProcess(realSys);
  return mkdtemp(join(parent, `${what}.${await where()}.${pid}.${digest(started)}.`));
};

/** Makes a directory that only this user reads, and removes it when `use` has ended. */
export const withScratch = async <T>(
  what: 'back' | 'base' | 'commit' | 'estimate' | 'format' | 'note' | 'sign' | 'wheel',
  use: (dir: string) => Promise<T>,
): Promise<T> => {
  await clearScratch();
  const dir = await makeOwnedDirectory(tmpdir(), `emend-${what}`);
  try {
    return await use(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

let empty: Promise<string> | null = null;
/** Returns an empty directory, the same one for as long as this process lives. */
export const emptyDirectory = async (): Promise<string> => {
  const known = await empty?.catch(() => null);
  if (known !== undefined && known !== null && existsSync(known)) return known;
  empty = makeEmptyDirectory();
  return empty;
};
const makeEmptyDirectory = async (): Promise<string> => {
  // Bubblewrap may run as another user than this process, who may not enter TMPDIR.
  const dir = await makeOwnedDirectory(SHORT_TMP, 'emend-empty');
  await chmod(dir, EVERYBODY_READS);
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  return dir;
};
const EVERYBODY_READS = 0o555;

/** Removes what dead processes left. What cannot be removed stays: it holds up nobody. */
export const clearScratch = async (): Promise<void> => {
  for (const dir of await deadScratch())
    await rm(dir, { recursive: true, force: true }).catch(() => undefined);
};

/** Of this user only; paths. */
export const deadScratch = async (): Promise<readonly string[]> => [
  ...(await leftBehind(tmpdir(), NAME)),
  ...(tmpdir() === SHORT_TMP ? [] : await leftBehind(SHORT_TMP, NAME)),
];

/**
 * Returns the paths of the directories below `parent` that ended processes of this user made with `makeOwnedDirectory`. `names` matches
 * their names and captures where they were made, the pid and the process's start.
 */
export const leftBehind = async (parent: string, names: RegExp): Promise<readonly string[]> => {
  const dead: string[] = [];
  const ours = await where();
  for (const name of await readdir(parent).catch(() => [])) {
    const [, made, pid, born] = names.exec(name) ?? [];
    if (made === undefined || pid === undefined || born === undefined) continue;
    const path = join(parent, name);
    const stat = await lstat(path).catch(() => null);
    if (stat?.isDirectory() !== true || stat.uid !== (process.getuid?.() ?? stat.uid)) continue;
    // Of an earlier boot, which is over, or of a container that shares TMPDIR, whose processes cannot be asked: none works so long.
    if (made !== ours) {
      if (Date.now() - stat.mtimeMs > FOREIGN_SCRATCH_MS) dead.push(path);
      continue;
    }
    const now = await processOf(realSys, Number(pid));
    if (now === null || digest(now.started) !== born) dead.push(path);
  }
  return dead;
};

const digest = (text: string): string => sha256(text).slice(0, 8);

const where = async (): Promise<string> =>
  digest(`${(await ownProcess(realSys)).boot} ${(await pidNamespace(realSys)) ?? ''}`);
