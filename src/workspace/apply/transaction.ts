/**
 * Carries one transaction from a plan to a closed record, also if earlier attempts died or others run at the same time. The verdict file of
 * the record decides between commit and revert: it is written once, and all attempts read it.
 */
import { dirname } from 'node:path';
import type { Locks } from './lock.js';
import type { OpenMarks } from './marks.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { fail, problem, ProblemError, problemOn, type Problem } from '../../shared/problems.js';
import { prepare, takeBack } from './prepare.js';
import { isUnchanged, type Checked } from './check-files.js';
import { goForward, hasBegun } from './forward.js';
import { restore, resolveBackup, listBackups, type Drive } from './backups.js';
import { freshId, targetPaths } from './paths.js';
import { sysBeneath } from './beneath-sys.js';
import { isAlive, sameProcess, type ProcessIdentity } from '../../system/process.js';
import {
  isOpen,
  type ClosedRecord,
  type Driver,
  type RecordState,
  type TransactionPlan,
  type TransactionRecord,
} from './record.js';
import { refusalAfter, refusalBefore } from './refusals.js';
import { asDiskProblem } from '../../system/durable.js';
import { errnoOf, type Sys } from '../../system/sys.js';
import type { BlobStore } from '../../stores/ports.js';
import type { ConflictFile, AssertCurrent } from '../ports.js';
import { STORE_BOUNDS } from '../../shared/bounds.js';

const PLACE_TRIES = 4; // bound: Number of tries after the point of no return if the system refuses a file, with a pause between them that doubles.
const PLACE_PAUSE_MS = 50; // bound: Half of the first pause between these tries.
const APPLY_GENERATIONS = 20; // bound: Number of generations of one call; each further one means that another attempt or a person came in between.

export interface EngineParts {
  readonly sys: Sys;
  readonly blobs: BlobStore;
  readonly process: ProcessIdentity;
  /** Time for which an attempt waits for another live attempt before it joins in or reverts it. */
  readonly patience_ms: number;
  readonly transactions: string;
  readonly marks: OpenMarks;
  readonly locks: Locks;
  /** Takes the lock of a workspace, also that of a run that has ended if no applied file needs it. */
  readonly take: Locks['take'];
  readonly assertCurrent: AssertCurrent;
}

export type PlanAttempt =
  | {
      readonly ok: true;
      readonly plan: TransactionPlan;
      readonly checked: Pick<Checked, 'files' | 'stats'>;
      /** Returns whether the lock of the plan has not ended. It is checked right before the point of no return. */
      readonly isCurrent: () => Promise<boolean>;
    }
  | { readonly ok: false; readonly conflicts: readonly ConflictFile[] };

export type Transacted =
  | { readonly outcome: 'closed'; readonly closed: ClosedRecord }
  | { readonly outcome: 'base_changed'; readonly conflicts: readonly ConflictFile[] }
  | { readonly outcome: 'failed'; readonly problem: Problem };

/** Ids of the running attempts of this process, of all engines. */
const inFlight = new Set<string>();

/** Calls `work` with the id of a new attempt, which is alive for other attempts until `work` ends. */
export const asAttempt = async <T>(work: (attempt: string) => Promise<T>): Promise<T> => {
  const attempt = freshId();
  inFlight.add(attempt);
  try {
    return await work(attempt);
  } finally {
    inFlight.delete(attempt);
  }
};

/** Returns the other attempts at the record that may still be at work, each with its process id. */
export const liveAttempts = async (
  context: EngineParts,
  state: RecordState,
  ours: string,
): Promise<ReadonlyMap<string, number>> => {
  const live = new Map<string, number>();
  const drivers: readonly Driver[] =
    state.plan === null ? state.drivers : [state.plan, ...state.drivers];
  for (const { attempt, process } of drivers) {
    if (attempt === ours || state.ended.includes(attempt)) continue;
    // For an attempt of this process, the list of running attempts is more exact than the life of the process.
    const works = sameProcess(process, context.process)
      ? inFlight.has(attempt)
      : await isAlive(context.sys, process);
    if (works) live.set(attempt, process.pid);
  }
  return live;
};

