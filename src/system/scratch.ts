/**
 * Makes scratch directories below TMPDIR, `emend-<what>.<where>.<pid>.<born>.<random>`, and removes those of dead processes.
 *
 * The name identifies the process that made a directory, so that the scratch of a killed process is distinguished from that of a live one:
 * `where` is a hash of this boot and pid namespace, `born` one of the process's start. The next process that needs a scratch directory clears
 * up, and so do a worker's start, `emend recover` and `emend gc`.
 */
import { existsSync, rmSync } from 'node:fs';
import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from './hash.js';
import { ownProcess, pidNamespace, processOf } from './process.js';
import { realSys } from './sys.js';

// bound: Age from which a scratch directory of another boot or container is removed: no work in one takes a day.
export const FOREIGN_SCRATCH_MS = 86_400_000;

/** Parent of directories for which TMPDIR is not suitable: the path of a socket has at most 107 bytes, and every user can enter this one. */
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

/** Removes the scratch directories of dead processes. A directory that cannot be removed stays, which blocks nothing. */
export const clearScratch = async (): Promise<void> => {
  for (const dir of await deadScratch())
    await rm(dir, { recursive: true, force: true }).catch(() => undefined);
};

/** Returns the paths of scratch directories that dead processes of this user left. */
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
    const [, origin, pid, born] = names.exec(name) ?? [];
    if (origin === undefined || pid === undefined || born === undefined) continue;
    const path = join(parent, name);
    const stat = await lstat(path).catch(() => null);
    if (stat?.isDirectory() !== true || stat.uid !== (process.getuid?.() ?? stat.uid)) continue;
    // It is from an earlier boot, or from a container that shares TMPDIR, whose processes are not visible here.
    if (origin !== ours) {
      if (Date.now() - stat.mtimeMs > FOREIGN_SCRATCH_MS) dead.push(path);
      continue;
    }
    const maker = await processOf(realSys, Number(pid));
    if (maker === null || digest(maker.started) !== born) dead.push(path);
  }
  return dead;
};

const digest = (text: string): string => sha256(text).slice(0, 8);

/** Returns a hash of this boot and pid namespace. */
const where = async (): Promise<string> =>
  digest(`${(await ownProcess(realSys)).boot} ${(await pidNamespace(realSys)) ?? ''}`);
