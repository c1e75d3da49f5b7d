/** The apply engine: lock, check, transaction, outcome. The protocol is in apply/transaction.ts and apply/forward.ts. */
import { join } from 'node:path';
import { fail, problem, ProblemError } from '../../shared/problems.js';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import { again, committedSince, outcomeOf, rolledBackBefore } from './repeat.js';
import { takeBack } from './prepare.js';
import { checkFiles } from './check-files.js';
import { dirOf, freshId } from './paths.js';
import { isStillDirectory } from './resolve-path.js';
import { sysBeneath } from './beneath-sys.js';
import { ownProcess, type ProcessIdentity } from '../../system/process.js';
import { isOpen, openRecord, recordsOf, type TransactionRecord } from './record.js';
import { isAt, look, PERMISSIONS } from './sides.js';
import {
  asAttempt,
  problemOf,
  transact,
  type PlanAttempt,
  type EngineParts,
} from './transaction.js';
import { proposalIdOf, recordName } from '../proposal.js';
import { appliedUnder, isLocal, releaseEnded, takeOver, type OtherRuns } from './lock-owners.js';
import { homePaths } from '../../stores/home.js';
import { createLocks, type CurrentTaking, type Locks } from './lock.js';
import { OpenMarks } from './marks.js';
import { recoverAll, recoverMarked } from './recover.js';
import { putBack, rollBack } from './rollback.js';
import { onDisk, orNull } from '../../system/durable.js';
import { withScratch } from '../../system/scratch.js';
import { realSys, type Sys } from '../../system/sys.js';
import type {
  ApplyEngine,
  CommittedWork,
  ApplyOutcome,
  ApplyRequest,
  WorkspaceLock,
  AssertCurrent,
  ExpectedFile,
  Found,
} from '../ports.js';
import type { BlobStore } from '../../stores/ports.js';
import { STORE_BOUNDS } from '../../shared/bounds.js';

export interface ApplyEngineOptions {
  /** The home, as resolveHome returns it. */
  readonly home: string;
  readonly blobs: BlobStore;
  readonly sys?: Sys;
  readonly locks?: Locks;
  /** Identity of this process for others; the engine determines it if it is absent. */
  readonly process?: ProcessIdentity;
  /** Time for which an attempt waits for another live attempt at the same record before it joins in. */
  readonly patience_ms?: number;
  /** For a worker: the other runs. The engine takes over the lock of a run that has ended, if no applied file needs it. */
  readonly runs?: OtherRuns;
}

export const createApplyEngine = (options: ApplyEngineOptions): ApplyEngine => {
  const { home, blobs, sys = realSys } = options;
  const locks = options.locks ?? createLocks({ home, sys });
  const parts = partsOf(options, sys, locks);

  return {
    root: (workspace) => Promise.resolve(workspace),
    apply: async (request, assertCurrent) => {
      checkRequest(request);
      const work = async () => applyOnce(await parts(assertCurrent), home, request);
      return onDisk(`Applying to ${request.workspace}`, work);
    },
    rollback: async (request, assertCurrent) => {
      checkRequest(request);
      return onDisk(`Rolling back in ${request.workspace}`, async () =>
        rollBack(await parts(assertCurrent), request),
      );
    },
    rollbackRecorded: async (request) => {
      if (!isStepKey(request.stepKey))
        fail('internal', `${JSON.stringify(request.stepKey)} is not a step key.`);
      return onDisk(`Rolling back in ${request.workspace}`, async () =>
        rollBack(await parts(), request),
      );
    },
    differing: async (workspace, files) =>
      differing({ sys, blobs }, await sys.realpath(workspace), files),
    putBack: (workspace, stepKey, found, assertCurrent) =>
      onDisk(`Putting files back in ${workspace}`, async () => {
        if (found.length === 0) return;
        const engine = await parts(assertCurrent);
        if (stepKey !== null) return putBack(engine, workspace, stepKey, found);
        return withScratch('back', (dir) =>
          putBack({ ...engine, transactions: dir }, workspace, freshId(), found),
        );
      }),
    releaseLock: (workspace, stepKey, number) => locks.release(workspace, stepKey, number),
    acquireLock: async (workspace, stepKey, holder, assertCurrent) =>
      acquireLock(await parts(assertCurrent), workspace, stepKey, holder),
    readLock: (workspace) => locks.read(workspace),
    committedWork: async (_, stepKey) => committedWork(await parts(), stepKey),
    newestOtherLock: (workspace, stepKey) => newestOtherLock(locks, workspace, stepKey),
    earlierRuns: (workspace, stepKey) => earlierRuns(locks, workspace, stepKey),
    releaseEnded: (workspace, holder, finished) =>
      onDisk(`The lock of ${workspace}`, async () =>
        releaseEnded(await parts(), workspace, holder, finished),
      ),
    recover: (steps) => onDisk('Recovery', async () => recoverAll(await parts(), steps)),
    recoverMarked: () => onDisk('Recovery', async () => recoverMarked(await parts())),
  };
};

