/**
 * The lock of a step whose workflow is closed. Where nothing of it waits for a commit it is simply ended; where files are applied
 * and not committed it stays, and a person says what becomes of them.
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

/** The step's closed applications under this lock, those that were rolled back left out, in order of their decisions. */
export const appliedUnder = async (
  sys: Sys,
  transactions: string,
  workspace: string,
  { stepKey, token, continues }: Pick<WorkspaceLock, 'stepKey' | 'token' | 'continues'>,
): Promise<readonly AppliedRecord[]> => {
  const found = await appliedRecords(sys, transactions, workspace, stepKey);
  return found.filter(({ plan }) => plan.lock.token === token || plan.lock.token === continues);
};

/** The same under whichever lock. */
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
    // A damaged one of another workspace says nothing of this.
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
 * Ends `holder`'s lock where it stands for nothing any more. The order is what makes it safe beside an apply of that step which still
 * runs somewhere: it asks for its lock once more after its plan is written and before the point of no return (transaction.ts). Either it
 * finds the lock ended and goes back, or its plan is found here.
 */
export const releaseEnded = async (
  parts: EngineParts,
  workspace: string,
  holder: WorkspaceLock,
  finished: boolean,
): Promise<LockEnd> => {
  const { sys, transactions, locks } = parts;
  const root = await sys.realpath(workspace);
  const look = async (held: WorkspaceLock): Promise<LockEnd | null> => {
    const recovered = await recoverAll(parts, [holder.stepKey]);
    if (recovered.some(({ did }) => did === 'left_to_live_process')) return { outcome: 'at_work' };
    if (recovered.some(({ did }) => did === 'failed')) return { outcome: 'unrecovered' };
    const files = (await appliedUnder(sys, transactions, root, held)).flatMap(
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
  // It came to its point of no return in between: its files are held for it again, unless somebody was quicker.
  await locks.take(root, holder.stepKey, { ...holder, continues: holder.token });
  return after;
};

/** Did the step's commit reach the branch? Only the notice of it is missing then. */
const isCommitted = async (root: string, holder: WorkspaceLock): Promise<boolean> => {
  const repository = await repositoryOf(root);
  return repository !== null && (await stateOfHolder(repository, holder)).kind === 'committed';
};

// bound: Locks of ended runs taken over by one taking; each further one means that another ended run was quicker.
const TAKE_OVERS = 3;

/** What is known of other runs, and who is told of a lock that was taken over. */
export interface OtherRuns {
  readonly stateOfHolder: (holder: WorkspaceLock, workspace: string) => Promise<HolderState>;
  readonly tookOver: (workspace: string, holder: WorkspaceLock, because: string) => void;
}

/** As `Locks.take`; the lock of a run that has ended is taken over where it stands for nothing any more. */
export const takeOver =
  (parts: EngineParts, runs: OtherRuns): EngineParts['take'] =>
  async (workspace, stepKey, holder) => {
    for (let takeOvers = 0; ; takeOvers++) {
      const held = await parts.locks.take(workspace, stepKey, holder);
      if (held.outcome !== 'busy' || takeOvers === TAKE_OVERS) return held;
      const found = await holdOf(parts, runs, workspace, held.holder);
      if (!found.free) return found.advice === undefined ? held : { ...held, advice: found.advice };
      runs.tookOver(workspace, held.holder, found.because);
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

// Holds of commands that work on a workspace by themselves (`emend patch`, `emend undo`): no server knows them, so the lock itself says
// which process it is. Where that process is gone the hold stands for nothing: its transaction is finished or reverted, and it ends.

/** No Temporal namespace may be named so. */
const NAMESPACE = '-local-';

/** `host`: the id of the home that has the transaction's record. */
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

/** What can be said of the command that holds a workspace; null: the holder is a run. `host`: id of the home that asks. */
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

/** Ends the hold of a command whose process is gone, after its transaction was recovered. Null: nothing of that kind holds the workspace. */
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

/** The same in every workspace that this home's transactions name and that is there; what cannot be read is told, and hides none of the others. */
export const releaseAllDead = async (engine: ApplyEngine, home: string, host: string) => {
  const { transactions } = homePaths(home);
  const failed: RecoveredTransaction[] = [];
  const told = (stepKey: StepKey, record: string, workspace: string) => (error: unknown) => {
    failed.push(unrecovered({ stepKey, record, workspace }, error));
  };
  const holders = new Map<string, StepKey>();
  for (const stepKey of ((await orNull(realSys.readdir(transactions))) ?? []).filter(isStepKey))
    for (const record of await recordsOf(realSys, transactions, stepKey, ['ENOENT', 'ENOTDIR'])) {
      const plan = (await record.load().catch(told(stepKey, record.name, '')))?.plan;
      if (plan && isLocal(plan.lock)) holders.set(plan.workspace, stepKey);
    }
  for (const [workspace, stepKey] of holders)
    if ((await whyAway(realSys, workspace)) === null)
      await releaseDead(engine, workspace, host).catch(told(stepKey, '', workspace));
  return failed;
};
