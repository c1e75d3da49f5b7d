/** An activity that failed for good, in the words of a decision point. */
import { RetryState, TimeoutType } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, patched, TimeoutFailure } from '@temporalio/workflow';
import type { PauseReason } from '../shared/decisions.js';
import type { PlanActivities } from '../shared/plan/activities.js';
import type { AdviceActivities, RevisingActivities } from '../shared/plan/advice.js';
import { PROBLEMS } from '../shared/problems.js';
import type { Timings } from '../shared/limits.js';
import type { StepActivities } from '../shared/protocol.js';
import { unknownVersion } from '../shared/versions.js';

type ActivityName = keyof (StepActivities & PlanActivities & AdviceActivities & RevisingActivities);

/** What each activity does, where a sentence about its failure begins with it. */
export const WORK: Readonly<Record<ActivityName, string>> = {
  preflight: 'looking at the job and its files',
  pick: 'the model call that picks the files',
  brief: 'the model call that agrees on names and parts',
  propose: 'the model call for an edit',
  tally: 'counting what was used',
  seal: 'checking and sealing the proposal',
  apply: 'writing the files',
  rebase: 'carrying the proposal over to the files as they are now',
  verify: 'running the tests',
  rollback: 'putting the files back',
  commit: 'committing what was applied',
  readPlan: 'reading the plan',
  makePhaseJob: 'writing the job of a phase',
  markPhase: 'marking a phase in the plan',
  prepareWorktree: 'making a worktree for a phase',
  mergePhase: 'merging a phase',
  removeWorktree: 'removing a worktree',
  saveCheckpoint: 'saving the checkpoint',
  awaitPhase: 'waiting for the run of a phase',
  judgePhase: 'judging whether a phase needs a new plan',
  applyReplan: 'writing the new plan of a phase',
  scorePhase: 'the model call for a second score of a phase',
  debugPhase: 'the model call for a report on failed tests',
  proposeReplan: 'the model call for a new plan of a phase',
};
const workOf = (activity: string): string =>
  Object.hasOwn(WORK, activity) ? WORK[activity as ActivityName] : activity;

/** Those that call a model themselves: where one fails without a reason of its own, the model is taken for unavailable. */
const MODEL_ACTIVITIES: ReadonlySet<string> = new Set<ActivityName>([
  ...(['pick', 'brief', 'propose', 'scorePhase', 'debugPhase', 'proposeReplan'] as const),
]);
const LIMIT_REACHED: Readonly<Record<string, string>> = {
  START_TO_CLOSE: 'it took longer than one attempt may',
  SCHEDULE_TO_CLOSE: 'its attempts took longer than all of them together may',
  HEARTBEAT: 'its worker gave no sign of life',
};

/** `type` of an application failure is a problem code (src/activities/boundary.ts). */
function reasonOf(type: string, activity: string): PauseReason {
  if (type === 'blob_lost') return 'blob_lost';
  if (['model_unavailable', 'model_rejected', 'no_api_key'].includes(type)) return 'model_unavailable';
  if (Object.hasOwn(PROBLEMS, type)) return 'engine_failed';
  return MODEL_ACTIVITIES.has(activity) ? 'model_unavailable' : 'engine_failed';
}

/** The time-out that a failure ran into, of those that no further attempt follows. */
const limitOf = (error: unknown, timings: Timings): number => {
  if (!(error instanceof ActivityFailure && error.cause instanceof TimeoutFailure)) return Infinity;
  const { timeoutType } = error.cause;
  if (timeoutType === TimeoutType.SCHEDULE_TO_START) return timings.scheduleToStart_ms;
  // A heartbeat's where no time is left for another attempt.
  const none = timeoutType === TimeoutType.SCHEDULE_TO_CLOSE || error.retryState === RetryState.TIMEOUT;
  return none ? timings.modelCallTotal_ms : Infinity;
};

/**
 * ◆ A time-out that fires much later than it was set to says that the server stood still (a laptop's lid), and nothing of host or model:
 * the activity is asked for anew. Each turn takes longer than the time-out, so that this spins never.
 */
export async function throughSleep<T>(timings: Timings, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const began = Date.now();
    try {
      return await work();
    } catch (error) {
      const late_ms = Date.now() - began - limitOf(error, timings);
      if (late_ms <= timings.heartbeatTimeout_ms || !patched('goes-on-after-sleep')) throw error;
    }
  }
}

export function failureOf(
  error: unknown,
  activity: string,
): { readonly reason: PauseReason; readonly message: string } {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const work = workOf(activity);
  if (cause instanceof TimeoutFailure) {
    const waited = cause.timeoutType === TimeoutType.SCHEDULE_TO_START;
    if (waited && MODEL_ACTIVITIES.has(activity))
      return { reason: 'model_unavailable', message: `${work}: no worker takes model calls; start one` };
    if (waited) {
      const message = `${work}: the host of the workspace takes no work; start its worker`;
      return { reason: 'workspace_unreachable', message };
    }
    const why = LIMIT_REACHED[cause.timeoutType ?? ''] ?? 'no time was left';
    return { reason: reasonOf('', activity), message: `${work} timed out: ${why} (${cause.timeoutType})` };
  }
  if (cause instanceof ApplicationFailure)
    return { reason: reasonOf(cause.type ?? '', activity), message: cause.message };
  return { reason: reasonOf('', activity), message: cause instanceof Error ? cause.message : `${work} failed` };
}

/** A result of a later `v`, as if the activity had said so itself. */
export const unreadable = (activity: string, result: unknown): ApplicationFailure => {
  const { code, message, next = '' } = unknownVersion(`The result of ${activity}`, result);
  return ApplicationFailure.create({ type: code, message: `${message} ${next}`, nonRetryable: true });
};

/** A refused update writes nothing to history; the caller gets these words. */
export const refuseUpdate = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: 'answer_not_accepted', message, nonRetryable: true });
