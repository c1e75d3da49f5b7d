/**
 * Worktrees of a plan's phases: each a branch and a directory of its own in `<home>-worktrees/<plan>/` (not in the home, where nothing is
 * edited, and not in the git directory, which test runners pass over). What is to be made is recorded first, as
 * `<home>/worktrees/<plan>/<name>.json`; so a retry makes the same one, and clean-up removes what was made, after a crash too, and
 * nothing else.
 */
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fail, problem, ProblemError } from '../shared/problems.js';
import { git, gitEnvironment, gitLine, repositoryOf, valueOf } from './git.js';
import { ensureDir, onDisk, orNull, putJsonIfAbsent, readJson, unlinkIfThere } from './sys-put.js';
import { realSys } from './sys.js';
import type { Sys } from './sys.js';
import { runCommand } from './runner.js';
import type { Environment } from './runner-env.js';
import { runProcess } from './runner-process.js';
import type { LeaseHolder, Result } from './types.js';
import { STORE_BOUNDS } from '../shared/bounds.js';

/** ◆ What is recorded before a worktree is made. */
export interface Worktree {
  readonly v: 1;
  /** The plan's key. */
  readonly plan: string;
  /** Its name among the plan's: a phase's id and the number of the attempt, `p2-1`. */
  readonly name: string;
  /** Top of the working tree that it was made from. */
  readonly repository: string;
  /** The git directory that all worktrees of the repository share. */
  readonly commonDir: string;
  /** Top of the worktree. */
  readonly path: string;
  /** The directory in it that stands for the plan's workspace. */
  readonly workspace: string;
  /** Full name of its branch, `refs/heads/emend/…`. */
  readonly branch: string;
  /** Commit that it began at. */
  readonly base: string;
}
interface WorktreeWanted {
  readonly plan: string;
  readonly name: string;
  /** The plan's workspace: a repository's top or a directory in it. */
  readonly workspace: string;
  /** Commit id. */
  readonly base: string;
}
export interface RemovedWorktree {
  readonly name: string;
  readonly branch: string;
  /** The branch's last commit where no other branch holds it: told, so that a person can bring it back. */
  readonly dropped: string | null;
}
export interface SetUp {
  /** Of `worktree.setup`: run with `sh -c` in the worktree's workspace. */
  readonly command: string;
  readonly timeout_s: number;
  readonly maxOutput_bytes: number;
  readonly env: Environment;
  readonly signal?: AbortSignal;
}
export type SetUpOutcome =
  { readonly outcome: 'ready' } | { readonly outcome: 'failed'; readonly how: string; readonly output: string };

export interface WorktreeKeeper {
  /** Makes the worktree, or gives the one of that name as it is. A failure is a problem: `not_a_repository`, `git_failed`, `conflict`. */
  make(wanted: WorktreeWanted, signal?: AbortSignal): Promise<Result<Worktree>>;
  /** Runs the command until it has succeeded once in this worktree; a worker that died in it runs it again. */
  setUp(worktree: Worktree, setUp: SetUp): Promise<SetUpOutcome>;
  list(plan: string): Promise<readonly Worktree[]>;
  /** Removes directory, branch and record. Throws ProblemError `busy` where a step holds it. Null: there is none of that name. */
  remove(plan: string, name: string): Promise<RemovedWorktree | null>;
}
export interface WorktreeOptions {
  readonly home: string;
  readonly readLease: (workspace: string) => Promise<LeaseHolder | null>;
  readonly sys?: Sys;
}

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Directory and administrative files carry the plan in their names: nobody else's can be taken for them. */
const directoryName = (plan: string, name: string): string => `emend-${plan.slice(0, 16)}-${name}`;

/** Where the worktrees of a home lie. */
export const worktreesDir = (home: string): string => `${home}-worktrees`;

