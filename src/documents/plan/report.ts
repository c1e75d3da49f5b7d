/** What `emend plan check`, `score` and `show` tell: plain data, printed by the CLI as text or JSON. */
import { aboveOf } from '../../shared/triggers.js';
import { labelOf, scoreOf, type Score, type ResolvedThresholds } from './score.js';
import {
  fileOfPart,
  isExpanded,
  isPlanExpanded,
  levelOf,
  listExpanded,
  textOf,
  type PartNode,
  type PlanTree,
} from './tree.js';
import type { Fault, Part, PartHeading, PartText, Span, Task } from './types.js';
import { wavesOf, type Wave } from './waves.js';
import type { StepEvent } from '../../shared/events.js';
import { planNumber } from '../../shared/text.js';

export interface ScoreReport extends Score {
  readonly label: 'Low' | 'Medium' | 'High';
  /** Why the phase should be expanded: each threshold that it is above. */
  readonly above: readonly string[];
  /** More file references than the threshold: told, and no reason by itself. */
  readonly manyFiles: boolean;
}
export interface PartReport
  extends
    Pick<PartHeading, 'number' | 'name' | 'markers' | 'line'>,
    Pick<PartText, 'objective' | 'complexity' | 'estimatedTime' | 'prerequisites'> {
  readonly expanded: boolean;
  readonly file: string;
  /** Null: no such line. */
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
  /** False: no phase declares dependencies, the phases run one after the other. */
  readonly declared: boolean;
  readonly waves: readonly Wave[];
  readonly thresholds: ResolvedThresholds;
  readonly faults: readonly Fault[];
  readonly notes: readonly Fault[];
}

