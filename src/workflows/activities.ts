/** How each activity is called: its queue, its four time-outs, its attempts and why (the table is in docs/operations.md). */
import { ActivityCancellationType, proxyActivities, type ActivityOptions } from '@temporalio/workflow';
import type { EditStepInput, StepActivities } from '../shared/protocol.js';
import { boundsOf } from '../shared/rules.js';

type HostActivity = 'preflight' | 'seal' | 'apply' | 'rebase' | 'verify' | 'rollback' | 'commit';
type ModelActivity = 'pick' | 'brief' | 'propose';
type CountActivity = 'tally';

/** What steps and plans have in common. */
export function activityCalls(input: Pick<EditStepInput, 'timings' | 'queues' | 'rules'>) {
  const { timings, queues } = input;
  const { format_s, hook_s, worktreeAdd_s } = boundsOf({ input });
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
  // Absent in runs that began before it was a setting.
  const { commandTurn_ms = timings.hostActivityTimeout_ms } = timings as Partial<typeof timings>;
  /** A person's commands end by their own limits, which begin at their turn; the activity's only catches what does not end them. */
  const within_s = (commands_s: number) => ({
    startToCloseTimeout: commandTurn_ms + commands_s * 1000 + timings.hostActivityTimeout_ms,
  });
  const commandTimeouts = {
    seal: (files: number) => within_s(files * format_s),
    verify: (timeout_s: number) => within_s(timeout_s),
    /** Marks and replans of a plan are commits, too. */
    commit: within_s(2 * hook_s),
    worktree: (timeout_s: number) => within_s(worktreeAdd_s + timeout_s),
  };
  return { host, model, retry, commandTimeouts };
}

export function stepActivities(input: EditStepInput) {
  const calls = activityCalls(input);
  const host = proxyActivities<Pick<StepActivities, HostActivity>>(calls.host);
  const model = proxyActivities<Pick<StepActivities, ModelActivity>>(calls.model);
  const { tallyTotal_ms, tallyAttempts } = boundsOf({ input });
  // Bookkeeping: a step must not wait long for it, and goes on without.
  const count = proxyActivities<Pick<StepActivities, CountActivity>>({
    taskQueue: input.queues.model,
    scheduleToCloseTimeout: tallyTotal_ms,
    heartbeatTimeout: input.timings.heartbeatTimeout_ms,
    retry: { ...calls.retry, maximumAttempts: tallyAttempts },
  });
  return { host, model, count, commandTimeouts: calls.commandTimeouts };
}
