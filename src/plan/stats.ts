/** What a plan's events come to: replans, second scores, failures caught early. Pure. */
import type { StepEvent } from '../shared/events.js';

export interface PlanStats {
  readonly plans: number;
  readonly phases: number;
  readonly replans: number;
  readonly phasesReplanned: number;
  readonly secondScores: number;
  readonly discrepancies: number;
  readonly loopStops: number;
  readonly failures: number;
  /** Replans after which the phase was completed, of those whose phase has come to an end. */
  readonly replanSuccess: Ratio;
  /** Replan triggers for test failures that came with the second failure or before it, of all of them. */
  readonly caughtWithinTwo: Ratio;
  /** Expansions by the trigger of complexity after which the phase was not replanned again, of all of them. */
  readonly expansionAccuracy: Ratio;
}
export interface Ratio {
  readonly of: number;
  readonly count: number;
}

/** One list of events for each run of a plan, each in order. */
export function statsOf(runs: readonly (readonly StepEvent[])[]): PlanStats {
  const plans = runs.filter((events) => events.some(({ type }) => type === 'plan_started'));
  const all = plans.flat();
  const count = (type: StepEvent['type']): number => all.filter((event) => event.type === type).length;
  const per = plans.map(ofRun);
  const sum = (pick: (one: ReturnType<typeof ofRun>) => number): number =>
    per.reduce((total, one) => total + pick(one), 0);
  const ratio = (pick: (one: ReturnType<typeof ofRun>) => Ratio): Ratio => ({
    count: sum((one) => pick(one).count),
    of: sum((one) => pick(one).of),
  });
  return {
    plans: plans.length,
    phases: sum(({ phases }) => phases),
    replans: count('replanned'),
    phasesReplanned: sum(({ replanned }) => replanned),
    secondScores: all.filter((event) => event.type === 'second_score' && event.message === null).length,
    discrepancies: count('score_discrepancy'),
    loopStops: count('loop_stopped'),
    failures: count('phase_failed'),
    replanSuccess: ratio(({ success }) => success),
    caughtWithinTwo: ratio(({ caught }) => caught),
    expansionAccuracy: ratio(({ expansions }) => expansions),
  };
}

function ofRun(events: readonly StepEvent[]) {
  const started = new Set<number>();
  const replans: { readonly phase: number; readonly expansion: boolean }[] = [];
  const ended = new Map<number, string>();
  const inRow = new Map<number, number>();
  let [triggers, early] = [0, 0];
  for (const event of events) {
    if (event.type === 'phase_started') started.add(event.phase);
    if (event.type === 'phase_failed') inRow.set(event.phase, event.consecutive);
    if (event.type === 'phase_marked') ended.set(event.phase, event.marker);
    if (event.type === 'replan_triggered' && event.trigger === 'test_failure_pattern') {
      triggers += 1;
      if ((inRow.get(event.phase) ?? 0) <= 2) early += 1;
    }
    if (event.type === 'replanned')
      replans.push({
        phase: event.phase,
        expansion: event.trigger === 'complexity' && event.action === 'expand_phase',
      });
  }
  const closed = replans.filter(({ phase }) => ended.has(phase));
  const expansions = replans.filter(({ expansion }) => expansion);
  const again = (phase: number): boolean => replans.filter((each) => each.phase === phase).length > 1;
  return {
    phases: started.size,
    replanned: new Set(replans.map(({ phase }) => phase)).size,
    success: { count: closed.filter(({ phase }) => ended.get(phase) === 'completed').length, of: closed.length },
    caught: { count: early, of: triggers },
    expansions: { count: expansions.filter(({ phase }) => !again(phase)).length, of: expansions.length },
  };
}
