/** Changes of a plan's state that several stages make. Pure. */
import type { PauseReason } from '../../shared/decisions.js';
import type { PhaseId, PlanOutcome } from '../../shared/plan.js';
import type { Problem } from '../../shared/problems.js';
import { cut } from '../../shared/rules.js';
import { asking } from '../frame/decisions/asking.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { reportsOf } from './selectors.js';
import type { PhaseEntry, PlanState, Reading, Revising } from './state.js';

/** Waits, as another run holds the workspace. */
export const busyAgain = (state: PlanState): PlanState => ({
  ...state,
  busy: { tries: state.busy.tries + 1, waiting: true },
});

/** Reads the documents once more, between groups. */
export const readAgain = (state: PlanState, reading: Partial<Reading> = {}): PlanState => ({
  ...within(within(state, 'reading', { number: state.reading.number + 1 }), 'group', { ids: [] }),
  stage: { at: 'reading', inherit: null, renew: false, ...reading },
});

/** Reads the documents before the next phase: whoever the plan waited for may have changed them. */
export const readAfterWait = (state: PlanState): PlanState => {
  const { stage, ask, decision, revision } = state;
  const isNext =
    stage.at === 'choosing' && ask === null && decision === null && revision.current === null;
  return isNext ? readAgain(state) : state;
};

export const withPhase = (
  state: PlanState,
  id: PhaseId,
  change: Partial<PhaseEntry>,
): PlanState => ({
  ...state,
  phases: state.phases.map((phase) => (phase.id === id ? { ...phase, ...change } : phase)),
});

/** Asks about a phase; null: about the plan as a whole. */
export const askAbout = (
  state: PlanState,
  phase: PhaseId | null,
  reason: PauseReason,
  message: string,
): PlanState => asking({ ...state, asked: phase }, reason, cut(state.input.rules, message));

export const closePlan = (
  state: PlanState,
  outcome: PlanOutcome,
  currentTime_ms: number,
  problem: Problem | null = null,
): PlanState =>
  emit(
    { ...state, stage: { at: 'closed', outcome, problem }, decision: null, ask: null },
    currentTime_ms,
    {
      type: 'plan_finished',
      outcome,
    },
  );

/** Sets what the plan revises; null: nothing. */
export const revisingAs = (state: PlanState, current: Revising | null): PlanState =>
  within(state, 'revision', { current });

/** Gives up what the plan revises. A report comes up again. */
export const withoutCurrent = (state: PlanState): PlanState =>
  within(state, 'revision', { current: null, drifts: reportsOf(state) });
