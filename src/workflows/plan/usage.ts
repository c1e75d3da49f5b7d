/** What the plan's own model calls used. Pure. */
import { addUsage, NO_USAGE, subtractUsage, type StepUsage } from '../../shared/usage.js';
import { notCounted } from '../frame/log.js';
import type { PlanState } from './state.js';

export const addOwnUsage = (state: PlanState, usage: StepUsage): PlanState => ({
  ...state,
  usage: addUsage(state.usage, usage),
  ownUsage: addUsage(state.ownUsage ?? NO_USAGE, usage),
});

/** Replaces what results reported by what the journal knows. A journal that knows fewer calls (of another home) does not take any back. */
export function onUsageCounted(
  state: PlanState,
  usage: StepUsage | null,
  currentTime_ms: number,
): PlanState {
  if (usage === null) return notCounted(state, currentTime_ms);
  const { ownUsage = NO_USAGE } = state;
  const others = subtractUsage(state.usage, ownUsage);
  return usage.calls < ownUsage.calls
    ? state
    : { ...state, usage: addUsage(others, usage), ownUsage: usage };
}
