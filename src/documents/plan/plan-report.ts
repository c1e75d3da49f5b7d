/** Reports a plan for `emend plan check`, `score` and `show`: plain data, which the command line prints as text or JSON. */
import { labelOf, scoreOf, type Score } from './score.js';
import type { ResolvedThresholds } from './thresholds.js';
import {
  fileOfPart,
  isExpanded,
  isPlanExpanded,
  levelOf,
  listExpanded,
  textOf,
  type PartNode,
  type PlanTree,
} from './plan-tree.js';
import type { Fault, Part, PartHeading, PartText, Span, Task } from './types.js';
import { type Wave, wavesOf } from './waves.js';
import { planNumber } from '../../shared/text.js';
import { aboveOf } from '../../shared/triggers.js';

export interface ScoreReport extends Score {
  readonly label: 'Low' | 'Medium' | 'High';
  /** Reasons to expand the phase: each threshold that it exceeds. */
  readonly above: readonly string[];
  /** Whether it has more file references than the threshold. The report shows this, but it is no reason to expand. */
  readonly manyFiles: boolean;
}

export interface PartReport
  extends
    Pick<PartHeading, 'number' | 'name' | 'markers' | 'line'>,
    Pick<PartText, 'objective' | 'complexity' | 'estimatedTime' | 'prerequisites'> {
  readonly expanded: boolean;
  readonly file: string;
  /** Null if the part has no such line. */
  readonly dependencies: readonly number[] | null;
  readonly tasks: readonly Pick<Task, 'text' | 'done' | 'depth' | 'line'>[];
  readonly stages: readonly PartReport[];
  readonly expandedStages: readonly number[];
}

export interface PhaseReport extends PartReport {
  readonly score: ScoreReport;
}

export interface PlanReport {
  readonly v: 1;
  readonly number: string | null;
  readonly title: string | null;
  readonly level: 0 | 1 | 2;
  readonly expanded: boolean;
  readonly expandedPhases: readonly number[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly phases: readonly PhaseReport[];
  /** Whether a phase declares dependencies. If none does, the phases run one after the other. */
  readonly declared: boolean;
  readonly waves: readonly Wave[];
  readonly thresholds: ResolvedThresholds;
  readonly faults: readonly Fault[];
  readonly notes: readonly Fault[];
}

/** Reports a plan with its scores, waves and faults. `show` returns the name of a path in messages. */
export function reportOf(
  tree: PlanTree,
  thresholds: ResolvedThresholds,
  show: (path: string) => string,
): PlanReport {
  const effective = tree.phases.map(effectivePart);
  const fileOf = (part: Part): string => {
    const node = tree.phases[effective.indexOf(part)];
    return node === undefined ? tree.main.file : show(fileOfDependencies(node));
  };
  const waves = wavesOf(effective, fileOf);
  const stageFaults = tree.phases.flatMap((node) => stageFaultsOf(node, show));
  const all = [...tree.faults, ...(waves.ok ? [] : waves.faults), ...stageFaults];
  const faults = [...new Map(all.map((fault) => [JSON.stringify(fault), fault])).values()];
  return {
    v: 1,
    number: planNumber(tree.place.stem),
    title: tree.main.title,
    level: levelOf(tree),
    expanded: isPlanExpanded(tree),
    expandedPhases: listExpanded(tree.phases),
    metadata: Object.fromEntries(tree.main.metadata.map(({ name, value }) => [name, value])),
    phases: tree.phases.map((node) => ({
      ...partReport(node, show),
      score: scoreReport(node, thresholds),
    })),
    declared: waves.ok && waves.declared,
    waves: waves.ok ? waves.waves : [],
    thresholds,
    faults,
    notes: [...tree.notes, ...tree.phases.flatMap((node) => missingOf(node, show))],
  };
}

/** Returns notes about elements that Emend does not need, but that a reader of the plan expects. */
function missingOf(node: PartNode, show: (path: string) => string): readonly Fault[] {
  const { heading } = node.part;
  const place = { file: show(node.home), line: heading.line };
  return [
    ...(textOf(node).objective === null
      ? [{ ...place, message: `Phase ${heading.number} has no **Objective**` }]
      : []),
    ...(tasksOf(node).length === 0
      ? [{ ...place, message: `Phase ${heading.number} has no tasks (\`- [ ] …\`)` }]
      : []),
  ];
}

/** Returns the part with its dependencies, which are under the heading or in the part's own file. Those under the heading win. */
export const effectivePart = ({ part, file }: PartNode): Part => ({
  ...part,
  dependencies: part.dependencies ?? file?.dependencies ?? null,
});

/** Returns the path of the file with the part's dependencies. */
export const fileOfDependencies = ({ part, file, home }: PartNode): string =>
  part.dependencies !== null || file?.dependencies == null ? home : file.path;

function stageFaultsOf(node: PartNode, show: (path: string) => string): readonly Fault[] {
  const stages = node.stages.map(effectivePart);
  const waves = wavesOf(stages, (part) =>
    show(fileOfDependencies(node.stages[stages.indexOf(part)] ?? node)),
  );
  // The reader of the file has already reported numbers that occur twice.
  return waves.ok
    ? []
    : waves.faults.filter(
        ({ message }) => message.startsWith('**Dependencies**') || message.startsWith('without'),
      );
}

function partReport(node: PartNode, show: (path: string) => string): PartReport {
  const { number, name, markers, line } = node.part.heading;
  const { objective, complexity, estimatedTime, prerequisites } = textOf(node);
  const tasks = tasksOf(node).map(({ text, done, depth, line: taskLine }) => ({
    text,
    done,
    depth,
    line: taskLine,
  }));
  return {
    number,
    name,
    markers,
    expanded: isExpanded(node),
    file: show(fileOfPart(node)),
    line,
    objective,
    dependencies: effectivePart(node).dependencies?.on ?? null,
    complexity,
    estimatedTime,
    prerequisites,
    tasks,
    stages: node.stages.map((stage) => partReport(stage, show)),
    expandedStages: listExpanded(node.stages),
  };
}

/** Returns the tasks of a part and of its stages, including those in files of their own. */
export const tasksOf = (node: PartNode): readonly Task[] => [
  ...textOf(node).tasks,
  ...node.stages.flatMap((stage) => (isExpanded(stage) ? tasksOf(stage) : [])),
];

/** Scores a phase and compares the score with the thresholds. */
export function scoreReport(
  node: PartNode,
  { values }: Pick<ResolvedThresholds, 'values'>,
): ScoreReport {
  const tasks = tasksOf(node).length;
  const stem = (node.home.split('/')[0] ?? '').replace(/\.md$/, '');
  const score = scoreOf(node.part.heading.name, textsOf(node), tasks, `${stem}.md`);
  return {
    ...score,
    label: labelOf(score.score, values.expansion),
    above: aboveOf(score.score, tasks, values),
    manyFiles: score.files.paths.length > values.fileReferences,
  };
}

/** Returns the part's own text and those of its expanded stages, without the headers and summaries that Emend writes. */
function textsOf(
  node: PartNode,
): readonly { readonly text: string; readonly opaque: readonly Span[] }[] {
  const { body } = textOf(node);
  const source = node.file?.source ?? node.source;
  const opaque = (node.file?.opaque ?? node.opaque)
    .filter(({ from }) => from >= body.from && from < body.to)
    .map(({ from, to }) => ({ from: from - body.from, to: Math.min(to, body.to) - body.from }));
  return [
    { text: source.slice(body.from, body.to), opaque },
    ...node.stages.filter(isExpanded).flatMap(textsOf),
  ];
}
