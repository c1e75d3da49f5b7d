/** Finishes or reverts the transactions that dead processes left open in a home. Locks are kept: only a server knows whose workflow is closed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import { sentence } from '../../shared/problems.js';
import { isOpen, recordsOf, type ClosedRecord, type TransactionRecord } from './record.js';
import {
  asAttempt,
  endMark,
  isAtRest,
  liveAttempts,
  problemOf,
  finishOpen,
  sweep,
  type EngineParts,
} from './transaction.js';
import { freshId } from './paths.js';
import { orNull } from '../../system/durable.js';
import { ABSENT } from '../../system/given-file.js';
import { errnoOf, type Sys } from '../../system/sys.js';
import { together } from '../../system/together.js';
import type { RecoveredTransaction } from '../ports.js';

const LOOK_MS = 2_000; // bound: Time for the stat of one directory; a filesystem that works needs far less.
/** Returns the errno of a directory, or `no answer` if its (network) filesystem does not answer; null: the directory exists. */
export const whyAway = (sys: Pick<Sys, 'stat'>, dir: string): Promise<string | null> =>
  Promise.race([
    sys.stat(dir).then(() => null, errnoOf),
    sleep(LOOK_MS, 'no answer', { ref: false }),
  ]);

/** Recovers the open records of all steps or of these. Returns an entry for each. A record that cannot be recovered does not stop the others. */
export const recoverAll = async (
  parts: EngineParts,
  some?: readonly StepKey[],
): Promise<readonly RecoveredTransaction[]> => {
  const unsettled = await recoverSteps(parts, some ?? (await allSteps(parts)));
  return unsettled.flatMap(({ recovered }) => recovered ?? []);
};

/**
 * Recovers the open records of the steps with a mark (marks.ts). If marks do not count yet, recovers those of all steps, and marks the steps
 * whose records are still open or unswept.
 */
export const recoverMarked = async (
  parts: EngineParts,
): Promise<readonly RecoveredTransaction[]> => {
  const { sys, transactions, marks } = parts;
  const markedSteps = await marks.steps();
  const unsettled = await recoverSteps(parts, markedSteps ?? (await allSteps(parts)));
  if (markedSteps === null && (await markOpen(parts, unsettled))) await marks.noteComplete();
  const isDone = async (stepKey: StepKey): Promise<boolean> => {
    const records = await recordsOf(sys, transactions, stepKey, ABSENT);
    const rests = records.map((record) => isAtRest(record).catch(() => false));
    return (await Promise.all(rests)).every(Boolean);
  };
  await marks.dropOld(isDone).catch(() => undefined);
  return unsettled.flatMap(({ recovered }) => recovered ?? []);
};

/** Marks the steps of records that are not at rest. Returns false if one of them could not be marked. */
const markOpen = async (
  { marks }: EngineParts,
  unsettled: readonly Unsettled[],
): Promise<boolean> => {
  for (const { stepKey, record } of unsettled) {
    const isDone = await isAtRest(record).catch(() => false);
    if (!isDone && !(await marks.add(stepKey, freshId()))) return false;
  }
  return true;
};

const allSteps = async ({ sys, transactions }: EngineParts): Promise<readonly StepKey[]> =>
  ((await orNull(sys.readdir(transactions))) ?? []).filter(isStepKey);

/** Recovers one record after the other. `recovered` is null if there was nothing to recover. */
const recoverSteps = async (
  parts: EngineParts,
  steps: readonly StepKey[],
): Promise<readonly (Unsettled & { readonly recovered: RecoveredTransaction | null })[]> => {
  const records = (await together(steps, (stepKey) => unsettledOf(parts, stepKey))).flat();
  const unsettled: (Unsettled & { readonly recovered: RecoveredTransaction | null })[] = [];
  for (const { stepKey, record } of records) {
    const recovered = await asAttempt(async (attempt) => {
      const outcome = await recoverOne(parts, stepKey, record, attempt);
      await endMark(parts, record, attempt);
      return outcome;
    });
    unsettled.push({ stepKey, record, recovered });
  }
  return unsettled;
};

interface Unsettled {
  readonly stepKey: StepKey;
  readonly record: TransactionRecord;
}

/** Returns the unsettled records of a step. A home has records of thousands of steps, and nearly all are settled: their files are not read. */
const unsettledOf = async (
  { sys, transactions }: EngineParts,
  stepKey: StepKey,
): Promise<readonly Unsettled[]> => {
  const records = await recordsOf(sys, transactions, stepKey, ABSENT);
  const settled = await Promise.all(records.map((record) => record.isSettled()));
  return records.flatMap((record, index) => (settled[index] === true ? [] : [{ stepKey, record }]));
};

type About = Pick<RecoveredTransaction, 'stepKey' | 'workspace' | 'record'>;
/** Returns the entry for an expected failure. Throws any other error again, as it is a bug. */
export const unrecovered = (about: About, error: unknown): RecoveredTransaction => {
  const reason = sentence(problemOf(error, about.workspace));
  const path = about.record || about.workspace;
  return { ...about, did: 'failed', conflicts: [{ path, why: reason }] };
};

/** Finishes, reverts or sweeps one record. Returns null if there was nothing to recover. */
const recoverOne = async (
  parts: EngineParts,
  stepKey: string,
  record: TransactionRecord,
  attempt: string,
): Promise<RecoveredTransaction | null> => {
  const about = { stepKey, workspace: '', record: record.name };
  const report = (did: RecoveredTransaction['did'], conflicts: ClosedRecord['conflicts'] = []) => ({
    ...about,
    did,
    conflicts,
  });
  try {
    const state = await record.load();
    if (state.plan === null) return null;
    const { workspace } = state.plan;
    about.workspace = workspace;
    const open = isOpen(state);
    const live = open ? await liveAttempts(parts, state, attempt) : new Map<string, number>();
    if (live.size > 0)
      return { ...report('left_to_live_process'), pids: [...new Set(live.values())] };
    const away = await whyAway(parts.sys, workspace);
    const isMissing = away === 'ENOENT' || away === 'ENOTDIR';
    if (open && isMissing) return report('workspace_missing');
    if (away !== null && !isMissing) return report('failed', [{ path: workspace, why: away }]);
    if (!open) {
      await sweep(parts, record, state, attempt);
      return null;
    }
    const recovery = await finishOpen(parts, record, state, attempt);
    if (recovery === null) return null;
    return recovery.did === 'finished'
      ? report('finished', recovery.closed.conflicts)
      : report('reverted');
  } catch (error) {
    return unrecovered(about, error);
  }
};
