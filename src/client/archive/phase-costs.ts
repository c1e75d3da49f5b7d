/** The cost of each phase of a plan, from the plan's events and the call journal. It also serves runs that the server has forgotten. */
import type { StepEvent } from '../../shared/events.js';
import type { StepKey } from '../../shared/ids.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';

export interface PhaseCost {
  readonly phase: number;
  readonly runs: number;
  readonly usage: StepUsage;
}

/**
 * Returns the costs in the order of phases; none for a run of a job. Each run of a phase has its own calls in the journal. `usageOf` returns
 * null if they cannot be read, and that run is left out.
 */
export const phaseCosts = async (
  events: readonly StepEvent[],
  usageOf: (run: StepKey) => Promise<StepUsage | null>,
): Promise<readonly PhaseCost[]> => {
  const costs = new Map<number, PhaseCost>();
  for (const event of events) {
    if (event.type !== 'phase_editing') continue;
    const usage = await usageOf(event.child);
    if (usage === null) continue;
    const { phase } = event;
    const before = costs.get(phase) ?? { phase, runs: 0, usage: NO_USAGE };
    costs.set(phase, { phase, runs: before.runs + 1, usage: addUsage(before.usage, usage) });
  }
  return [...costs.values()].sort((a, b) => a.phase - b.phase);
};
