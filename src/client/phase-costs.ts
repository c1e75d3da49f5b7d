/** What the phases of a plan cost, from the plan's events and the call journal: it works for runs that the server has forgotten. */
import type { StepEvent } from '../shared/events.js';
import type { StepKey } from '../shared/refs.js';
import { addUsage, NO_USAGE, type StepUsage } from '../shared/usage.js';

export interface PhaseCost {
  readonly phase: number;
  readonly runs: number;
  readonly usage: StepUsage;
}

/**
 * In the order of phases; empty for a run that is no plan's. Every run of a phase has its own calls in the journal; `usageOf` null: they
 * cannot be read, and the run is left out.
 */
export const phaseCosts = async (
  events: readonly StepEvent[],
  usageOf: (run: StepKey) => Promise<StepUsage | null>,
): Promise<readonly PhaseCost[]> => {
  const found = new Map<number, PhaseCost>();
  for (const event of events) {
    if (event.type !== 'phase_editing') continue;
    const usage = await usageOf(event.child);
    if (usage === null) continue;
    const { phase } = event;
    const before = found.get(phase) ?? { phase, runs: 0, usage: NO_USAGE };
    found.set(phase, { phase, runs: before.runs + 1, usage: addUsage(before.usage, usage) });
  }
  return [...found.values()].sort((a, b) => a.phase - b.phase);
};
