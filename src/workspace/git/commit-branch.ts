/** Moving the branch (or a detached HEAD) from the lock's commit to ours, or finding that it was moved already. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  git,
  gitLine,
  repositoryIfGit,
  repositoryOf,
  type GitRepository,
  type Head,
  valueOf,
} from './git.js';
import { type Problem, ProblemError } from '../../shared/problems.js';
import { commitOfStep } from './commit-hooks.js';
import type { WorkspaceLock } from '../ports.js';

export const LOCKED_POLL_MS = 100; // bound: A locked index or ref is looked at this often.
export const REVERTED_WAIT_MS = 10_000; // bound: How long a commit that is under way, and so has the ref locked, is waited for.

// ◆ Commit and rollback of one application exclude each other, whichever attempt of either comes late. A rollback first makes the ref
// `refs/worktree/emend/reverted/<record>` (of this working tree only, naming a note and no commit); a commit moves the branch in one
// ref transaction with the check that no such ref is there for any application that it is made of. Git takes both locks together.

const REVERTED = 'refs/worktree/emend/reverted/';
/** `name` as recordName makes it. */
const revertedRef = (name: string): string => `${REVERTED}${name}`;

const isThere = async (root: string, name: string): Promise<boolean> =>
  (
    await gitLine(['rev-parse', '--quiet', '--verify', revertedRef(name)], {
      cwd: root,
      reading: true,
    })
  ).ok;

/** From here on no commit is made of this application; nothing to do where there is no repository. Throws ProblemError `git_failed` where git cannot write it down. */
export async function markReverted(root: string, name: string): Promise<void> {
  if ((await repositoryIfGit(root)) === null || (await isThere(root, name))) return;
  const note = `Emend restored the files of ${name}: reject a late commit of it.\n`;
  const blob = valueOf(await gitLine(['hash-object', '-w', '--stdin'], { cwd: root, input: note }));
  const deadline = performance.now() + REVERTED_WAIT_MS;
  for (;;) {
    const made = await git(['update-ref', revertedRef(name), blob], { cwd: root });
    if (made.ok) return;
    if (performance.now() >= deadline) throw new ProblemError(made.problem);
    await sleep(LOCKED_POLL_MS);
  }
}

/** A working tree's notes of applications that were rolled back, for runs that have ended: nobody asks for them any more. */
export interface RevertedNotes {
  readonly workspace: string;
  /** Names of records. */
  readonly names: readonly string[];
}

/** Those of the steps; null where there are none, or where the workspace is gone or in no repository. */
export async function revertedNotes(
  workspace: string,
  steps: ReadonlySet<string>,
): Promise<RevertedNotes | null> {
  const listed = await gitLine(['for-each-ref', '--format=%(refname)', REVERTED], {
    cwd: workspace,
    reading: true,
  });
  const all = listed.ok ? listed.value.split('\n').map((ref) => ref.slice(REVERTED.length)) : [];
  const names = all.filter((name) => steps.has(name.split('/')[0] ?? ''));
  return names.length === 0 ? null : { workspace, names };
}

/** How many went: all, or none where git cannot write. */
export async function dropReverted({ workspace, names }: RevertedNotes): Promise<number> {
  const input = names.map((name) => `delete ${revertedRef(name)}\n`).join('');
  return (await git(['update-ref', '--stdin'], { cwd: workspace, input })).ok ? names.length : 0;
}

export interface Elsewhere {
  readonly kind: 'elsewhere';
  readonly why: string;
}
export type StateOfHead =
  /** HEAD is where it was when the lock was taken. */
  | { readonly kind: 'parent' }
  /** The step's commit is there already. */
  | { readonly kind: 'committed'; readonly commit: string }
  | Elsewhere;

const shown = ({ head, headRef }: Head): string =>
  `${head === null ? 'no commit' : head.slice(0, 12)} (${headRef ?? 'detached HEAD'})`;

