/**
 * Which facts call for a replan, and what then happens. Each row of the table is tested:
 *
 *     trigger                 calls where                                                                 first action
 *     complexity              score > expansion or tasks > limit, and not expanded                         expand_phase
 *     test_failure_pattern    the tiers say so, or failures in 3 phases; not yet revised for these         add_phase
 *     scope_drift             a person reports it                                                          update_tasks
 *     person                  a person answers so at a decision                                            update_tasks
 *
 *     state                   limit                                       outcome
 *     done or committed       any                                         none: what is committed is not replanned
 *     open                    replans < limit                             replan
 *     open                    replans >= limit, a person forces           replan, the counter begins anew
 *     open                    replans >= limit                            limit: a person is asked
 */
import type { Thresholds } from './thresholds.js';

export type Trigger = 'complexity' | 'test_failure_pattern' | 'scope_drift' | 'person';
export type ReplanAction = 'expand_phase' | 'add_phase' | 'split_phase' | 'collapse_phase' | 'update_tasks';

/** What a model may propose when asked because of a trigger; the first is what the trigger stands for. */
export const ACTIONS: Readonly<Record<Trigger, readonly ReplanAction[]>> = {
  complexity: ['expand_phase', 'split_phase'],
  test_failure_pattern: ['add_phase', 'split_phase', 'update_tasks'],
  scope_drift: ['update_tasks', 'add_phase', 'split_phase'],
  person: ['update_tasks', 'add_phase', 'split_phase', 'expand_phase', 'collapse_phase'],
};

/** Failures in so many phases are a pattern of the plan, not of one phase. */
const DISTRIBUTED_FAILURES = 3;

export interface TriggerFacts {
  readonly trigger: Trigger;
  readonly score: number;
  readonly tasks: number;
  readonly expanded: boolean;
  /** The tiers of this phase have come to `replan`. */
  readonly tiersSpent: boolean;
  /** Phases with a failed verification since the plan was last revised for test failures. */
  readonly failedPhases: number;
  /** Something of it is committed, or it is done with. */
  readonly settled: boolean;
  readonly replans: number;
  readonly forced: boolean;
}
export type TriggerOutcome =
  | { readonly outcome: 'none'; readonly why: string }
  /** At the threshold, not above it: told, nothing is changed. */
  | { readonly outcome: 'notice'; readonly why: string }
  | {
      readonly outcome: 'replan';
      readonly actions: readonly ReplanAction[];
      readonly forced: boolean;
      readonly why: string;
    }
  | { readonly outcome: 'limit'; readonly why: string };

export function outcomeOf(facts: TriggerFacts, values: Thresholds): TriggerOutcome {
  const called = callOf(facts, values);
  if (called.outcome !== 'called') return called;
  const { why } = called;
  if (facts.settled) return { outcome: 'none', why: 'what is committed or done with is not replanned' };
  const spent = facts.replans >= values.replanLimit;
  if (spent && !facts.forced)
    return { outcome: 'limit', why: `${why}; it was replanned ${facts.replans} of ${values.replanLimit} times` };
  return { outcome: 'replan', actions: ACTIONS[facts.trigger], forced: spent, why };
}

type Called =
  { readonly outcome: 'called'; readonly why: string } | Extract<TriggerOutcome, { outcome: 'none' | 'notice' }>;

function callOf(facts: TriggerFacts, values: Thresholds): Called {
  switch (facts.trigger) {
    case 'complexity':
      return complexityCall(facts, values);
    case 'test_failure_pattern':
      if (facts.tiersSpent) return { outcome: 'called', why: 'its tests fail again and again' };
      if (facts.failedPhases >= DISTRIBUTED_FAILURES)
        return { outcome: 'called', why: `tests failed in ${facts.failedPhases} phases` };
      return { outcome: 'none', why: 'no pattern of test failures' };
    case 'scope_drift':
      return { outcome: 'called', why: 'a person reports work that the plan does not hold' };
    case 'person':
      return { outcome: 'called', why: 'a person wants it' };
  }
}

function complexityCall({ score, tasks, expanded }: TriggerFacts, values: Thresholds): Called {
  if (expanded) return { outcome: 'none', why: 'it is expanded already' };
  const above = [
    ...(score > values.expansion ? [`score ${score} is above ${values.expansion}`] : []),
    ...(tasks > values.tasks ? [`${tasks} tasks are more than ${values.tasks}`] : []),
  ];
  if (above.length > 0) return { outcome: 'called', why: above.join(', ') };
  if (score >= values.expansion)
    return { outcome: 'notice', why: `score ${score} is at the threshold of ${values.expansion}` };
  return {
    outcome: 'none',
    why: `score ${score} and ${tasks} tasks are within ${values.expansion} and ${values.tasks}`,
  };
}
