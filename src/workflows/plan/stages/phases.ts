/** Phases: runs the phases of a group, each in a child of its own, and decides what follows when they have ended. */
import type { Failure } from '../../../shared/failure.js';
import { phaseKey } from '../../../shared/ids.js';
import type { PhaseFailure, PhaseId } from '../../../shared/plan.js';
import { sentence } from '../../../shared/problems.js';
import { cut } from '../../../shared/rules.js';
import type { StepResult } from '../../../shared/run.js';
import { PASSED } from '../../../shared/test-activities.js';
import { addUsage, NO_USAGE } from '../../../shared/usage.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import type { Decide, EndedPhase, Next, On, Resolution } from '../protocol.js';
import { groupOf, isDone, phaseOf } from '../selectors.js';
import type { PhaseEntry, PlanState } from '../state.js';
import { askAbout, withoutCurrent, withPhase } from '../ways.js';
import { resolveMark } from './mark.js';
import { resolveMerge } from './merge.js';
import { nextFailed } from './revise/judge.js';

export const next: Next<'running'> = {
  running: (state) => ({
    kind: 'run',
    phases: groupOf(state).flatMap(({ id, status }) => (status === 'running' ? [id] : [])),
  }),
};

export const on: On<'phases_started' | 'phase_ended'> = {
  phases_started: (state, { phases }, currentTime_ms) =>
    phases.reduce<PlanState>((nextState, id) => onStarted(nextState, id, currentTime_ms), {
      ...state,
      stage: { at: 'running' },
    }),
  phase_ended: (state, { ended }, currentTime_ms) => onPhaseEnded(state, ended, currentTime_ms),
};

export const decide: Decide<'cancelled' | 'merge_conflict'> = {
  cancelled: resolvePhase,
  merge_conflict: resolvePhase,
};

function onStarted(state: PlanState, id: PhaseId, currentTime_ms: number): PlanState {
  const { number, status, runs } = phaseOf(state, id);
  if (status === 'running') return state;
  const run = runs + 1;
  const running = withPhase(state, id, { status: 'running', runs: run, result: null });
  return emit(running, currentTime_ms, {
    type: 'phase_editing',
    phase: number,
    run,
    child: phaseKey(state.input.stepKey, id, run),
  });
}

function onPhaseEnded(before: PlanState, end: EndedPhase, currentTime_ms: number): PlanState {
  const { phase: id, result, withPlan = false } = end;
  const state = withEnd(before, end);
  switch (result?.outcome) {
    case 'committed':
      return result.commit === null
        ? failPhase(state, end, currentTime_ms)
        : onPhaseCommitted(state, id, { ...result, commit: result.commit }, currentTime_ms);
    case 'unchanged': {
      const reasons = (result.unchanged ?? []).map(({ path, reason }) => `; ${path}: ${reason}`);
      const reason = cut(state.input.rules, `the model changed nothing${reasons.join('')}`);
      return closePhase(state, id, { as: 'incomplete', reason }, currentTime_ms);
    }
    case 'skipped':
      return closePhase(
        state,
        id,
        { as: 'skipped', reason: 'its change was skipped' },
        currentTime_ms,
      );
    case 'tests_failed':
      return onTestsFailed(state, id, result, currentTime_ms);
    case 'aborted':
    case undefined:
      return withPlan
        ? withPhase(state, id, { status: 'aborted', why: 'the plan was aborted' })
        : failPhase(state, end, currentTime_ms);
    default:
      return failPhase(state, end, currentTime_ms);
  }
}

/** Takes over what the run of a phase used and left. */
function withEnd(
  before: PlanState,
  { phase: id, result, cancelled = false, usage = NO_USAGE }: EndedPhase,
): PlanState {
  const state: PlanState = {
    ...before,
    ...(result?.withoutSandbox === true ? { withoutSandbox: true } : {}),
    ...(result?.marks === true ? { marks: [] } : {}),
    usage: addUsage(before.usage, result?.usage ?? usage),
    pausedFor_ms: pausedFor(before, result),
  };
  return withPhase(state, id, { result, job: null, cancelled });
}

/** Returns the time in which the plan did not work. While a phase waits for an answer, the plan does too, unless others run next to it. */
const pausedFor = ({ pausedFor_ms, group }: PlanState, result: StepResult | null): number =>
  pausedFor_ms + (group.ids.length === 1 ? (result?.pausedFor_ms ?? 0) : 0);

function onPhaseCommitted(
  state: PlanState,
  id: PhaseId,
  { verification, commit }: StepResult & { readonly commit: string },
  currentTime_ms: number,
): PlanState {
  const { number: phase, commits } = phaseOf(state, id);
  const isPassed = verification === null || PASSED.includes(verification);
  const committed = withPhase(state, id, {
    status: isPassed ? 'completed' : 'incomplete',
    why: isPassed ? null : 'its tests failed, but a person kept the change',
    commits: [...commits, commit],
    marked: false,
  });
  const recorded = within(committed, 'records', { commits: [...state.records.commits, commit] });
  const outcome = verification ?? 'no_tests';
  const tested = emit(recorded, currentTime_ms, { type: 'phase_tested', phase, outcome });
  return groupEnded(
    emit(tested, currentTime_ms, { type: 'phase_committed', phase, commit }),
    currentTime_ms,
  );
}

/** The run was refused, aborted, failed or terminated: the plan asks about the phase. */
function failPhase(
  state: PlanState,
  { phase: id, result, how }: EndedPhase,
  currentTime_ms: number,
): PlanState {
  const problem = result?.problem == null ? null : sentence(result.problem);
  const ending = result === null ? how : `its run ended as ${result.outcome}`;
  const reason = cut(state.input.rules, problem ?? ending);
  return groupEnded(withPhase(state, id, { status: 'failed', why: reason }), currentTime_ms);
}

