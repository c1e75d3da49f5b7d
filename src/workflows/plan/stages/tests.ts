/** Tests of a group: in a worktree before its phases start, and on the merged tree after they were merged. */
import type { PhaseId } from '../../../shared/plan.js';
import { cut } from '../../../shared/rules.js';
import { PASSED, type RunTestsResult, type TestRun } from '../../../shared/test-activities.js';
import { emit, warnOfWrites } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import type { Decide, On, Resolution } from '../protocol.js';
import { onReported } from '../reports.js';
import { groupOf, isDone } from '../selectors.js';
import type { PlanState } from '../state.js';
import { askAbout, withPhase } from '../ways.js';
import { resolvePhase } from './phases.js';

export const on: On<'group_verified' | 'group_untested'> = {
  group_verified: (state, { base, result }, currentTime_ms) =>
    onGroupTested(state, base, result, currentTime_ms),
  group_untested: (state, { base }) => ({ ...state, stage: { at: base ? 'jobs' : 'marking' } }),
};

export const decide: Decide<'tests_failed'> = {
  tests_failed: (state, resolution, currentTime_ms) =>
    resolution.request.answer === 'skip'
      ? resolvePhase(state, resolution, currentTime_ms)
      : resolveTests(state, resolution, currentTime_ms),
};

/** `isBase`: before the phases start. */
function onGroupTested(
  state: PlanState,
  isBase: boolean,
  result: RunTestsResult,
  currentTime_ms: number,
): PlanState {
  const first = groupOf(state)[0]?.id ?? null;
  if (result.outcome === 'no_sandbox')
    return askAbout(state, isBase ? first : null, 'engine_failed', result.why);
  if (!('on' in result) || result.on !== 'workspace') return state;
  return isBase
    ? onBaseTested(state, first, result, currentTime_ms)
    : onMergedTested(state, result, currentTime_ms);
}

/** If the tests fail before the phases start, nothing is paid for. */
function onBaseTested(
  state: PlanState,
  first: PhaseId | null,
  result: TestRun,
  currentTime_ms: number,
): PlanState {
  const tested = warnOfWrites(state, 'the tests before the phases', result, currentTime_ms);
  if (PASSED.includes(result.outcome))
    return { ...within(tested, 'group', { baseTested: true }), stage: { at: 'jobs' } };
  const message = `the tests fail before the phases start: ${result.summary}`;
  return askAbout(tested, first, 'tests_failed', message);
}

/** Phases that passed their tests alone may fail them together. */
function onMergedTested(state: PlanState, result: TestRun, currentTime_ms: number): PlanState {
  const { outcome, summary } = result;
  const tested = emit(state, currentTime_ms, {
    type: 'merged_tested',
    outcome,
    summary: cut(state.input.rules, summary),
  });
  const warned = warnOfWrites(tested, 'the tests of the merged phases', result, currentTime_ms);
  if (PASSED.includes(outcome))
    return { ...within(warned, 'group', { mergedTested: true }), stage: { at: 'marking' } };
  return askAbout(warned, null, 'tests_failed', `the merged phases fail their tests: ${summary}`);
}

/** Goes on with the tree as it is, with the plan revised next, or after a repair by hand that is tested again. */
function resolveTests(
  before: PlanState,
  { request, phase }: Resolution,
  currentTime_ms: number,
): PlanState {
  const { answer, note = '', by: author } = request;
  const report = {
    text: note.slice(0, before.input.rules.bounds.reason_chars),
    by: author.name,
    trigger: 'person',
  } as const;
  const free = { ...before, asked: null };
  const state = answer === 'revise' ? onReported(free, report, currentTime_ms) : free;
  if (phase === null) return answer === 'manual' ? state : { ...state, stage: { at: 'marking' } };
  if (answer === 'continue')
    return { ...within(state, 'group', { baseTested: true }), stage: { at: 'jobs' } };
  return beginGroupAgain(state);
}

/** Begins the group again, in worktrees of the branch as it is then. The worktrees that exist are removed first. */
function beginGroupAgain(state: PlanState): PlanState {
  const without = groupOf(state).reduce(
    (nextState, phase) =>
      isDone(phase)
        ? nextState
        : withPhase(nextState, phase.id, { worktree: null, tree: null, job: null }),
    state,
  );
  return { ...within(without, 'group', { ids: [] }), stage: { at: 'marking' } };
}
