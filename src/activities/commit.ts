/** ◆ Commits what was applied, beside the person's index; the same input gives the same commit id. Ends the lease. */
import { ProblemError } from '../shared/problems.js';
import type { CommitInput, CommitResult } from '../shared/protocol.js';
import { repositoryOf } from '../workspace/git.js';
import type { LeaseHolder, Proposal, ProposalFile } from '../workspace/types.js';
import type { ActivityScope } from './boundary.js';
import type { ActivityDependencies } from './dependencies.js';
import { getJson, getSnapshot } from './snapshot.js';

export const commit =
  (dependencies: ActivityDependencies) =>
  async (input: CommitInput, scope: ActivityScope): Promise<CommitResult> => {
    const { blobs, engine } = dependencies;
    const { config } = await getSnapshot(blobs, input.snapshot);
    const { files, moves } = await appliedFiles(dependencies, input);
    const outcome = await dependencies.commit(
      {
        stepKey: input.stepKey,
        workspace: input.workspace,
        files,
        moves,
        message: input.message,
        lease: await leaseOf(dependencies, input),
        date: input.lease.takenAt,
        hooks: config.hooks,
        sign: config.sign,
      },
      scope.signal,
    );
    switch (outcome.outcome) {
      case 'committed':
        await engine.releaseLease(input.workspace, input.stepKey);
        return { v: 1, outcome: 'committed', commit: outcome.commit, note: outcome.note ?? null };
      case 'nothing':
        await engine.releaseLease(input.workspace, input.stepKey);
        return { v: 1, outcome: 'nothing' };
      case 'conflict':
        return { v: 1, outcome: 'conflict', reason: 'conflict', why: outcome.why };
      case 'hook_changed':
        return { v: 1, outcome: 'conflict', reason: 'hook_changed', why: outcome.why };
      case 'failed':
        // A hook that the worker's stop cut short has not failed: the next attempt runs it again.
        if (outcome.problem.code === 'aborted') throw new ProblemError(outcome.problem);
        return { v: 1, outcome: 'failed', problem: outcome.problem };
    }
  };

/** First base and last result of every file over all applications of the step. */
async function appliedFiles({ blobs }: ActivityDependencies, input: CommitInput) {
  const files = new Map<string, ProposalFile>();
  const moves: Proposal['moves'][number][] = [];
  for (const application of input.applications) {
    const proposal = await getJson<Proposal>(blobs, application.proposal, 'proposal');
    const applied = new Set(application.files);
    for (const file of proposal.files) {
      if (!applied.has(file.path)) continue;
      const first = files.get(file.path);
      files.set(file.path, first === undefined ? file : { ...file, base: first.base });
    }
    moves.push(...proposal.moves.filter(({ from, to }) => applied.has(from) && applied.has(to)));
  }
  return { files: [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), moves };
}

/** The parent is HEAD as it was when the lease was taken, or, after `rebase` at a commit conflict, as it was at the first such attempt. */
async function leaseOf({ records }: ActivityDependencies, input: CommitInput): Promise<LeaseHolder> {
  const lease: LeaseHolder = { v: 1, stepKey: input.stepKey, workflowId: '', namespace: '', ...input.lease };
  if (input.ontoCurrent === null) return lease;
  const repository = await repositoryOf(input.workspace);
  const now = { head: repository?.head ?? null, headRef: repository?.headRef ?? null };
  const { value } = await records.putIfAbsent(`steps/${input.stepKey}/onto-${input.ontoCurrent}`, now);
  return { ...lease, ...value };
}
