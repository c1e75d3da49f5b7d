/**
 * A step's hold on a workspace. ◆ Each taking is a file of its own, `<number>.json`, written once; `<number>.end.json` ends it. So the
 * token rises with every taking, a lock is never half there, and no late writer can bring an ended one back.
 */
import { join } from 'node:path';
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

const LOCK_TAKINGS = 100; // bound: Lost races in a row before a taking gives up: each lost one means that somebody else took the lock.
const ENDED_LOCKS = 3; // bound: Ended locks kept for whoever looks into what happened; older ones are removed.

// Where a workspace's lock lies, and what its git says at that moment.

interface LockPlace extends Head {
  readonly dir: string;
  /** Null outside git. */
  readonly repository: GitRepository | null;
}

/**
 * The directory of a workspace's lock: in its git directory (each worktree has its own), so that two homes exclude each other; in the
 * home where there is no git, or none installed. With HEAD's commit and branch; null where there is none (no commits yet, detached, outside
 * git). `root` is the workspace's real path. Throws ProblemError `git_failed` where git cannot say which.
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
  /** This call took it; it was not held by the step before. */
  readonly taken: boolean;
  /** Is the lock of this token still the one that stands? Asked right before what cannot be taken back. */
  readonly isCurrent: () => Promise<boolean>;
};

export type CurrentTaking = LockTaking & { readonly outcome: 'held' };

export interface Locks {
  /** `held` (a step gets its own lock back unchanged) or `busy` with the other step's. */
  take(
    workspace: string,
    stepKey: StepKey,
    holder: Pick<WorkspaceLock, 'workflowId' | 'namespace' | 'continues'>,
  ): Promise<LockTaking>;
  read(workspace: string): Promise<WorkspaceLock | null>;
  /** The last ones, ended ones too; what cannot be read of them is left out. */
  takings(workspace: string): Promise<readonly WorkspaceLock[]>;
  /**
   * Does nothing where the step does not hold it, or holds it by another number than the one given: whoever comes late ends nothing
   * that was taken after it.
   */
  release(workspace: string, stepKey: StepKey, token?: number | null): Promise<void>;
  /** Ends the lock of this token whoever holds it; for steps whose workflow is closed. False where it is not the one held. */
  break(workspace: string, token: number): Promise<boolean>;
}

export interface LockOptions {
  readonly home: string;
  readonly sys?: Sys;
  /** Of what a lock says about when. */
  readonly clock?: Clock;
}

/** Readable for the repository's other users, whose Emend must see the lock. */
const MODES = { mode: 0o644, dirMode: 0o755 };

interface CurrentLock {
  readonly token: number;
  readonly holder: WorkspaceLock | null;
  readonly numbers: readonly number[];
}

export const createLocks = ({ home, sys = realSys, clock = systemClock }: LockOptions): Locks => {
  const takenPath = (place: LockPlace, token: number) => join(place.dir, `${token}.json`);
  const endPath = (place: LockPlace, token: number) => join(place.dir, `${token}.end.json`);

  const standing = async (place: LockPlace): Promise<CurrentLock> => {
    const names = (await orNull(sys.readdir(place.dir))) ?? [];
    const numbers = names
      .flatMap((name) => /^([1-9][0-9]*)\.json$/.exec(name)?.[1] ?? [])
      .map(Number);
    const token = Math.max(0, ...numbers);
    if (token === 0 || names.includes(`${token}.end.json`)) return { token, holder: null, numbers };
    // Removed since the listing: then it had ended.
    const oddIn = (lock: WorkspaceLock): string | null =>
      lock.token === token ? null : `it is the lock ${lock.token}`;
    const holder = await readJson<WorkspaceLock>(
      sys,
      takenPath(place, token),
      'WorkspaceLock',
      oddIn,
    );
    return { token, holder, numbers };
  };

  const forget = async (
    place: LockPlace,
    numbers: readonly number[],
    newest: number,
  ): Promise<void> => {
    for (const token of numbers.filter((n) => n < newest - ENDED_LOCKS)) {
      await removePut(sys, takenPath(place, token));
      await removePut(sys, endPath(place, token));
    }
  };

  const end = async (place: LockPlace, token: number, by: string): Promise<void> => {
    await putJsonIfAbsent(sys, endPath(place, token), { token, by, at: isoTime(clock) }, MODES);
  };

  const isCurrent = (place: LockPlace, token: number) => async (): Promise<boolean> =>
    (await orNull(sys.lstat(takenPath(place, token)))) !== null &&
    (await orNull(sys.lstat(endPath(place, token)))) === null;

  const on = <T>(
    workspace: string,
    work: (root: string, place: LockPlace) => Promise<T>,
  ): Promise<T> =>
    onDisk(`The lock of ${workspace}`, async () => {
      const root = await sys.realpath(workspace);
      return work(root, await lockPlace(root, home));
    });

  return {
    take: (workspace, stepKey, { workflowId, namespace, continues }) =>
      on(workspace, async (root, place) => {
        // A commit that died with git's lock of the index holds up everything that follows in this workspace.
        if (place.repository !== null) await recoverIndexLock(sys, place.repository);
        for (let taking = 0; taking < LOCK_TAKINGS; taking++) {
          const now_ = await standing(place);
          if (now_.holder !== null)
            return {
              ...(now_.holder.stepKey === stepKey
                ? { outcome: 'held', lock: now_.holder }
                : { outcome: 'busy', holder: now_.holder }),
              taken: false,
              isCurrent: isCurrent(place, now_.token),
            };
          const token = now_.token + 1;
          const { head, headRef } = await lockPlace(root, home);
          const ours: WorkspaceLock = {
            token,
            stepKey,
            workflowId,
            namespace,
            takenAt: isoTime(clock),
            head,
            headRef,
            ...(continues === undefined ? {} : { continues }),
          };
          const put = await putJsonIfAbsent(sys, takenPath(place, token), ours, MODES);
          if (!put.created) continue;
          // A token so old that its files were removed is no lock: somebody went on meanwhile.
          if ((await standing(place)).token !== token) {
            await removePut(sys, takenPath(place, token));
            continue;
          }
          await forget(place, now_.numbers, token);
          return { outcome: 'held', lock: ours, taken: true, isCurrent: isCurrent(place, token) };
        }
        return fail(
          'busy',
          `The lock of ${workspace} was taken by others ${LOCK_TAKINGS} times in a row.`,
        );
      }),

    read: (workspace) => on(workspace, async (_root, place) => (await standing(place)).holder),

    takings: (workspace) =>
      on(workspace, async (_root, place) => {
        const paths = (await standing(place)).numbers.map((token) => takenPath(place, token));
        const read = (path: string) =>
          readJson<WorkspaceLock>(sys, path, 'WorkspaceLock').catch(nullOn('disk'));
        return (await Promise.all(paths.map(read))).filter((lock) => lock !== null);
      }),

    release: (workspace, stepKey, token) =>
      on(workspace, async (_root, place) => {
        const { holder } = await standing(place);
        if (holder?.stepKey === stepKey && (token ?? holder.token) === holder.token)
          await end(place, holder.token, stepKey);
      }),

    break: (workspace, token) =>
      on(workspace, async (_root, place) => {
        const { holder } = await standing(place);
        if (holder?.token !== token) return false;
        await end(place, token, 'recovery');
        return true;
      }),
  };
};
