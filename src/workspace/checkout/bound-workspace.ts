/** The workspace of a checkout. The token on the remote locks it, so its lock is only a value. */
import type { StepKey } from '../../shared/ids.js';
import { checkRequest } from '../apply/engine.js';
import type {
  ApplyEngine,
  ApplyOutcome,
  ApplyRequest,
  AssertCurrent,
  ConflictFile,
  ExpectedFile,
  Found,
  RollbackOutcome,
  Workspace,
  WorkspaceLock,
} from '../ports.js';
import { findPushedCommit } from './commit-and-push.js';
import type { TakenCheckout } from './take.js';

/** Returns a workspace that is the checkout, whatever name it is called with. */
export const workspaceOf = (engine: ApplyEngine, checkout: TakenCheckout): Workspace => {
  const { place, hold } = checkout;
  const { path } = hold;
  return {
    root: () => Promise.resolve(path),
    apply: (request, assertCurrent) => applyTo(engine, checkout, request, assertCurrent),
    rollback: (request, assertCurrent) => rollBackIn(engine, checkout, request, assertCurrent),
    differing: (_, files) => engine.differing(path, files),
    putBack: (_, _step, files, assertCurrent) => engine.putBack(path, null, files, assertCurrent),
    releaseLock: () => Promise.resolve(),
    acquireLock: (_, stepKey, holder) =>
      Promise.resolve({ outcome: 'held', lock: lockOf(checkout, stepKey, holder), taken: false }),
    readLock: () =>
      Promise.resolve(lockOf(checkout, place.remote.stepKey, { workflowId: '', namespace: '' })),
    committedWork: () => Promise.resolve(null),
    newestOtherLock: () => Promise.resolve(null),
    // A checkout is made for its run alone.
    earlierRuns: () => Promise.resolve([]),
  };
};

const lockOf = (
  { commit }: TakenCheckout,
  stepKey: StepKey,
  { workflowId, namespace }: ApplyRequest['holder'],
): WorkspaceLock => ({
  stepKey,
  workflowId,
  namespace,
  takenAt: new Date().toISOString(),
  // Only this run has the directory. The token on the remote is what counts.
  token: 1,
  head: commit,
  headRef: null,
});

async function applyTo(
  engine: ApplyEngine,
  checkout: TakenCheckout,
  request: ApplyRequest,
  assertCurrent: AssertCurrent | undefined,
): Promise<ApplyOutcome> {
  checkRequest(request);
  const { path } = checkout.hold;
  const { files, holder, stepKey } = request;
  const lock = lockOf(checkout, stepKey, holder);
  // An earlier attempt may have pushed the change. The commit finds it.
  if ((await findPushedCommit(checkout, stepKey)) !== null)
    return { outcome: 'applied', files, lock };
  const proposalFiles = filesOf(request);
  const conflicts = conflictsOf(checkout, await engine.differing(path, atBase(proposalFiles)));
  if (conflicts.length > 0) return { outcome: 'base_changed', conflicts };
  await engine.putBack(path, null, await engine.differing(path, proposalFiles), assertCurrent);
  return { outcome: 'applied', files, lock };
}

async function rollBackIn(
  engine: ApplyEngine,
  checkout: TakenCheckout,
  request: ApplyRequest,
  assertCurrent: AssertCurrent | undefined,
): Promise<RollbackOutcome> {
  const { path } = checkout.hold;
  const commit = await findPushedCommit(checkout, request.stepKey);
  if (commit !== null) return { outcome: 'committed', commit };
  const baseFiles = atBase(filesOf(request));
  await engine.putBack(path, null, await engine.differing(path, baseFiles), assertCurrent);
  return { outcome: 'rolled_back', files: request.files, leftAlone: [] };
}

const filesOf = ({ proposal, files }: ApplyRequest): ApplyRequest['proposal']['files'] =>
  proposal.files.filter((file) => files.includes(file.path));

const atBase = (files: ApplyRequest['proposal']['files']): readonly ExpectedFile[] =>
  files.map(({ path, base }) => ({ path, result: base }));

const conflictsOf = (
  { place, commit }: TakenCheckout,
  differences: Found,
): readonly ConflictFile[] => {
  const reason = `changed on ${place.branch} (${commit.slice(0, 12)}) since the proposal was made`;
  return differences.filter((file) => !isSame(file)).map(({ path }) => ({ path, why: reason }));
};

/** Compares content, and whether the file is executable. In the other bits of a mode two hosts may differ. */
const isSame = ({ result, now: current }: Found[number]): boolean =>
  result?.ref === current?.ref && (((result?.mode ?? 0) ^ (current?.mode ?? 0)) & 0o111) === 0;
