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
import { indexEntries, sameEntry, type Entry, type TreeChanges } from './entries.js';
import { problem, type Problem, ProblemError } from '../../shared/problems.js';
import { commitOfStep } from './commit-hooks.js';
import type { WorkspaceLock } from '../ports.js';
import { shellWord } from '../../shared/text.js';

const LOCKED_POLL_MS = 100; // bound: A locked index or ref is looked at this often.
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

interface Elsewhere {
  readonly at: 'elsewhere';
  readonly why: string;
}
export type StateOfHead =
  /** HEAD is where it was when the lock was taken. */
  | { readonly at: 'parent' }
  /** The step's commit is there already. */
  | { readonly at: 'committed'; readonly commit: string }
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
    if (commit !== null) return { at: 'committed', commit };
  }
  if (tip === lock.head && repository.headRef === lock.headRef) return { at: 'parent' };
  return elsewhere(lock, repository);
}

const elsewhere = (was: Head, is: Head): Elsewhere => ({
  at: 'elsewhere',
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

/**
 * Moves the ref, expecting the lock's commit and that none of the applications was rolled back. A ref that somebody else holds
 * locked is waited for.
 */
export async function moveRef(input: {
  readonly repository: GitRepository;
  readonly lock: WorkspaceLock;
  readonly commit: string;
  readonly subject: string;
  readonly wait_ms: number;
  /** Apply records that the commit is made of. */
  readonly records: readonly string[];
}): Promise<
  | { readonly at: 'moved' }
  | Exclude<StateOfHead, { at: 'parent' }>
  | { readonly at: 'failed'; readonly problem: Problem }
> {
  const { repository, lock, commit } = input;
  const zero = '0'.repeat(commit.length);
  // A detached HEAD is moved itself; without --no-deref a branch checked out meanwhile would be moved in its place.
  const target = lock.headRef === null ? 'option no-deref\nupdate HEAD' : `update ${lock.headRef}`;
  const notReverted = input.records.map((name) => `verify ${revertedRef(name)} ${zero}\n`);
  const transaction = `${target} ${commit} ${lock.head ?? zero}\n${notReverted.join('')}`;
  const args = ['update-ref', '-m', `commit (emend): ${input.subject}`, '--stdin'];
  // By a clock that is never set: a wait must not end early, or last a day, because somebody set the time.
  const deadline = performance.now() + input.wait_ms;
  for (;;) {
    const moved = await git(args, { cwd: repository.root, input: transaction });
    if (moved.ok) return { at: 'moved' };
    const tip = await tipOf(repository.root, lock.headRef);
    if (tip === commit) return { at: 'committed', commit };
    if (tip !== lock.head) {
      const earlier =
        tip === null ? null : await commitOfStep(repository.root, lock.head, tip, lock.stepKey);
      if (earlier !== null) return { at: 'committed', commit: earlier };
      return elsewhere(lock, { head: tip, headRef: lock.headRef });
    }
    for (const name of input.records)
      if (await isThere(repository.root, name))
        return {
          at: 'elsewhere',
          why: 'the files were restored in the meantime, so there is nothing to commit',
        };
    if (performance.now() >= deadline)
      return { at: 'failed', problem: lockedBy(moved.problem, input.wait_ms) ?? moved.problem };
    await sleep(LOCKED_POLL_MS);
  }
}

/**
 * A git that was killed leaves its lock behind, and nobody but a person can know that no git works under it: the lock is named with
 * what to type, and never removed. Null where git failed of something else.
 */
const lockedBy = ({ message }: Problem, waited_ms: number): Problem | null => {
  const lock = /Unable to create '([^\n]+\.lock)': File exists/.exec(message)?.[1];
  if (lock === undefined) return null;
  return problem(
    'git_failed',
    `No commit was made: the branch is locked by ${lock}, for ${waited_ms / 1000} s at least. ` +
      `If no git process is running in this repository (a killed one leaves the lock behind), type: rm ${shellWord(lock)} and then answer retry.`,
  );
};

// After the commit: the person's own index follows it, so that `git status` is clean. Only entries that were as the parent has
// them are touched; what a person staged, in these files or others, stays staged.

/** Brings `paths` of the index from the parent's entries to the commit's; returns what a person should know, if anything. */
export async function syncIndex(
  input: TreeChanges & {
    readonly root: string;
    /** How long a lock that somebody else holds on the index is waited for. */
    readonly wait_ms: number;
    /** Asked once the index was read. False: that was done, and what is staged now is the person's, or of later work. */
    readonly mayMove: () => Promise<boolean>;
  },
): Promise<string | null> {
  const deadline = performance.now() + input.wait_ms;
  for (;;) {
    const { updates, staged } = await pending(input);
    const told = staged.length === 0 ? null : stagedNote(staged);
    if (!(await input.mayMove())) return null;
    if (updates.size === 0) return told;
    // Removals first, so that a file may become a directory.
    const sorted = [...updates].sort(
      ([, a], [, b]) => Number(a.mode !== GONE) - Number(b.mode !== GONE),
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
    const done = await git(args, { cwd: input.root, input: lines.join('') });
    if (done.ok) return told;
    const locked = done.problem.message.includes('index.lock');
    if (!locked || performance.now() >= deadline) {
      const why = locked
        ? 'another git process holds index.lock, or left it behind when killed'
        : done.problem.message;
      const files = [...updates.keys()].map(shellWord).join(' ');
      return `the commit was made, but your index still has the old files (${why}); when it is free: git -C ${shellWord(input.root)} reset -q -- ${files}`;
    }
    await sleep(LOCKED_POLL_MS);
  }
}

const GONE = '0';
async function pending({ root, paths, parent, commit }: TreeChanges & { readonly root: string }) {
  const entries = await indexEntries(root, paths);
  const updates = new Map<string, Entry>();
  const staged: string[] = [];
  for (const path of paths) {
    const [now, before, after] = [entries.get(path), parent.get(path), commit.get(path)];
    if (sameEntry(now, after)) continue;
    if (sameEntry(now, before))
      updates.set(
        path,
        after ? { ...now, ...after } : { mode: GONE, id: '0'.repeat(before?.id.length ?? 0) },
      );
    else staged.push(path);
  }
  return { updates, staged };
}

const stagedNote = (paths: readonly string[]): string =>
  `what you had staged is unchanged and lacks this commit's change: stage ${paths.join(', ')} again before you commit`;
