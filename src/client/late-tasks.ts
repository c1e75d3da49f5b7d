/** Tasks of a run that wait for a worker. A history does not tell that the last worker died: whoever follows a run looks for workers only if a task is late. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import type { RunRef } from './types.js';

const TASK_LATE_MS = 5_000; // bound: A task that no worker has taken for this long is late; tasks are looked at this often,
const TASKS_IDLE_MS = 20_000; // bound: and this often while there is none.
const BEAT_LATE_MS = 25_000; // bound: A task that a worker has taken is late if its activity has not beaten for this long. Tests beat every 30 s as the server sees it, which costs a look at the workers each time.

/** `temporal.api.enums.v1`: states of a pending task that a worker has. */
const TAKEN = 2;

/** A task as it is now: another attempt or another beat makes another name. */
export interface PendingTask {
  readonly name: string;
  readonly isTaken: boolean;
}

/** Reads the pending tasks of a run: a call, no action. */
export const tasksOf = async (
  { workflowService }: ConnectionLike,
  namespace: string,
  { workflowId, runId }: RunRef,
): Promise<readonly PendingTask[]> => {
  const execution = { workflowId, runId: runId ?? '' };
  const found = await workflowService.describeWorkflowExecution({ namespace, execution });
  const activities = found.pendingActivities.map(
    ({ activityId, attempt, state, lastHeartbeatTime }): PendingTask => ({
      name: `${activityId} ${attempt} ${state} ${String(lastHeartbeatTime?.seconds ?? '')}`,
      isTaken: Number(state) === TAKEN,
    }),
  );
  const { pendingWorkflowTask: task } = found;
  if (task == null) return activities;
  const since = String(task.originalScheduledTime?.seconds ?? '');
  // A worker answers a workflow task at once, so one that was taken and not answered is as late as one that waits.
  return [...activities, { name: `workflow ${since} ${task.attempt}`, isTaken: false }];
};

const TIMES = { late_ms: TASK_LATE_MS, idle_ms: TASKS_IDLE_MS, beat_ms: BEAT_LATE_MS };

/** Returns when a task is late, or `signal` aborts. A server that does not answer is for others to report. */
export const untilLate = async (
  tasks: () => Promise<readonly PendingTask[]>,
  signal: AbortSignal,
  { late_ms, idle_ms, beat_ms } = TIMES,
): Promise<void> => {
  let since = new Map<string, number>();
  let wait_ms = late_ms;
  const over = (): boolean => signal.aborted;
  while (!over()) {
    await sleep(wait_ms, undefined, { signal }).catch(() => undefined);
    if (over()) return;
    const pending = await tasks().catch(() => []);
    const time_ms = performance.now();
    since = new Map(pending.map(({ name }) => [name, since.get(name) ?? time_ms]));
    const isLate = ({ name, isTaken }: PendingTask): boolean =>
      time_ms - (since.get(name) ?? time_ms) >= (isTaken ? beat_ms : late_ms) - TIMER_MS;
    if (pending.some(isLate)) return;
    wait_ms = pending.length === 0 ? Math.min(2 * wait_ms, idle_ms) : late_ms;
  }
};
const TIMER_MS = 100; // bound: A timer may fire this much too early.
