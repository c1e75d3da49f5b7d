/** Budgets over a whole plan: what is used of them, what is left for the phases that begin, what the plan is expected to take. Pure. */
import type { PhaseEstimate, PlanSpent } from '../../shared/plan.js';
import type { FrameEffect } from '../frame/machine.js';
import type { LimitName } from '../../shared/limits.js';
import {
  addUsage,
  NO_USAGE,
  sumEstimates,
  tokensOf,
  type Budget,
  BUDGETS,
  budgetText,
  isOverEstimate,
  limitOf,
  moneyBudget,
  reachedBudget,
  usageText,
  usedOf,
  type MoneyBudget,
} from '../../shared/usage.js';
import { groupOf, openOf } from './selectors.js';
import type { PlanState } from './state.js';

type Spending = Pick<PlanState, 'usage' | 'startedAt' | 'pausedFor_ms' | 'spentBefore'>;

/** By this run and those that it goes on from. */
export const spentOf = (
  { usage, spentBefore, startedAt, pausedFor_ms }: Spending,
  now: number,
): PlanSpent => ({
  usage: addUsage(spentBefore?.usage ?? NO_USAGE, usage),
  time_ms: (spentBefore?.time_ms ?? 0) + now - startedAt - pausedFor_ms,
});

/** Returns the money that the plan may use now. An answer may have set another budget, or a model without a price was used. */
export const budgetOfPlan = (state: PlanState): MoneyBudget | null => {
  const { expected, limits, usage, spentBefore } = state;
  const isCounted = usage.usd !== null && spentBefore?.usage.usd !== null;
  const default_usd =
    isCounted && expected?.budget?.isDefault === true ? expected.budget.usd : null;
  return moneyBudget(limitOf(limits, 'budget_usd'), default_usd);
};

const pause = (
  reason: 'budget' | 'runaway',
  message: string,
  subject: string | null,
): FrameEffect => ({ kind: 'pause', pause: { reason, message, files: [], subject } });

/** Returns the pause that must come before the next paid work (a phase, a report, a replan, a repeated phase); null: none. */
export function spendingPause(state: PlanState, now: number): FrameEffect | null {
  const reached = reachedBudget(state.limits, usedOf(spentOf(state, now)), {
    by: ' by the plan',
    default_usd: budgetOfPlan(state)?.usd ?? null,
  });
  if (reached !== null) return pause('budget', reached.message, reached.name);
  const { expected, usage, mayExceedEstimate } = state;
  const { overEstimate_times } = state.input.rules.bounds;
  if (expected === undefined || mayExceedEstimate) return null;
  if (!isOverEstimate(usage, expected.estimate, state.input.rules.bounds)) return null;
  const estimate = usageText({ ...NO_USAGE, ...expected.estimate });
  const message = `the plan has used ${overEstimate_times} times its estimate; used: ${usageText(usage)}; estimate: about ${estimate}, if no phase fails`;
  return pause('runaway', message, null);
}

/**
 * The plan's budgets as limits of the run of each of the phases that begin now: what is left, shared evenly, so that phases side
 * by side do not overrun it together; time passes for all of them. Only limits that are set, and the default of `budget_usd`.
 */
export function budgetsLeft(state: PlanState, now: number): Partial<Record<LimitName, number>> {
  const together = Math.max(1, groupOf(state).filter(({ status }) => status === 'running').length);
  const used = usedOf(spentOf(state, now));
  return Object.fromEntries(
    BUDGETS.flatMap((name) => {
      const limit =
        name === 'budget_usd' ? (budgetOfPlan(state)?.usd ?? null) : limitOf(state.limits, name);
      if (limit === null) return [];
      const left = Math.max(0, limit - used[name]);
      const share = name === 'wallClock_s' ? left : left / together;
      return [[name, name === 'budget_usd' ? share : Math.max(1, Math.floor(share))]];
    }),
  );
}

/** Of the phases that are still to be done, if none fails. `usd` null: the price of a model is not known. */
export function estimateOfPlan(state: PlanState): PhaseEstimate {
  return sumEstimates(openOf(state).map(({ estimate }) => estimate ?? {}));
}

/** The same where each fails its tests up to the limit of its replans. Null: nothing is tested, or nobody said what that takes. */
export function mostOfPlan(state: PlanState): PhaseEstimate | null {
  const all = openOf(state).flatMap(({ most }) => most ?? []);
  return all.length === openOf(state).length ? sumEstimates(all) : null;
}

/** Each budget that the estimate is over with what earlier runs used, in words. */
export function overBudgets(
  { limits, spentBefore }: PlanState,
  estimate: PhaseEstimate,
): readonly string[] {
  const before = spentBefore?.usage ?? NO_USAGE;
  const expected: readonly (readonly [Budget, number, number])[] = [
    ['budget_tokens', estimate.input_tokens + estimate.output_tokens, tokensOf(before)],
    ['budget_usd', estimate.usd ?? 0, before.usd ?? 0],
    ['budget_calls', estimate.calls, before.calls],
  ];
  return expected.flatMap(([name, value, spent]) => {
    const limit = limitOf(limits, name);
    if (limit === null || value + spent <= limit) return [];
    const after = spent === 0 ? '' : ` after ${budgetText(name, spent)} of earlier runs`;
    return [`about ${budgetText(name, value)} are expected${after}; ${name} is ${limit}`];
  });
}
