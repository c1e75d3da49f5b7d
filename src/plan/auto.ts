/** The automatic rules of expanding and collapsing: which parts they choose, and why. */
import { scoreReport, tasksOf } from './report.js';
import type { Thresholds } from './thresholds.js';
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
const isOver = ({ part: { heading } }: PartNode): boolean =>
  heading.markers.includes('COMPLETED') || heading.markers.includes('SKIPPED');

function toExpand(node: PartNode, kind: 'phase' | 'stage', values: Thresholds): readonly Chosen[] {
  const phase = numberOf(node);
  if (isOver(node)) return [];
  if (kind === 'phase') {
    const { above } = scoreReport(node, { values });
    return isExpanded(node) || above.length === 0 ? [] : [{ phase, stage: null, why: above.join(', ') }];
  }
  if (!isExpanded(node) || node.stages.length <= STAGES_INLINE) return [];
  const why = `${node.stages.length} stages are more than ${STAGES_INLINE}`;
  return node.stages
    .filter((stage) => !isExpanded(stage) && !isOver(stage))
    .map((stage) => ({ phase, stage: numberOf(stage), why }));
}

function toCollapse(node: PartNode, kind: 'phase' | 'stage', values: Thresholds): readonly Chosen[] {
  const phase = numberOf(node);
  const tasks = tasksOf(node).length;
  const { score } = scoreReport(node, { values });
  const completed = node.part.heading.markers.includes('COMPLETED');
  if (!isExpanded(node) || !completed || tasks > COLLAPSE.tasks || score >= COLLAPSE.score) return [];
  const why = `completed, with at most ${COLLAPSE.tasks} tasks and a score below ${COLLAPSE.score}`;
  const open = node.stages.filter(isExpanded);
  if (kind === 'stage') return open.map((stage) => ({ phase, stage: numberOf(stage), why }));
  return open.length > 0 ? [] : [{ phase, stage: null, why }];
}
