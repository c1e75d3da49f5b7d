/**
 * Git's lock of a person's index, held while a commit of ours lands. ◆ Steps, each durable before the next:
 *
 * 1. A folder `emend/index.<owner>` in the git directory, whose name identifies the process, with the note `lock`.
 * 2. `index.lock` is a hard link to that note. From here on no git writes the index or makes a commit of it.
 * 3. `before` and `next` are links to the index. Git brings `next` up to date by writing a new file over it.
 * 4. `next` is renamed over the index.
 * 5. The branch moves (the caller). If it does not, `before` is renamed over the index.
 * 6. `index.lock` is removed, then the folder.
 *
 * Git itself moves the branch before it renames the index. A git that reads HEAD and then the index between these two takes the new
 * commit with the old index, and its own commit reverts the change. With the index first, a git that reads the new HEAD reads the new index.
 *
 * If the process dies, the next commit, merge or lock of the workspace finds the folder. If `index.lock` still has the bytes of the note, it
 * is ours: the index is kept if the branch has the commit, and else restored. A lock of another program is never removed.
 */
import { randomBytes } from 'node:crypto';
import { lstat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, dirname } from 'node:path';
import { ensureDir, orNull, unlinkIfThere } from '../../system/durable.js';
import { jsonOf } from '../../system/json.js';
import { sha256 } from '../../system/hash.js';
import { ownProcess, pidNamespace, processOf } from '../../system/process.js';
import { errnoOf, linksFail, type Sys } from '../../system/sys.js';
import { sameEntry, treeChanges, treeEntries } from './entries.js';
import { git, gitLine, type GitRepository } from './git.js';

// bound: Age at which the lock of a process that cannot be looked up (another container or machine) counts as left behind. A commit takes seconds.
const FOREIGN_LOCK_MS = 600_000;

/** Names the commit that the index belongs to, for the process that finds the lock of a dead one. */
export interface IndexLockNote {
  readonly commit: string;
  /** The parent of the commit: the branch must still be at it. */
  readonly head: string | null;
  readonly headRef: string | null;
}

export interface IndexLock {
  /** A copy of the index, for `GIT_INDEX_FILE`. */
  readonly next: string;
  /** Renames `next` over the index. False: another program removed the lock, so the index may be in use. */
  replace(): Promise<boolean>;
  /** Ends the lock. If the branch has not moved and does not have the commit, the earlier index is restored. */
  end(isMoved: boolean): Promise<void>;
}

type Place = Pick<GitRepository, 'root' | 'gitDir'>;

/** Takes the lock, or returns the path of the lock that another program holds. */
export async function takeIndexLock(
  sys: Sys,
  place: Place,
  note: IndexLockNote,
): Promise<IndexLock | { readonly lockedBy: string }> {
  await recoverIndexLock(sys, place);
  const index = await indexOf(sys, place);
  const dir = join(foldersIn(place), `index.${await owner(sys)}.${randomBytes(6).toString('hex')}`);
  const lock = lockIn(place, dir, index);
  await ensureDir(sys, dirname(dir), 0o755);
  await sys.mkdir(dir, 0o755);
  try {
    const bytes = new TextEncoder().encode(
      `${JSON.stringify({ ...note, id: randomBytes(16).toString('hex') })}\n`,
    );
    await sys.writeExclusive(lock.note, bytes, { mode: 0o644 });
    await sys.fsyncDir(dir);
    await sys.fsyncDir(dirname(dir));
    if (!(await linkExclusive(sys, lock.note, lock.lock, bytes))) {
      await removeFolder(sys, lock);
      return { lockedBy: lock.lock };
    }
    await copyIndex(sys, lock);
  } catch (error) {
    await end(sys, lock, false).catch(() => undefined);
    throw error;
  }
  return {
    next: lock.next,
    replace: () => replace(sys, lock),
    end: (isMoved) => end(sys, lock, isMoved),
  };
}