export const createWorktreeKeeper = ({ home, readLease, sys = realSys }: WorktreeOptions): WorktreeKeeper => {
  const dirOf = (plan: string): string => join(home, 'worktrees', checked(plan));
  const file = (plan: string, name: string, what: '' | '.made' | '.ready'): string =>
    join(dirOf(plan), `${checked(name)}${what}.json`);
  const isThere = async (path: string): Promise<boolean> =>
    (await orNull(sys.lstat(path), ['ENOENT', 'ENOTDIR'])) !== null;
  const note = async (path: string): Promise<void> => {
    await putJsonIfAbsent(sys, path, { v: 1 });
  };
  const read = async (plan: string, name: string): Promise<Worktree | null> => {
    const path = file(plan, name, '');
    const value = await readJson(sys, path);
    return value === undefined ? null : asWorktree(value, path);
  };

  const make = async (wanted: WorktreeWanted, signal?: AbortSignal): Promise<Worktree> => {
    const { plan, name } = wanted;
    const place = join(worktreesDir(home), checked(plan), directoryName(plan, name));
    const planned = (await read(plan, name)) ?? (await planWorktree(place, wanted));
    const put = await putJsonIfAbsent(sys, file(plan, name, ''), planned);
    const worktree = asWorktree(put.value, file(plan, name, ''));
    if ((await isThere(file(plan, name, '.made'))) && (await isThere(join(worktree.path, '.git')))) return worktree;
    // Half made by an attempt that died, or deleted by somebody: what was committed is on the branch.
    await clear(sys, worktree);
    await unlinkIfThere(sys, file(plan, name, '.ready'));
    await makeBranch(worktree, put.created).catch(async (error: unknown) => {
      if (put.created) await unlinkIfThere(sys, file(plan, name, ''));
      throw error;
    });
    await ensureDir(sys, dirname(worktree.path));
    await addWorktree(worktree, signal);
    await note(file(plan, name, '.made'));
    return worktree;
  };

  /** Temp files of records that a worker died over, and directories that are empty now: its removal may have died after its record. */
  const sweep = async (plan: string, name: string): Promise<void> => {
    const dir = dirOf(plan);
    for (const left of (await orNull(sys.readdir(dir))) ?? [])
      if (left.startsWith(`${checked(name)}.`)) await unlinkIfThere(sys, join(dir, left));
    const trees = worktreesDir(home);
    for (const empty of [join(trees, plan), trees, dir])
      await orNull(sys.rmdir(empty), ['ENOENT', 'ENOTEMPTY', 'EEXIST']);
  };

  const remove = async (plan: string, name: string): Promise<RemovedWorktree | null> => {
    const worktree = await read(plan, name);
    if (worktree === null) {
      await sweep(plan, name);
      return null;
    }
    const holder = (await isThere(join(worktree.path, '.git'))) ? await readLease(worktree.workspace) : null;
    if (holder !== null)
      fail('busy', `Step ${holder.stepKey.slice(0, 8)} holds ${worktree.path}; its end is waited for.`);
    await clear(sys, worktree);
    const dropped = await dropBranch(worktree);
    for (const what of ['.ready', '.made', ''] as const) await unlinkIfThere(sys, file(plan, name, what));
    await sweep(plan, name);
    return { name, branch: worktree.branch, dropped };
  };

  return {
    make: (wanted, signal) => asResult(() => onDisk(`Making the worktree ${wanted.name}`, () => make(wanted, signal))),
    setUp: (worktree, { command, ...how }) =>
      onDisk(`Making the worktree ${worktree.name} ready`, async () => {
        const ready = file(worktree.plan, worktree.name, '.ready');
        if (await isThere(ready)) return { outcome: 'ready' };
        const ran = await runCommand({ command, cwd: worktree.workspace, ...how });
        // Cut short by the worker's stop, it has not failed.
        if (ran.aborted) throw new Error('worktree.setup was stopped');
        if (ran.exit !== 0)
          return {
            outcome: 'failed',
            how: ran.timedOut ? `timed out after ${how.timeout_s} s` : `exit ${ran.exit ?? ran.signal ?? 'unknown'}`,
            output: ran.output,
          };
        await note(ready);
        return { outcome: 'ready' };
      }),
    list: (plan) =>
      onDisk(`Listing the worktrees of ${plan}`, async () => {
        const names = (await orNull(sys.readdir(dirOf(plan)))) ?? [];
        const found: Worktree[] = [];
        for (const each of names.flatMap((entry) => /^([a-z0-9-]+)\.json$/.exec(entry)?.[1] ?? []).sort()) {
          const worktree = await read(plan, each);
          if (worktree !== null) found.push(worktree);
        }
        return found;
      }),
    remove: (plan, name) => onDisk(`Removing the worktree ${name}`, () => remove(plan, name)),
  };
};

const checked = (name: string): string =>
  NAME.test(name) ? name : fail('internal', `${JSON.stringify(name)} is no name of a plan or worktree.`);

const asWorktree = (value: unknown, path: string): Worktree =>
  typeof value === 'object' && value !== null && 'v' in value && value.v === 1
    ? (value as Worktree)
    : fail('version_unknown', `${path} was written by another version of Emend.`);

