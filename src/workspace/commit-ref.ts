/** Moving the branch (or a detached HEAD) from the lease's commit to ours, or finding that it was moved already. */
import { setTimeout as sleep } from 'node:timers/promises';

import { problem, type Problem } from '../shared/problems.js';
import { commitOfStep } from './commit-message.js';
import { git, gitLine, repositoryOf, type Repository } from './git.js';
import type { LeaseHolder } from './types.js';
import { shellWord } from './shell-word.js';
import { undoneAmong, verifyNotUndone } from './undone.js';
import { STORE_BOUNDS } from '../shared/bounds.js';

export type Standing =
  /** HEAD is where it was when the lease was taken. */
  | { readonly at: 'parent' }
  /** The step's commit is there already. */
  | { readonly at: 'committed'; readonly commit: string }
  | { readonly at: 'elsewhere'; readonly why: string };

const shown = (commit: string | null, ref: string | null): string =>
  `${commit === null ? 'no commit' : commit.slice(0, 12)} (${ref ?? 'detached HEAD'})`;

/** The commit that the lease's branch names now; for a detached HEAD: that HEAD names. Null: none. */
async function tipOf(root: string, headRef: string | null): Promise<string | null> {
  const found = await gitLine(['rev-parse', '--quiet', '--verify', `${headRef ?? 'HEAD'}^{commit}`], {
    cwd: root,
    reading: true,
  });
  return found.ok ? found.value : null;
}

export async function standingOf(repository: Repository, lease: LeaseHolder): Promise<Standing> {
  const tip = repository.headRef === lease.headRef ? repository.head : await tipOf(repository.root, lease.headRef);
  if (tip !== null && tip !== lease.head) {
    const commit = await commitOfStep(repository.root, lease.head, tip, lease.stepKey);
    if (commit !== null) return { at: 'committed', commit };
  }
  if (tip === lease.head && repository.headRef === lease.headRef) return { at: 'parent' };
  const [was, is] = [shown(lease.head, lease.headRef), shown(repository.head, repository.headRef)];
  return { at: 'elsewhere', why: `HEAD was ${was} when the files were changed and is ${is} now` };
}

/** The commit that this step made since the lease was taken, on its branch or where HEAD is now; null: none, or no repository. */
export async function commitSince(
  workspace: string,
  lease: Pick<LeaseHolder, 'head' | 'headRef' | 'stepKey'>,
): Promise<string | null> {
  // Outside git the lease names neither; then there may be no git to ask.
  const repository = lease.head === null && lease.headRef === null ? null : await repositoryOf(workspace);
  if (repository === null) return null;
  const tips = new Set([await tipOf(repository.root, lease.headRef), repository.head]);
  for (const tip of tips) {
    if (tip === null || tip === lease.head) continue;
    const commit = await commitOfStep(repository.root, lease.head, tip, lease.stepKey);
    if (commit !== null) return commit;
  }
  return null;
}

/**
 * Moves the ref, expecting the lease's commit and that none of the applications was rolled back. A ref that somebody else holds
 * locked is waited for.
 */
export async function moveRef(input: {
  readonly repository: Repository;
  readonly lease: LeaseHolder;
  readonly commit: string;
  readonly subject: string;
  readonly wait_ms: number;
  /** Apply records that the commit is made of. */
  readonly records: readonly string[];
}): Promise<
  { readonly at: 'moved' } | Exclude<Standing, { at: 'parent' }> | { readonly at: 'failed'; readonly problem: Problem }
> {
  const { repository, lease, commit } = input;
  const expected = lease.head ?? '0'.repeat(commit.length);
  // A detached HEAD is moved itself; without --no-deref a branch checked out meanwhile would be moved in its place.
  const target = lease.headRef === null ? 'option no-deref\nupdate HEAD' : `update ${lease.headRef}`;
  const zero = '0'.repeat(commit.length);
  const transaction = `${target} ${commit} ${expected}\n${verifyNotUndone(input.records, zero)}`;
  const args = ['update-ref', '-m', `commit (emend): ${input.subject}`, '--stdin'];
  // By a clock that is never set: a wait must not end early, or last a day, because somebody set the time.
  const deadline = performance.now() + input.wait_ms;
  for (;;) {
    const moved = await git(args, { cwd: repository.root, input: transaction });
    if (moved.ok) return { at: 'moved' };
    const tip = await tipOf(repository.root, lease.headRef);
    if (tip === commit) return { at: 'committed', commit };
    if (tip !== lease.head) {
      const earlier = tip === null ? null : await commitOfStep(repository.root, lease.head, tip, lease.stepKey);
      if (earlier !== null) return { at: 'committed', commit: earlier };
      const [was, is] = [shown(lease.head, lease.headRef), shown(tip, lease.headRef)];
      return { at: 'elsewhere', why: `HEAD was ${was} when the files were changed and is ${is} now` };
    }
    if ((await undoneAmong(repository.root, input.records)) !== null)
      return { at: 'elsewhere', why: 'the files were put back meanwhile, so there is nothing to commit' };
    if (performance.now() >= deadline)
      return { at: 'failed', problem: lockedBy(moved.problem, input.wait_ms) ?? moved.problem };
    await sleep(STORE_BOUNDS.refPoll_ms);
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
    `The commit is not made: the branch is locked by ${lock}, for ${waited_ms / 1000} s at least. ` +
      `If no git runs in this repository (one that was killed leaves it behind), type: rm ${shellWord(lock)} and then answer retry.`,
  );
};
