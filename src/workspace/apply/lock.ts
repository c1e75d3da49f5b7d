/**
 * The lock of a step on a workspace. ◆ Each taking has a file of its own, `<number>.json`, which is written once; `<number>.end.json` ends
 * it. Therefore the token rises with every taking, a lock is never half written, and no late writer can restore an ended one.
 */
import { join } from 'node:path';
import { withoutUndefined } from '../../shared/absence.js';
import { fail, nullOn } from '../../shared/problems.js';
import { repositoryIfGit, type GitRepository, type Head } from '../git/git.js';
import { recoverIndexLock } from '../git/index-lock.js';
import { sha256 } from '../../system/hash.js';
import { homePaths } from '../../stores/home.js';
import type { StepKey } from '../../shared/ids.js';
import { onDisk, orNull, putJsonIfAbsent, readJson, removePut } from '../../system/durable.js';
import { type Clock, isoTime, systemClock } from '../../system/clock.js';
import { realSys, type Sys } from '../../system/sys.js';
import type { LockAttempt, WorkspaceLock } from '../ports.js';

const LOCK_TAKINGS = 100; // bound: Number of races lost in a row before a taking gives up; after each lost race, another step had the lock.
const ENDED_LOCKS = 3; // bound: Number of ended locks that are kept, so that a user can find out what happened; older ones are removed.

/** The place of the lock of a workspace, and its HEAD at that moment. */
interface LockPlace extends Head {
  readonly dir: string;
  /** Null outside git. */
  readonly repository: GitRepository | null;
}

/**
 * Returns the directory of the lock of a workspace, with the commit and the branch of HEAD. The directory is in the git directory, so that
 * two homes exclude each other; each worktree has its own. It is in the home if the workspace is not in git, or git is not installed. The
 * commit is null if there is none yet, the branch also if HEAD is detached. `root` is the real path of the workspace. Throws ProblemError
 * `git_failed` if git does not know the directory.
 */
const lockPlace = async (root: string, home: string): Promise<LockPlace> => {
  const repository = await repositoryIfGit(root);
  if (repository === null)
    return {
      dir: join(homePaths(home).locks, sha256(root)),
      repository,
      head: null,
      headRef: null,
    };
  const { head, headRef } = repository;
  return { dir: join(repository.gitDir, 'emend', 'lock'), repository, head, headRef };
};

export type LockTaking = LockAttempt & {
  /** This call took the lock; the step did not have it before. */
  readonly taken: boolean;
  /** Returns whether this lock has not ended. The caller checks it right before a change that cannot be taken back. */
  readonly isCurrent: () => Promise<boolean>;
};

export type CurrentTaking = LockTaking & { readonly outcome: 'held' };

/** The workflow that takes a lock, and the token of its earlier lock that this one continues. */
type Holder = Pick<WorkspaceLock, 'workflowId' | 'namespace' | 'continues'>;

export interface Locks {
  /** Takes the lock. Returns `held` (with the unchanged lock, if the step has it already), or `busy` with the lock of the other step. */
  take(workspace: string, stepKey: StepKey, holder: Holder): Promise<LockTaking>;
  read(workspace: string): Promise<WorkspaceLock | null>;
  /** Returns the last locks, also those that have ended. Locks that cannot be read are left out. */
  takings(workspace: string): Promise<readonly WorkspaceLock[]>;
  /**
   * Ends the lock of the step. Does nothing if the step does not have it, or has one with another token: a late caller must not end a
   * lock that was taken later.
   */
  release(workspace: string, stepKey: StepKey, token?: number | null): Promise<void>;
  /** Ends the lock with this token, whichever step has it, for steps whose workflow is closed. Returns false if the workspace has another lock, or none. */
  break(workspace: string, token: number): Promise<boolean>;
}

export interface LockOptions {
  readonly home: string;
  readonly sys?: Sys;
  /** Clock for the times in a lock. */
  readonly clock?: Clock;
}

/** Modes with which the other users of the repository can read the lock, as their Emend must see it. */
const MODES = { mode: 0o644, dirMode: 0o755 };

interface CurrentLock {
  readonly token: number;
  readonly holder: WorkspaceLock | null;
  readonly numbers: readonly number[];
}

type LockContext = Required<LockOptions>;

const takenPath = (place: LockPlace, token: number) => join(place.dir, `${token}.json`);
const endPath = (place: LockPlace, token: number) => join(place.dir, `${token}.end.json`);

/** Returns the newest lock of the place. Its holder is null if it has ended, or if there was none yet. */
const readCurrent = async (sys: Sys, place: LockPlace): Promise<CurrentLock> => {
  const names = (await orNull(sys.readdir(place.dir))) ?? [];
  const numbers = names
    .flatMap((name) => /^([1-9][0-9]*)\.json$/.exec(name)?.[1] ?? [])
    .map(Number);
  const token = Math.max(0, ...numbers);
  if (token === 0 || names.includes(`${token}.end.json`)) return { token, holder: null, numbers };
  const oddIn = (lock: WorkspaceLock): string | null =>
    lock.token === token ? null : `it is the lock ${lock.token}`;
  // Null if the file was removed since the listing: then the lock had ended.
  const holder = await readJson<WorkspaceLock>(
    sys,
    takenPath(place, token),
    'WorkspaceLock',
    oddIn,
  );
  return { token, holder, numbers };
};

