/** Estimates the calls of a step before the first of them, and refuses a step that no call could be made for. */
import type { PreflightInput } from '../../../shared/step-activities.js';
import type { StepEstimate } from '../../../shared/usage.js';
import { estimateEdits, overEstimate, refuseEarly } from '../estimate.js';
import type { CallPlan } from './calls.js';
import type { Routing } from './routing.js';
import type { StepSettings } from './settings.js';
import type { TakenSnapshot } from './take-snapshot.js';

export interface CallEstimate {
  readonly estimate: StepEstimate;
  /** Limits that the estimate exceeds, each in words. */
  readonly exceededLimits: readonly string[];
}

interface EstimateParts extends TakenSnapshot {
  readonly routing: Routing;
  readonly calls: CallPlan;
}

/** Throws ProblemError `limit_reached`, `config_invalid`. */
export function estimateCalls(
  input: PreflightInput,
  { job, limits, taskText_bytes }: StepSettings,
  { routing, calls, snapshot, signatures_bytes }: EstimateParts,
): CallEstimate {
  const { calledTargets, shouldSplit, needsBrief } = calls;
  const files = calledTargets.map(({ bytes, lines, base, format }) => ({
    bytes,
    lines,
    isNew: base === null,
    format,
  }));
  const rulesText_bytes = taskText_bytes + sizeOf(snapshot.rules);
  const estimate = estimateEdits(snapshot.config, routing.model, files, {
    text_bytes: rulesText_bytes + sizeOf(snapshot.context) + signatures_bytes,
    effort: job.effort,
    limits,
    split: shouldSplit,
    before: needsBrief ? ['brief'] : [],
  });
  // Refuses at the first estimate of known files: that of the first snapshot, or of one after a pick.
  if (input.snapshotNumber === 1 || input.picked !== null)
    refuseEarly(
      input.jobPath,
      { ...estimate, told_bytes: calledTargets.length > 0 ? rulesText_bytes : 0 },
      routing.limits,
      routing.entry,
    );
  return {
    estimate,
    exceededLimits: overEstimate(estimate, routing.limits, {
      files: calledTargets,
      split: shouldSplit,
    }),
  };
}

const sizeOf = (texts: readonly { readonly bytes?: number }[]): number =>
  texts.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
