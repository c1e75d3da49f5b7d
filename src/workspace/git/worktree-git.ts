/** What git and the disk hold of a worktree: its branch, the directories of the attempts at it, git's files about those. */
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fail, ProblemError } from '../../shared/problems.js';
import { STORE_BOUNDS } from '../../shared/bounds.js';
import { git, gitGroup, gitLine, repositoryOf, valueOf, type GitCall } from './git.js';
import { sharedGitDirectory } from './shared-directory.js';
import { orNull } from '../../system/durable.js';
import { realSys, type Sys } from '../../system/sys.js';
import type { Worktree, WorktreeWanted } from '../repository.js';

const WORKTREE_OUTPUT_BYTES = 16_384; // bound: Kept output of its checkout and set-up, and of a fetch.
const HALF_TRIES = 40; // bound: So often git is asked beside a worktree that is half there; then it counts as left by the dead.
const HALF_MS = 250; // bound: Between two of these.

export const branchOf = (plan: string, name: string): string =>
  `refs/heads/emend/${plan.slice(0, 16)}/${name}`;

export async function planWorktree(
  path: string,
  { plan, name, workspace, base }: WorktreeWanted,
): Promise<Worktree> {
  const repository = await repositoryOf(workspace);
  if (repository === null)
    return fail(
      'not_a_repository',
      `${workspace} is not in a git repository, so no worktree can be created`,
    );
  const { gitDir, prefix } = repository;
  return {
    plan,
    name,
    commonDir: await realSys.realpath(await sharedGitDirectory(gitDir)),
    path,
    workspace: join(path, prefix),
    branch: branchOf(plan, name),
    base,
  };
}

/** Git takes a directory without a working tree for a repository only where it is told so. */
const inCommon = (commonDir: string) => ({ cwd: commonDir, env: { GIT_DIR: commonDir } });

/** The commit that a name stands for; null: there is none. */
export const commitAt = async (name: string, call: GitCall): Promise<string | null> => {
  const args = ['rev-parse', '--quiet', '--verify', `${name}^{commit}`];
  const found = valueOf(await git(args, { accept: [0, 1], ...call, reading: true }));
  return found.code === 0 ? found.text.trim() : null;
};
export const tipOf = ({ commonDir, branch }: Worktree): Promise<string | null> =>
  commitAt(branch, inCommon(commonDir));

export async function makeBranch(worktree: Worktree): Promise<void> {
  const { branch, base, commonDir } = worktree;
  if ((await tipOf(worktree)) !== null) return;
  const args = [
    'update-ref',
    '--no-deref',
    '-m',
    'emend: a phase starts',
    branch,
    base,
    '0'.repeat(base.length),
  ];
  const moved = await git(args, inCommon(commonDir));
  // Another attempt may have made it this moment.
  if (!moved.ok && (await tipOf(worktree)) === null) throw new ProblemError(moved.problem);
}

/** Git stops at its note of a worktree that is half there: another process adds it at this moment, or the one that did has died. */
const HALF_NOTED = /\bworktrees\/([^/\s]+)\/(?:commondir|HEAD)\b/;
/** In a mirror; elsewhere a worktree may be a person's, and the next attempt at one of ours clears it. */
const OF_A_MIRROR = /^[\da-f]+\.[\da-f]{16}$/;

/**
 * For `worktree add` and `fetch`, which read the notes of all worktrees: in a process group of its own that dies with us, and with its
 * attempt, as a retry must not work beside it. Git's own words where it fails; null: it is done.
 */
export async function besideOthers(
  args: readonly string[],
  where: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  signal?: AbortSignal,
): Promise<string | null> {
  const { worktreeAdd_s: timeout_s } = STORE_BOUNDS;
  const call = {
    ...where,
    timeout_s,
    maxOutput_bytes: WORKTREE_OUTPUT_BYTES,
    ...(signal && { signal }),
  };
  for (let tries = 1; ; tries += 1) {
    const ran = await gitGroup(args, call);
    if (ran.aborted) throw new Error(`git ${args[0] ?? ''} was stopped`);
    if (ran.exit === 0) return null;
    const half = HALF_NOTED.exec(ran.output)?.[1];
    if (half === undefined || tries > 2 * HALF_TRIES)
      return ran.timedOut ? `timed out after ${timeout_s} s` : ran.output.trim();
    if (tries > HALF_TRIES && OF_A_MIRROR.test(half))
      await rm(join(where.cwd, 'worktrees', half), { recursive: true, force: true });
    else await sleep(HALF_MS, undefined, call);
  }
}

