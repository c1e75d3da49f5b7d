/** Tests on files that are not applied: what they said of the base, and of a proposal before its approval. */
import type { DecisionPoint, DecisionRequest, PauseReason } from '../../shared/decisions.js';
import type { NoSandbox, NotYet } from '../../shared/proposal-activities.js';
import { PASSED, type BaseTestRun, type WrittenByTests } from '../../shared/test-activities.js';
import { cut } from '../../shared/rules.js';
import { testsBy } from '../frame/decisions/answering.js';
import { emit, warnOfWrites } from '../frame/log.js';
import { within } from '../frame/machine.js';
import type { StepState } from './state.js';

const isUntouched = ({ tests, applied }: StepState): boolean =>
  tests.commands.length > 0 && applied.all.length === 0 && applied.uncertain === null;

/** Is it still to be found out what the tests say of the base? */
export const wantsBase = (state: StepState): boolean =>
  state.base.ready?.baseline !== undefined &&
  isUntouched(state) &&
  state.tests.base?.number !== state.base.number;

/** Returns whether the tests of the base failed in the sandbox and have not run outside it. */
export const mayRunOutside = ({ tests: { base } }: StepState): boolean =>
  base !== undefined && 'base' in base && base.outside !== undefined;

/** Returns the question that comes before the first paid call, with its reason; null: none. */
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

/** Returns what the tests showed on the untouched files. */
function baseMessage({ outcome, summary, outside }: BaseTestRun): string {
  const message =
    outcome === 'missing'
      ? `the test command cannot be run on the untouched files: ${summary}`
      : `the tests fail on the untouched files: ${summary}`;
  return outside === undefined ? message : `${message.replace(/[.]+$/, '')}. ${outside.message}`;
}

/** For the activities that judge a change. */
export const baseChoice = ({ base: { ready }, tests: { base, answered } }: StepState) => ({
  ...(base !== undefined && 'base' in base ? { base: base.base } : {}),
  ...((answered ?? ready?.baseline) === 'known' ? { known: true as const } : {}),
});

/** Returns whether the change is to be tested at all. */
export const wantsTests = ({ tests, applied }: StepState): boolean =>
  tests.commands.length > 0 && !applied.incomplete;

/** Returns why the tests run in the workspace after the apply; null: they run before it, on an overlay. */
export const testsAfterApply = ({ base, tests, sandbox }: StepState): string | null =>
  base.ready?.testsAfterApply ??
  tests.afterApply ??
  (sandbox?.without === undefined ? null : 'the commands run without a sandbox');

export const wantsTestsFirst = (state: StepState): boolean =>
  wantsTests(state) && testsAfterApply(state) === null;
export const verifiesAfterApply = (state: StepState): boolean =>
  wantsTests(state) && testsAfterApply(state) !== null;

/** Returns what the tests showed on exactly these files of the proposal; null: they have not run on them. */
export function resultOn(
  { tests: { proposed }, proposal }: StepState,
  files: readonly string[],
): StepState['tests']['proposed'] {
  if (proposed === null || proposed.proposal !== proposal?.id) return null;
  const isSame =
    proposed.files.length === files.length && files.every((path) => proposed.files.includes(path));
  return isSame ? proposed : null;
}

/** Returns whether the tests passed on exactly these files of the proposal. */
export function havePassed(state: StepState, files: readonly string[]): boolean {
  const proposed = resultOn(state, files);
  return proposed !== null && PASSED.includes(proposed.result.outcome);
}

/** Returns whether these files may be applied: the tests passed on them, on a base that can be compared, or right now. */
export function isProven(state: StepState, files: readonly string[]): boolean {
  const proposed = resultOn(state, files);
  if (proposed === null || !havePassed(state, files)) return false;
  return proposed.isFresh || proposed.result.baseHash !== null;
}

/** Returns the last run of the tests on the proposal that is there now; null: none. */
export const testsOfProposal = ({ tests: { proposed }, proposal }: StepState) =>
  proposed !== null && proposed.proposal === proposal?.id ? proposed.result : null;

/** The workspace is locked, or there was no turn. Told once, and again when there is something that a person can do about it. */
export function waitToApply(
  state: StepState,
  { holder, advice }: Omit<NotYet, 'outcome'>,
  now: number,
): StepState {
  const last = (state.stage.at === 'apply' ? state.stage.busy : null) ?? { tries: 0, advice: null };
  const busy = { tries: last.tries + 1, advice: advice ?? null, waiting: true };
  const waits: StepState = { ...state, stage: { at: 'apply', busy } };
  const isTold = last.tries > 0 && (busy.advice === null || busy.advice === last.advice);
  if (holder === undefined || isTold) return waits;
  return emit(waits, now, {
    type: 'apply_busy',
    holder,
    ...(advice === undefined ? {} : { advice }),
  });
}

/** Folds in what the tests showed on the base. */
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

/** Adds to the events what tests wrote into the workspace, and keeps the paths for the result. */
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

/** The answers to `baseline`, and to `sandbox_blocks_tests` where it is about the base. */
export function resolveBase(
  state: StepState,
  open: DecisionPoint,
  request: DecisionRequest,
): StepState {
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
    answer === 'retry' ? untested : { ...untested, ...testsBy(request, open.subject) },
  );
}