/** `show` turns a path into how a person is told of it. */
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
  const faults = [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
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

/** What nothing needs, but a reader would look for. */
function missingOf(node: PartNode, show: (path: string) => string): readonly Fault[] {
  const { heading } = node.part;
  const at = { file: show(node.home), line: heading.line };
  return [
    ...(textOf(node).objective === null
      ? [{ ...at, message: `Phase ${heading.number} has no **Objective**` }]
      : []),
    ...(tasksOf(node).length === 0
      ? [{ ...at, message: `Phase ${heading.number} has no tasks (\`- [ ] …\`)` }]
      : []),
  ];
}

/** Dependencies may be next to the heading or in the part's own file; the former wins. */
export const effectivePart = ({ part, file }: PartNode): Part => ({
  ...part,
  dependencies: part.dependencies ?? file?.dependencies ?? null,
});
export const fileOfDependencies = ({ part, file, home }: PartNode): string =>
  part.dependencies !== null || file?.dependencies == null ? home : file.path;

function stageFaultsOf(node: PartNode, show: (path: string) => string): readonly Fault[] {
  const stages = node.stages.map(effectivePart);
  const waves = wavesOf(stages, (part) =>
    show(fileOfDependencies(node.stages[stages.indexOf(part)] ?? node)),
  );
  // Doubled numbers were told when the file was read.
  return waves.ok
    ? []
    : waves.faults.filter(
        ({ message }) => message.startsWith('**Dependencies**') || message.startsWith('without'),
      );
}

function partReport(node: PartNode, show: (path: string) => string): PartReport {
  const { number, name, markers, line } = node.part.heading;
  const { objective, complexity, estimatedTime, prerequisites } = textOf(node);
  const tasks = tasksOf(node).map(({ text, done, depth, line: at }) => ({
    text,
    done,
    depth,
    line: at,
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

/** Its own and those of its stages, wherever they are. */
export const tasksOf = (node: PartNode): readonly Task[] => [
  ...textOf(node).tasks,
  ...node.stages.flatMap((stage) => (isExpanded(stage) ? tasksOf(stage) : [])),
];

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

/** The part's own text, and that of its expanded stages: no header, no summary. */
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

// What a plan's events come to: replans, second scores, failures caught early. Pure.

export interface PlanStats {
  readonly plans: number;
  readonly phases: number;
  readonly replans: number;
  readonly phasesReplanned: number;
  readonly secondScores: number;
  readonly discrepancies: number;
  readonly loopStops: number;
  readonly failures: number;
  /** Phases that were committed though no test ran. */
  readonly noTests: number;
  /** Replans after which the phase was completed, of those after which it came to an end, or failed into the next replan or the limit. */
  readonly replanSuccess: Ratio;
  /** Replan triggers for test failures that came with the second failure or before it, of all of them. */
  readonly caughtWithinTwo: Ratio;
  /** Expansions by the trigger of complexity after which the phase was not replanned again, of all of them. */
  readonly expansionAccuracy: Ratio;
}
export type Ratio = Readonly<Record<'of' | 'count', number>>;

/** One list of events for each run, each in order. Runs of jobs add nothing. */
export const statsOf = (runs: readonly (readonly StepEvent[])[]): PlanStats =>
  sumPlanStats(runs.map(statsOfRun).filter((stats) => stats !== null));

/** Returns what the events of one run come to; null: it is no run of a plan. */
export function statsOfRun(events: readonly StepEvent[]): PlanStats | null {
  if (!events.some(({ type }) => type === 'plan_started')) return null;
  const count = (type: StepEvent['type']): number =>
    events.filter((event) => event.type === type).length;
  const { phases, replanned, success, caught, expansions } = ofRun(events);
  return {
    plans: 1,
    phases,
    replans: count('replanned'),
    phasesReplanned: replanned,
    secondScores: events.filter((event) => event.type === 'second_score' && event.message === null)
      .length,
    discrepancies: count('score_discrepancy'),
    loopStops: events.filter(isLimitReached).length,
    failures: count('phase_failed'),
    noTests: events.filter((event) => event.type === 'phase_tested' && event.outcome === 'no_tests')
      .length,
    replanSuccess: success,
    caughtWithinTwo: caught,
    expansionAccuracy: expansions,
  };
}

export function sumPlanStats(all: readonly PlanStats[]): PlanStats {
  const sum = (pick: (one: PlanStats) => number): number =>
    all.reduce((total, one) => total + pick(one), 0);
  const ratio = (pick: (one: PlanStats) => Ratio): Ratio => ({
    count: sum((one) => pick(one).count),
    of: sum((one) => pick(one).of),
  });
  return {
    plans: sum(({ plans }) => plans),
    phases: sum(({ phases }) => phases),
    replans: sum(({ replans }) => replans),
    phasesReplanned: sum(({ phasesReplanned }) => phasesReplanned),
    secondScores: sum(({ secondScores }) => secondScores),
    discrepancies: sum(({ discrepancies }) => discrepancies),
    loopStops: sum(({ loopStops }) => loopStops),
    failures: sum(({ failures }) => failures),
    noTests: sum(({ noTests }) => noTests),
    replanSuccess: ratio(({ replanSuccess }) => replanSuccess),
    caughtWithinTwo: ratio(({ caughtWithinTwo }) => caughtWithinTwo),
    expansionAccuracy: ratio(({ expansionAccuracy }) => expansionAccuracy),
  };
}

const FAILED = 'test_failure_pattern';

type LoopStopped = Extract<StepEvent, { readonly type: 'loop_stopped' }>;
const isLimitReached = (event: StepEvent): event is LoopStopped =>
  event.type === 'loop_stopped' && event.status === 'limit_reached';

function ofRun(events: readonly StepEvent[]) {
  const started = new Set<number>();
  const replans: {
    readonly phase: number;
    readonly trigger: string;
    readonly expansion: boolean;
    helped: boolean | null;
  }[] = [];
  const inRow = new Map<number, number>();
  let [triggers, early] = [0, 0];
  /** `trigger`: only replans that it led to; an expansion is not blamed for failing tests. */
  const settle = (phase: number, helped: boolean, trigger?: string): void => {
    for (const each of replans)
      if (each.phase === phase && (trigger ?? each.trigger) === each.trigger)
        each.helped ??= helped;
  };
  for (const event of events) {
    if (isLimitReached(event)) settle(event.phase, false, FAILED);
    if (event.type === 'phase_started') started.add(event.phase);
    if (event.type === 'phase_failed') inRow.set(event.phase, event.consecutive);
    if (event.type === 'phase_marked') settle(event.phase, event.marker === 'completed');
    if (event.type === 'replan_triggered' && event.trigger === FAILED) {
      settle(event.phase, false, FAILED);
      triggers += 1;
      if ((inRow.get(event.phase) ?? 0) <= 2) early += 1;
    }
    if (event.type === 'replanned')
      replans.push({
        phase: event.phase,
        trigger: event.trigger,
        expansion: event.trigger === 'complexity' && event.action === 'expand_phase',
        helped: null,
      });
  }
  const settled = replans.filter(({ helped }) => helped !== null);
  const expansions = replans.filter(({ expansion }) => expansion);
  const again = (phase: number): boolean =>
    replans.filter((each) => each.phase === phase).length > 1;
  return {
    phases: started.size,
    replanned: new Set(replans.map(({ phase }) => phase)).size,
    success: { count: settled.filter(({ helped }) => helped).length, of: settled.length },
    caught: { count: early, of: triggers },
    expansions: {
      count: expansions.filter(({ phase }) => !again(phase)).length,
      of: expansions.length,
    },
  };
}
