/**
 * Ends the lock of a step whose workflow is closed. If files are applied but not committed, the lock stays, and the user decides whether
 * these files are kept or restored.
 */
import type { EngineParts } from './transaction.js';
import { isStepKey, shownKey, type StepKey } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import { count } from '../../shared/text.js';
import { isOpen, recordsOf, type ClosedRecord, type TransactionPlan } from './record.js';
import { stateOfHolder } from '../git/commit-branch.js';
import { repositoryOf } from '../git/git.js';
import { recoverAll, unrecovered, whyAway } from './recover.js';
import { rollbackName } from './rollback.js';
import { type Sys, realSys } from '../../system/sys.js';
import type {
  LockEnd,
  WorkspaceLock,
  ApplyEngine,
  ApplyRequest,
  HolderState,
  RecoveredTransaction,
} from '../ports.js';
import { isAlive, type ProcessIdentity } from '../../system/process.js';
import { homePaths } from '../../stores/home.js';
import { orNull } from '../../system/durable.js';
import { jsonOf } from '../../system/json.js';

export interface AppliedRecord {
  readonly plan: TransactionPlan;
  readonly closed: ClosedRecord;
}

/** Returns the closed applications of the step under this lock that were not rolled back, in the order of their decisions. */
export const appliedUnder = async (
  sys: Sys,
  transactions: string,
  workspace: string,
  { stepKey, token, continues }: Pick<WorkspaceLock, 'stepKey' | 'token' | 'continues'>,
): Promise<readonly AppliedRecord[]> => {
  const found = await appliedRecords(sys, transactions, workspace, stepKey);
  return found.filter(({ plan }) => plan.lock.token === token || plan.lock.token === continues);
};

/** Returns the closed applications of the step under any lock that were not rolled back, in the order of their decisions. Throws `disk` if a plan is lost. */
export const appliedRecords = async (
  sys: Sys,
  transactions: string,
  workspace: string,
  stepKey: StepKey,
): Promise<readonly AppliedRecord[]> => {
  const records = await recordsOf(sys, transactions, stepKey);
  const found: AppliedRecord[] = [];
  for (const record of records) {
    const backName = rollbackName(record.name);
    const back =
      backName === record.name ? undefined : records.find(({ name }) => name === backName);
    if (back !== undefined && (await back.load()).closed !== null) continue;
    const first = await record.readPlan(1);
    // A damaged record of another workspace does not matter here.
    if (first !== null && first.workspace !== workspace) continue;
    const { plan, closed, ...rest } = await record.load();
    if (plan !== null && plan.workspace !== workspace) continue;
    if (plan === null && closed !== null)
      fail(
        'disk',
        `${transactions}/${record.name}: the plan of this change is lost.`,
        'Restore it from a backup.',
      );
    if (plan?.kind !== 'apply' || closed === null || isOpen({ plan, closed, ...rest })) continue;
    found.push({ plan, closed });
  }
  return found.sort((a, b) => a.plan.decision - b.plan.decision);
};

/**
 * Ends the lock of `holder` if no applied file needs it any more. An apply of that step may still run somewhere; the order of the calls
 * makes that safe. Such an apply checks its lock again after it has written its plan and before the point of no return (transaction.ts).
 * Either it finds that the lock has ended and reverts, or this function finds its plan.
 */
export const releaseEnded = async (
  parts: EngineParts,
  workspace: string,
  holder: WorkspaceLock,
  finished: boolean,
): Promise<LockEnd> => {
  const { sys, transactions, locks } = parts;
  const root = await sys.realpath(workspace);
  const look = async (lock: WorkspaceLock): Promise<LockEnd | null> => {
    const recovered = await recoverAll(parts, [holder.stepKey]);
    if (recovered.some(({ did }) => did === 'left_to_live_process')) return { outcome: 'at_work' };
    if (recovered.some(({ did }) => did === 'failed')) return { outcome: 'unrecovered' };
    const files = (await appliedUnder(sys, transactions, root, lock)).flatMap(
      ({ closed }) => closed.files,
    );
    return files.length === 0 ? null : { outcome: 'kept', files: [...new Set(files)] };
  };
  const before = await look(holder);
  if (before !== null && before.outcome !== 'kept') return before;
  const committed = before !== null && !finished && (await isCommitted(root, holder));
  if (before !== null && !finished && !committed) return before;
  if (!(await locks.break(root, holder.token))) return { outcome: 'not_held' };
  if (finished || committed)
    return { outcome: 'ended', because: finished ? 'finished' : 'committed' };
  const after = await look(holder);
  if (after === null) return { outcome: 'ended', because: 'nothing_applied' };
  // The step passed its point of no return in between: its files are locked for it again, unless another step was quicker.
  await locks.take(root, holder.stepKey, { ...holder, continues: holder.token });
  return after;
};

/** Returns whether the commit of the step is on the branch. Then the workflow only did not hear of it. */
const isCommitted = async (root: string, holder: WorkspaceLock): Promise<boolean> => {
  const repository = await repositoryOf(root);
  return repository !== null && (await stateOfHolder(repository, holder)).kind === 'committed';
};

// bound: Number of locks of ended runs that one call takes over; each further one means that another ended run was quicker.
const TAKE_OVERS = 3;

/** Reports the state of other runs, and hears of each lock that was taken over from one. */
export interface OtherRuns {
  readonly stateOfHolder: (holder: WorkspaceLock, workspace: string) => Promise<HolderState>;
  readonly tookOver: (workspace: string, holder: WorkspaceLock, because: string) => void;
}