/** Makes the parts of the engine for each of its calls. The first call determines the identity of this process. */
const partsOf = (options: ApplyEngineOptions, sys: Sys, locks: Locks) => {
  const { home, blobs, patience_ms = STORE_BOUNDS.attemptPatience_ms } = options;
  const { transactions } = homePaths(home);
  const take: EngineParts['take'] = (...taking) => locks.take(...taking);
  let identity: Promise<ProcessIdentity> | null =
    options.process === undefined ? null : Promise.resolve(options.process);
  let marks: OpenMarks | null = null;
  return async (assertCurrent: AssertCurrent = () => undefined): Promise<EngineParts> => {
    const process = await (identity ??= ownProcess(sys));
    marks ??= new OpenMarks({ sys, home, boot: process.boot });
    const own = {
      sys,
      blobs,
      process,
      patience_ms,
      locks,
      take,
      assertCurrent,
      transactions,
      marks,
    };
    return options.runs === undefined ? own : { ...own, take: takeOver(own, options.runs) };
  };
};

/** Takes the lock. Throws if this attempt was given up while it waited. */
const acquireLock = async (
  engine: EngineParts,
  workspace: string,
  stepKey: string,
  holder: ApplyRequest['holder'],
): ReturnType<EngineParts['take']> => {
  engine.assertCurrent();
  const taking = await engine.take(workspace, stepKey, holder);
  if (taking.outcome === 'held') await checkInTime(engine, workspace, taking);
  return taking;
};

/** Returns the other steps that had the lock of the workspace, the newest first. */
const earlierRuns = async (
  locks: Locks,
  workspace: string,
  stepKey: string,
): Promise<readonly string[]> => {
  const takings = await locks.takings(workspace);
  // Commands that work without a server run no tests.
  const runs = takings.filter((lock) => lock.stepKey !== stepKey && !isLocal(lock));
  const newest = runs.toSorted((a, b) => b.token - a.token).map((lock) => lock.stepKey);
  return [...new Set(newest)];
};

/** Returns the highest token of the locks of other steps on the workspace; null: there is none. */
const newestOtherLock = async (
  locks: Locks,
  workspace: string,
  stepKey: StepKey,
): Promise<number | null> => {
  const takings = await locks.takings(workspace);
  const others = takings.filter((lock) => lock.stepKey !== stepKey).map(({ token }) => token);
  return others.length === 0 ? null : Math.max(...others);
};

/** Returns the applications that the step did not roll back, if it made its commit after one of them; null: it did not. */
const committedWork = async (
  { sys, transactions }: EngineParts,
  stepKey: StepKey,
): Promise<CommittedWork | null> => {
  let lock: WorkspaceLock | null = null;
  const applications: CommittedWork['applications'][number][] = [];
  for (const record of await recordsOf(sys, transactions, stepKey)) {
    const { plan, closed } = await record.load();
    if (plan?.kind !== 'apply' || closed === null || (await record.isReverted())) continue;
    applications.push({
      proposalId: plan.proposalId,
      decision: plan.decision,
      files: closed.files,
    });
    if (lock === null && (await committedSince(sys, plan)) !== null) lock = plan.lock;
  }
  return lock && { lock, applications: applications.toSorted((a, b) => a.decision - b.decision) };
};

