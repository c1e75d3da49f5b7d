/** What queries, the Temporal UI and the faces read of a plan's state: the shapes of a step's, with the phases beside. Pure. */
import type { PhaseId, PlanProgress, PhaseStatus } from '../../shared/plan.js';
import { type Limits, BOUNDS } from '../../shared/limits.js';
import { phaseKey } from '../../shared/ids.js';
import { addUsage, NO_USAGE, tokensOf, type StepUsage } from '../../shared/usage.js';
import { inWaves, type PlanState, groupOf, phaseOf, unmarkedOf, type PhaseEntry } from './state.js';
import { outageText, type Outage } from '../../shared/outage.js';
import type { FileStatus, RunState, StepResult, StepStatus } from '../../shared/run.js';
import { bounded, decisionDetails, plain } from '../frame/details.js';

const usedBy = (usage: StepUsage) => ({
  used_tokens: tokensOf(usage),
  used_calls: usage.calls,
  used_usd: usage.usd,
});

export const progressOfPlan = (state: PlanState): PlanProgress => {
  const numberOf = new Map(state.phases.map(({ id, number }) => [id, number]));
  const numbersOf = (ids: readonly PhaseId[]): readonly number[] => ids.flatMap((id) => numberOf.get(id) ?? []);
  /** Of the phase that a worktree is for. */
  const phaseIn = (worktree: string): number => numberOf.get(worktree.slice(0, worktree.lastIndexOf('-'))) ?? 0;
  return {
    phases: state.phases.map((phase) => ({
      ...{ id: phase.id, number: phase.number, name: phase.name, status: phase.status },
      tasks: phase.tasks.total,
      tasksDone: phase.tasks.done,
      marker: phase.marker,
      dependsOn: numbersOf(phase.dependsOn),
      score: phase.complexity.score,
      scored: { ...phase.score, method: phase.complexity.method, reasoning: phase.complexity.reasoning },
      run: phase.runs === 0 ? null : phaseKey(state.input.stepKey, phase.id, phase.runs),
      commit: phase.commits.at(-1) ?? null,
      verification: phase.result?.verification ?? phase.tests ?? null,
      failures: phase.failures.length,
      replans: phase.replans,
      why: phase.why,
    })),
    ...(state.kept === undefined ? {} : { kept: state.kept.map((kept) => ({ phase: phaseIn(kept.name), ...kept })) }),
    mode: inWaves(state) ? 'waves' : 'sequential',
    waves: (state.plan?.waves ?? []).map((wave) => numbersOf(wave.flat())),
    thresholds: state.plan?.thresholds ?? null,
    budget: {
      ...{
        startedAt: state.startedAt,
        pausedFor_ms: state.pausedFor_ms,
        usedBefore_ms: state.spentBefore?.time_ms ?? 0,
      },
      ...usedBy(addUsage(state.spentBefore?.usage ?? NO_USAGE, state.usage)),
      budget_tokens: state.limits?.budget_tokens ?? null,
      budget_usd: state.limits?.budget_usd ?? null,
      budget_calls: (state.limits as Partial<Limits> | null)?.budget_calls ?? null,
      wallClock_s: state.limits?.wallClock_s ?? null,
    },
    pausedBy: state.pausedBy,
    stopAfterPhase: state.stopAfterPhase,
  };
};

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
  if (isWaiting(state)) return outageText(state.outage);
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