/** Ends the locks of this working tree's index that dead processes left behind. */
export async function recoverIndexLock(sys: Sys, place: Place): Promise<void> {
  const folders = foldersIn(place);
  const names = (await orNull(sys.readdir(folders), ['ENOENT', 'ENOTDIR'])) ?? [];
  for (const name of names.filter((entry) => NAME.test(entry))) {
    if (!(await isDead(sys, folders, name))) continue;
    // The process that renames the folder first does the work. If it dies, the next one finds the folder under its name.
    const claimed = `index.${await owner(sys)}.${randomBytes(6).toString('hex')}`;
    const isClaimed = sys.rename(join(folders, name), join(folders, claimed)).then(() => true);
    if ((await orNull(isClaimed)) === null) continue;
    const index = await indexOf(sys, place);
    await end(sys, lockIn(place, join(folders, claimed), index), false);
  }
}

const foldersIn = ({ gitDir }: Place): string => join(gitDir, 'emend');

/** Returns the real path of the index. If it is a link, git follows it and creates the lock next to the real file. */
const indexOf = async (sys: Sys, { gitDir }: Place): Promise<string> => {
  const path = join(gitDir, 'index');
  return (await orNull(sys.realpath(path))) ?? path;
};

interface LockFiles {
  readonly root: string;
  readonly dir: string;
  readonly note: string;
  readonly before: string;
  readonly next: string;
  readonly index: string;
  readonly lock: string;
}
const lockIn = ({ root }: Place, dir: string, index: string): LockFiles => ({
  root,
  dir,
  note: join(dir, 'lock'),
  before: join(dir, 'before'),
  next: join(dir, 'next'),
  index,
  lock: `${index}.lock`,
});

/**
 * Creates the lock. False: the name is taken. Without hard links it writes the file exclusively. If the process dies at that moment, the
 * user has to remove the file.
 */
async function linkExclusive(
  sys: Sys,
  note: string,
  lock: string,
  bytes: Uint8Array,
): Promise<boolean> {
  const attempt = sys.link(note, lock).catch((error: unknown) => {
    if (!linksFail(error)) throw error;
    return sys.writeExclusive(lock, bytes, { mode: 0o644 });
  });
  return attempt
    .then(() => true)
    .catch((error: unknown) => {
      if (errnoOf(error) !== 'EEXIST') throw error;
      return false;
    });
}

/** Copies the index, to `before` last: if there is `before` without `next`, the index was replaced. */
async function copyIndex(sys: Sys, { root, dir, index, before, next }: LockFiles): Promise<void> {
  if ((await orNull(sys.lstat(index))) === null) {
    // Git takes a missing index for an empty one.
    const call = { cwd: root, env: { GIT_INDEX_FILE: next } };
    const emptyIndex = await git(['read-tree', '--empty'], call);
    if (!emptyIndex.ok) throw new Error(emptyIndex.problem.message);
    await linkOrCopy(sys, next, before);
  } else {
    await linkOrCopy(sys, index, next);
    await linkOrCopy(sys, index, before);
  }
  await sys.fsyncDir(dir);
}

/**
 * Links or copies with the same time. Git compares the content of each file that is not older than the index. With a younger copy it would
 * take a file for unchanged that was saved while the index was written.
 */
async function linkOrCopy(sys: Sys, from: string, to: string): Promise<void> {
  try {
    await sys.link(from, to);
  } catch (error) {
    if (!linksFail(error)) throw error;
    const { mtimeMs, mode } = await lstat(from);
    await sys.copyExclusive(from, to, { mode: mode & 0o777 });
    const time_s = Math.floor(mtimeMs / 1000);
    await utimes(to, time_s, time_s);
  }
}

async function replace(sys: Sys, { note, lock, next, index }: LockFiles): Promise<boolean> {
  if (!(await isOurs(sys, note, lock))) return false;
  await sys.fsyncFile(next);
  await sys.rename(next, index);
  await sys.fsyncDir(dirname(index));
  return true;
}

