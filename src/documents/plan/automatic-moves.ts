/** Applies the automatic rules for expanding and collapsing: they choose parts of a plan and give the reason of each choice. */
import type { Change } from './change.js';
import { collapsePhase, collapseStage } from './collapse.js';
import { expandPhase, expandStage } from './expand.js';
import { scoreReport, tasksOf } from './plan-report.js';
import type { Thresholds } from './thresholds.js';
import { isExpanded, type PartNode, type PlanTree } from './plan-tree.js';

/** Maximum number of stages that stay in the file of an expanded phase. If there are more, each stage gets a file of its own. */
const STAGES_INLINE = 3;
/** A completed phase is collapsed if it has at most this number of tasks and a lower score. */
const COLLAPSE = { tasks: 5, score: 6 } as const;

export interface Choice {
  readonly phase: number;
  /** Null if the choice is the phase itself. */
  readonly stage: number | null;
  readonly reason: string;
}

/** Expands or collapses a phase, or one of its stages. */
export function movePart(
  tree: PlanTree,
  verb: 'expand' | 'collapse',
  { phase, stage }: Pick<Choice, 'phase' | 'stage'>,
  values: Thresholds,
): Change {
  if (stage === null)
    return verb === 'expand' ? expandPhase(tree, phase, values) : collapsePhase(tree, phase);
  return verb === 'expand' ? expandStage(tree, phase, stage) : collapseStage(tree, phase, stage);
}

/** Returns the phases or the stages that the rules expand or collapse. */
export function chooseParts(
  tree: PlanTree,
  verb: 'expand' | 'collapse',
  kind: 'phase' | 'stage',
  values: Thresholds,
): readonly Choice[] {
  return tree.phases.flatMap((node) =>
    verb === 'expand' ? toExpand(node, kind, values) : toCollapse(node, kind, values),
  );
}

const numberOf = ({ part }: PartNode): number => part.heading.number;
/** Returns whether the phase or stage is finished, so that it is not expanded or replanned any more. */
export const isOver = ({ part: { heading } }: PartNode): boolean =>
  heading.markers.includes('COMPLETED') || heading.markers.includes('SKIPPED');

function toExpand(node: PartNode, kind: 'phase' | 'stage', values: Thresholds): readonly Choice[] {
  const phase = numberOf(node);
  if (isOver(node)) return [];
  if (kind === 'phase') {
    const { above } = scoreReport(node, { values });
    return isExpanded(node) || above.length === 0
      ? []
      : [{ phase, stage: null, reason: above.join(', ') }];
  }
  if (!isExpanded(node) || node.stages.length <= STAGES_INLINE) return [];
  const reason = `${node.stages.length} stages are more than ${STAGES_INLINE}`;
  return node.stages
    .filter((stage) => !isExpanded(stage) && !isOver(stage))
    .map((stage) => ({ phase, stage: numberOf(stage), reason }));
}

function toCollapse(
  node: PartNode,
  kind: 'phase' | 'stage',
  values: Thresholds,
): readonly Choice[] {
  const phase = numberOf(node);
  const tasks = tasksOf(node).length;
  const { score } = scoreReport(node, { values });
  const completed = node.part.heading.markers.includes('COMPLETED');
  if (!isExpanded(node) || !completed || tasks > COLLAPSE.tasks || score >= COLLAPSE.score)
    return [];
  const reason = `completed, with at most ${COLLAPSE.tasks} tasks and a score below ${COLLAPSE.score}`;
  const expandedStages = node.stages.filter(isExpanded);
  if (kind === 'stage')
    return expandedStages.map((stage) => ({ phase, stage: numberOf(stage), reason }));
  return expandedStages.length > 0 ? [] : [{ phase, stage: null, reason }];
}
