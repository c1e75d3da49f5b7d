/** The checkpoint of a plan, made from the state. It serves where no open run exists; Temporal's state is the truth. */
import type { PhaseFailure, PhaseId, PlanCheckpoint, ReplanRecord } from '../../shared/plan.js';
import { planNumber } from '../../shared/text.js';
import { spentOf } from './budget.js';
import { listedOf, openOf, reportsOf } from './selectors.js';
import type { PhaseEntry, PlanState } from './state.js';

const iso = (at: number): string => new Date(at).toISOString();

function statusOf(
  { stage, phases, controls }: PlanState,
  allDone: boolean,
): PlanCheckpoint['status'] {
  if (stage.at === 'closed') return stage.outcome;
  if (allDone)
    return phases.every(({ status }) => status === 'completed') ? 'completed' : 'incomplete';
  return controls.pausedBy === null ? 'in_progress' : 'paused';
}

const passesTests = ({ status, unfinished, failures }: PhaseEntry): boolean =>
  (status !== 'incomplete' || unfinished > 0) &&
  status !== 'failed' &&
  (status !== 'aborted' || failures.length === 0);

const replanEntry = (
  replan: ReplanRecord,
  phase: number,
): PlanCheckpoint['replan_history'][number] => ({
  phase,
  trigger: replan.trigger,
  action: replan.action,
  timestamp: iso(replan.at),
  old_structure: replan.oldStructure,
  new_structure: replan.newStructure,
  complexity_before: replan.complexityBefore,
  complexity_after: replan.complexityAfter,
  forced: replan.forced,
});

const failureEntry = (
  failure: PhaseFailure,
  phase: number,
): PlanCheckpoint['test_failure_history'][number] => ({
  phase,
  iteration: failure.run,
  error_type: failure.kind ?? 'unknown',
  timestamp: iso(failure.at),
  signature: failure.signature,
  summary: failure.summary,
  suggestions: failure.suggestions,
});

export function checkpointOf(state: PlanState, now: number): PlanCheckpoint {
  const { records } = state;
  const { repository } = state.input;
  const phases = listedOf(state);
  const open = openOf({ phases });
  const numberOf = (id: PhaseId): number => phases.find((phase) => phase.id === id)?.number ?? 0;
  const byNumber = <T>(
    of: (phase: PlanState['phases'][number]) => T,
  ): Readonly<Record<string, T>> =>
    Object.fromEntries(phases.map((phase) => [String(phase.number), of(phase)]));
  return {
    workflow_description: 'plan',
    plan_path: state.input.planPath,
    plan_number: planNumber(state.input.planPath),
    plan_hash: state.reading.plan?.hash ?? '',
    step_key: state.input.stepKey,
    ...(repository?.branch === undefined
      ? {}
      : { base: repository.base, branch: repository.branch }),
    current_phase: open[0]?.number ?? null,
    total_phases: phases.length,
    completed_phases: phases
      .filter(({ status }) => status === 'completed')
      .map(({ number }) => number),
    status: statusOf(state, open.length === 0),
    tests_passing: state.phases.every(passesTests),
    // A failure of a phase that is done is no error any more.
    last_error:
      open.findLast(({ failures }) => failures.length > 0)?.failures.at(-1)?.summary ?? null,
    phase_replan_count: byNumber(({ replans }) => replans),
    replan_history: records.replans.map((replan) => replanEntry(replan, numberOf(replan.phase))),
    test_failure_history: records.failures.map((failure) =>
      failureEntry(failure, numberOf(failure.phase)),
    ),
    complexity_evaluations: byNumber(({ complexity }) => complexity),
    last_commit: records.commits.at(-1) ?? null,
    commit_history: records.commits,
    started_at: iso(state.startedAt),
    last_updated: iso(now),
    timestamp: iso(now),
    spent: { own: spentOf({ ...state, spentBefore: null }, now), before: state.spentBefore },
    phases: phases.map(({ id, number, name, text, forceSpent }) => ({
      id,
      number,
      name,
      text,
      force_spent: forceSpent,
    })),
    ...(state.marks === undefined ? {} : { marks: state.marks }),
    ...(reportsOf(state).length === 0 ? {} : { reports: reportsOf(state) }),
  };
}
