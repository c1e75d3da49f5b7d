/** How a phase's child ended, what that means for the phase, and its mark. */
import type { Failure } from '../../shared/failure.js';
import type { PhaseId, PhaseFailure } from '../../shared/plan.js';
import type { StepResult } from '../../shared/run.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { cut } from '../../shared/rules.js';
import { addUsage, NO_USAGE, type StepUsage } from '../../shared/usage.js';
import { nextFailed } from './revising.js';
import { withoutCurrent } from './reports.js';
import type { MarkPhaseResult } from '../../shared/plan-activities.js';
import {
  askAbout,
  busyAgain,
  FREE,
  groupOf,
  isDone,
  markerOf,
  phaseOf,
  withPhase,
  type PhaseEntry,
  type PlanState,
} from './state.js';
import { PASSED } from '../../shared/test-activities.js';
import { describeUnfinished } from '../../shared/event-text.js';
import { sentence } from '../../shared/problems.js';

export interface EndedPhase {
  readonly phase: PhaseId;
  /** Null: it was terminated, cancelled or failed; `how` is Temporal's word or its message. */
  readonly result: StepResult | null;
  readonly how: string;
  /** By somebody else than its plan. */
  readonly cancelled?: boolean;
  /** By its plan, which is being aborted. */
  readonly withPlan?: boolean;
  /** Where there is no result: by the journal. */
  readonly usage?: StepUsage;
}
const isPassed = ({ verification }: StepResult): boolean =>
  verification === null || PASSED.includes(verification);

export function onPhaseEnded(
  before: PlanState,
  { phase: id, result, how, cancelled = false, withPlan = false, usage = NO_USAGE }: EndedPhase,
  now: number,
): PlanState {
  const { number } = phaseOf(before, id);
  const state: PlanState = {
    ...before,
    ...(result?.withoutSandbox === true ? { withoutSandbox: true } : {}),
    ...(result?.marks === true ? { marks: [] } : {}),
    usage: addUsage(before.usage, result?.usage ?? usage),
    pausedFor_ms: pausedFor(before, result),
  };
  const ended = withPhase(state, id, { result, job: null, cancelled });
  if (result?.outcome === 'committed' && result.commit !== null) {
    const { commit } = result;
    const passed = isPassed(result);
    const tests = result.verification ?? 'no_tests';
    const committed: Partial<PhaseEntry> = {
      status: passed ? 'completed' : 'incomplete',
      why: passed ? null : 'its tests failed, but a person kept the change',
      commits: [...phaseOf(state, id).commits, commit],
      marked: false,
    };
    const commits = [...state.records.commits, commit];
    const told = emit(within(withPhase(ended, id, committed), 'records', { commits }), now, {
      type: 'phase_tested',
      phase: number,
      outcome: tests,
    });
    return groupEnded(emit(told, now, { type: 'phase_committed', phase: number, commit }), now);
  }
  if (result?.outcome === 'unchanged') {
    const said = (result.unchanged ?? [])
      .map(({ path, reason }) => `; ${path}: ${reason}`)
      .join('');
    return closePhase(
      ended,
      id,
      { as: 'incomplete', why: cut(state.input.rules, `the model changed nothing${said}`) },
      now,
    );
  }
  if (result?.outcome === 'skipped')
    return closePhase(ended, id, { as: 'skipped', why: 'its change was skipped' }, now);
  if (result?.outcome === 'tests_failed') return failedTests(ended, id, result, now);
  if (withPlan && (result === null || result.outcome === 'aborted'))
    return withPhase(ended, id, { status: 'aborted', why: 'the plan was aborted' });
  // Refused, aborted, failed, terminated: a person says what becomes of the phase.
  const said = result?.problem == null ? null : sentence(result.problem);
  const reason = cut(
    state.input.rules,
    said ?? (result === null ? how : `its run ended as ${result.outcome}`),
  );
  return groupEnded(withPhase(ended, id, { status: 'failed', why: reason }), now);
}

/** The phase is done with, without a commit of its own. */
export const closePhase = (
  state: PlanState,
  id: PhaseId,
  { as, why }: { readonly as: 'completed' | 'incomplete' | 'skipped'; readonly why: string },
  now: number,
): PlanState => {
  const told = withPhase(withoutCurrent(state), id, { status: as, why, marked: false });
  return groupEnded(
    emit(told, now, { type: 'phase_closed', phase: phaseOf(state, id).number, as, why }),
    now,
  );
};

/** Time in which a phase waits for a person is not the plan's; where others run beside it, it passes for them. */
const pausedFor = ({ pausedFor_ms, group }: PlanState, result: StepResult | null): number =>
  pausedFor_ms + (group.ids.length === 1 ? (result?.pausedFor_ms ?? 0) : 0);

