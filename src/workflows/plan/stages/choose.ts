/** Choose: picks the next phases, after what is due before them (a report, a second score, a large phase), and begins them. */
import type { PhaseId, PlanOutcome } from '../../../shared/plan.js';
import type { ScorePhaseResult } from '../../../shared/replan-activities.js';
import { cut } from '../../../shared/rules.js';
import { emit } from '../../frame/log.js';
import { within, type FrameEffect } from '../../frame/machine.js';
import { spendingPause } from '../budget.js';
import type { Decide, Moment, Next, On, PlanEffect, PlanFacts } from '../protocol.js';
import { groupOf, inWaves, isDone, phaseOf, placeOf, reportedFor } from '../selectors.js';
import type { PhaseEntry, PlanState } from '../state.js';
import { addOwnUsage } from '../usage.js';
import { withPhase } from '../ways.js';

export const next: Next<'choosing'> = { choosing: chooseEffect };

export const on: On<'begun' | 'scored'> = {
  begun: (state, { group }, currentTime_ms) => onBegun(state, group, currentTime_ms),
  scored: onScored,
};

export const decide: Decide<'estimate' | 'runaway'> = {
  estimate: (state) => ({ ...state, estimateAsked: null }),
  runaway: (state) => ({ ...state, mayExceedEstimate: true }),
};

function chooseEffect(state: PlanState, { currentTime_ms, long }: Moment): PlanEffect {
  const { controls, counts, revision } = state;
  const group = nextGroup(state);
  if (group.length === 0 && revision.drifts.length === 0)
    return { kind: 'close', outcome: endOf(state) };
  if (controls.stopAfterPhase !== null) return { kind: 'close', outcome: 'stopped' };
  if (controls.pausedBy !== null) return { kind: 'await_resume' };
  const pause = estimatePause(state) ?? spendingPause(state, currentTime_ms);
  if (pause !== null) return pause;
  const { planRun_groups } = state.input.timings;
  if (counts.groups > 0 && (long || counts.groups >= planRun_groups)) return { kind: 'continue' };
  return dueEffect(state, group) ?? { kind: 'begin', group };
}

/** Returns the next phases to run together, in the order of the waves; none: all are done. */
function nextGroup(state: PlanState): readonly PhaseId[] {
  const open = new Set(state.phases.flatMap((phase) => (isDone(phase) ? [] : [phase.id])));
  const wave = state.reading.plan?.waves.flat().find((ids) => ids.some((id) => open.has(id))) ?? [];
  const group = wave.filter((id) => open.has(id));
  return inWaves(state) ? group : group.slice(0, 1);
}

const endOf = (state: PlanState): PlanOutcome =>
  state.phases.every(({ status }) => status === 'completed') ? 'completed' : 'incomplete';

const estimatePause = ({ estimateAsked: message }: PlanState): FrameEffect | null =>
  message === null
    ? null
    : { kind: 'pause', pause: { reason: 'estimate', message, files: [], subject: null } };

/** Returns what is due before the group begins: a report, failed tests of a phase, a second score, a large phase. Null: nothing. */
function dueEffect(state: PlanState, group: readonly PhaseId[]): PlanEffect | null {
  const [report] = state.revision.drifts;
  if (report !== undefined) {
    const { trigger, text: words } = report;
    return { kind: 'begin_revising', phase: reportedFor(state, group), trigger, words };
  }
  const phases = group.map((id) => phaseOf(state, id));
  const failed = phases.find(({ testsFailed }) => testsFailed);
  if (failed !== undefined)
    return {
      kind: 'begin_revising',
      phase: failed.id,
      trigger: 'test_failure_pattern',
      words: '',
    };
  const unscored = phases.find(({ second, secondAsked }) => second && !secondAsked);
  if (unscored !== undefined) return { kind: 'score', phase: unscored.id };
  const large = phases.find((phase) => isLarge(state, phase));
  if (large === undefined) return null;
  return { kind: 'begin_revising', phase: large.id, trigger: 'complexity', words: '' };
}

/** May the phase be too large, so that the rules of complexity must judge it? */
function isLarge(state: PlanState, phase: PhaseEntry): boolean {
  const { expanded, stages, complexityEvaluated, complexity, score } = phase;
  if (complexityEvaluated) return false;
  if (expanded) return stages !== undefined;
  const threshold = state.reading.plan?.thresholds.expansion ?? Infinity;
  return complexity.score >= threshold || score.above.length > 0;
}

function onBegun(before: PlanState, ids: readonly PhaseId[], currentTime_ms: number): PlanState {
  const begun = within(within(before, 'group', { ids, baseTested: false }), 'counts', {
    groups: before.counts.groups + 1,
  });
  const state: PlanState = { ...begun, stage: { at: ids.length > 1 ? 'worktrees' : 'jobs' } };
  return groupOf(state).reduce(
    (nextState, phase) => startPhase(nextState, phase, placeOf(state, phase), currentTime_ms),
    state,
  );
}

function startPhase(
  state: PlanState,
  { id, number, name, tasks, complexityTold: isShown }: PhaseEntry,
  { place, total }: ReturnType<typeof placeOf>,
  currentTime_ms: number,
): PlanState {
  const started = emit(state, currentTime_ms, {
    type: 'phase_started',
    phase: number,
    place,
    total,
    name,
    tasks: tasks.total,
    ...(tasks.shown === undefined ? {} : { list: tasks.shown }),
  });
  const shown = isShown ? started : showComplexity(started, id, currentTime_ms);
  return withPhase(shown, id, { complexityTold: false });
}

/** Emits the check of a phase's complexity. It comes before what it leads to. */
export function showComplexity(state: PlanState, id: PhaseId, currentTime_ms: number): PlanState {
  const { number, score, expanded, complexity } = phaseOf(state, id);
  return emit(withPhase(state, id, { complexityTold: true }), currentTime_ms, {
    type: 'complexity_checked',
    phase: number,
    score: complexity.score,
    threshold: state.reading.plan?.thresholds.expansion ?? 0,
    expanded,
    above: score.above,
    method: complexity.method,
  });
}

function onScored(
  before: PlanState,
  { phase: id, result }: PlanFacts['scored'],
  currentTime_ms: number,
): PlanState {
  const { score, method, reasoning, discrepancy, message }: ScorePhaseResult = result;
  const { number } = phaseOf(before, id);
  const state = withPhase(addOwnUsage(before, result.usage), id, {
    secondAsked: true,
    complexity: { score, method, reasoning },
  });
  const scored = emit(state, currentTime_ms, {
    type: 'second_score',
    phase: number,
    score,
    method,
    message: message === null ? null : cut(state.input.rules, message),
  });
  if (discrepancy === null) return scored;
  return emit(scored, currentTime_ms, {
    type: 'score_discrepancy',
    phase: number,
    ...discrepancy,
    reasoning: cut(state.input.rules, reasoning ?? ''),
  });
}