/** Returns the system calls for a plan: they reach nothing in its workspace through a link. */
const workspaceSys = ({ sys }: EngineParts, { workspace }: TransactionPlan): Sys =>
  sysBeneath(sys, workspace);

const driveOf = (
  context: EngineParts,
  own: Pick<Drive, 'record' | 'plan' | 'attempt'>,
  live: ReadonlyMap<string, number>,
): Drive => {
  let backups = 0;
  const nextBackup = () => (backups += 1);
  return {
    sys: workspaceSys(context, own.plan),
    blobs: context.blobs,
    ...own,
    isLive: (id) => live.has(id),
    nextBackup,
  };
};

/** Finishes an open record if it is committed, else reverts it. Returns null if nothing is open. */
export const finishOpen = async (
  context: EngineParts,
  record: TransactionRecord,
  state: RecordState,
  attempt: string,
): Promise<{ did: 'finished'; closed: ClosedRecord } | { did: 'reverted' } | null> => {
  const { plan } = state;
  if (plan === null || !isOpen(state)) return null;
  const own = { record, plan, attempt };
  const begun = state.verdict === null && (await hasBegun(driveOf(context, own, new Map())));
  const proposed = begun ? 'committed' : 'reverted';
  const verdict = state.verdict ?? (await record.putVerdict(plan.generation, proposed)).verdict;
  if (verdict === 'reverted') {
    await takeBack(workspaceSys(context, plan), plan);
    await record.putCleaned(plan.generation);
    return { did: 'reverted' };
  }
  if (attempt !== plan.attempt) {
    await context.marks.add(plan.stepKey, attempt);
    await record.putDriver({ attempt, process: context.process });
  }
  const live = await liveAttempts(context, state, attempt);
  return { did: 'finished', closed: await goOn(driveOf(context, own, live)) };
};

/** Errnos that may pass in a moment: another program scans, copies or runs the file. */
const PASSING = ['EPERM', 'EACCES', 'EBUSY', 'ETXTBSY'];

/** Goes forward, with a bounded number of tries. If all fail, notes that the attempt has ended, so that no other waits for it while its process lives. */
const goOn = async (drive: Drive): Promise<ClosedRecord> => {
  for (let tries = 1; ; tries++) {
    try {
      return await goForward(drive);
    } catch (error) {
      if (tries < PLACE_TRIES && PASSING.includes(errnoOf(error) ?? '')) {
        await sleep(PLACE_PAUSE_MS * 2 ** tries);
        continue;
      }
      await drive.record.putEnded(drive.attempt).catch(() => undefined);
      throw await refusalAfter(drive.sys, drive.plan, error);
    }
  }
};

/**
 * Carries the record to its end. Writes nothing if `makePlan` finds conflicts. The outcome `failed` means that the record was reverted.
 * Throws ProblemError if the record could be neither finished nor reverted: it stays open, and the next attempt or a recovery continues it.
 * Throws `busy` if other attempts took it over too often.
 */
export const transact = async (
  context: EngineParts,
  record: TransactionRecord,
  attempt: string,
  makePlan: (generation: number) => Promise<PlanAttempt>,
): Promise<Transacted> => {
  try {
    return await carryThrough(context, record, attempt, makePlan);
  } finally {
    await endMark(context, record, attempt);
  }
};

/** Removes the mark of an attempt that has ended, unless its record still has to be finished, reverted or swept. */
export const endMark = (
  { marks }: EngineParts,
  record: TransactionRecord,
  attempt: string,
): Promise<void> => marks.end(dirname(record.name), attempt, () => isAtRest(record));

/** Returns whether nothing of the record is left to finish, revert or sweep. */
export const isAtRest = async (record: TransactionRecord): Promise<boolean> => {
  if (await record.isSettled()) return true;
  const state = await record.load();
  return !isOpen(state) && !needsSweep(state);
};

/** Time and generations that an attempt has spent on a record. */
interface Progress {
  /** Time in ms of `performance.now()` until which the attempt waits for other live attempts. */
  readonly deadline_ms: number;
  /** Tokens of the generations of other attempts that it has waited for. */
  readonly passedTokens: Set<string>;
  /** Number of generations that it has tried. */
  generations: number;
  /** Longest time that one of them took. */
  longest_ms: number;
}

