/** An activity that failed for good, in the words of a decision point. */
import { TimeoutType } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import type { PauseReason } from '../shared/decisions.js';
import { PROBLEMS } from '../shared/problems.js';
import { unknownVersion } from '../shared/versions.js';

const MODEL_ACTIVITIES: ReadonlySet<string> = new Set(['pick', 'brief', 'propose']);

/** `type` of an application failure is a problem code (src/activities/boundary.ts). */
function reasonOf(type: string, activity: string): PauseReason {
  if (type === 'blob_lost') return 'blob_lost';
  if (['model_unavailable', 'model_rejected', 'no_api_key'].includes(type)) return 'model_unavailable';
  if (Object.hasOwn(PROBLEMS, type)) return 'engine_failed';
  return MODEL_ACTIVITIES.has(activity) ? 'model_unavailable' : 'engine_failed';
}

export function failureOf(
  error: unknown,
  activity: string,
): { readonly reason: PauseReason; readonly message: string } {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) {
    const waited = cause.timeoutType === TimeoutType.SCHEDULE_TO_START;
    if (waited && MODEL_ACTIVITIES.has(activity))
      return { reason: 'model_unavailable', message: 'no worker takes model calls; start one' };
    if (waited)
      return { reason: 'workspace_unreachable', message: 'the host of the workspace takes no work; start its worker' };
    return { reason: reasonOf('', activity), message: `timed out (${cause.timeoutType})` };
  }
  if (cause instanceof ApplicationFailure)
    return { reason: reasonOf(cause.type ?? '', activity), message: cause.message };
  return { reason: reasonOf('', activity), message: cause instanceof Error ? cause.message : 'failed' };
}

/** A result of a later `v`, as if the activity had said so itself. */
export const unreadable = (activity: string, result: unknown): ApplicationFailure => {
  const { code, message, next = '' } = unknownVersion(`The result of ${activity}`, result);
  return ApplicationFailure.create({ type: code, message: `${message} ${next}`, nonRetryable: true });
};

/** A refused update writes nothing to history; the caller gets these words. */
export const refuseUpdate = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: 'answer_not_accepted', message, nonRetryable: true });
