/** Plans the calls that edit the targets: one for all of them, or one for each. */
import * as jobs from '../../../documents/job/index.js';
import type { PreflightInput } from '../../../shared/step-activities.js';
import { edited, type SnapshotTarget } from '../snapshot.js';
import type { Routing } from './routing.js';
import type { StepSettings } from './settings.js';

export interface CallPlan {
  /** Targets of the first calls. There are none if the change was handed over with the job. */
  readonly calledTargets: readonly SnapshotTarget[];
  readonly shouldSplit: boolean;
  readonly splitReason: string;
  /** One call for all targets; null: there is one for each, or fewer than two targets. */
  readonly combined: {
    readonly format: SnapshotTarget['format'];
    readonly outputBudget_tokens: number;
  } | null;
  /** A call before the others agrees on shared names. */
  readonly needsBrief: boolean;
}

export function planCalls(
  input: PreflightInput,
  { job }: StepSettings,
  { targets, complexity, limits, outputBudget_tokens }: Routing,
): CallPlan {
  const { mode } = jobs.jobFormatPolicy(job);
  const editedTargets = edited(targets);
  const calledTargets = input.given === true ? [] : editedTargets;
  const { shouldSplit, reason } = jobs.splitDecision({
    mode,
    complexity,
    formats: calledTargets.map(({ format }) => format),
    limits,
  });
  const [first] = editedTargets;
  return {
    calledTargets,
    shouldSplit,
    splitReason: reason,
    combined:
      shouldSplit || first === undefined || editedTargets.length < 2
        ? null
        : { format: first.format, outputBudget_tokens },
    // In `sequential` a later call sees the files of the earlier ones.
    needsBrief: shouldSplit && editedTargets.length > 1 && mode !== 'sequential',
  };
}
