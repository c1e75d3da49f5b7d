/** Reports a plan for `emend plan check`, `score` and `show`: plain data, which the command line prints as text or JSON. */
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

// Statistics of plans from their events: replans, second scores, and failures that were caught early. Pure.

export interface PlanStats {
  readonly plans: number;
  readonly phases: number;
  readonly replans: number;
  readonly phasesReplanned: number;
  readonly secondScores: number;
  readonly discrepancies: number;
  readonly loopStops: number;
  readonly failures: number;
  /** Phases that were committed although no test ran. */
  readonly noTests: number;
  /** Share of replans after which the phase was completed. Replans whose phase still runs do not count. */
  readonly replanSuccess: Ratio;
  /** Share of the triggers for test failures that came with the second failure or before it. */
  readonly caughtWithinTwo: Ratio;
  /** Share of the expansions because of complexity after which the phase was not replanned again. */
  readonly expansionAccuracy: Ratio;
}
/** A share: `count` cases out of `of`. */
export type Ratio = Readonly<Record<'of' | 'count', number>>;

/** Computes the statistics. Each list has the events of one run of a plan, in order. */
export function statsOf(runs: readonly (readonly StepEvent[])[]): PlanStats {
  const plans = runs.filter((events) => events.some(({ type }) => type === 'plan_started'));
  const all = plans.flat();
  const count = (type: StepEvent['type']): number =>
    all.filter((event) => event.type === type).length;
  const runStats = plans.map(statsOfRun);
  const sum = (pick: (run: ReturnType<typeof statsOfRun>) => number): number =>
    runStats.reduce((total, run) => total + pick(run), 0);
  const ratio = (pick: (run: ReturnType<typeof statsOfRun>) => Ratio): Ratio => ({
    count: sum((run) => pick(run).count),
    of: sum((run) => pick(run).of),
  });
  return {
    plans: plans.length,
    phases: sum(({ phases }) => phases),
    replans: count('replanned'),
    phasesReplanned: sum(({ replanned }) => replanned),
    secondScores: all.filter((event) => event.type === 'second_score' && event.message === null)
      .length,
    discrepancies: count('score_discrepancy'),
    loopStops: all.filter(isLimitReached).length,
    failures: count('phase_failed'),
    noTests: all.filter((event) => event.type === 'phase_tested' && event.outcome === 'no_tests')
      .length,
    replanSuccess: ratio(({ success }) => success),
    caughtWithinTwo: ratio(({ caught }) => caught),
    expansionAccuracy: ratio(({ expansions }) => expansions),
  };
}

const FAILED = 'test_failure_pattern';

type LoopStopped = Extract<StepEvent, { readonly type: 'loop_stopped' }>;
const isLimitReached = (event: StepEvent): event is LoopStopped =>
  event.type === 'loop_stopped' && event.status === 'limit_reached';

function statsOfRun(events: readonly StepEvent[]) {
  const started = new Set<number>();
  const replans: {
    readonly phase: number;
    readonly trigger: string;
    readonly expansion: boolean;
    helped: boolean | null;
  }[] = [];
  const consecutiveFailures = new Map<number, number>();
  let [triggers, early] = [0, 0];
  /** Records whether the replans of a phase helped. With a trigger, only replans of that trigger count, so tests do not judge an expansion. */
  const settle = (phase: number, helped: boolean, trigger?: string): void => {
    for (const replan of replans)
      if (replan.phase === phase && (trigger ?? replan.trigger) === replan.trigger)
        replan.helped ??= helped;
  };
  for (const event of events) {
    if (isLimitReached(event)) settle(event.phase, false, FAILED);
    if (event.type === 'phase_started') started.add(event.phase);
    if (event.type === 'phase_failed') consecutiveFailures.set(event.phase, event.consecutive);
    if (event.type === 'phase_marked') settle(event.phase, event.marker === 'completed');
    if (event.type === 'replan_triggered' && event.trigger === FAILED) {
      settle(event.phase, false, FAILED);
      triggers += 1;
      if ((consecutiveFailures.get(event.phase) ?? 0) <= 2) early += 1;
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
  const wasReplannedAgain = (phase: number): boolean =>
    replans.filter((replan) => replan.phase === phase).length > 1;
  return {
    phases: started.size,
    replanned: new Set(replans.map(({ phase }) => phase)).size,
    success: { count: settled.filter(({ helped }) => helped).length, of: settled.length },
    caught: { count: early, of: triggers },
    expansions: {
      count: expansions.filter(({ phase }) => !wasReplannedAgain(phase)).length,
      of: expansions.length,
    },
  };
}
