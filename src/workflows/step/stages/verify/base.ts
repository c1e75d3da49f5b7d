/** Runs the tests on the untouched files, and asks what their result means for the change. */
import type { PauseReason } from '../../../../shared/decisions.js';
import type { NoSandbox } from '../../../../shared/proposal-activities.js';
import { cut } from '../../../../shared/rules.js';
import type { BaseTestRun, WrittenByTests } from '../../../../shared/test-activities.js';
import { testsBy } from '../../../frame/decisions/answering.js';
import { emit, warnOfWrites } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import type { Resolution } from '../../protocol.js';
import type { StepState } from '../../state.js';

/** Returns the question about the tests of the base, with its reason. It comes before the first paid call. Null: there is none. */
export function baseQuestion({
  input,
  base,
  tests,
  sandbox,
}: StepState): readonly [PauseReason, string] | null {
  const baseTests = tests.base;
  if (baseTests?.number !== base.number || !('base' in baseTests)) return null;
  const { outcome, blocked, outside } = baseTests;
  if (blocked !== undefined && sandbox?.without === undefined)
    return ['sandbox_blocks_tests', blocked];
  if (tests.answered !== undefined || outcome === 'pass') return null;
  // A plan asks about the sandbox alone once, not before each phase.
  const isRefused = outside?.isRefused === true && input.modelBase !== true;
  if (outcome !== 'missing' && base.ready?.baseline !== 'ask' && !isRefused) return null;
  return ['baseline', baseMessage(baseTests)];
}

/** Returns the result of the tests on the untouched files in words. */
function baseMessage({ outcome, summary, outside }: BaseTestRun): string {
  const message =
    outcome === 'missing'
      ? `the test command cannot be run on the untouched files: ${summary}`
      : `the tests fail on the untouched files: ${summary}`;
  return outside === undefined ? message : `${message.replace(/[.]+$/, '')}. ${outside.message}`;
}

/** Takes up a run of the tests on the base. */
export function onBaseTested(
  state: StepState,
  result: BaseTestRun | NoSandbox,
  currentTime_ms: number,
): StepState {
  const base = { ...result, number: state.base.number };
  const [outcome, summary] =
    'on' in result
      ? [result.outcome, result.summary]
      : ['untried', `there is no sandbox: ${result.why}`];
  const tested = emit(within(state, 'tests', { base, outside: false }), currentTime_ms, {
    type: 'base_tested',
    outcome,
    summary: cut(state.input.rules, summary),
  });
  return 'on' in result
    ? withWrites(tested, 'the tests before the change', result, currentTime_ms)
    : tested;
}

/** Reports the files that tests wrote into the workspace, and keeps their paths for the result. */
export function withWrites(
  state: StepState,
  subject: string,
  writes: WrittenByTests,
  currentTime_ms: number,
): StepState {
  const written = [...new Set([...(state.tests.written ?? []), ...(writes.written ?? [])])];
  const kept = written.length === 0 ? state : within(state, 'tests', { written });
  return warnOfWrites(kept, subject, writes, currentTime_ms);
}

/** Takes up the answer to `baseline`, and to `sandbox_blocks_tests` if it is about the base. */
export function resolveBase(state: StepState, { decision, request }: Resolution): StepState {
  const { base } = state.tests;
  const { answer } = request;
  if (answer === 'fix' || answer === 'known') return within(state, 'tests', { answered: answer });
  // No base has the number 0, so the tests run again.
  const untested = base === undefined ? {} : { base: { ...base, number: 0 } };
  if (answer === 'outside') return within(state, 'tests', { ...untested, outside: true });
  if (answer !== 'retry' && answer !== 'other' && answer !== 'no_tests') return state;
  return within(
    state,
    'tests',
    answer === 'retry' ? untested : { ...untested, ...testsBy(request, decision.subject) },
  );
}
