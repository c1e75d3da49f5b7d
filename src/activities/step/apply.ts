/** ◆ Writes an approved proposal: all of its files or none, never over a person's save. */
import { getJson } from '../../stores/ports.js';
import type { ApplyInput, HeldLock, ConflictFile } from '../../shared/proposal-activities.js';
import { shownKey } from '../../shared/ids.js';
import { count } from '../../shared/text.js';
import type { ApplyRequest, WorkspaceLock, ApplyOutcome, AssertCurrent } from '../../workspace/ports.js';
import { type Proposal, proposalIdOf } from '../../workspace/proposal.js';
import type { Activity } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';

// bound: Locks of ended runs taken over by one application; each further one means that another ended run was quicker.
const TAKE_OVERS = 3;

// Applying to a workspace that an ended run may still hold: its lock is taken over where it stands for nothing any more.

interface Applied {
  readonly outcome: ApplyOutcome;
  /** What a person can do about a holder that has ended; null: it is waited for. */
  readonly advice: string | null;
}

export const applyOrTakeOver = async (
  ports: Pick<ActivityPorts, 'workspace' | 'stateOfHolder' | 'logger'>,
  request: ApplyRequest,
  assertCurrent: AssertCurrent,
): Promise<Applied> => {
  for (let takeOvers = 0; ; takeOvers++) {
    const outcome = await ports.workspace.apply(request, assertCurrent);
    if (outcome.outcome !== 'busy') return { outcome, advice: null };
    const found = await holderOf(ports, request.workspace, outcome.holder);
    if (!found.free || takeOvers === TAKE_OVERS) return { outcome, advice: found.free ? null : found.advice };
    ports.logger.warn({ ...found, workspace: request.workspace, holder: outcome.holder.stepKey }, 'took over a lock');
  }
};

type Holding =
  { readonly free: true; readonly because: string } | { readonly free: false; readonly advice: string | null };
const heldBy = (advice: string | null): Holding => ({ free: false, advice });

const holderOf = async (
  ports: Pick<ActivityPorts, 'workspace' | 'stateOfHolder'>,
  workspace: string,
  holder: WorkspaceLock,
): Promise<Holding> => {
  const run = shownKey(holder.stepKey);
  const recover = `\`emend recover --undo ${run}\` restores the files, \`emend recover --keep ${run}\` keeps them`;
  const standing = await ports.stateOfHolder(holder);
  if (standing.state === 'open') return heldBy(null);
  if (standing.state === 'unknown')
    return heldBy(
      standing.why === 'not_known' ? `run ${run}, unknown to the server, has locked the workspace: ${recover}` : null,
    );
  const ended = `run ${run} has ended (${standing.how})`;
  if (standing.elsewhere)
    return heldBy(`${ended} and has locked the workspace from another EMEND_HOME: run \`emend recover\` with that one`);
  const end = await ports.workspace.releaseEnded(workspace, holder, standing.finished);
  switch (end.outcome) {
    case 'ended':
      return { free: true, because: `${standing.how}, ${end.because}` };
    case 'not_held':
      return { free: true, because: 'it was released in the meantime' };
    case 'kept':
      return heldBy(`${ended} with ${count(end.files.length, 'file')} applied but not committed: ${recover}`);
    case 'at_work':
      return heldBy(`${ended}, but a process is still working on its files`);
    case 'unrecovered':
      return heldBy(`${ended} midway and could not be recovered: \`emend recover\` says why`);
  }
};

type Applying = Omit<ApplyInput, 'v' | 'log' | 'releaseAfter'>;

/** The engine's request for (part of) a proposal; the same for apply and rollback. */
async function requestOf({ blobs }: ActivityPorts, input: Applying): Promise<ApplyRequest> {
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

const held = ({ token, head, headRef, takenAt }: WorkspaceLock): HeldLock => ({ token, head, headRef, takenAt });

export const applyProposal: Activity<'applyProposal'> = async (ports, input, { assertCurrent }) => {
  const request = await requestOf(ports, input);
  const { outcome, advice } = await applyOrTakeOver(ports, request, assertCurrent);
  // Of a late attempt nobody takes the outcome, and the lock may be the step's next one by now.
  assertCurrent();
  const release = ({ token }: WorkspaceLock): Promise<void> =>
    ports.workspace.releaseLock(input.workspace, input.stepKey, token);
  switch (outcome.outcome) {
    case 'applied':
      if (input.releaseAfter) await release(outcome.lock);
      return { outcome: 'applied', files: outcome.files, lock: held(outcome.lock) };
    case 'busy':
      return {
        outcome: 'busy',
        holder: shownKey(outcome.holder.stepKey),
        since: outcome.holder.takenAt,
        ...(advice === null ? {} : { advice }),
      };
    case 'conflict': {
      const { conflicts, files, lock } = outcome;
      // Nothing of ours is on disk, or nothing follows that wants the workspace for itself.
      if (input.releaseAfter || files.length === 0) await release(lock);
      return { outcome: 'conflict', conflicts, files, lock: held(lock) };
    }
    case 'base_changed':
    case 'failed':
      return outcome;
  }
};

// Puts the files of this step's applications back, newest first; only those that are at our result. Ends the lock.

export const rollBack: Activity<'rollBack'> = async (ports, input, { assertCurrent }) => {
  const files: string[] = [];
  const kept: ConflictFile[] = [];
  let commit: string | null = null;
  for (const application of [...input.applications].reverse()) {
    const request = await requestOf(ports, { ...input, ...application });
    const outcome = await ports.workspace.rollback(request, assertCurrent);
    if (outcome.outcome === 'committed') {
      commit = outcome.commit;
      break;
    }
    files.push(...outcome.files);
    kept.push(...outcome.leftAlone);
  }
  assertCurrent();
  await ports.workspace.releaseLock(input.workspace, input.stepKey, input.token);
  return { files: [...new Set(files)], leftAlone: kept, ...(commit === null ? {} : { commit }) };
};
