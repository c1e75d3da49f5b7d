/** ◆ Writes an approved proposal: all of its files or none, never over a person's save. */
import type { ApplyInput, ApplyResult, HeldLease } from '../shared/protocol.js';
import { shownKey, type BlobRef } from '../shared/refs.js';
import type { ApplyRequest, LeaseHolder, Proposal } from '../workspace/types.js';
import { proposalIdOf } from '../workspace/hash.js';
import type { ActivityScope } from './boundary.js';
import type { ActivityDependencies } from './dependencies.js';
import { applyOrTakeOver } from './take-over.js';
import { getJson } from './snapshot.js';

interface Applying {
  readonly stepKey: string;
  readonly workspace: string;
  readonly proposal: BlobRef;
  readonly decision: number;
  readonly files: readonly string[] | null;
  readonly workflowId: string;
  readonly namespace: string;
}

/** The engine's request for (part of) a sealed proposal; the same for apply and rollback. */
export async function requestOf({ blobs }: ActivityDependencies, input: Applying): Promise<ApplyRequest> {
  const proposal = await getJson<Proposal>(blobs, input.proposal, 'proposal');
  return {
    stepKey: input.stepKey,
    workspace: input.workspace,
    proposalId: proposalIdOf(proposal),
    proposal,
    decision: input.decision,
    files: input.files ?? proposal.files.map((file) => file.path),
    holder: { workflowId: input.workflowId, namespace: input.namespace },
  };
}

const held = ({ number, head, headRef, takenAt }: LeaseHolder): HeldLease => ({ number, head, headRef, takenAt });

export const apply =
  (dependencies: ActivityDependencies) =>
  async (input: ApplyInput, { stillOurs }: ActivityScope): Promise<ApplyResult> => {
    const { engine } = dependencies;
    const request = await requestOf(dependencies, input);
    const { outcome, advice } = await applyOrTakeOver(dependencies, request, stillOurs);
    // Of a late attempt nobody takes the outcome, and the lease may be the step's next one by now.
    stillOurs();
    const release = ({ number }: LeaseHolder): Promise<void> =>
      engine.releaseLease(input.workspace, input.stepKey, number);
    switch (outcome.outcome) {
      case 'applied':
        if (input.releaseAfter) await release(outcome.lease);
        return { v: 1, outcome: 'applied', files: outcome.files, lease: held(outcome.lease) };
      case 'busy':
        return {
          v: 1,
          outcome: 'busy',
          holder: shownKey(outcome.holder.stepKey),
          since: outcome.holder.takenAt,
          ...(advice === null ? {} : { advice }),
        };
      case 'base_changed':
        return { v: 1, outcome: 'base_changed', conflicts: outcome.conflicts };
      case 'conflict':
        // Nothing of ours is on disk, or nothing follows that wants the workspace for itself.
        if (input.releaseAfter || outcome.files.length === 0) await release(outcome.lease);
        return {
          v: 1,
          outcome: 'conflict',
          conflicts: outcome.conflicts,
          files: outcome.files,
          lease: held(outcome.lease),
        };
      case 'failed':
        return { v: 1, outcome: 'failed', problem: outcome.problem };
    }
  };
