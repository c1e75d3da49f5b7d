/** Jobs: writes the job of each phase of the group before its run. */
import type { PhaseId } from '../../../shared/plan.js';
import type { PhaseJobResult } from '../../../shared/plan-activities.js';
import { sentence } from '../../../shared/problems.js';
import { emit } from '../../frame/log.js';
import { spendingPause } from '../budget.js';
import type { Moment, Next, On, PlanEffect } from '../protocol.js';
import { groupOf, isDone, phaseOf } from '../selectors.js';
import type { PlanState } from '../state.js';
import { askAbout, withPhase } from '../ways.js';

export const next: Next<'jobs'> = { jobs: jobsEffect };

export const on: On<'job_made'> = {
  job_made: (state, { phase, result }, currentTime_ms) =>
    onJob(state, phase, result, currentTime_ms),
};

function jobsEffect(state: PlanState, { currentTime_ms }: Moment): PlanEffect {
  const open = groupOf(state).filter((phase) => !isDone(phase));
  const jobless = open.find(({ job }) => job === null);
  if (jobless !== undefined) return { kind: 'job', phase: jobless.id };
  return spendingPause(state, currentTime_ms) ?? { kind: 'run', phases: open.map(({ id }) => id) };
}

function onJob(
  state: PlanState,
  id: PhaseId,
  result: PhaseJobResult,
  currentTime_ms: number,
): PlanState {
  if (result.outcome === 'refused')
    return askAbout(state, id, 'engine_failed', sentence(result.problem));
  const { job, path, title, fallback } = result;
  const nextState = withPhase(state, id, { job: { ref: job, path, title } });
  if (fallback === undefined) return nextState;
  const { number: phase } = phaseOf(state, id);
  return emit(nextState, currentTime_ms, { type: 'phase_fallback', phase, to: fallback });
}
