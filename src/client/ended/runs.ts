/**
 * Asks the server, for a worker, about runs that the worker does not work for: whether the run that locks a workspace has ended, and once at
 * its start how the runs ended that no worker saw. The connection opens with the first question, so a server that is slow or away delays nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AwaitPhaseResult } from '../../shared/plan-activities.js';
import { problemOn } from '../../shared/problems.js';
import { ourRuns, type Emend } from '../types.js';
import type { WorkspaceLock, HolderState } from '../../workspace/ports.js';
import { noteClosed, withLive } from '../runs/resolve.js';
import { stateOfRun } from './run-state.js';
import { ARCHIVES, releaseStaleLocks, type LocksOfEnded } from './stale-locks.js';
import { removeEndedWorktrees, type EndedWorktree } from './worktrees.js';
import { reopening, type OpenOptions } from '../open.js';
import type { WorkerGroup } from '../../shared/begin-run.js';
import { createGroup } from '../runs/group.js';

const ENDED_RUNS = 100; // bound: Runs without a result (terminated, timed out, failed, cancelled) that the start of a worker looks at.

export interface EndedRuns {
  stateOfHolder(holder: WorkspaceLock, workspace: string): Promise<HolderState>;
  /**
   * Writes the ends of runs without a result into their archives, releases or lists the locks of ended runs, and removes the worktrees of ended
   * plans. Null: the worker has stopped.
   */
  sweep(): Promise<(LocksOfEnded & { readonly worktrees: readonly EndedWorktree[] }) | null>;
  /** Waits at most `wait_ms` for the end of the newest run of a workflow id. The outcome is also `open` if no server answers. */
  endOf(workflowId: string, wait_ms: number, signal: AbortSignal): Promise<AwaitPhaseResult>;
  readonly group: WorkerGroup;
  close(): Promise<void>;
}

export const askEndedRuns = (options: OpenOptions): EndedRuns => {
  let isClosed = false;
  // The worker has its home. If the home is gone, no new one is made in its place.
  const { source: open, close } = reopening({ ...options, existing: true });
  return {
    stateOfHolder: async (holder, workspace) => stateOfRun(await open(), holder, workspace),
    sweep: async () => {
      try {
        const emend = await open();
        await noteEnds(emend);
        const holds = await releaseStaleLocks(emend, ARCHIVES.workerStart);
        return { ...holds, worktrees: await removeEndedWorktrees(emend) };
      } catch (error) {
        if (isClosed) return null;
        return { held: [], released: [], worktrees: [], note: problemOn()(error).message };
      }
    },
    endOf: async (workflowId, wait_ms, signal) => endOf(await open(), workflowId, wait_ms, signal),
    group: createGroup(open),
    close: async () => {
      isClosed = true;
      await close();
    },
  };
};

const noteEnds = async (emend: Emend): Promise<void> => {
  const cutOff = ['Terminated', 'TimedOut', 'Failed', 'Canceled'].map(
    (status) => `ExecutionStatus = "${status}"`,
  );
  const query = `${ourRuns(emend)} AND (${cutOff.join(' OR ')})`;
  for (const run of (await emend.runs?.list(query, ENDED_RUNS)) ?? [])
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
  const run = await runs.describe(newest);
  if (run?.open !== false) return { outcome: 'open' };
  const { status, result } = await runs.closed(run);
  return { outcome: 'closed', status, result };
};