const UNKNOWN_FAILURE: Failure = {
  kind: null,
  signature: null,
  summary: 'the tests failed',
  output: null,
  suggestions: [],
};

/** Its own run rolled it back. The plan judges what comes next once every phase of the group has ended. */
function onTestsFailed(
  state: PlanState,
  id: PhaseId,
  result: StepResult,
  currentTime_ms: number,
): PlanState {
  const { number, runs: run, failures: before } = phaseOf(state, id);
  const failure: PhaseFailure = {
    ...(result.failure ?? UNKNOWN_FAILURE),
    phase: id,
    run,
    at: currentTime_ms,
  };
  const { kind, signature } = failure;
  const summary = cut(state.input.rules, failure.summary);
  const failures = [...before, failure];
  const failed = withPhase(state, id, {
    status: 'failed',
    testsFailed: true,
    why: summary,
    failures,
  });
  const recorded = within(failed, 'records', { failures: [...state.records.failures, failure] });
  const reported = emit(recorded, currentTime_ms, {
    type: 'phase_failed',
    phase: number,
    run,
    kind,
    signature,
    summary,
    consecutive: failures.length,
  });
  return groupEnded(reported, currentTime_ms);
}

/** Ends the phase without a commit of its own. */
function closePhase(
  state: PlanState,
  id: PhaseId,
  { as, reason }: { readonly as: 'completed' | 'incomplete' | 'skipped'; readonly reason: string },
  currentTime_ms: number,
): PlanState {
  const closed = withPhase(withoutCurrent(state), id, { status: as, why: reason, marked: false });
  const { number: phase } = phaseOf(state, id);
  return groupEnded(
    emit(closed, currentTime_ms, { type: 'phase_closed', phase, as, why: reason }),
    currentTime_ms,
  );
}

/** Once every phase of the group has ended: goes on to their marks, or asks about the first that failed. */
function groupEnded(state: PlanState, currentTime_ms: number): PlanState {
  const { at: place } = state.stage;
  if (place === 'closed') return state;
  const group = groupOf(state);
  if (group.some(({ status }) => status === 'running')) return state;
  const failed = group.find(({ status }) => status === 'failed');
  if (failed?.testsFailed === true)
    return group.length === 1
      ? nextFailed(state, currentTime_ms)
      : setFailedAside(state, currentTime_ms);
  if (failed !== undefined) {
    const message = `Phase ${failed.number} (${failed.name}): ${failed.why ?? 'failed'}`;
    return askAbout(state, failed.id, failed.cancelled ? 'cancelled' : 'engine_failed', message);
  }
  if (place === 'worktrees' && !group.every(isDone)) return state;
  // Phases that failed their tests run again. Those that are done are marked with them, once all are.
  const afterLast = group.some(({ worktree }) => worktree !== null) ? 'merging' : 'marking';
  return { ...state, stage: { at: group.every(isDone) ? afterLast : 'jobs' }, asked: null };
}

/**
 * If phases of a group failed their tests, the others are merged and marked first. The plan judges the failures before the next group
 * begins, when no other phase is under way.
 */
function setFailedAside(state: PlanState, currentTime_ms: number): PlanState {
  const failed = groupOf(state).filter(
    ({ status, testsFailed }) => status === 'failed' && testsFailed,
  );
  const aside = failed.reduce<PlanState>(
    (nextState, { id }) =>
      withPhase(nextState, id, { status: 'pending', worktree: null, tree: null, job: null }),
    state,
  );
  const ids = state.group.ids.filter((id) => failed.every((phase) => phase.id !== id));
  return groupEnded(within(aside, 'group', { ids }), currentTime_ms);
}

/** Takes up the answer to a question about a phase, by the place at which the plan asked. */
export function resolvePhase(
  before: PlanState,
  { request, phase: id }: Resolution,
  currentTime_ms: number,
): PlanState {
  if (id === null) return before;
  const state = { ...before, asked: null };
  const { at: place } = state.stage;
  if (place === 'marking') return resolveMark(state, id, request);
  if (place === 'merging') return resolveMerge(state, id, request);
  const { answer, note } = request;
  // The worktree of the phase, or the tests before it, are tried once more.
  if (place === 'worktrees' && answer === 'retry') return state;
  const jobless = withPhase(state, id, { job: null });
  switch (answer) {
    case 'manual':
      return closePhase(jobless, id, { as: 'completed', reason: 'done manually' }, currentTime_ms);
    case 'skip': {
      const reason = note ?? 'skipped by a person';
      return closePhase(jobless, id, { as: 'skipped', reason }, currentTime_ms);
    }
    default:
      return runAgain(state, id, note ?? null, currentTime_ms);
  }
}

function runAgain(
  state: PlanState,
  id: PhaseId,
  note: string | null,
  currentTime_ms: number,
): PlanState {
  const { tree, worktree: last } = phaseOf(state, id);
  const pending: Partial<PhaseEntry> = {
    status: 'pending',
    why: null,
    job: null,
    note,
    worktree: tree === null ? last : null,
    cancelled: false,
  };
  const nextState = withPhase(state, id, pending);
  // The plan asks about each of the others that failed before any runs again.
  const asks = groupOf(nextState).some((phase) => phase.cancelled || phase.tree !== null);
  if (asks) return groupEnded(nextState, currentTime_ms);
  // ◆ Before a group has begun there is none to run: at stage `jobs` the plan would run no phase, again and again.
  return state.group.ids.length === 0 ? nextState : { ...nextState, stage: { at: 'jobs' } };
}
