/**
 * Decides whether facts about a phase call for a replan, and what happens then. Each row is tested:
 *
 *     trigger                 calls for a replan                                                          first action
 *     complexity              the score or the tasks exceed a threshold, and the phase is not expanded     expand_phase
 *                             it is expanded, and has so many stages that they need own files              expand_phase
 *     test_failure_pattern    the tiers are spent, or tests failed in several phases                       add_phase
 *     scope_drift             somebody reports it                                                          update_tasks
 *     person                  an answer to a decision asks for it                                          update_tasks
 *
 *     phase                   limit                                       outcome
 *     done or committed       any                                         none: a committed phase is not replanned
 *     open                    replans < limit                             replan
 *     open                    replans >= limit, forced                    replan, and the count begins again
 *     open                    replans >= limit                            limit: the plan asks
 *
 * Pure. Thresholds come from the reading of the plan, all other numbers from the recorded rules of the run.
 */
import type { Failure } from './failure.js';
import type { PlanThresholds, ReplanAction, ReplanTrigger } from './plan.js';
import type { Rules } from './rules.js';

export interface TriggerFacts {
  readonly trigger: ReplanTrigger;
  readonly score: number;
  readonly tasks: number;
  readonly expanded: boolean;
  /** Why its stages need files of their own; absent: they do not. */
  readonly stages?: string;
  /** Of the phase since it was last planned, oldest first. */
  readonly failures: readonly Pick<Failure, 'signature' | 'suggestions'>[];
  /** Phases with a failed verification since the plan was last revised for test failures. */
  readonly failedPhases: number;
  /** A part of it is committed, or it is done. */
  readonly resolved: boolean;
  readonly replans: number;
  /** An answer or `--force-replan` exceeds the limit. */
  readonly forced: boolean;
}

export type TriggerRules = Pick<Rules, 'bounds' | 'replanActions'>;

/** What comes after a failed verification. */
export type Tier = 'again' | 'debug' | 'replan';

export interface TriggerOutcome {
  /** `notice`: the score is at the threshold, not above it. The plan reports that and changes nothing. */
  readonly outcome: 'none' | 'notice' | 'replan' | 'limit';
  /** What a model may propose; the first is what the trigger stands for. */
  readonly actions: readonly ReplanAction[];
  /** The replan exceeds the limit. */
  readonly forced: boolean;
  readonly reason: string;
}
export interface Verdict extends TriggerOutcome {
  /** Null: the trigger is not about failed tests. */
  readonly tier: Tier | null;
  /** What may help with the last failure. */
  readonly suggestions: readonly string[];
}

export function evaluateTriggers(
  facts: TriggerFacts,
  thresholds: PlanThresholds,
  rules: TriggerRules,
): Verdict {
  const { failures, trigger } = facts;
  const suggestions = failures.at(-1)?.suggestions ?? [];
  if (trigger !== 'test_failure_pattern')
    return { ...outcomeOf(facts, thresholds, rules), tier: null, suggestions };
  const { tier, reason } = tierOf(failures, rules);
  const outcome = outcomeOf(facts, thresholds, rules);
  // Failures in several phases call for a replan, whatever the tier of this phase is.
  if (outcome.outcome === 'replan' || outcome.outcome === 'limit')
    return { ...outcome, tier: 'replan', suggestions };
  return { ...outcome, tier, reason, suggestions };
}

export function outcomeOf(
  facts: TriggerFacts,
  thresholds: PlanThresholds,
  rules: TriggerRules,
): TriggerOutcome {
  const { outcome, reason } = callOf(facts, thresholds, rules);
  const none = { actions: [], forced: false };
  if (outcome !== 'called') return { outcome, reason, ...none };
  if (facts.resolved)
    return { outcome: 'none', reason: 'committed and finished phases are not replanned', ...none };
  const { replanLimit } = thresholds;
  const isSpent = facts.replans >= replanLimit;
  if (isSpent && !facts.forced)
    return {
      outcome: 'limit',
      reason: `${reason}; replanned ${facts.replans} of ${replanLimit} times`,
      ...none,
    };
  return {
    outcome: 'replan',
    actions: rules.replanActions[facts.trigger],
    forced: isSpent,
    reason,
  };
}

interface Call {
  readonly outcome: 'called' | 'none' | 'notice';
  readonly reason: string;
}

function callOf(facts: TriggerFacts, thresholds: PlanThresholds, rules: TriggerRules): Call {
  switch (facts.trigger) {
    case 'complexity':
      return complexityCall(facts, thresholds);
    case 'test_failure_pattern':
      return failuresCall(facts, rules);
    case 'scope_drift':
      return { outcome: 'called', reason: 'someone reported work missing from the plan' };
    case 'person':
      return { outcome: 'called', reason: 'requested by a person' };
  }
}

function failuresCall({ failures, failedPhases }: TriggerFacts, rules: TriggerRules): Call {
  if (tierOf(failures, rules).tier === 'replan')
    return { outcome: 'called', reason: 'its tests keep failing' };
  if (failedPhases >= rules.bounds.patternPhases)
    return { outcome: 'called', reason: `tests failed in ${failedPhases} phases` };
  return { outcome: 'none', reason: 'no pattern of test failures' };
}

function complexityCall(
  { score, tasks, expanded, stages }: TriggerFacts,
  thresholds: PlanThresholds,
): Call {
  if (stages !== undefined) return { outcome: 'called', reason: stages };
  if (expanded) return { outcome: 'none', reason: 'it is already expanded' };
  const above = aboveOf(score, tasks, thresholds);
  if (above.length > 0) return { outcome: 'called', reason: above.join(', ') };
  const { expansion, tasks: mostTasks } = thresholds;
  if (score >= expansion)
    return { outcome: 'notice', reason: `score ${score} is at the threshold of ${expansion}` };
  return {
    outcome: 'none',
    reason: `score ${score} and ${tasks} tasks are within ${expansion} and ${mostTasks}`,
  };
}

/** Returns why a phase is too large: each threshold that it exceeds. */
export const aboveOf = (
  score: number,
  tasks: number,
  { expansion, tasks: mostTasks }: PlanThresholds,
): readonly string[] => [
  ...(score > expansion ? [`score ${score} is above ${expansion}`] : []),
  ...(tasks > mostTasks ? [`${tasks} tasks are more than ${mostTasks}`] : []),
];

/**
 * Returns what comes after a failed verification of a phase, by its failures since it was last planned (oldest first). Two failures
 * without a signature count as the same. A transient failure was repeated with more time before it counts here.
 *
 *     the first                                    again, with suggestions, another format if there is one
 *     the second in a row, the same signature      replan
 *     the second in a row, a new signature         debug: a report that the next attempt reads
 *     any further one                              replan
 */
export function tierOf(
  failures: readonly Pick<Failure, 'signature'>[],
  { bounds: { debugFailures } }: Pick<TriggerRules, 'bounds'>,
): { readonly tier: Tier; readonly reason: string } {
  const [before, last] = failures.slice(-2);
  const count = failures.length;
  if (count < debugFailures) return { tier: 'again', reason: 'the first failure of this phase' };
  if (before?.signature === last?.signature)
    return { tier: 'replan', reason: `failure ${count} is the same as the previous one` };
  if (count === debugFailures)
    return { tier: 'debug', reason: 'the second failure in a row differs from the first' };
  return { tier: 'replan', reason: `${count} failures in a row, after a debugging report` };
}
