/** What queries, the Temporal UI and the faces read of a plan's state: the shapes of a step's, with the phases beside. Pure. */
import type { PhaseStatus } from '../plan.js';
import { BOUNDS } from '../limits.js';
import { outageWords, type Outage } from '../outage.js';
import type { FileStatus, RunState, StepResult, StepStatus } from '../protocol.js';
import { bounded, decisionDetails, plain } from '../views.js';
import { progressOfPlan } from './progress.js';
import { groupOf, phaseOf, unmarkedOf } from './state.js';
import type { PhaseEntry, PlanState } from './types.js';

export const resultOfPlan = (state: PlanState): StepResult => ({
  v: 1,
  stepKey: state.input.stepKey,
  outcome: state.outcome ?? 'failed',
  files: [],
  wasSplit: false,
  usage: state.usage,
  commit: state.commits.at(-1) ?? null,
  proposalId: null,
  verification: null,
  problem: state.problem,
  plan: progressOfPlan(state),
  ...(state.openOnHost === undefined ? {} : { openOnHost: state.openOnHost }),
});

const of = (state: PlanState, { number, name }: PhaseEntry): string =>
  `Phase ${number}/${state.phases.length} (${name})`;

const isWaiting = (state: PlanState): state is PlanState & { readonly outage: Outage } =>
  state.decision === null && state.outage?.over === false;

/** The step of the seven that it is at, in words. */
function doingOf(state: PlanState): string {
  if (state.decision !== null) return `waiting for a decision: ${state.decision.reason}`;
  if (state.stage === 'closed') return state.outcome ?? 'done';
  if (isWaiting(state)) return outageWords(state.outage);
  if (state.revising !== null) {
    const { number, name } = phaseOf(state, state.revising.phase);
    return `Phase ${number} (${name}): ${state.revising.trigger} (${state.revising.step})`;
  }
  if (state.waiting) return 'waiting for another run to leave the workspace';
  const group = groupOf(state);
  const shown = group.map((phase) => of(state, phase)).join(', ');
  switch (state.stage) {
    case 'reading':
      return state.plan === null ? 'reading the plan' : 'looking at the markers';
    case 'choosing':
      return state.pausedBy === null ? 'choosing the next phase' : `paused by ${state.pausedBy}: emend plan resume`;
    case 'jobs':
      return `writing the job of ${shown}`;
    case 'running':
      return `${shown}: editing, tests, commit`;
    case 'worktrees':
      return `making worktrees for ${shown}`;
    case 'merging':
      return `merging ${shown}`;
    case 'marking':
      return `marking ${unmarkedOf(state)
        .map((phase) => of(state, phase))
        .join(', ')}`;
    case 'checkpoint':
      return `saving the checkpoint after ${shown}`;
  }
}

const FILE_STATUS: Record<PhaseStatus, FileStatus> = {
  pending: 'pending',
  running: 'in_progress',
  completed: 'done',
  incomplete: 'failed',
  failed: 'failed',
  skipped: 'skipped',
};

function runStateOf(state: PlanState): RunState {
  if (state.stage !== 'closed') {
    const paused = state.pausedBy !== null && state.stage === 'choosing';
    return state.decision !== null || paused ? 'waiting' : 'running';
  }
  if (state.outcome === 'aborted') return 'aborted';
  return state.outcome === 'failed' || state.outcome === 'refused' ? 'failed' : 'done';
}

export function statusOfPlan(state: PlanState): StepStatus {
  const counts: Record<FileStatus, number> = { pending: 0, in_progress: 0, done: 0, failed: 0, skipped: 0 };
  for (const { status } of state.phases) counts[FILE_STATUS[status]] += 1;
  const { stepKey, workspace, planPath, title } = state.input;
  return {
    ...{ v: 1, stepKey, workspace, jobPath: planPath, title, counts },
    state: runStateOf(state),
    doing: doingOf(state),
    stage: state.stage,
    decision: state.decision,
    ...(isWaiting(state) ? { outage: state.outage } : {}),
    proposalId: null,
    usage: state.usage,
    wasSplit: false,
    ignored: state.ignored,
    ...(state.ignoredCount === undefined ? {} : { ignoredCount: state.ignoredCount }),
    lastSeq: state.nextSeq - 1,
    result: state.stage === 'closed' ? resultOfPlan(state) : null,
    plan: progressOfPlan(state),
  };
}

/** Markdown for the Temporal UI. */
export function detailsOfPlan(state: PlanState): string {
  const decision = state.decision === null ? [] : decisionDetails(state.decision, state.input.stepKey);
  const rows = state.phases
    .slice(0, BOUNDS.detailsFiles)
    .map(
      (phase) =>
        `| ${phase.number} | ${plain(phase.name, 80)} | ${phase.status} | ${phase.tasks.total} | ${phase.complexity.score} | ${(phase.commits.at(-1) ?? '').slice(0, 12)} | ${plain(phase.why ?? '', 100)} |`,
    );
  const more = state.phases.length - rows.length;
  return bounded([
    `**${plain(doingOf(state))}**`,
    '',
    ...decision,
    '',
    '| phase | name | status | tasks | score | commit | |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    ...(more > 0 ? [`| | and ${more} more | | | | | |`] : []),
  ]);
}
