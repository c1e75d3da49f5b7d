/**
 * Which facts call for a replan, and what then happens. Each row of the table is tested:
 *
 *     trigger                 calls where                                                                 first action
 *     complexity              score > expansion or tasks > limit, and not expanded                         expand_phase
 *                             more than three stages, and expanded: they go to files of their own          expand_phase
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
import type { Change } from './change.js';
import { collapsePhase, collapseStage } from './collapse.js';
import { expandPhase, expandStage } from './expand.js';
import { scoreReport, tasksOf } from './report.js';
import type { ReplanAction, ReplanTrigger } from '../../shared/plan.js';
import type {
  EvaluateTriggersInput,
  EvaluateTriggersResult,
} from '../../shared/replan-activities.js';
import type { ActivityBase } from '../../shared/proposal-activities.js';
import { aboveOf, type Thresholds } from './score.js';
import { isExpanded, type PartNode, type PlanTree } from './tree.js';

/** What a model may propose when asked because of a trigger; the first is what the trigger stands for. */
export const ACTIONS: Readonly<Record<ReplanTrigger, readonly ReplanAction[]>> = {
  complexity: ['expand_phase', 'split_phase'],
  test_failure_pattern: ['add_phase', 'split_phase', 'update_tasks'],
  scope_drift: ['update_tasks', 'add_phase', 'split_phase'],
  person: ['update_tasks', 'add_phase', 'split_phase', 'expand_phase', 'collapse_phase'],
};

/** Failures in so many phases are a pattern of the plan, not of one phase. */
const DISTRIBUTED_FAILURES = 3;

/** `tiersSpent`: those of this phase have come to `replan`. */
export type TriggerFacts = Omit<
  EvaluateTriggersInput,
  keyof ActivityBase | 'failures' | 'thresholds'
> & {
  readonly tiersSpent: boolean;
};
/** `notice`: at the threshold, not above it: told, nothing is changed. */
export interface TriggerOutcome extends Pick<EvaluateTriggersResult, 'outcome' | 'forced' | 'why'> {
  readonly actions: readonly ReplanAction[];
}

export function outcomeOf(facts: TriggerFacts, values: Thresholds): TriggerOutcome {
  const { outcome, why } = callOf(facts, values);
  const none = { actions: [], forced: false };
  if (outcome !== 'called') return { outcome, why, ...none };
  if (facts.resolved)
    return { outcome: 'none', why: 'committed and finished phases are not replanned', ...none };
  const spent = facts.replans >= values.replanLimit;
  if (spent && !facts.forced)
    return {
      outcome: 'limit',
      why: `${why}; replanned ${facts.replans} of ${values.replanLimit} times`,
      ...none,
    };
  return { outcome: 'replan', actions: ACTIONS[facts.trigger], forced: spent, why };
}

type Called = Readonly<{ outcome: 'called' | 'none' | 'notice'; why: string }>;

function callOf(facts: TriggerFacts, values: Thresholds): Called {
  switch (facts.trigger) {
    case 'complexity':
      return complexityCall(facts, values);
    case 'test_failure_pattern':
      if (facts.tiersSpent) return { outcome: 'called', why: 'its tests keep failing' };
      if (facts.failedPhases >= DISTRIBUTED_FAILURES)
        return { outcome: 'called', why: `tests failed in ${facts.failedPhases} phases` };
      return { outcome: 'none', why: 'no pattern of test failures' };
    case 'scope_drift':
      return { outcome: 'called', why: 'someone reported work missing from the plan' };
    case 'person':
      return { outcome: 'called', why: 'requested by a person' };
  }
}

function complexityCall(
  { score, tasks, expanded, stages }: TriggerFacts,
  values: Thresholds,
): Called {
  if (stages !== undefined) return { outcome: 'called', why: stages };
  if (expanded) return { outcome: 'none', why: 'it is already expanded' };
  const above = aboveOf(score, tasks, values);
  if (above.length > 0) return { outcome: 'called', why: above.join(', ') };
  if (score >= values.expansion)
    return { outcome: 'notice', why: `score ${score} is at the threshold of ${values.expansion}` };
  return {
    outcome: 'none',
    why: `score ${score} and ${tasks} tasks are within ${values.expansion} and ${values.tasks}`,
  };
}

