/**
 * What a worker asks the server about runs other than those it works for: whether the holder of a workspace has ended, and once at
 * its start what became of the runs that ended while nobody looked. Opened when first needed; a server that is slow or away holds up
 * nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AwaitPhaseResult } from '../shared/plan/activities.js';
import { ProblemError } from '../shared/problems.js';
import { OUR_WORKFLOWS } from './our-workflows.js';
import type { LeaseHolder, RunStanding } from '../workspace/types.js';
import { noteClosed } from './close-archive.js';
import { settleWorktrees, type EndedWorktree } from './ended-worktrees.js';
import { ARCHIVES, settleHolds, type Holds } from './leases.js';
import { openEmend } from './open.js';
import { withLive } from './resolve-run.js';
import { standingOfRun } from './run-standing.js';
import type { Emend } from './types.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

export interface EndedRuns {
  standingOf(holder: LeaseHolder): Promise<RunStanding>;
  /** Keeps in the archive how cut-off runs ended, releases or names the workspaces that ended runs hold, removes what worktrees ended plans left. Null: it was closed. */
  sweep(): Promise<(Holds & { readonly worktrees: readonly EndedWorktree[] }) | null>;
  /** Waits at most `wait_ms` for the end of the newest run of a workflow id; `open` too where no server answers. */
  endOf(workflowId: string, wait_ms: number, signal: AbortSignal): Promise<AwaitPhaseResult>;
  close(): Promise<void>;
}

export const askEndedRuns = (env: Readonly<Record<string, string | undefined>>): EndedRuns => {
  let opened: Promise<Emend> | null = null;
  let closed = false;
  const open = async (): Promise<Emend> => {
    // The worker has its home already: where it went away, none is made in its place.
    opened ??= openEmend({ env, existing: true });
    try {
      const emend = await opened;
      // A server that was away may be back the next time, and so may a home.
      if (emend.runs === null) opened = null;
      return emend;
    } catch (error) {
      opened = null;
      throw error;
    }
  };
  return {
    standingOf: async (holder) => standingOfRun(await open(), holder),
    sweep: async () => {
      try {
        const emend = await open();
        await noteEnded(emend);
        const holds = await settleHolds(emend, ARCHIVES.workerStart);
        return { ...holds, worktrees: await settleWorktrees(emend) };
      } catch (error) {
        if (closed) return null;
        if (error instanceof ProblemError)
          return { held: [], released: [], worktrees: [], note: error.problem.message };
        throw error;
      }
    },
    endOf: async (workflowId, wait_ms, signal) => endOf(await open(), workflowId, wait_ms, signal),
    close: async () => {
      closed = true;
      await (await opened)?.close();
    },
  };
};

const noteEnded = async (emend: Emend): Promise<void> => {
  const cutOff = ['Terminated', 'TimedOut', 'Failed', 'Canceled'].map((status) => `ExecutionStatus = "${status}"`);
  const ours = `${OUR_WORKFLOWS} AND TaskQueue = "${emend.queues.workflow}"`;
  const found = (await emend.runs?.list(`${ours} AND (${cutOff.join(' OR ')})`, SERVER_BOUNDS.endedRuns)) ?? [];
  for (const run of found) if (run.memo !== null) await noteClosed(emend, await withLive(emend, run.memo.stepKey, run));
};

const endOf = async (
  { runs }: Emend,
  workflowId: string,
  wait_ms: number,
  signal: AbortSignal,
): Promise<AwaitPhaseResult> => {
  const deadline = performance.now() + wait_ms;
  for (;;) {
    const ref = { workflowId, runId: null };
    const found = (await runs?.describe(ref)) ?? null;
    if (runs !== null && found !== null && !found.open) {
      const { status, result } = await runs.closed({ workflowId, runId: found.runId });
      return { v: 1, outcome: 'closed', status, result };
    }
    if (signal.aborted || performance.now() > deadline) return { v: 1, outcome: 'open' };
    await sleep(SERVER_BOUNDS.phaseEnd_ms, undefined, { signal }).catch(() => undefined);
  }
};