export async function addWorktree(
  { path, branch, commonDir }: Worktree,
  signal?: AbortSignal,
): Promise<void> {
  // By force also where the branch is checked out in the directory of an attempt that died.
  const args = ['worktree', 'add', '--quiet', '--force', path, branch.slice('refs/heads/'.length)];
  const failed = await besideOthers(args, inCommon(commonDir), signal);
  if (failed !== null) fail('git_failed', `git worktree add ${path}: ${failed}`);
}

/** The same worktree in the directory of one attempt. */
export function placedAt(worktree: Worktree, path: string): Worktree {
  const { path: recorded, workspace } = worktree;
  return { ...worktree, path, workspace: `${path}${workspace.slice(recorded.length)}` };
}

/**
 * The directory of an attempt, null: of any, and git's files about it: those that lead to it, and those of its name that lead nowhere yet.
 */
export async function clear(
  sys: Sys,
  { path, commonDir }: Worktree,
  attempt: string | null,
): Promise<void> {
  const places = dirname(path);
  const ours = (name: string): boolean =>
    attempt === null ? `${name}.`.startsWith(`${basename(path)}.`) : name === basename(attempt);
  for (const each of (await orNull(sys.readdir(places))) ?? [])
    if (ours(each)) await rm(join(places, each), { recursive: true, force: true });
  const all = join(commonDir, 'worktrees');
  for (const each of (await orNull(sys.readdir(all))) ?? []) {
    const bytes = await orNull(sys.readFile(join(all, each, 'gitdir')), ['ENOENT', 'ENOTDIR']);
    const leads = bytes === null ? null : dirname(new TextDecoder().decode(bytes).trim());
    const mine = leads === null ? ours(each) : dirname(leads) === places && ours(basename(leads));
    if (mine) await rm(join(all, each), { recursive: true, force: true });
  }
  await orNull(sys.rmdir(all), ['ENOENT', 'ENOTEMPTY', 'EEXIST']);
}

/** Where nothing else holds its commits a ref of its own keeps them, before anything of the worktree goes. */
export async function keepUnmerged(
  worktree: Worktree,
): Promise<{ dropped: string | null; kept: string | null }> {
  const { plan, name, branch, commonDir } = worktree;
  const kept = `refs/emend/kept/${plan.slice(0, 16)}/${name}`;
  // Without a branch it was removed before, and its result lost.
  const tip = (await tipOf(worktree)) ?? (await tipOf({ ...worktree, branch: kept }));
  if (tip === null) return { dropped: null, kept: null };
  const call = { ...inCommon(commonDir), reading: true };
  // What lies below refs/emend holds nothing for a person, whoever brought it there.
  const others = [branch, 'refs/emend/*'].map((ref) => `--exclude=${ref}`);
  // Its own HEAD holds nothing: it goes with the worktree.
  const args = [
    'rev-list',
    '--max-count=1',
    '--single-worktree',
    tip,
    '--not',
    ...others,
    '--all',
    'HEAD',
    '--',
  ];
  if (valueOf(await gitLine(args, call)) === '') return { dropped: null, kept: null };
  valueOf(
    await git(
      ['update-ref', '--no-deref', '-m', 'emend: not merged', kept, tip],
      inCommon(commonDir),
    ),
  );
  return { dropped: tip, kept };
}

export async function dropBranch(worktree: Worktree): Promise<void> {
  const tip = await tipOf(worktree);
  if (tip !== null)
    valueOf(
      await git(
        ['update-ref', '--no-deref', '-d', worktree.branch, tip],
        inCommon(worktree.commonDir),
      ),
    );
}
