/**
 * Worktrees of a plan's phases: each a branch and a directory of its own in `<home>-worktrees/<plan>/` (not in the home, where nothing is
 * edited, and not in the git directory, which test runners pass over). What is to be made is recorded first, as
 * `<home>/worktrees/<plan>/<name>.json`; so clean-up removes what was made, after a crash too, and nothing else. Every attempt makes a
 * directory of its own, and the first that is whole is noted (`<name>.made.json`): an attempt that was stopped, given up and wakes up
 * late can neither take the place of that one nor clear it away.
 */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { shownKey } from '../../shared/ids.js';
import { fail, problemOn } from '../../shared/problems.js';
import {
  ensureDir,
  onDisk,
  orNull,
  putJsonIfAbsent,
  readJson,
  removePut,
} from '../../system/durable.js';
import { realSys, type Sys } from '../../system/sys.js';
import type { WorkspaceLock, Result } from '../ports.js';
import type {
  Attempt,
  RemovedWorktree,
  Worktree,
  Worktrees,
  WorktreeWanted,
} from '../repository.js';
import * as inGit from './worktree-git.js';

const WORKTREE_NAME_BYTES = 4; // bound: Random part of the name of the directory that an attempt makes.

export interface WorktreeKeeper extends Worktrees {
  list(plan: string): Promise<readonly Worktree[]>;
}
export interface WorktreeOptions {
  readonly home: string;
  readonly readLock: (workspace: string) => Promise<WorkspaceLock | null>;
  readonly sys?: Sys;
}

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Directory and administrative files carry the plan in their names: nobody else's can be taken for them. */
const placeIn = (dir: string, plan: string, name: string): string =>
  join(dir, plan, `emend-${plan.slice(0, 16)}-${name}`);
/** ◆ Where the first whole worktree of a name was made. */
type Made = Pick<Worktree, 'path'>;

export const worktreesDir = (home: string): string => `${home}-worktrees`;

