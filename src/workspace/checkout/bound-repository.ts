/** The repository of a checkout: git in its directory, whose commits and merges are pushed to the remote. */
import { problem } from '../../shared/problems.js';
import { phaseBranchOf } from '../../shared/repository.js';
import type { BlobStore } from '../../stores/ports.js';
import { mergeInto } from '../landing/merge.js';
import type { ApplyEngine, AssertCurrent, Workspace } from '../ports.js';
import type { MergeOutcome, MergeRequest, Repository, Worktrees } from '../repository.js';
import { commitAndPush, pushTip } from './commit-and-push.js';
import * as remotes from './remote.js';
import type { TakenCheckout } from './take.js';

/** Adapters for directories. A checkout is a directory. */
export interface DirectoryAdapters {
  readonly blobs: BlobStore;
  readonly engine: ApplyEngine;
  readonly repository: Repository;
}

/** Returns a repository that is the checkout's, whatever workspace it is asked about. `workspace`: the checkout's. */
export const repositoryOf = (
  adapters: DirectoryAdapters,
  checkout: TakenCheckout,
  workspace: Workspace,
): Repository => {
  const { repository } = adapters;
  const { path } = checkout.hold;
  return {
    ...repository,
    head: () => repository.head(path),
    hasHooks: () => repository.hasHooks(path),
    committed: (_, file) => repository.committed(path, file),
    isPersons: (_, command, paths) => repository.isPersons(path, command, paths),
    message: (_, commit) => repository.message(path, commit),
    holds: (_, commit) => repository.holds(path, commit),
    planCommits: (_, planPath) => repository.planCommits(path, planPath),
    runCommits: (_, limit) => repository.runCommits(path, limit),
    commit: (request, signal) =>
      commitAndPush(repository, checkout, { ...request, workspace: path }, signal),
    merge: (request, assertCurrent) => {
      const engine = { ...adapters.engine, ...workspace };
      return mergeAndPush({ engine, blobs: adapters.blobs }, checkout, request, assertCurrent);
    },
    worktrees: worktreesOf(repository, checkout),
  };
};

async function mergeAndPush(
  adapters: Pick<DirectoryAdapters, 'engine' | 'blobs'>,
  checkout: TakenCheckout,
  request: MergeRequest,
  assertCurrent: AssertCurrent,
): Promise<MergeOutcome> {
  const { place, hold, commit, signal } = checkout;
  await remotes.refuseTakenOut(place.remote, hold);
  await remotes.fetchCommit(place.remote, request.theirs, signal);
  const outcome = await mergeInto(adapters, { ...request, workspace: hold.path }, assertCurrent);
  // A merge with another parent was made by an earlier attempt, which pushed it.
  if (outcome.outcome !== 'merged' || outcome.parent !== commit) return outcome;
  assertCurrent();
  const failure = await pushTip(checkout, outcome.commit);
  return failure === null
    ? outcome
    : { outcome: 'failed', problem: problem('git_failed', failure.message) };
}

const worktreesOf = (
  { worktrees }: Repository,
  { place, hold, commit, signal }: TakenCheckout,
): Worktrees => ({
  ...worktrees,
  make: (request, attempt) => worktrees.make({ ...request, workspace: hold.path }, attempt),
  remove: async (plan, name) => {
    if (!place.isShared || plan !== place.remote.stepKey) return worktrees.remove(plan, name);
    // A phase of a plan on a repository has no worktree on a disk, only a branch on the remote.
    const branch = phaseBranchOf(plan, name);
    const { dropped, kept } = await remotes.dropBranch(place.remote, branch, commit, signal);
    return { name, branch, dropped, kept };
  },
});
