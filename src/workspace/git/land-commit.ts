/**
 * Brings a commit into its branch and its entries into the person's index, under git's lock of the index. Without the lock, a person could
 * commit the old index onto the new branch, which would revert the change (index-lock.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { problem, type Problem } from '../../shared/problems.js';
import { shellWord } from '../../shared/text.js';
import { onDisk } from '../../system/durable.js';
import { realSys, type Sys } from '../../system/sys.js';
import {
  LOCKED_POLL_MS,
  moveRef,
  stateOfHolder,
  type BranchMove,
  type Elsewhere,
} from './commit-branch.js';
import { indexEntries, sameEntry, type Entry, type TreeChanges } from './entries.js';
import { git, repositoryOf, valueOf } from './git.js';
import { takeIndexLock } from './index-lock.js';

export interface Landing extends BranchMove {
  /** The changes of the commit. */
  readonly changes: TreeChanges;
  /** Maximum wait for locks that another git holds on the index or the branch. */
  readonly wait_ms: number;
  /** Returns whether this attempt still counts. Called right before the index is replaced. */
  readonly mayMove: () => Promise<boolean>;
  readonly sys?: Sys | undefined;
}

export type Landed =
  /** `note` names the paths whose staged content is the person's and was kept; null: there are none. */
  | { readonly kind: 'moved'; readonly note: string | null }
  | { readonly kind: 'committed'; readonly commit: string }
  | Elsewhere
  | { readonly kind: 'failed'; readonly problem: Problem };

/**
 * Lands the commit. While another git holds one of the locks, neither the index nor the branch changes. After `wait_ms` it returns the
 * problem `git_failed`.
 */
export async function landCommit(landing: Landing): Promise<Landed> {
  // A monotonic clock: a change of the system time must not shorten or extend the wait.
  const deadline = performance.now() + landing.wait_ms;
  for (;;) {
    const landed = await onDisk(`Committing in ${landing.repository.root}`, () =>
      landOnce(landing),
    );
    if (landed.kind !== 'failed') return landed;
    const locked = lockedBy(landed.problem, landing.wait_ms);
    // Waiting helps only against a lock.
    if (locked === null) return landed;
    if (performance.now() >= deadline) return { kind: 'failed', problem: locked };
    await sleep(LOCKED_POLL_MS);
  }
}

async function landOnce(landing: Landing): Promise<Landed> {
  const { repository, lock, commit, changes, sys = realSys } = landing;
  const { root } = repository;
  const { head, headRef } = lock;
  const index = await takeIndexLock(sys, repository, { commit, head, headRef });
  if ('lockedBy' in index) {
    const message = `Unable to create '${index.lockedBy}': File exists.`;
    return { kind: 'failed', problem: problem('git_failed', message) };
  }
  let isMoved = false;
  try {
    // Before the lock was ours, a person's git may have committed or changed the branch.
    const state = await stateOfHolder((await repositoryOf(root)) ?? repository, lock);
    if (state.kind !== 'parent') return state;
    const { updates, staged } = await indexUpdates(root, changes, index.next);
    if (updates.size > 0) await updateIndex(root, updates, index.next);
    if (!(await landing.mayMove()))
      return { kind: 'elsewhere', why: 'the step no longer holds the lock of the workspace' };
    if (updates.size > 0 && !(await index.replace()))
      return { kind: 'elsewhere', why: 'index.lock was removed while the commit was made' };
    const moved = await moveRef(landing);
    isMoved = moved.kind === 'moved';
    if (moved.kind !== 'moved') return moved;
    return { kind: 'moved', note: staged.length === 0 ? null : stagedNote(staged) };
  } finally {
    await index.end(isMoved);
  }
}

/**
 * Returns the problem that names the lock, with the command that removes it. Emend never removes it: a killed git leaves its lock behind,
 * but only a person can know that no git is at work. Null: git failed for another reason.
 */
const lockedBy = ({ message }: Problem, waited_ms: number): Problem | null => {
  const lock = /Unable to create '([^\n]+\.lock)': File exists/.exec(message)?.[1];
  if (lock === undefined) return null;
  const locked = lock.endsWith('index.lock') ? 'index' : 'branch';
  return problem(
    'git_failed',
    `No commit was made: ${lock} has locked the ${locked} for at least ${waited_ms / 1000} s. ` +
      `If no git process is running in this repository (a killed one leaves the lock behind), type: rm ${shellWord(lock)} and then answer retry.`,
  );
};

// The person's index follows the commit, so that `git status` is clean. Only entries that were as the parent has them are changed;
// what a person staged, in these files or others, stays staged.

const REMOVED = '0';

async function indexUpdates(root: string, { paths, parent, commit }: TreeChanges, index: string) {
  const entries = await indexEntries(root, paths, index);
  const updates = new Map<string, Entry>();
  const staged: string[] = [];
  for (const path of paths) {
    const [current, before, after] = [entries.get(path), parent.get(path), commit.get(path)];
    if (sameEntry(current, after)) continue;
    if (!sameEntry(current, before)) staged.push(path);
    else if (after === undefined)
      updates.set(path, { mode: REMOVED, id: '0'.repeat(before?.id.length ?? 0) });
    else updates.set(path, { ...current, ...after });
  }
  return { updates, staged };
}

async function updateIndex(
  root: string,
  updates: ReadonlyMap<string, Entry>,
  index: string,
): Promise<void> {
  // Removals first, so that a file may become a directory.
  const sorted = [...updates].sort(
    ([, a], [, b]) => Number(a.mode !== REMOVED) - Number(b.mode !== REMOVED),
  );
  const tagged = (tags: RegExp) => sorted.filter(([, { tag = 'H' }]) => tags.test(tag));
  const lines = tagged(/H/).map(([path, { mode, id }]) => `${mode} ${id}\t${path}\0`);
  const paths = (tags: RegExp): string[] => tagged(tags).map(([path]) => `./${path}`);
  // Git takes its arguments in order, so the index never has an entry without what keeps it local. After the last flag it sets no other.
  const local = tagged(/[hsS]/).flatMap(([path, { mode, id }]) => [
    '--cacheinfo',
    `${mode},${id},${path}`,
  ]);
  const flags = ['--skip-worktree', ...paths(/[sS]/), '--assume-unchanged', ...paths(/[hs]/)];
  const args = ['update-index', '-z', ...local, ...flags, '--index-info'];
  const env = { GIT_INDEX_FILE: index };
  valueOf(await git(args, { cwd: root, env, input: lines.join('') }));
}

const stagedNote = (paths: readonly string[]): string =>
  `what you had staged is unchanged and lacks this commit's change: stage ${paths.join(', ')} again before you commit`;