/**
 * What comes after a failed verification of a phase, by its failures since it was last planned or replanned: oldest first, at least one.
 * Two without a signature are taken for the same. What is transient was retried, with more time, before it
 * counts as a failure:
 *
 *     the first                                    again, with suggestions, another format where there is one
 *     the second in a row, the same signature      replan
 *     the second in a row, a new signature         debug: a report that the next attempt reads
 *     any further one                              replan
 */
export function tierOf(
  failures: readonly Pick<EvaluateTriggersInput['failures'][number], 'signature'>[],
) {
  const tier = (is: NonNullable<EvaluateTriggersResult['tier']>, why: string) => ({
    tier: is,
    why,
  });
  const [before, last] = failures.slice(-2);
  const count = failures.length;
  if (count <= 1) return tier('again', 'the first failure of this phase');
  if (before?.signature === last?.signature)
    return tier('replan', `failure ${count} is the same as the previous one`);
  if (count === 2) return tier('debug', 'the second failure in a row differs from the first');
  return tier('replan', `${count} failures in a row, after a debugging report`);
}

// The automatic rules of expanding and collapsing: which parts they choose, and why.

/** Stages of an expanded phase go to their own files where it has more than this: each is a workflow of its own. */
const STAGES_INLINE = 3;
/** A completed phase comes back with at most so many tasks and a score below this. */
const COLLAPSE = { tasks: 5, score: 6 } as const;

export interface Chosen {
  readonly phase: number;
  /** Null: the phase itself. */
  readonly stage: number | null;
  readonly why: string;
}

/** The phase, or the stage of it, out to a file of its own or back. */
export function movePart(
  tree: PlanTree,
  verb: 'expand' | 'collapse',
  { phase, stage }: Pick<Chosen, 'phase' | 'stage'>,
  values: Thresholds,
): Change {
  if (stage === null)
    return verb === 'expand' ? expandPhase(tree, phase, values) : collapsePhase(tree, phase);
  return verb === 'expand' ? expandStage(tree, phase, stage) : collapseStage(tree, phase, stage);
}

export function chosenBy(
  tree: PlanTree,
  verb: 'expand' | 'collapse',
  kind: 'phase' | 'stage',
  values: Thresholds,
): readonly Chosen[] {
  return tree.phases.flatMap((node) =>
    verb === 'expand' ? toExpand(node, kind, values) : toCollapse(node, kind, values),
  );
}

const numberOf = ({ part }: PartNode): number => part.heading.number;
export const isOver = ({ part: { heading } }: PartNode): boolean =>
  heading.markers.includes('COMPLETED') || heading.markers.includes('SKIPPED');

function toExpand(node: PartNode, kind: 'phase' | 'stage', values: Thresholds): readonly Chosen[] {
  const phase = numberOf(node);
  if (isOver(node)) return [];
  if (kind === 'phase') {
    const { above } = scoreReport(node, { values });
    return isExpanded(node) || above.length === 0
      ? []
      : [{ phase, stage: null, why: above.join(', ') }];
  }
  if (!isExpanded(node) || node.stages.length <= STAGES_INLINE) return [];
  const why = `${node.stages.length} stages are more than ${STAGES_INLINE}`;
  return node.stages
    .filter((stage) => !isExpanded(stage) && !isOver(stage))
    .map((stage) => ({ phase, stage: numberOf(stage), why }));
}

function toCollapse(
  node: PartNode,
  kind: 'phase' | 'stage',
  values: Thresholds,
): readonly Chosen[] {
  const phase = numberOf(node);
  const tasks = tasksOf(node).length;
  const { score } = scoreReport(node, { values });
  const completed = node.part.heading.markers.includes('COMPLETED');
  if (!isExpanded(node) || !completed || tasks > COLLAPSE.tasks || score >= COLLAPSE.score)
    return [];
  const why = `completed, with at most ${COLLAPSE.tasks} tasks and a score below ${COLLAPSE.score}`;
  const open = node.stages.filter(isExpanded);
  if (kind === 'stage') return open.map((stage) => ({ phase, stage: numberOf(stage), why }));
  return open.length > 0 ? [] : [{ phase, stage: null, why }];
}
