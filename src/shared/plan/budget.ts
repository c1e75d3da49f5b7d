/** Budgets over a whole plan: what is used of them, what is left for the phases that begin, what the plan is expected to take. Pure. */
import type { LimitName, Limits } from '../limits.js';
import type { Pause } from '../state.js';
import { count } from '../text.js';
import { addUsage, NO_USAGE, tokensOf, usageText } from '../usage.js';
import { groupOf, isDone } from './state.js';
import type { PhaseEstimate, PlanState } from './types.js';

type Budget = Extract<LimitName, 'budget_tokens' | 'budget_usd' | 'budget_calls' | 'wallClock_s'>;

const UNITS: Readonly<Record<Budget, string>> = {
  budget_tokens: 'tokens',
  budget_usd: 'US dollars',
  budget_calls: 'model calls',
  wallClock_s: 's',
};
const BUDGETS = Object.keys(UNITS) as Budget[];

/** A run that began under an earlier version has no `budget_calls`. */
const limitOf = (limits: Partial<Limits> | null, name: Budget): number | null => limits?.[name] ?? null;

const usedOf = (
  { usage, startedAt, pausedFor_ms }: Pick<PlanState, 'usage' | 'startedAt' | 'pausedFor_ms'>,
  now: number,
): Readonly<Record<Budget, number>> => ({
  budget_tokens: tokensOf(usage),
  budget_usd: usage.usd ?? 0,
  budget_calls: usage.calls,
  wallClock_s: Math.round((now - startedAt - pausedFor_ms) / 1000),
});

const shown = (name: Budget, value: number): string =>
  `${name === 'budget_usd' ? Number(value.toFixed(4)) : value} ${UNITS[name]}`;

/** Reaching a limit of the whole plan is asked before the next phase begins. */
export function budgetReached(state: PlanState, now: number): Pause | null {
  const used = usedOf(state, now);
  for (const name of BUDGETS) {
    const limit = limitOf(state.limits, name);
    if (limit !== null && used[name] >= limit)
      return {
        reason: 'budget',
        message: `${shown(name, used[name])} used by the plan; ${name} is ${limit}`,
        files: [],
        subject: name,
      };
  }
  return null;
}

/**
 * The plan's budgets as limits of the run of each of the phases that begin now: what is left, shared evenly, so that phases side
 * by side do not overrun it together; time passes for all of them. Only limits that are set.
 */
export function budgetsLeft(state: PlanState, now: number): Partial<Record<LimitName, number>> {
  const together = Math.max(1, groupOf(state).filter(({ status }) => status === 'running').length);
  const used = usedOf(state, now);
  return Object.fromEntries(
    BUDGETS.flatMap((name) => {
      const limit = limitOf(state.limits, name);
      if (limit === null) return [];
      const left = Math.max(0, limit - used[name]);
      const share = name === 'wallClock_s' ? left : left / together;
      return [[name, name === 'budget_usd' ? share : Math.max(1, Math.floor(share))]];
    }),
  );
}

/** Of the phases that are still to be done, if none fails. `usd` null: the price of a model is not known. */
export function estimateOfPlan(state: PlanState): PhaseEstimate {
  const { calls, input_tokens, output_tokens, usd } = state.phases
    .filter((phase) => !isDone(phase))
    .reduce((sum, { estimate }) => addUsage(sum, { ...NO_USAGE, ...estimate }), NO_USAGE);
  return { calls, input_tokens, output_tokens, usd };
}

export const estimateText = (phases: number, estimate: PhaseEstimate, over: readonly string[]): string =>
  [`${count(phases, 'phase')}: about ${usageText({ ...NO_USAGE, ...estimate })}, if none fails`, ...over].join('; ');

/** Each budget that the estimate is over, in words. */
export function overBudgets(limits: Partial<Limits> | null, estimate: PhaseEstimate): readonly string[] {
  const expected: readonly (readonly [Budget, number])[] = [
    ['budget_tokens', estimate.input_tokens + estimate.output_tokens],
    ['budget_usd', estimate.usd ?? 0],
    ['budget_calls', estimate.calls],
  ];
  return expected.flatMap(([name, value]) => {
    const limit = limitOf(limits, name);
    return limit !== null && value > limit ? [`about ${shown(name, value)} are expected; ${name} is ${limit}`] : [];
  });
}