/** Takes a lock like `Locks.take`, but also takes over the lock of a run that has ended if no applied file needs it. */
export const takeOver =
  (parts: EngineParts, runs: OtherRuns): EngineParts['take'] =>
  async (workspace, stepKey, holder) => {
    for (let takeOvers = 0; ; takeOvers++) {
      const taking = await parts.locks.take(workspace, stepKey, holder);
      if (taking.outcome !== 'busy' || takeOvers === TAKE_OVERS) return taking;
      const found = await holdOf(parts, runs, workspace, taking.holder);
      if (!found.free)
        return found.advice === undefined ? taking : { ...taking, advice: found.advice };
      runs.tookOver(workspace, taking.holder, found.because);
    }
  };

type Hold =
  | { readonly free: true; readonly because: string }
  | { readonly free: false; readonly advice?: string };
const heldBy = (advice: string): Hold => ({ free: false, advice });

const holdOf = async (
  parts: EngineParts,
  runs: OtherRuns,
  workspace: string,
  holder: WorkspaceLock,
): Promise<Hold> => {
  const run = shownKey(holder.stepKey);
  const recover = `\`emend recover --undo ${run}\` restores the files, \`emend recover --keep ${run}\` keeps them`;
  const standing = await runs.stateOfHolder(holder, workspace);
  if (standing.state === 'open') return { free: false };
  if (standing.state === 'unknown')
    return standing.why === 'not_known'
      ? heldBy(`run ${run}, unknown to the server, has locked the workspace: ${recover}`)
      : { free: false };
  const ended = `run ${run} has ended (${standing.how})`;
  if (standing.elsewhere)
    return heldBy(
      `${ended} and has locked the workspace from another EMEND_HOME: run \`emend recover\` with that one`,
    );
  const end = await releaseEnded(parts, workspace, holder, standing.finished);
  switch (end.outcome) {
    case 'ended':
      return { free: true, because: `${standing.how}, ${end.because}` };
    case 'not_held':
      return { free: true, because: 'it was released in the meantime' };
    case 'kept':
      return heldBy(
        `${ended} with ${count(end.files.length, 'file')} applied but not committed: ${recover}`,
      );
    case 'at_work':
      return heldBy(`${ended}, but a process is still working on its files`);
    case 'unrecovered':
      return heldBy(`${ended} midway and could not be recovered: \`emend recover\` says why`);
  }
};

// Locks of commands that work on a workspace without a server (`emend patch`, `emend undo`): the lock itself names the process. If that
// process is gone, its transaction is finished or reverted, and the lock ends.

/** Namespace of the locks of commands. No Temporal namespace can have this name. */
const NAMESPACE = '-local-';

/** Returns the holder for a lock of this process. `host`: id of the home with the record of the transaction. */
export const localHolder = (
  host: string,
  { boot, pid, started }: ProcessIdentity,
): ApplyRequest['holder'] => ({
  namespace: NAMESPACE,
  workflowId: JSON.stringify({ host, boot, pid, started }),
});

const readHolder = ({
  namespace,
  workflowId,
}: ApplyRequest['holder']): (ProcessIdentity & { host: string }) | null => {
  if (namespace !== NAMESPACE) return null;
  return { host: '', boot: '', pid: 0, started: '', ...jsonOf(workflowId) };
};

export const isLocal = (holder: ApplyRequest['holder']): boolean => holder.namespace === NAMESPACE;

/** Returns the state of the command that holds a workspace; null: the holder is a run. `host`: id of the home of the caller. */
export const stateOfLocal = async (
  holder: WorkspaceLock,
  host: string,
): Promise<HolderState | null> => {
  const who = readHolder(holder);
  if (who === null) return null;
  if (await isAlive(realSys, who)) return { state: 'open' };
  return {
    state: 'ended',
    how: 'its process is gone',
    finished: true,
    undo: false,
    elsewhere: who.host !== host,
  };
};

/** Ends the lock of a command whose process is gone, after its transaction was recovered. Returns null if no such lock is on the workspace. */
export const releaseDead = async (
  engine: ApplyEngine,
  workspace: string,
  host: string,
): Promise<LockEnd | null> => {
  const holder = await engine.readLock(workspace);
  const standing = holder === null ? null : await stateOfLocal(holder, host);
  if (holder === null || standing?.state !== 'ended' || standing.elsewhere) return null;
  return engine.releaseEnded(workspace, holder, true);
};

/**
 * Ends the locks of commands whose process is gone, in every existing workspace that a transaction of this home names. Returns an entry for
 * each record that cannot be read; it does not hide the others.
 */
export const releaseAllDead = async (engine: ApplyEngine, home: string, host: string) => {
  const { transactions } = homePaths(home);
  const failed: RecoveredTransaction[] = [];
  const noteFailure = (stepKey: StepKey, record: string, workspace: string) => (error: unknown) => {
    failed.push(unrecovered({ stepKey, record, workspace }, error));
  };
  const holders = new Map<string, StepKey>();
  for (const stepKey of ((await orNull(realSys.readdir(transactions))) ?? []).filter(isStepKey))
    for (const record of await recordsOf(realSys, transactions, stepKey, ['ENOENT', 'ENOTDIR'])) {
      const plan = (await record.load().catch(noteFailure(stepKey, record.name, '')))?.plan;
      if (plan && isLocal(plan.lock)) holders.set(plan.workspace, stepKey);
    }
  for (const [workspace, stepKey] of holders)
    if ((await whyAway(realSys, workspace)) === null)
      await releaseDead(engine, workspace, host).catch(noteFailure(stepKey, '', workspace));
  return failed;
};
