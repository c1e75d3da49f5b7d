/** What a run that has ended paid for: a call that was cut off with it is in no result of an activity, but it is in the journal. */
import type { StepUsage } from '../shared/usage.js';
import { callsOfStep, usageOfEnded } from '../model/step-calls.js';
import { ProblemError } from '../shared/problems.js';
import type { StepStatus } from '../shared/protocol.js';
import { storePaths } from '../workspace/store.js';
import { realSys } from '../workspace/sys.js';
import type { Emend } from './types.js';

/** The status with all calls counted that the journal of this machine knows; unchanged where it knows no more than the run. */
export const withPaid = async ({ store }: Pick<Emend, 'store'>, status: StepStatus): Promise<StepStatus> => {
  const paid = await paidUsage(store, status.stepKey);
  if (paid === null || paid.calls <= status.usage.calls) return status;
  const result = status.result === null ? null : { ...status.result, usage: paid };
  return { ...status, usage: paid, result };
};

/** Null: the slots cannot be read. */
export const paidUsage = async (store: string, stepKey: string): Promise<StepUsage | null> => {
  try {
    return usageOfEnded(await callsOfStep(realSys, storePaths(store).slots, stepKey));
  } catch (error) {
    if (error instanceof ProblemError) return null;
    throw error;
  }
};
