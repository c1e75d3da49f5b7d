/** How each activity is called: its queue, its four time-outs, its attempts and why (the table is in docs/operations.md). */
import { ActivityCancellationType, proxyActivities, type ActivityOptions } from '@temporalio/workflow';
import { BOUNDS } from '../shared/limits.js';
import type { EditStepInput, StepActivities } from '../shared/protocol.js';

type HostActivity = 'preflight' | 'seal' | 'apply' | 'rebase' | 'verify' | 'rollback' | 'commit';
type ModelActivity = 'pick' | 'brief' | 'propose';
type CountActivity = 'tally';

/** What steps and plans have in common. */
export function activityCalls({ timings, queues }: Pick<EditStepInput, 'timings' | 'queues'>) {
  const retry = { initialInterval: timings.retryInitial_ms, maximumInterval: timings.retryMaximum_ms };
  // A host that takes no work is unreachable: a person is asked instead of waiting for ever.
  const host = {
    taskQueue: queues.host,
    scheduleToStartTimeout: timings.scheduleToStart_ms,
    startToCloseTimeout: timings.hostActivityTimeout_ms,
    heartbeatTimeout: timings.hostHeartbeatTimeout_ms,
    retry: { ...retry, maximumAttempts: timings.hostActivityAttempts },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  } satisfies ActivityOptions;
  // Model calls may queue behind a rate limit for long: no schedule-to-start.
  const model = {
    taskQueue: queues.model,
    startToCloseTimeout: timings.modelCallTimeout_ms,
    scheduleToCloseTimeout: timings.modelCallTotal_ms,
    heartbeatTimeout: timings.heartbeatTimeout_ms,
    retry: { ...retry, maximumAttempts: timings.modelCallAttempts },
    cancellationType: ActivityCancellationType.TRY_CANCEL,
  } satisfies ActivityOptions;
  /** Tests may take as long as their own limit says; the activity's limit only catches a runner that does not end them. */
  const verifyTimeouts = (timeout_s: number) => ({
    startToCloseTimeout: timeout_s * 1000 + timings.hostActivityTimeout_ms,
  });
  return { host, model, retry, verifyTimeouts };
}

export function stepActivities(input: EditStepInput) {
  const calls = activityCalls(input);
  const host = proxyActivities<Pick<StepActivities, HostActivity>>(calls.host);
  const model = proxyActivities<Pick<StepActivities, ModelActivity>>(calls.model);
  // Bookkeeping: a step must not wait long for it, and goes on without.
  const count = proxyActivities<Pick<StepActivities, CountActivity>>({
    taskQueue: input.queues.model,
    scheduleToCloseTimeout: BOUNDS.tallyTotal_ms,
    heartbeatTimeout: input.timings.heartbeatTimeout_ms,
    retry: { ...calls.retry, maximumAttempts: BOUNDS.tallyAttempts },
  });
  return { host, model, count, verifyTimeouts: calls.verifyTimeouts };
}