/** The commit that the lock's branch names now; for a detached HEAD: that HEAD names. Null: none. */
async function tipOf(root: string, headRef: string | null): Promise<string | null> {
  const args = ['rev-parse', '--quiet', '--verify', `${headRef ?? 'HEAD'}^{commit}`];
  const found = await gitLine(args, { cwd: root, reading: true });
  return found.ok ? found.value : null;
}

export async function stateOfHolder(
  repository: GitRepository,
  lock: WorkspaceLock,
): Promise<StateOfHead> {
  const tip =
    repository.headRef === lock.headRef
      ? repository.head
      : await tipOf(repository.root, lock.headRef);
  if (tip !== null && tip !== lock.head) {
    const commit = await commitOfStep(repository.root, lock.head, tip, lock.stepKey);
    if (commit !== null) return { kind: 'committed', commit };
  }
  if (tip === lock.head && repository.headRef === lock.headRef) return { kind: 'parent' };
  return elsewhere(lock, repository);
}

const elsewhere = (was: Head, is: Head): Elsewhere => ({
  kind: 'elsewhere',
  why: `HEAD was ${shown(was)} when the files were changed and is ${shown(is)} now`,
});

/** The commit that this step made since the lock was taken, on its branch or where HEAD is now; null: none, or no repository. */
export async function commitSince(
  workspace: string,
  lock: Head & Pick<WorkspaceLock, 'stepKey'>,
): Promise<string | null> {
  // Outside git the lock names neither; then there may be no git to ask.
  const repository =
    lock.head === null && lock.headRef === null ? null : await repositoryOf(workspace);
  if (repository === null) return null;
  const tips = new Set([await tipOf(repository.root, lock.headRef), repository.head]);
  for (const tip of tips) {
    if (tip === null || tip === lock.head) continue;
    const commit = await commitOfStep(repository.root, lock.head, tip, lock.stepKey);
    if (commit !== null) return commit;
  }
  return null;
}

export interface BranchMove {
  readonly repository: GitRepository;
  readonly lock: WorkspaceLock;
  readonly commit: string;
  readonly subject: string;
  /** Apply records that the commit is made of. */
  readonly records: readonly string[];
}

/** Moves the ref once, expecting the lock's commit and that none of the applications was rolled back. */
export async function moveRef(
  input: BranchMove,
): Promise<
  | { readonly kind: 'moved' }
  | Exclude<StateOfHead, { kind: 'parent' }>
  | { readonly kind: 'failed'; readonly problem: Problem }
> {
  const { repository, lock, commit } = input;
  const zero = '0'.repeat(commit.length);
  // A detached HEAD is moved itself; without --no-deref a branch checked out meanwhile would be moved in its place.
  const target = lock.headRef === null ? 'option no-deref\nupdate HEAD' : `update ${lock.headRef}`;
  const notReverted = input.records.map((name) => `verify ${revertedRef(name)} ${zero}\n`);
  const transaction = `${target} ${commit} ${lock.head ?? zero}\n${notReverted.join('')}`;
  const args = ['update-ref', '-m', `commit (emend): ${input.subject}`, '--stdin'];
  const moved = await git(args, { cwd: repository.root, input: transaction });
  if (moved.ok) return { kind: 'moved' };
  const tip = await tipOf(repository.root, lock.headRef);
  if (tip === commit) return { kind: 'committed', commit };
  if (tip !== lock.head) {
    const earlier =
      tip === null ? null : await commitOfStep(repository.root, lock.head, tip, lock.stepKey);
    if (earlier !== null) return { kind: 'committed', commit: earlier };
    return elsewhere(lock, { head: tip, headRef: lock.headRef });
  }
  for (const name of input.records)
    if (await isThere(repository.root, name))
      return {
        kind: 'elsewhere',
        why: 'the files were restored in the meantime, so there is nothing to commit',
      };
  return { kind: 'failed', problem: moved.problem };
}
