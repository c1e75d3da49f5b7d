/** Computes statistics of plans from their events: replans, second scores, and failures that were caught early. Pure. */
import type { StepEvent } from '../../shared/events.js';

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

/** Computes the statistics of several runs. Each list has the events of one run, in order. Runs of jobs add nothing. */
export const statsOf = (runs: readonly (readonly StepEvent[])[]): PlanStats =>
  sumPlanStats(runs.map(statsOfRun).filter((stats) => stats !== null));

/** Computes the statistics of one run from its events, in order. Returns null if it is not the run of a plan. */
export function statsOfRun(events: readonly StepEvent[]): PlanStats | null {
  if (!events.some(({ type }) => type === 'plan_started')) return null;
  const count = (type: StepEvent['type']): number =>
    events.filter((event) => event.type === type).length;
  const { phases, replanned, success, caught, expansions } = outcomesOf(events);
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

/** Adds the statistics of several runs. */
export function sumPlanStats(all: readonly PlanStats[]): PlanStats {
  const sum = (pick: (stats: PlanStats) => number): number =>
    all.reduce((total, stats) => total + pick(stats), 0);
  const ratio = (pick: (stats: PlanStats) => Ratio): Ratio => ({
    count: sum((stats) => pick(stats).count),
    of: sum((stats) => pick(stats).of),
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

function outcomesOf(events: readonly StepEvent[]) {
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