async function asResult<T>(work: () => Promise<T>): Promise<Result<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (error instanceof ProblemError) return { ok: false, problem: error.problem };
    throw error;
  }
}

async function planWorktree(path: string, { plan, name, workspace, base }: WorktreeWanted): Promise<Worktree> {
  const repository = await repositoryOf(workspace);
  if (repository === null)
    throw new ProblemError(
      problem('not_a_repository', `${workspace} is not in a git repository, so no worktree can be made`),
    );
  const { root, prefix } = repository;
  const common = valueOf(
    await gitLine(['rev-parse', '--path-format=absolute', '--git-common-dir'], { cwd: root, reading: true }),
  );
  return {
    v: 1,
    plan,
    name,
    repository: root,
    commonDir: await realSys.realpath(common),
    path,
    workspace: join(path, prefix),
    branch: `refs/heads/emend/${plan.slice(0, 16)}/${name}`,
    base,
  };
}

const tipOf = async ({ commonDir, branch }: Worktree): Promise<string | null> => {
  const args = ['rev-parse', '--quiet', '--verify', `${branch}^{commit}`];
  const found = valueOf(await git(args, { cwd: commonDir, reading: true, accept: [0, 1] }));
  return found.code === 0 ? found.text.trim() : null;
};

/** A branch of that name from before the record is not ours. */
async function makeBranch(worktree: Worktree, isFirst: boolean): Promise<void> {
  const { branch, base, commonDir } = worktree;
  if ((await tipOf(worktree)) !== null) {
    if (isFirst)
      fail('conflict', `There is a branch ${branch} already, which Emend did not make.`, 'Rename it, then retry.');
    return;
  }
  const args = ['update-ref', '-m', 'emend: a phase begins', branch, base, '0'.repeat(base.length)];
  valueOf(await git(args, { cwd: commonDir }));
}

/** In a process group of its own that dies with us: a retry must not work beside it. No hook runs: nothing was committed or merged. */
async function addWorktree({ path, branch, commonDir }: Worktree, signal?: AbortSignal): Promise<void> {
  const args = [
    '-c',
    'core.hooksPath=/dev/null',
    'worktree',
    'add',
    '--quiet',
    path,
    branch.slice('refs/heads/'.length),
  ];
  const ran = await runProcess({
    file: 'git',
    args,
    cwd: commonDir,
    env: gitEnvironment(),
    timeout_s: STORE_BOUNDS.worktreeAdd_s,
    maxOutput_bytes: STORE_BOUNDS.worktreeOutput_bytes,
    ...(signal === undefined ? {} : { signal }),
  });
  if (ran.aborted) throw new Error('git worktree add was stopped');
  if (ran.exit === 0) return;
  const how = ran.timedOut ? `timed out after ${STORE_BOUNDS.worktreeAdd_s} s` : ran.output.trim();
  throw new ProblemError(problem('git_failed', `git worktree add ${path}: ${how}`));
}

/** The directory, and git's files about it: those that lead to it, and those of its name that lead nowhere yet. */
async function clear(sys: Sys, { path, commonDir }: Worktree): Promise<void> {
  await rm(path, { recursive: true, force: true });
  const all = join(commonDir, 'worktrees');
  for (const each of (await orNull(sys.readdir(all))) ?? []) {
    const bytes = await orNull(sys.readFile(join(all, each, 'gitdir')), ['ENOENT', 'ENOTDIR']);
    const leads = bytes === null ? null : dirname(new TextDecoder().decode(bytes).trim());
    const ours = leads === null ? each.replace(/\d*$/, '') === basename(path).replace(/\d*$/, '') : leads === path;
    if (ours) await rm(join(all, each), { recursive: true, force: true });
  }
  await orNull(sys.rmdir(all), ['ENOENT', 'ENOTEMPTY', 'EEXIST']);
}

/** Returns its tip where no other ref holds that. */
async function dropBranch(worktree: Worktree): Promise<string | null> {
  const { branch, commonDir } = worktree;
  const tip = await tipOf(worktree);
  if (tip === null) return null;
  const call = { cwd: commonDir, reading: true };
  const args = ['rev-list', '--max-count=1', tip, '--not', `--exclude=${branch}`, '--all', 'HEAD', '--'];
  const alone = valueOf(await gitLine(args, call)) !== '';
  valueOf(await git(['update-ref', '-d', branch, tip], { cwd: commonDir }));
  return alone ? tip : null;
}