/** Checks the parts of a request that name files and records. It comes from a history or from JSON. */
export const checkRequest = (request: ApplyRequest): void => {
  const { stepKey, proposalId, proposal, decision, files } = request;
  if (!isStepKey(stepKey)) fail('internal', `${JSON.stringify(stepKey)} is not a step key.`);
  if (!Number.isSafeInteger(decision) || decision < 0)
    fail('internal', `${decision} is not the number of a decision.`);
  // Emend applies exactly the proposal that was reviewed.
  if (proposalIdOf(proposal) !== proposalId)
    fail('internal', `The proposal does not have the id ${proposalId} that was approved.`);
  const known = new Set(proposal.files.map((file) => file.path));
  const unknown = files.find((path) => !known.has(path));
  if (unknown !== undefined) fail('internal', `${unknown} is not in the proposal ${proposalId}.`);
};

/** Applies a proposal, unless its record is closed already: then returns the recorded outcome. */
const applyOnce = async (
  parts: EngineParts,
  home: string,
  request: ApplyRequest,
): Promise<ApplyOutcome> => {
  const { sys, transactions, locks, take, assertCurrent } = parts;
  const { stepKey, proposalId, decision, workspace } = request;
  const record = openRecord(sys, transactions, recordName(stepKey, proposalId, decision));
  const { closed } = await record.load();
  if (closed !== null) return again(sys, record, closed);
  if (await record.isReverted()) return rolledBackBefore(request);

  const root = await orNull(sys.realpath(workspace));
  if (root === null)
    return { outcome: 'failed', problem: problem('disk', `Workspace ${workspace} not found.`) };
  if (`${root}/`.startsWith(`${home}/`))
    return {
      outcome: 'failed',
      problem: problem('home_unusable', `The workspace ${root} is inside Emend's home ${home}.`),
    };
  assertCurrent();
  const taking = await take(root, stepKey, request.holder).catch((error: unknown) =>
    failedAt(error, root),
  );
  if (taking.outcome === 'failed' || taking.outcome === 'busy') return taking;
  await checkInTime(parts, root, taking);
  const done = await asAttempt((attempt) =>
    transact(parts, record, attempt, (generation) =>
      planApplication(parts, { root, home }, request, { attempt, generation, taking }),
    ).catch((error: unknown) => openOrFailed(parts, record, error, { attempt, root })),
  );
  if (done.outcome === 'closed') {
    // Another attempt was quicker and its lock has ended: the lock of this late attempt protects nothing.
    if (taking.taken && done.closed.lock.token !== taking.lock.token)
      await locks.release(root, stepKey, taking.lock.token);
    return outcomeOf(done.closed);
  }
  // This call wrote nothing: other steps may have the workspace, unless earlier files of this step are applied in it.
  const released = releaseIfIdle(parts, root, taking.lock);
  // On a full or broken disk, the caller must hear of the failure itself. The next attempt or the end of the run releases the lock.
  await (done.outcome === 'failed' ? released.catch(() => undefined) : released);
  return done;
};

