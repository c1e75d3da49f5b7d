/** ◆ Writes an approved proposal: all of its files or none, never over a person's save. */
import { getJson } from '../../stores/ports.js';
import type {
  ApplyInput,
  ApplyResult,
  HeldLock,
  ConflictFile,
} from '../../shared/proposal-activities.js';
import { shownKey, type BlobRef } from '../../shared/ids.js';
import { earlierCommitIn, type DoneActivity } from '../../shared/earlier-commit.js';
import { contentHash, type ApprovedFile } from '../../workspace/trust/index.js';
import type { ApplyRequest, CommittedWork, WorkspaceLock } from '../../workspace/ports.js';
import { toApply, type Proposal } from '../../workspace/proposal.js';
import type { Activity } from '../frame/activity.js';
import type { ActivityPorts } from '../frame/ports.js';
import { isRecord } from '../../shared/text.js';
import { realpath } from '../../system/fs.js';
import { appliedFiles } from './commit.js';
import { baseHashOf } from './test-proposal.js';

type Applying = Omit<ApplyInput, 'v' | 'log' | 'releaseAfter'>;

/** The engine's request for (part of) a proposal; the same for apply and rollback. */
async function requestOf({ blobs }: ActivityPorts, input: Applying): Promise<ApplyRequest> {
  const { stepKey, workspace, decision, files, workflowId, namespace } = input;
  const proposal = await getJson<Proposal>(blobs, input.proposal, 'proposal');
  return {
    stepKey,
    workspace,
    decision,
    holder: { workflowId, namespace },
    ...toApply(proposal, files),
  };
}

const held = ({ token, head, headRef, takenAt }: WorkspaceLock): HeldLock => ({
  token,
  head,
  headRef,
  takenAt,
});

/** Returns whether the files under the change are those that its tests passed on. */
async function holdsOnBase(
  ports: ActivityPorts,
  input: ApplyInput,
  files: readonly string[],
): Promise<boolean> {
  const { tested, stepKey, workspace } = input;
  if (tested === undefined) return true;
  const applied = (await appliedFiles(ports, { stepKey, applications: tested.applications })).files;
  const changed = new Set([...files, ...applied.map(({ path }) => path)]);
  const root = await realpath(await ports.workspace.root(workspace));
  return (await baseHashOf(root, input, changed, tested.writes)) === tested.baseHash;
}

/** Records before the apply which files a reviewer has seen. Emend asks about the others before it obeys one. */
async function recordTrust(
  { trust, blobs, workspace: engine }: ActivityPorts,
  { stepKey, workspace, unapproved = [] }: ApplyInput,
  { proposal, files }: ApplyRequest,
): Promise<void> {
  const automatic: { readonly path: string; readonly hash: string }[] = [];
  const approved: ApprovedFile[] = [];
  const textOf = async ({ ref }: { readonly ref: BlobRef }): Promise<string> =>
    Buffer.from(await blobs.get(ref)).toString('utf8');
  for (const { path, base, result } of proposal.files) {
    if (result === null || !files.includes(path)) continue;
    if (unapproved.includes(path))
      automatic.push({ path, hash: contentHash(await textOf(result)) });
    else
      approved.push({
        path,
        read: async () => ({
          text: await textOf(result),
          baseHash: base === null ? null : contentHash(await textOf(base)),
        }),
      });
  }
  // The workspace of a run on a repository is a URL.
  const root = await engine.root(workspace);
  if (automatic.length > 0) await trust.recordUnapproved(root, shownKey(stepKey), automatic);
  if (approved.length > 0) await trust.recordApproved(root, approved);
}

type AlreadyCommitted = Extract<ApplyResult, { outcome: 'already_committed' }>;

/** Returns what the run committed after it had made this proposal, before a reset; null: it did not. */
async function earlierCommit(
  { archive, workspace: engine }: ActivityPorts,
  { stepKey, workspace, proposalId, decision }: ApplyRequest,
): Promise<AlreadyCommitted | null> {
  const work = await engine.committedWork(workspace, stepKey);
  // The engine finds an application of this very proposal by its record.
  const isOwn = ({ proposalId: id, decision: number }: CommittedWork['applications'][number]) =>
    id === proposalId && number === decision;
  if (work === null || work.applications.some(isOwn)) return null;
  const entries = await archive.read(stepKey);
  const activities = entries.flatMap(({ kind, data }) =>
    kind === 'activity' && isRecord(data) ? [data as unknown as DoneActivity] : [],
  );
  const proposals = earlierCommitIn(activities)?.proposals;
  if (proposals?.has(proposalId) !== true) return null;
  const applications = work.applications.flatMap(({ proposalId: id, ...application }) => {
    const proposal = proposals.get(id);
    return proposal === undefined ? [] : [{ proposal, ...application }];
  });
  return { outcome: 'already_committed', lock: held(work.lock), applications };
}

export const applyProposal: Activity<'applyProposal'> = async (ports, input, { assertCurrent }) => {
  const request = await requestOf(ports, input);
  const earlier = await earlierCommit(ports, request);
  if (earlier !== null) return earlier;
  await recordTrust(ports, input, request);
  let otherLock: number | null = null;
  const isStillTested = async (): Promise<boolean> => {
    const holds = await holdsOnBase(ports, input, request.files);
    // This step has the lock now: whatever another run changed, it took its lock before.
    if (!holds) otherLock = await ports.workspace.newestOtherLock(input.workspace, input.stepKey);
    return holds;
  };
  const outcome = await ports.workspace.apply({ ...request, isStillTested }, assertCurrent);
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
        ...(outcome.advice === undefined ? {} : { advice: outcome.advice }),
      };
    case 'conflict': {
      const { conflicts, files, lock } = outcome;
      // Nothing of ours is on disk, or nothing follows that wants the workspace for itself.
      if (input.releaseAfter || files.length === 0) await release(lock);
      return { outcome: 'conflict', conflicts, files, lock: held(lock) };
    }
    case 'base_changed':
      return outcome.conflicts.length === 0 ? { outcome: 'base_moved', otherLock } : outcome;
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
