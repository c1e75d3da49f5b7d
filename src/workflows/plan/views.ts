/** What queries, the Temporal UI and the faces read of a plan's state: the shapes of a step's, with the phases beside. Pure. */
import type { PhaseId, PlanProgress, PhaseStatus } from '../../shared/plan.js';
import { phaseText } from '../../shared/event-text.js';
import { BOUNDS } from '../../shared/limits.js';
import { phaseKey } from '../../shared/ids.js';
import { budgetOfPlan, estimateOfPlan } from './budget.js';
import { addUsage, NO_USAGE, tokensOf } from '../../shared/usage.js';
import { groupOf, inWaves, phaseOf, placeOf, reportsOf, unmarkedOf } from './selectors.js';
import type { PhaseEntry, PlanState } from './state.js';
import { outageText, type Outage } from '../../shared/outage.js';
import { countsOf, type FileStatus, type StepResult, type StepStatus } from '../../shared/run.js';
import { codeSpan } from '../../shared/text.js';
import { bounded, decisionDetails, resultBase, statusBase, titleLine } from '../frame/details.js';

/** Returns the limits of the plan and what it has used of them. */
const budgetProgress = (state: PlanState): PlanProgress['budget'] => {
  const { startedAt, pausedFor_ms, spentBefore } = state;
  const { budget_tokens = null, budget_calls = null, wallClock_s = null } = state.limits ?? {};
  const used = addUsage(spentBefore?.usage ?? NO_USAGE, state.usage);
  return {
    startedAt,
    pausedFor_ms,
    usedBefore_ms: spentBefore?.time_ms ?? 0,
    used_tokens: tokensOf(used),
    used_calls: used.calls,
    used_usd: used.usd,
    budget_tokens,
    budget_usd: budgetOfPlan(state)?.usd ?? null,
    budget_calls,
    wallClock_s,
  };
};

export const progressOfPlan = (state: PlanState): PlanProgress => {
  const numberOf = new Map(state.phases.map(({ id, number }) => [id, number]));
  const numbersOf = (ids: readonly PhaseId[]): readonly number[] =>
    ids.flatMap((id) => numberOf.get(id) ?? []);
  const phaseIn = (worktree: string): number =>
    numberOf.get(worktree.slice(0, worktree.lastIndexOf('-'))) ?? 0;
  return {
    phases: state.phases.map(
      ({ id, number, name, status, tasks, marker, complexity, failures, replans, ...phase }) => ({
        id,
        number,
        name,
        status,
        tasks: tasks.total,
        tasksDone: tasks.done,
        marker,
        dependsOn: numbersOf(phase.dependsOn),
        score: complexity.score,
        scored: { ...phase.score, method: complexity.method, reasoning: complexity.reasoning },
        run: phase.runs === 0 ? null : phaseKey(state.input.stepKey, id, phase.runs),
        commit: phase.commits.at(-1) ?? null,
        verification: phase.result?.verification ?? phase.tests,
        failures: failures.length,
        replans,
        why: phase.why,
      }),
    ),
    kept: state.worktrees.kept.map((kept) => ({ phase: phaseIn(kept.name), ...kept })),
    mode: inWaves(state) ? 'waves' : 'sequential',
    waves: (state.reading.plan?.waves ?? []).map((wave) => numbersOf(wave.flat())),
    thresholds: state.reading.plan?.thresholds ?? null,
    budget: budgetProgress(state),
    ...state.controls,
    reports: reportsOf(state),
  };
};

export const resultOfPlan = (state: PlanState): StepResult => ({
  ...resultBase(state),
  files: [],
  skipped: [],
  wasSplit: false,
  proposalId: null,
  verification: null,
  commit: state.records.commits.at(-1) ?? null,
  plan: progressOfPlan(state),
});

const phaseLabel = (state: PlanState, phase: PhaseEntry): string => {
  const { place, total } = placeOf(state, phase);
  return `${phaseText(phase.number, place, total)} (${phase.name})`;
};

const isWaiting = (state: PlanState): state is PlanState & { readonly outage: Outage } =>
  state.decision === null && state.outage?.over === false;