/** Checks the files of the request and makes the plan of a generation, or returns the conflicts. */
const planApplication = async (
  { sys, blobs, process }: EngineParts,
  { root, home }: { readonly root: string; readonly home: string },
  request: ApplyRequest,
  {
    attempt,
    generation,
    taking: { lock, isCurrent },
  }: { readonly attempt: string; readonly generation: number; readonly taking: CurrentTaking },
): Promise<PlanAttempt> => {
  const checked = await checkFiles(sys, blobs, { root, home }, request);
  if (checked.conflicts.length > 0) return { ok: false, conflicts: checked.conflicts };
  if (request.isStillTested !== undefined && !(await request.isStillTested()))
    return { ok: false, conflicts: [] };
  const plan = {
    kind: 'apply',
    stepKey: request.stepKey,
    proposalId: request.proposalId,
    decision: request.decision,
    generation,
    attempt,
    token: freshId(),
    process,
    workspace: root,
    lock,
    files: checked.files,
    dirs: checked.dirs,
    dropDirs: [],
  } as const;
  return { ok: true, plan, checked, isCurrent };
};

/**
 * Throws if the attempt was given up while it took the lock. Ends this lock first, as no other attempt would, unless the attempt in its place
 * works under it.
 */
const checkInTime = async (
  parts: EngineParts,
  root: string,
  { lock, taken }: CurrentTaking,
): Promise<void> => {
  try {
    parts.assertCurrent();
  } catch (late) {
    if (taken && !(await plansUnder(parts, lock)))
      await parts.locks.release(root, lock.stepKey, lock.token);
    throw late;
  }
};

const failedAt = (error: unknown, root: string) =>
  ({ outcome: 'failed', problem: problemOf(error, root) }) as const;

/** Returns the outcome after an error, if nothing was written and nothing will be. Otherwise throws the error: the next attempt continues the record. */
const openOrFailed = async (
  { sys }: EngineParts,
  record: TransactionRecord,
  error: unknown,
  { attempt, root }: { readonly attempt: string; readonly root: string },
) => {
  const state = await record.load();
  if (state.closed !== null) return { outcome: 'closed', closed: state.closed } as const;
  // Other attempts at this record may still write under the lock, which this attempt would end.
  if (error instanceof ProblemError && error.problem.code === 'busy') throw error;
  if (state.plan === null || !isOpen(state)) return failedAt(error, root);
  // Nothing is committed without a verdict, and only the attempt that wrote the plan, which ends here, could have asked for one.
  if (state.verdict === 'committed' || state.plan.attempt !== attempt) throw error;
  await takeBack(sysBeneath(sys, state.plan.workspace), state.plan).catch(() => undefined);
  return failedAt(error, root);
};

/** Ends the lock, unless files are applied under it. */
const releaseIfIdle = async (
  parts: EngineParts,
  root: string,
  lock: WorkspaceLock,
): Promise<void> => {
  parts.assertCurrent();
  const applied = await appliedUnder(parts.sys, parts.transactions, root, lock);
  if (!applied.some(({ closed }) => closed.files.length > 0))
    await parts.locks.release(root, lock.stepKey, lock.token);
};

/** Returns whether an attempt of the step has written a plan under this lock. */
const plansUnder = async (
  { sys, transactions }: EngineParts,
  { stepKey, token }: WorkspaceLock,
): Promise<boolean> => {
  for (const record of await recordsOf(sys, transactions, stepKey))
    if ((await record.load()).plan?.lock.token === token) return true;
  return false;
};

/** Returns the files of a proposal that differ from what was applied, after tests that wrote to them. */
const differing = async (
  { sys, blobs }: Pick<EngineParts, 'sys' | 'blobs'>,
  root: string,
  files: readonly ExpectedFile[],
): Promise<Found> => {
  const found: Found[number][] = [];
  for (const file of files) {
    // Through a link in the place of a directory, other bytes would be read.
    const isThere = await isStillDirectory(sys, root, dirOf(file.path));
    const seen = isThere
      ? await look(sysBeneath(sys, root), join(root, file.path))
      : ({ kind: 'absent' } as const);
    if (isAt(seen, file.result) && (isThere || file.result === null)) continue;
    const current =
      seen.kind === 'file'
        ? { ref: await blobs.put(seen.bytes), mode: seen.stat.mode & PERMISSIONS }
        : null;
    found.push({ ...file, now: current });
  }
  return found;
};