export const createWorktreeKeeper = ({
  home,
  readLock,
  sys = realSys,
}: WorktreeOptions): WorktreeKeeper => {
  const dirOf = (plan: string): string => join(home, 'worktrees', checked(plan));
  const file = (plan: string, name: string, what: '' | '.made' | '.ready'): string =>
    join(dirOf(plan), `${checked(name)}${what}.json`);
  const isThere = async (path: string): Promise<boolean> =>
    (await orNull(sys.lstat(path), ['ENOENT', 'ENOTDIR'])) !== null;
  const read = (plan: string, name: string): Promise<Worktree | null> =>
    // What it names is removed at the end.
    readJson<Worktree>(sys, file(plan, name, ''), 'Worktree', ({ path, branch }) =>
      path.endsWith(placeIn('', plan, name)) && branch === inGit.branchOf(plan, name)
        ? null
        : `it does not name the worktree ${name} of its plan`,
    );

  /** Where it was made; null: no attempt has come to its end. */
  const madeAt = async (worktree: Worktree): Promise<string | null> => {
    const noted = await readJson<Made>(
      sys,
      file(worktree.plan, worktree.name, '.made'),
      'Made',
      ({ path }) =>
        /^\.[0-9a-f]+$/.test(path.replace(worktree.path, ''))
          ? null
          : 'it names a directory of something else',
    );
    return noted?.path ?? null;
  };
  const asMade = async (recorded: Worktree): Promise<Worktree> =>
    inGit.placedAt(recorded, (await madeAt(recorded)) ?? recorded.path);

  /** The record of that name, written where there is none. */
  const record = async (wanted: WorktreeWanted): Promise<Worktree> => {
    const { plan, name } = wanted;
    const place = placeIn(worktreesDir(home), checked(plan), name);
    const planned = await inGit.planWorktree(place, wanted);
    // Looked for before the record is: once that is there, another attempt may make the branch at any moment.
    const isTaken = (await inGit.tipOf(planned)) !== null;
    const before = await read(plan, name);
    if (before !== null) return before;
    if (isTaken && wanted.again !== true)
      fail(
        'conflict',
        `Branch ${planned.branch} already exists and was not created by Emend.`,
        'Rename it, then retry.',
      );
    const put = await putJsonIfAbsent(sys, file(plan, name, ''), planned);
    return put.value;
  };

  /** Temp files of records that a worker died over, and directories that are empty now: its removal may have died after its record. */
  const sweep = async (plan: string, name: string): Promise<void> => {
    const dir = dirOf(plan);
    for (const left of (await orNull(sys.readdir(dir))) ?? [])
      if (left.startsWith(`${checked(name)}.`))
        await rm(join(dir, left), { recursive: true, force: true });
    const trees = worktreesDir(home);
    for (const empty of [join(trees, plan), trees, dir])
      await orNull(sys.rmdir(empty), ['ENOENT', 'ENOTEMPTY', 'EEXIST']);
  };

  const make = async (
    wanted: WorktreeWanted,
    { signal, assertCurrent = () => undefined }: Attempt,
  ): Promise<Worktree> => {
    const worktree = await record(wanted);
    const there = await madeAt(worktree);
    if (there !== null) {
      if (await isThere(join(there, '.git'))) return inGit.placedAt(worktree, there);
      // Deleted by somebody: what was committed is on the branch.
      assertCurrent();
      await inGit.clear(sys, worktree, there);
      for (const what of ['.ready', '.made'] as const)
        await removePut(sys, file(worktree.plan, worktree.name, what));
    }
    assertCurrent();
    await inGit.makeBranch(worktree);
    const path = `${worktree.path}.${randomBytes(WORKTREE_NAME_BYTES).toString('hex')}`;
    await ensureDir(sys, dirname(path));
    try {
      await inGit.addWorktree({ ...worktree, path }, signal);
      assertCurrent();
      const noted = await putJsonIfAbsent(sys, file(worktree.plan, worktree.name, '.made'), {
        path,
      });
      return inGit.placedAt(worktree, noted.value.path);
    } finally {
      // Without the record it was removed meanwhile, after another attempt had made it.
      const isGone = (await read(worktree.plan, worktree.name)) === null;
      if (isGone || (await madeAt(worktree)) !== path) await inGit.clear(sys, worktree, path);
      if (isGone) {
        await inGit.dropBranch(worktree);
        await sweep(worktree.plan, worktree.name);
      }
    }
  };

  const remove = async (plan: string, name: string): Promise<RemovedWorktree | null> => {
    const recorded = await read(plan, name);
    if (recorded === null) {
      await sweep(plan, name);
      return null;
    }
    const worktree = await asMade(recorded);
    const holder = (await isThere(join(worktree.path, '.git')))
      ? await readLock(worktree.workspace)
      : null;
    if (holder !== null)
      fail(
        'busy',
        `Step ${shownKey(holder.stepKey)} has locked ${worktree.path}; Emend waits for it to end.`,
      );
    const kept = await inGit.keepUnmerged(worktree);
    await inGit.clear(sys, recorded, null);
    await inGit.dropBranch(worktree);
    for (const what of ['.ready', '.made', ''] as const)
      await removePut(sys, file(plan, name, what));
    await sweep(plan, name);
    return { name, branch: worktree.branch, ...kept };
  };

  return {
    make: (wanted, attempt = {}) =>
      asResult(onDisk(`Creating the worktree ${wanted.name}`, () => make(wanted, attempt))),
    setUp: (worktree, { commands, sandbox, ...how }) =>
      onDisk(`Preparing the worktree ${worktree.name}`, async () => {
        const ready = file(worktree.plan, worktree.name, '.ready');
        if (await isThere(ready)) return { outcome: 'ready' };
        const { workspace } = worktree;
        const box = sandbox === 'off' ? 'off' : { settings: sandbox, workspace };
        const ran = await commands.run({ cwd: workspace, ...how, sandbox: box });
        // Cut short by the worker's stop, it has not failed.
        if (ran.aborted) throw new Error('worktree.setup was stopped');
        if (ran.exit !== 0)
          return {
            outcome: 'failed',
            how: ran.timedOut
              ? `timed out after ${how.timeout_s} s`
              : `exit ${ran.exit ?? ran.signal ?? 'unknown'}`,
            output: ran.output,
          };
        await putJsonIfAbsent(sys, ready, {});
        return { outcome: 'ready' };
      }),
    list: (plan) =>
      onDisk(`Listing the worktrees of ${plan}`, async () => {
        const names = (await orNull(sys.readdir(dirOf(plan)))) ?? [];
        const found: Worktree[] = [];
        for (const each of names
          .flatMap((entry) => /^([a-z0-9-]+)\.json$/.exec(entry)?.[1] ?? [])
          .sort()) {
          const recorded = await read(plan, each);
          if (recorded !== null) found.push(await asMade(recorded));
        }
        return found;
      }),
    remove: (plan, name) => onDisk(`Removing the worktree ${name}`, () => remove(plan, name)),
  };
};

const checked = (name: string): string =>
  NAME.test(name)
    ? name
    : fail('internal', `${JSON.stringify(name)} is not the name of a plan or worktree.`);

const asResult = <T>(work: Promise<T>): Promise<Result<T>> =>
  work.then(
    (value) => ({ ok: true, value }),
    (error: unknown) => ({ ok: false, problem: problemOn()(error) }),
  );