/** Carries the record through, generation after generation, until it is closed, has conflicts or was reverted for a problem. */
const carryThrough = async (
  context: EngineParts,
  record: TransactionRecord,
  attempt: string,
  makePlan: (generation: number) => Promise<PlanAttempt>,
): Promise<Transacted> => {
  const progress: Progress = {
    deadline_ms: performance.now() + context.patience_ms,
    passedTokens: new Set(),
    generations: 0,
    longest_ms: STORE_BOUNDS.attemptPoll_ms,
  };
  while (progress.generations < APPLY_GENERATIONS) {
    const state = await record.load();
    if (state.closed !== null) return { outcome: 'closed', closed: state.closed };
    if (isOpen(state)) {
      await waitOrFinish(context, record, state, { attempt, progress });
      continue;
    }
    progress.generations++;
    const began_ms = performance.now();
    const planned = await makePlan((state.plan?.generation ?? 0) + 1);
    if (!planned.ok) {
      // Another attempt may have been half-way through these files: then its outcome is also the outcome of this attempt.
      if (await hasMovedOn(record, state)) continue;
      return { outcome: 'base_changed', conflicts: planned.conflicts };
    }
    await context.marks.add(planned.plan.stepKey, attempt);
    if (!(await record.putPlan(planned.plan)).created) continue;
    const refusal = await tryToCommit(context, record, planned);
    if (refusal !== null) return { outcome: 'failed', problem: refusal };
    await finishOpen(context, record, await record.load(), attempt);
    progress.longest_ms = Math.max(progress.longest_ms, performance.now() - began_ms);
  }
  return fail(
    'busy',
    `The record ${record.name} was taken over ${APPLY_GENERATIONS} times; other attempts are running.`,
  );
};

/** Waits for the attempt that works on an open generation, or finishes the generation if it is dead or too slow. */
const waitOrFinish = async (
  context: EngineParts,
  record: TransactionRecord,
  state: RecordState,
  { attempt, progress }: { readonly attempt: string; readonly progress: Progress },
): Promise<void> => {
  const { generations, passedTokens, longest_ms, deadline_ms } = progress;
  const token = state.plan?.token ?? '';
  // An attempt that made a generation after one of ours is alive, though it may look dead from here (in another container). It gets more
  // time than a generation takes on this disk, or the two attempts would revert each other for ever.
  if (generations > 0 && !passedTokens.has(token)) {
    passedTokens.add(token);
    await untilPassed(record, state, (0.5 + Math.random()) * longest_ms * generations);
    return;
  }
  const isAnotherLive = (await liveAttempts(context, state, attempt)).size > 0;
  if (isAnotherLive && performance.now() < deadline_ms) await sleep(STORE_BOUNDS.attemptPoll_ms);
  else await finishOpen(context, record, state, attempt);
};

/** Returns whether another attempt has closed the record or made a generation since `before`. */
const hasMovedOn = async (record: TransactionRecord, before: RecordState): Promise<boolean> => {
  const state = await record.load();
  return state.closed !== null || isOpen(state) || state.plan?.token !== before.plan?.token;
};

/** Waits until the open generation has ended or another is open, but not longer than `wait_ms`. */
const untilPassed = async (
  record: TransactionRecord,
  seen: RecordState,
  wait_ms: number,
): Promise<void> => {
  const until = performance.now() + Math.min(wait_ms, STORE_BOUNDS.attemptPatience_ms);
  for (let left_ms = wait_ms; left_ms > 0; left_ms = until - performance.now()) {
    await sleep(Math.min(left_ms, STORE_BOUNDS.attemptPoll_ms));
    const state = await record.load();
    if (!isOpen(state) || state.plan?.token !== seen.plan?.token) return;
  }
};

/**
 * Prepares the generation and asks for the verdict `committed`. Returns the problem for which it was reverted. Returns null if it was
 * committed, reverted by others, or reverted because files changed: the record shows which.
 */
