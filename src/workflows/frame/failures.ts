/** An activity that failed for good, in the words of a decision point. */
import { RetryState, TimeoutType } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { ACTIVITIES, type ActivityName, HANDED_BACK } from '../../shared/activities.js';
import type { PauseReason } from '../../shared/decisions.js';
import { PROBLEMS, sentence, unknownVersion } from '../../shared/problems.js';
import type { RunSetup } from '../../shared/run.js';
import { HostGone } from './host-watch.js';

/** Who took no work. */
const UNREACHED: Readonly<Record<(typeof ACTIVITIES)[ActivityName]['unreached'], string>> = {
  model_unavailable: 'no worker accepts model calls; start one',
  workspace_unreachable: 'the host of the workspace is unreachable; start its worker',
};
const LIMIT_REACHED: Readonly<Record<string, string>> = {
  START_TO_CLOSE: 'one attempt took too long',
  SCHEDULE_TO_CLOSE: 'its attempts together took too long',
  HEARTBEAT: 'its worker sent no heartbeat',
};

/** `type` of an application failure is a problem code (src/activities/frame/activity.ts). */
function reasonOf(type: string, activity: ActivityName): PauseReason {
  if (type === 'blob_lost') return 'blob_lost';
  if (['model_unavailable', 'model_rejected', 'no_api_key'].includes(type))
    return 'model_unavailable';
  if (Object.hasOwn(PROBLEMS, type)) return 'engine_failed';
  return ACTIVITIES[activity].fails;
}

/** The time-out that a failure ran into, of those that no further attempt follows and that tell when the failed attempt began. */
const limitOf = (error: unknown, timings: RunSetup['timings']): number => {
  if (!(error instanceof ActivityFailure && error.cause instanceof TimeoutFailure)) return Infinity;
  const { timeoutType, cause } = error.cause;
  if (timeoutType === TimeoutType.SCHEDULE_TO_START)
    return cause === undefined ? timings.scheduleToStart_ms : Infinity;
  // A heartbeat's where no time is left for another attempt.
  const none =
    timeoutType === TimeoutType.SCHEDULE_TO_CLOSE || error.retryState === RetryState.TIMEOUT;
  return none ? timings.modelCallTotal_ms : Infinity;
};

const isHandedBack = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof ApplicationFailure &&
  error.cause.type === HANDED_BACK;

/**
 * ◆ What a worker that stops hands back is asked for anew: Temporal would count the attempt. So is what ran into a time-out that fires much
 * later than it was set to: the server stood still (a laptop's lid), which says nothing of host or model. Each turn takes a worker's stop, or
 * longer than the time-out, so that this spins never.
 */
export async function untilDone<T>(
  timings: RunSetup['timings'],
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const began = Date.now();
    try {
      return await work();
    } catch (error) {
      if (isHandedBack(error)) continue;
      const late_ms = Date.now() - began - limitOf(error, timings);
      if (late_ms <= timings.heartbeatTimeout_ms) throw error;
    }
  }
}

export function failureOf(
  error: unknown,
  activity: ActivityName,
): { readonly reason: PauseReason; readonly message: string } {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const { work, unreached } = ACTIVITIES[activity];
  const isUnreached =
    cause instanceof HostGone ||
    (cause instanceof TimeoutFailure && cause.timeoutType === TimeoutType.SCHEDULE_TO_START);
  if (isUnreached) return { reason: unreached, message: `${work}: ${UNREACHED[unreached]}` };
  if (cause instanceof TimeoutFailure) {
    const why = LIMIT_REACHED[cause.timeoutType ?? ''] ?? 'no time was left';
    return {
      reason: reasonOf('', activity),
      message: `${work} timed out: ${why} (${cause.timeoutType})`,
    };
  }
  if (cause instanceof ApplicationFailure)
    return { reason: reasonOf(cause.type ?? '', activity), message: cause.message };
  return {
    reason: reasonOf('', activity),
    message: cause instanceof Error ? cause.message : `${work} failed`,
  };
}

/** A value of another version, as if an activity had refused it. `what` names it. */
export const unreadable = (what: string, value: unknown): ApplicationFailure => {
  const refusal = unknownVersion(what, value);
  return ApplicationFailure.nonRetryable(sentence(refusal), refusal.code);
};

/** A refused update writes nothing to history; the caller gets these words. */
export const refuseUpdate = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: 'answer_not_accepted', message, nonRetryable: true });