/** The step of the seven that it is at, in words. */
function doingOf(state: PlanState): string {
  if (state.decision !== null) return `waiting for a decision: ${state.decision.reason}`;
  const { stage } = state;
  const { current } = state.revision;
  if (stage.at === 'closed') return stage.outcome;
  if (isWaiting(state)) return outageText(state.outage);
  if (current !== null) {
    const { number, name } = phaseOf(state, current.phase);
    return `Phase ${number} (${name}): ${current.trigger} (${current.step})`;
  }
  if (state.busy.waiting) return 'waiting for another run to unlock the workspace';
  return stageText(state, stage);
}

function stageText(
  state: PlanState,
  stage: Exclude<PlanState['stage'], { readonly at: 'closed' }>,
): string {
  const { reading, controls } = state;
  const [shown, unmarked] = [groupOf(state), unmarkedOf(state)].map((all) =>
    all.map((phase) => phaseLabel(state, phase)).join(', '),
  );
  switch (stage.at) {
    case 'reading':
      return reading.plan === null ? 'reading the plan' : 'checking the markers';
    case 'choosing':
      return controls.pausedBy === null
        ? 'choosing the next phase'
        : `paused by ${controls.pausedBy}: emend plan resume ${state.input.planPath}`;
    case 'jobs':
      return `writing the job of ${shown}`;
    case 'running':
      return `${shown}: editing, tests, commit`;
    case 'worktrees':
      return `creating worktrees for ${shown}`;
    case 'merging':
      return `merging ${shown}`;
    case 'marking':
      return unmarked ? `marking ${unmarked}` : 'removing worktrees, and saving the checkpoint';
  }
}

const FILE_STATUS: Record<PhaseStatus, FileStatus> = {
  pending: 'pending',
  running: 'in_progress',
  completed: 'done',
  incomplete: 'failed',
  failed: 'failed',
  aborted: 'pending',
  skipped: 'skipped',
};

export function statusOfPlan(state: PlanState): StepStatus {
  const paused = state.controls.pausedBy !== null && state.stage.at === 'choosing';
  return {
    ...statusBase(state, state.decision !== null || paused),
    jobPath: state.input.planPath,
    doing: doingOf(state),
    counts: countsOf(state.phases.map(({ status }) => ({ status: FILE_STATUS[status] }))),
    ...(isWaiting(state) ? { outage: state.outage } : {}),
    proposalId: null,
    wasSplit: false,
    ...(state.phases.length === 0 || state.stage.at === 'closed'
      ? {}
      : {
          estimate: estimateOfPlan(state),
          ...(state.expected === undefined ? {} : { budget: budgetOfPlan(state) }),
        }),
    result: state.stage.at === 'closed' ? resultOfPlan(state) : null,
    plan: progressOfPlan(state),
  };
}

/** Markdown for the Temporal UI. */
export function detailsOfPlan(state: PlanState): string {
  const { decision, input, phases } = state;
  const more = phases.length - BOUNDS.detailsFiles;
  return bounded([
    titleLine(input),
    '',
    `**${codeSpan(doingOf(state))}**`,
    '',
    ...(decision === null ? [] : decisionDetails(decision, input.stepKey)),
    '',
    ...(phases.length === 0 ? [] : ['Phases:', '']),
    ...phases.slice(0, BOUNDS.detailsFiles).map(phaseLine),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ]);
}

/** An item of a list, as the Temporal UI draws the columns of a table without a gap. */
function phaseLine({
  number,
  name,
  status,
  tasks,
  complexity,
  commits,
  ...phase
}: PhaseEntry): string {
  const commit = commits.at(-1);
  const count = `${tasks.total} ${tasks.total === 1 ? 'task' : 'tasks'}`;
  const parts = [
    status,
    count,
    `score ${complexity.score}`,
    ...(commit === undefined ? [] : [`commit \`${commit.slice(0, 12)}\``]),
  ];
  const reason = codeSpan(phase.why ?? '', 100);
  return `- Phase ${number} ${codeSpan(name, 80)}: ${parts.join(', ')}${reason === '' ? '' : `: ${reason}`}`;
}