const tryToCommit = async (
  context: EngineParts,
  record: TransactionRecord,
  planned: PlanAttempt & { ok: true },
): Promise<Problem | null> => {
  const { plan, checked } = planned;
  const { blobs } = context;
  const sys = workspaceSys(context, plan);
  try {
    const refused = await refusalBefore(sys, plan);
    if (refused !== null) throw new ProblemError(refused);
    await prepare(sys, blobs, plan);
    if (!(await isUnchanged(sys, plan.workspace, checked))) {
      await revert(context, record, plan);
      return null;
    }
    const isLate = (await record.isReverted()) || !(await planned.isCurrent());
    context.assertCurrent();
    if (isLate) {
      await revert(context, record, plan);
      return problem(
        'busy',
        `The lock on ${plan.workspace} was released before this late attempt wrote anything.`,
      );
    }
  } catch (error) {
    // Only this attempt may ask for `committed`, and it has not: a revert is safe even if the disk takes no verdict.
    const ours = await revert(context, record, plan).catch(async () => {
      await takeBack(sys, plan).catch(() => undefined);
      return true;
    });
    // A late revert of an earlier generation removes directories that are still empty: the next generation makes them again.
    if (plan.generation > 1 && errnoOf(error) === 'ENOENT') return null;
    // If another attempt took over and removed the temp files, its outcome counts.
    return ours ? problemOf(error, plan.workspace) : null;
  }
  try {
    const { verdict } = await record.putVerdict(plan.generation, 'committed');
    // The attempt that reverted this generation cleaned up before everything was written.
    if (verdict === 'reverted') await takeBack(sys, plan);
    return null;
  } catch (error) {
    // The verdict may have been written nevertheless; then it counts. If this call also fails, the verdict is unknown, and the record stays open.
    if ((await record.putVerdict(plan.generation, 'reverted')).verdict === 'committed') return null;
    await revert(context, record, plan);
    return problemOf(error, plan.workspace);
  }
};

/** Reverts the generation. Returns false if another attempt has decided before. */
const revert = async (
  context: EngineParts,
  record: TransactionRecord,
  plan: TransactionPlan,
): Promise<boolean> => {
  const { created } = await record.putVerdict(plan.generation, 'reverted');
  await takeBack(workspaceSys(context, plan), plan);
  await record.putCleaned(plan.generation);
  return created;
};

/** Returns the problem of an expected failure. Throws any other error again, as it is a bug. */
export const problemOf = (error: unknown, where: string): Problem =>
  problemOn()(asDiskProblem(error, `Changing files in ${where}`));

/** Returns whether other attempts were at work on a closed record and the files that they left are not yet removed. */
const needsSweep = ({ plan, closed, swept, drivers }: RecordState): boolean =>
  plan !== null && closed !== null && !swept && (drivers.length > 0 || plan.generation > 1);

/** Removes or restores the files that other attempts left behind when they died, after the record was closed. */
export const sweep = async (
  context: EngineParts,
  record: TransactionRecord,
  state: RecordState,
  attempt: string,
): Promise<void> => {
  const { plan } = state;
  if (plan === null || !needsSweep(state)) return;
  const live = await liveAttempts(context, state, attempt);
  let asleep = live.size;
  for (let generation = 1; generation < plan.generation; generation++) {
    const earlier = await record.readPlan(generation);
    if (earlier === null) continue;
    const works = await liveAttempts(context, { ...state, plan: earlier, drivers: [] }, attempt);
    asleep += works.size;
    if (works.size === 0) await takeBack(workspaceSys(context, earlier), earlier);
  }
  const drive = driveOf(context, { record, plan, attempt }, live);
  const closedAt_ns = await record.closedAt_ns();
  for (const [index, backups] of await listBackups(drive, 'finish')) {
    for (const backup of backups) {
      const { changed_ns } = await drive.sys.lstat(backup);
      // It was renamed after the record was closed, so by mistake: it belongs at its path.
      const late = changed_ns > closedAt_ns;
      if (late && (await restore(drive, backup, targetPaths(plan, index).target)) !== 'taken')
        continue;
      await resolveBackup(drive, index, backup);
    }
  }
  if (asleep === 0) await record.putSwept();
};
