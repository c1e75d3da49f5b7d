/** Applies what a command has sealed: waits for other commands that work in the workspace, and frees it again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BOUNDS } from '../../shared/limits.js';
import { fail } from '../../shared/problems.js';
import { proposalIdOf } from '../../workspace/hash.js';
import { isLocal } from '../../workspace/local-holder.js';
import type { ApplyOutcome, ApplyRequest, FileConflict, Proposal } from '../../workspace/types.js';
import { failBusy } from './busy.js';
import type { Local } from './open-local.js';

/** `applied`: all of it. `conflict`: but for files that somebody saved meanwhile. `base_changed`: nothing, for that reason. */
export interface LocallyApplied {
  readonly outcome: 'applied' | 'conflict' | 'base_changed';
  readonly conflicts: readonly FileConflict[];
}

/** Throws ProblemError `busy`, or what the disk refuses; then nothing was changed. */
export const applyLocally = async (local: Local, workspace: string, proposal: Proposal): Promise<LocallyApplied> => {
  const { stepKey } = proposal;
  const applied = await applyOrWait(local, {
    ...{ stepKey, workspace, proposal, holder: local.holder, decision: 0 },
    proposalId: proposalIdOf(proposal),
    files: proposal.files.map(({ path }) => path),
  });
  switch (applied.outcome) {
    case 'busy':
      return failBusy(workspace, applied.holder);
    case 'failed': {
      const { code, message, next } = applied.problem;
      return fail(code, `${message} Nothing was changed.`, next);
    }
    case 'base_changed':
      return { outcome: 'base_changed', conflicts: applied.conflicts };
    case 'applied':
    case 'conflict': {
      await local.engine.releaseLease(workspace, stepKey, applied.lease.number);
      return { outcome: applied.outcome, conflicts: applied.outcome === 'conflict' ? applied.conflicts : [] };
    }
  }
};

/** Another command is done in a moment, and one that died holds nothing; a run may hold its workspace for days. */
const applyOrWait = async (local: Local, request: ApplyRequest): Promise<ApplyOutcome> => {
  const deadline = performance.now() + BOUNDS.localWait_ms;
  for (;;) {
    const outcome = await local.engine.apply(request);
    if (outcome.outcome !== 'busy' || !isLocal(outcome.holder) || performance.now() > deadline) return outcome;
    await local.freeDead(request.workspace);
    await sleep(BOUNDS.localPoll_ms);
  }
};
