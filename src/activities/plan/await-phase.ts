/** Waits for a phase's run that was started by an earlier run of the plan's workflow. */
import type { AwaitPhaseInput, AwaitPhaseResult } from '../../shared/plan/activities.js';
import type { ActivityScope } from '../boundary.js';
import type { ActivityDependencies } from '../dependencies.js';

export const awaitPhase =
  ({ endOf, timings }: ActivityDependencies) =>
  async ({ child }: AwaitPhaseInput, { signal }: ActivityScope): Promise<AwaitPhaseResult> =>
    // Well within the activity's own time; it is asked again while the run is open.
    endOf(child, timings.hostActivityTimeout_ms / 2, signal);
