/**
 * What a worker asks the server about runs other than those it works for: whether the holder of a workspace has ended, and once at
 * its start what became of the runs that ended while nobody looked. Opened when first needed; a server that is slow or away holds up
 * nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import type { AwaitPhaseResult } from '../../shared/plan-activities.js';
import { problemOn, sentence } from '../../shared/problems.js';
import { ourRuns, type Emend } from '../types.js';
import type { WorkspaceLock, HolderState } from '../../workspace/ports.js';
import { noteClosed, withLive } from '../runs/resolve.js';
import { ARCHIVES, releaseStaleLocks, type LocksOfEnded, stateOfRun } from './locks.js';
import { reopening, type OpenOptions } from '../open.js';
import { isStepKey, planOf, type StepKey } from '../../shared/ids.js';
import { createLocks } from '../../workspace/apply/index.js';
import { orNull } from '../../system/durable.js';
import { realSys } from '../../system/sys.js';
import { createWorktreeKeeper } from '../../workspace/git/index.js';
import type { WorkerGroup } from '../../shared/begin-run.js';
import { createGroup } from '../runs/group.js';
import type { RemovedWorktree } from '../../workspace/repository.js';

const ENDED_RUNS = 100; // bound: Runs that did not come to an end of their own, looked at once by each worker's start.

// Worktrees of plans that have ended without cleaning up (terminated, failed): removed with their branches once the phase's own run has
// ended too. Of a run that the server does not know nothing can be said, and its worktree stays.

export interface EndedWorktree extends Omit<RemovedWorktree, 'branch'> {
  readonly plan: StepKey;
  readonly path: string;
  /** `kept`: another step has locked it. `failed`: it, or what is known of it or of its plan (then without a name), cannot be read or removed. */
  readonly outcome: 'removed' | 'kept' | 'failed';
  readonly why: string | null;
}

/** Never throws for a server that is absent from the beginning: then nothing is looked at. What is damaged of one plan keeps those of no other. */
export const removeEndedWorktrees = async (emend: Emend): Promise<readonly EndedWorktree[]> => {
  const worktrees: EndedWorktree[] = [];
  const { home } = emend;
  if (emend.runs === null) return worktrees;
  const locks = createLocks({ home });
  const keep = (plan: StepKey, name: string, path: string) => (error: unknown) => {
    const problem = problemOn()(error);
    if (problem.code === 'no_server') throw error;
    const outcome = problem.code === 'busy' ? 'kept' : 'failed';
    worktrees.push({
      plan,
      name,
      path,
      outcome,
      dropped: null,
      kept: null,
      why: sentence(problem),
    });
  };
  const remove = async (plan: StepKey, name: string, path: string): Promise<void> => {
    const phase = `${plan}-${name}`;
    // A phase's run outlives its plan's: while it is open the worktree is its workspace. No other can be started any more.
    if ((await withLive(emend, phase, null)).live?.open === true) return;
    const readLock = async (workspace: string) => {
      const holder = await locks.read(workspace);
      return holder?.stepKey === phase ? null : holder;
    };
    const removed = await createWorktreeKeeper({ home, readLock }).remove(plan, name);
    const { dropped = null, kept = null } = removed ?? {};
    worktrees.push({ plan, name, path, outcome: 'removed', dropped, kept, why: null });
  };
  const ofPlan = async (plan: StepKey): Promise<void> => {
    if (!(await hasEnded(emend, plan))) return;
    for (const { name, path } of await createWorktreeKeeper({
      home,
      readLock: (each) => locks.read(each),
    }).list(plan))
      await remove(plan, name, path).catch(keep(plan, name, path));
  };
  const plans = (await orNull(realSys.readdir(join(home, 'worktrees')))) ?? [];
  for (const plan of plans.filter((name) => isStepKey(name) && planOf(name) === name))
    await ofPlan(plan).catch(keep(plan, '', ''));
  return worktrees;
};

/** The server says so, or the archive where it has forgotten the run. */
const hasEnded = async (emend: Emend, stepKey: StepKey): Promise<boolean> => {
  const { live, archived } = await withLive(emend, stepKey, null);
  if (archived.started?.namespace !== emend.namespace) return false;
  return live === null ? archived.closed !== null : !live.open;
};

export interface EndedRuns {
  stateOfHolder(holder: WorkspaceLock, workspace: string): Promise<HolderState>;
  /** Keeps in the archive how cut-off runs ended, releases or names the workspaces that ended runs hold, removes what worktrees ended plans left. Null: it was closed. */
  sweep(): Promise<(LocksOfEnded & { readonly worktrees: readonly EndedWorktree[] }) | null>;
  /** Waits at most `wait_ms` for the end of the newest run of a workflow id; `open` too where no server answers. */
  endOf(workflowId: string, wait_ms: number, signal: AbortSignal): Promise<AwaitPhaseResult>;
  readonly group: WorkerGroup;
  close(): Promise<void>;
}

export const askEndedRuns = (options: OpenOptions): EndedRuns => {
  let closed = false;
  // The worker has its home already: where it went away, none is made in its place.
  const { source: open, close } = reopening({ ...options, existing: true });
  return {
    stateOfHolder: async (holder, workspace) => stateOfRun(await open(), holder, workspace),
    sweep: async () => {
      try {
        const emend = await open();
        await noteEnded(emend);
        const holds = await releaseStaleLocks(emend, ARCHIVES.workerStart);
        return { ...holds, worktrees: await removeEndedWorktrees(emend) };
      } catch (error) {
        if (closed) return null;
        return { held: [], released: [], worktrees: [], note: problemOn()(error).message };
      }
    },
    endOf: async (workflowId, wait_ms, signal) => endOf(await open(), workflowId, wait_ms, signal),
    group: createGroup(open),
    close: async () => {
      closed = true;
      await close();
    },
  };
};

const noteEnded = async (emend: Emend): Promise<void> => {
  const cutOff = ['Terminated', 'TimedOut', 'Failed', 'Canceled'].map(
    (status) => `ExecutionStatus = "${status}"`,
  );
  const ours = ourRuns(emend);
  const found = (await emend.runs?.list(`${ours} AND (${cutOff.join(' OR ')})`, ENDED_RUNS)) ?? [];
  for (const run of found)
    if (run.memo !== null) await noteClosed(emend, await withLive(emend, run.memo.stepKey, run));
};

const endOf = async (
  { runs }: Emend,
  workflowId: string,
  wait_ms: number,
  signal: AbortSignal,
): Promise<AwaitPhaseResult> => {
  if (runs === null) {
    await sleep(wait_ms, undefined, { signal }).catch(() => undefined);
    return { outcome: 'open' };
  }
  const newest = { workflowId, runId: null };
  await runs.untilEnd(newest, wait_ms, signal);
  const found = await runs.describe(newest);
  if (found?.open !== false) return { outcome: 'open' };
  const { status, result } = await runs.closed(found);
  return { outcome: 'closed', status, result };
};
