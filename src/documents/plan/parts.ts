/** The automatic rules of expanding and collapsing: which parts of a plan they choose, and why. */
import type { Change } from './change.js';
import { collapsePhase, collapseStage } from './collapse.js';
import { expandPhase, expandStage } from './expand.js';
import { scoreReport, tasksOf } from './report.js';
import type { Thresholds } from './score.js';
import { isExpanded, type PartNode, type PlanTree } from './tree.js';

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