/** Every phase of the group has ended: mark them, or ask about the first that failed. */
export function groupEnded(state: PlanState, now: number): PlanState {
  const { at } = state.stage;
  if (at === 'closed') return state;
  const group = groupOf(state);
  if (group.some(({ status }) => status === 'running')) return state;
  const failed = group.find(({ status }) => status === 'failed');
  if (failed?.testsFailed === true)
    return group.length === 1 ? nextFailed(state, now) : setAside(state, now);
  if (failed !== undefined) {
    const message = `Phase ${failed.number} (${failed.name}): ${failed.why ?? 'failed'}`;
    return askAbout(state, failed.id, failed.cancelled ? 'cancelled' : 'engine_failed', message);
  }
  if (at === 'worktrees' && !group.every(isDone)) return state;
  // What failed its tests is tried again; what is done is marked with it, once all are.
  const done = group.some(({ worktree }) => worktree !== null) ? 'merging' : 'marking';
  return { ...state, stage: { at: group.every(isDone) ? done : 'jobs' }, asked: null };
}

const UNKNOWN_FAILURE: Failure = {
  kind: null,
  signature: null,
  summary: 'the tests failed',
  output: null,
  suggestions: [],
};

/** Its own run rolled it back. The plan judges what comes next once every phase of the group has ended. */
function failedTests(state: PlanState, id: PhaseId, result: StepResult, now: number): PlanState {
  const phase = phaseOf(state, id);
  const { number, runs: run } = phase;
  const failure: PhaseFailure = { ...(result.failure ?? UNKNOWN_FAILURE), phase: id, run, at: now };
  const { kind, signature, summary } = failure;
  const failures = [...phase.failures, failure];
  const all = [...state.records.failures, failure];
  const again: Partial<PhaseEntry> = {
    status: 'failed',
    testsFailed: true,
    why: cut(state.input.rules, summary),
    failures,
  };
  const told = emit(within(withPhase(state, id, again), 'records', { failures: all }), now, {
    type: 'phase_failed',
    phase: number,
    run,
    kind,
    signature,
    summary: cut(state.input.rules, summary),
    consecutive: failures.length,
  });
  return groupEnded(told, now);
}

/**
 * Of phases that ran side by side some failed their tests: the others are merged and marked first. What failed is judged before the next
 * group begins, where no other phase is under way.
 */
function setAside(state: PlanState, now: number): PlanState {
  const failed = groupOf(state).filter(
    ({ status, testsFailed }) => status === 'failed' && testsFailed,
  );
  const aside = failed.reduce<PlanState>(
    (told, { id }) =>
      withPhase(told, id, { status: 'pending', worktree: null, tree: null, job: null }),
    state,
  );
  const ids = state.group.ids.filter((id) => failed.every((phase) => phase.id !== id));
  return groupEnded(within(aside, 'group', { ids }), now);
}

/** What is not committed waits; a commit of the last, or of a wave's, takes all along. */
function marksAfter({ marks = [] }: PlanState, result: MarkPhaseResult): Pick<PlanState, 'marks'> {
  if (result.outcome === 'busy') return {};
  if (result.marks === true) return { marks: [] };
  return result.outcome === 'conflict' || result.held == null
    ? {}
    : { marks: [...marks, result.held] };
}
export function onMarked(
  state: PlanState,
  id: PhaseId,
  result: MarkPhaseResult,
  now: number,
): PlanState {
  const phase = phaseOf(state, id);
  const free = { ...state, ...marksAfter(state, result), busy: FREE };
  if (state.stage.at === 'closed') {
    const why = result.outcome === 'conflict' ? `: ${result.why}` : '';
    const message = cut(
      state.input.rules,
      `marks of phases are in the plan's documents but not committed${why}`,
    );
    return free.marks?.length === 0 ? free : emit(free, now, { type: 'warning', message });
  }
  const marked = { marked: true, marks: phase.marks + 1 };
  switch (result.outcome) {
    case 'busy':
      return busyAgain(state);
    case 'marked': {
      const { commit, unfinished = [] } = result;
      const left: Partial<PhaseEntry> =
        unfinished.length === 0
          ? {}
          : {
              status: 'incomplete',
              unfinished: unfinished.length,
              why: cut(state.input.rules, describeUnfinished(unfinished)),
            };
      const next = withPhase(free, id, { ...marked, ...left });
      const { why } = phaseOf(next, id);
      return emit(next, now, {
        type: 'phase_marked',
        phase: phase.number,
        marker: markerOf(phaseOf(next, id)),
        commit,
        why,
      });
    }
    case 'conflict': {
      // What was written of it is put back; the next attempt has records of its own.
      const next = withPhase(free, id, { marks: phase.marks + 1 });
      const why = result.why.replace(/\.?$/, '.');
      const message = `the plan could not be marked: ${why} Then \`emend retry\` writes the mark; \`emend skip\` continues without it`;
      return askAbout(next, id, 'engine_failed', message);
    }
  }
}