/** Removes the files of old locks. */
const removeOld = async (
  sys: Sys,
  place: LockPlace,
  numbers: readonly number[],
  newest: number,
): Promise<void> => {
  for (const token of numbers.filter((n) => n < newest - ENDED_LOCKS)) {
    await removePut(sys, takenPath(place, token));
    await removePut(sys, endPath(place, token));
  }
};

/** Writes the file that ends a lock. */
const endLock = async (
  { sys, clock }: LockContext,
  place: LockPlace,
  token: number,
  author: string,
): Promise<void> => {
  await putJsonIfAbsent(
    sys,
    endPath(place, token),
    { token, by: author, at: isoTime(clock) },
    MODES,
  );
};

/** Returns a function that checks whether the lock has not ended. */
const currentCheck = (sys: Sys, place: LockPlace, token: number) => async (): Promise<boolean> =>
  (await orNull(sys.lstat(takenPath(place, token)))) !== null &&
  (await orNull(sys.lstat(endPath(place, token)))) === null;

/** Takes the lock of a place for the step, unless a step has it. */
const takeAt = async (
  { sys, home, clock }: LockContext,
  { root, place }: { readonly root: string; readonly place: LockPlace },
  stepKey: StepKey,
  { workflowId, namespace, continues }: Holder,
): Promise<LockTaking | null> => {
  for (let taking = 0; taking < LOCK_TAKINGS; taking++) {
    const current = await readCurrent(sys, place);
    if (current.holder !== null) {
      const isCurrent = currentCheck(sys, place, current.token);
      const lock = current.holder;
      return lock.stepKey === stepKey
        ? { outcome: 'held', lock, taken: false, isCurrent }
        : { outcome: 'busy', holder: lock, taken: false, isCurrent };
    }
    const token = current.token + 1;
    const { head, headRef } = await lockPlace(root, home);
    const lock: WorkspaceLock = withoutUndefined({
      token,
      stepKey,
      workflowId,
      namespace,
      takenAt: isoTime(clock),
      head,
      headRef,
      continues,
    });
    const put = await putJsonIfAbsent(sys, takenPath(place, token), lock, MODES);
    if (!put.created) continue;
    // If the files of this token were removed as too old before, it is no lock: other steps have taken newer ones.
    if ((await readCurrent(sys, place)).token !== token) {
      await removePut(sys, takenPath(place, token));
      continue;
    }
    await removeOld(sys, place, current.numbers, token);
    return { outcome: 'held', lock, taken: true, isCurrent: currentCheck(sys, place, token) };
  }
  return null;
};

export const createLocks = ({ home, sys = realSys, clock = systemClock }: LockOptions): Locks => {
  const context = { sys, home, clock };

  /** Calls `work` with the real path of a workspace and the place of its lock. */
  const on = <T>(
    workspace: string,
    work: (root: string, place: LockPlace) => Promise<T>,
  ): Promise<T> =>
    onDisk(`The lock of ${workspace}`, async () => {
      const root = await sys.realpath(workspace);
      return work(root, await lockPlace(root, home));
    });

  return {
    take: (workspace, stepKey, holder) =>
      on(workspace, async (root, place) => {
        // A commit that died while it had git's lock of the index blocks every later command in this workspace.
        if (place.repository !== null) await recoverIndexLock(sys, place.repository);
        const taking = await takeAt(context, { root, place }, stepKey, holder);
        if (taking !== null) return taking;
        return fail(
          'busy',
          `The lock of ${workspace} was taken by others ${LOCK_TAKINGS} times in a row.`,
        );
      }),

    read: (workspace) =>
      on(workspace, async (_root, place) => (await readCurrent(sys, place)).holder),

    takings: (workspace) =>
      on(workspace, async (_root, place) => {
        const paths = (await readCurrent(sys, place)).numbers.map((token) =>
          takenPath(place, token),
        );
        const read = (path: string) =>
          readJson<WorkspaceLock>(sys, path, 'WorkspaceLock').catch(nullOn('disk'));
        return (await Promise.all(paths.map(read))).filter((lock) => lock !== null);
      }),

    release: (workspace, stepKey, token) =>
      on(workspace, async (_root, place) => {
        const { holder } = await readCurrent(sys, place);
        if (holder?.stepKey === stepKey && (token ?? holder.token) === holder.token)
          await endLock(context, place, holder.token, stepKey);
      }),

    break: (workspace, token) =>
      on(workspace, async (_root, place) => {
        const { holder } = await readCurrent(sys, place);
        if (holder?.token !== token) return false;
        await endLock(context, place, token, 'recovery');
        return true;
      }),
  };
};
