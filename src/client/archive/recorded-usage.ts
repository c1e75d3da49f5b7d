/**
 * The usage of a run that the call journal of this machine knows. A call that was cut off together with its run is in no result of an
 * activity, but it was paid for and is in the journal.
 */
import { attemptsOfStep, usageOfEnded } from '../../model/journal/calls.js';
import { nullOn } from '../../shared/problems.js';
import type { StepStatus } from '../../shared/run.js';
import type { StepUsage } from '../../shared/usage.js';
import type { CallLog } from '../../stores/ports.js';
import type { Emend } from '../types.js';

/** Returns the status with the usage of all recorded calls, if the journal knows more calls than the run. */
export const withRecordedUsage = async (
  { calls }: Pick<Emend, 'calls'>,
  status: StepStatus,
): Promise<StepStatus> => {
  const usage = await recordedUsage(calls, status.stepKey);
  if (usage === null || usage.calls <= status.usage.calls) return status;
  const result = status.result === null ? null : { ...status.result, usage };
  return { ...status, usage, result };
};

/** Returns the usage of the recorded calls of a run. Null: they cannot be read. */
export const recordedUsage = (calls: CallLog, stepKey: string): Promise<StepUsage | null> =>
  attemptsOfStep(calls, stepKey).then(usageOfEnded).catch(nullOn());