async function end(sys: Sys, files: LockFiles, isMoved: boolean): Promise<void> {
  const { note, lock, before, next, index } = files;
  if (await isOurs(sys, note, lock)) {
    const isThere = async (path: string): Promise<boolean> =>
      (await orNull(sys.lstat(path))) !== null;
    const isReplaced = !(await isThere(next)) && (await isThere(before));
    if (isReplaced && !isMoved && !(await isLanded(sys, files))) {
      await sys.rename(before, index);
      await sys.fsyncDir(dirname(index));
    }
    await sys.unlink(lock);
  }
  await removeFolder(sys, files);
}

async function removeFolder(sys: Sys, { dir, note, before, next }: LockFiles): Promise<void> {
  for (const path of [next, `${next}.lock`, before, `${before}.lock`, note])
    await unlinkIfThere(sys, path);
  await orNull(sys.rmdir(dir));
}

/** Returns whether the lock is ours. A git of the user that replaced it has written other bytes: a whole index, or nothing. */
async function isOurs(sys: Sys, note: string, lock: string): Promise<boolean> {
  const [ours, there] = await Promise.all([orNull(sys.lstat(note)), orNull(sys.lstat(lock))]);
  if (ours === null || there?.kind !== 'file' || there.size !== ours.size) return false;
  if (there.id === ours.id) return true;
  const [expected, found] = await Promise.all([sys.readFile(note), orNull(sys.readFile(lock))]);
  return found !== null && Buffer.from(expected).equals(found);
}

/** Returns whether the branch has the commit, or another commit that took its changes from the index. */
async function isLanded(sys: Sys, { root, note }: LockFiles): Promise<boolean> {
  const content = jsonOf(new TextDecoder().decode(await sys.readFile(note)));
  const { commit, head, headRef } = {
    commit: '',
    head: null,
    headRef: null,
    ...content,
  } as IndexLockNote;
  const call = { cwd: root, reading: true } as const;
  const tip = await gitLine(
    ['rev-parse', '--quiet', '--verify', `${headRef ?? 'HEAD'}^{commit}`],
    call,
  );
  if (!tip.ok) return false;
  const above = ['merge-base', '--is-ancestor', commit, tip.value];
  if ((await git(above, call)).ok) return true;
  if (tip.value === head) return false;
  const changes = await treeChanges(root, head, commit);
  const current = await treeEntries(root, tip.value, changes.paths);
  return changes.paths.every((path) => sameEntry(current.get(path), changes.commit.get(path)));
}

// The owner is in the folder's name, so that it is known from the moment in which the folder is there.

const NAME =
  /^index\.([0-9a-f]{8})\.([0-9a-f]{8})\.([0-9a-f]{8})\.(\d+)\.([0-9a-f]{8})\.[0-9a-f]{12}$/;
const digest = (text: string): string => sha256(text).slice(0, 8);

interface Machine {
  readonly host: string;
  readonly boot: string;
  readonly namespace: string;
}
const machineOf = async (sys: Sys, boot: string): Promise<Machine> => ({
  host: digest(hostname()),
  boot: digest(boot),
  namespace: digest((await pidNamespace(sys)) ?? ''),
});

async function owner(sys: Sys): Promise<string> {
  const { boot, pid, started } = await ownProcess(sys);
  const machine = await machineOf(sys, boot);
  return [machine.host, machine.boot, machine.namespace, pid, digest(started)].join('.');
}

async function isDead(sys: Sys, folders: string, name: string): Promise<boolean> {
  const [, host, boot, namespace, pid, started] = NAME.exec(name) ?? [];
  const own = await machineOf(sys, (await ownProcess(sys)).boot);
  if (host === own.host && boot !== own.boot) return true;
  if (host === own.host && namespace === own.namespace) {
    const running = await processOf(sys, Number(pid));
    return running === null || digest(running.started) !== started;
  }
  const stat = await orNull(sys.lstat(join(folders, name)));
  return stat !== null && Date.now() - Number(stat.changed_ns / 1_000_000n) > FOREIGN_LOCK_MS;
}
