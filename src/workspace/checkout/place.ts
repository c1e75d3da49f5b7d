/** Where the checkouts of a run are in a home, and what the home remembers of the run. */
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { StepKey } from '../../shared/ids.js';
import type { RepositoryBase } from '../../shared/repository.js';
import { homePaths } from '../../stores/home.js';
import { readJson } from '../../system/durable.js';
import { sha256 } from '../../system/hash.js';
import { realSys as sys } from '../../system/sys.js';
import * as remotes from './remote.js';

const DIGITS = 16; // bound: Digits of the hash of a URL in the name of its directory.
const NONCE_BYTES = 8; // bound: Random part of the name of a worktree.
const UNUSED_DAYS = 7; // bound: A checkout that no activity used for so long is removed.

export interface RunOnRepository {
  readonly stepKey: StepKey;
  readonly repository: RepositoryBase;
  readonly signal: AbortSignal;
}

export interface Place {
  readonly remote: remotes.Remote;
  /** Branch or commit that the run is based on, as the run's input names it. */
  readonly branch: string;
  /** Other runs also push to its branch. */
  readonly isShared: boolean;
  /** Directory with the mirror, and with the worktrees and notes of all runs on this URL. */
  readonly dir: string;
}

/** ◆ A run's hold on its branch, which its note in the home has: the token that the home put on the remote, and the worktree made under it. */
export interface CheckoutHold extends remotes.RunRefs {
  /** Time at which the server scheduled the attempt that took the hold, ms since the epoch. */
  readonly at: number;
  readonly path: string;
}

/** Throws ProblemError `job_invalid`, `remote_refused`, `git_failed`. */
export async function openPlace(
  home: string,
  { stepKey, repository }: RunOnRepository,
): Promise<Place> {
  const { url, base, branch } = repository;
  const dir = join(homePaths(home).repositories, sha256(url).slice(0, DIGITS));
  const remote = await remotes.openRemote(join(dir, 'mirror.git'), stepKey, repository);
  return { remote, dir, branch: branch ?? base, isShared: branch !== undefined };
}

/** Returns the path of a worktree of the run. */
export const worktreePath = (
  { dir, remote }: Place,
  nonce = randomBytes(NONCE_BYTES).toString('hex'),
): string => join(dir, `${remote.stepKey}.${nonce}`);

/** Returns the path of the run's note. */
export const notePath = (place: Place): string => worktreePath(place, 'json');

export const readNote = (place: Place): Promise<CheckoutHold | null> =>
  readJson<CheckoutHold>(sys, notePath(place), 'CheckoutHold');

/** Removes the run's note and its worktrees. */
export const removeRun = ({ dir, remote }: Place): Promise<void> =>
  remotes.removeNamed(dir, `${remote.stepKey}.`);

/** Removes the worktree of an attempt that was given up, and the note if it is of that attempt. */
export async function removeWorktree(place: Place, { path }: CheckoutHold): Promise<void> {
  if ((await readNote(place))?.path === path) await rm(notePath(place), { force: true });
  await remotes.removeNamed(place.dir, basename(path));
}

/** Removes checkouts of runs that ended without a commit, or that went on elsewhere. */
export async function removeUnused({ dir }: Place): Promise<void> {
  for (const name of (await readdir(dir)).filter((entry) => entry.endsWith('.json'))) {
    const { mtimeMs } = await stat(join(dir, name)).catch(() => ({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs >= UNUSED_DAYS * 86_400_000)
      await remotes.removeNamed(dir, name.slice(0, -'json'.length));
  }
}
