/** Tests on files that are not applied: what they said of the base, and of a proposal before its approval. */
import type { DecisionPoint, DecisionRequest, PauseReason } from '../../shared/decisions.js';
import type { BlobRef } from '../../shared/ids.js';
import type { NotYet } from '../../shared/proposal-activities.js';
import type { TryResult } from '../../shared/step-activities.js';
import { cut, knows } from '../../shared/rules.js';
import { testsBy } from '../frame/decision-state.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import type { StepState } from './state.js';

const isUntouched = ({ tests, applied }: StepState): boolean =>
  tests.commands.length > 0 && applied.all.length === 0 && applied.uncertain === null;

/** Is it still to be found out what the tests say of the base? */
export const wantsBase = (state: StepState): boolean =>
  state.base.ready?.baseline !== undefined &&
  knows(state, 'baseline') &&
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
function baseMessage({
  outcome,
  summary,
  outside,
}: Extract<TryResult, { readonly base: BlobRef }>): string {
  const message =
    outcome === 'missing'
      ? `the test command cannot be run on the untouched files: ${summary}`
      : `the tests fail on the untouched files: ${summary}`;
  return outside === undefined ? message : `${message}. ${outside.message}`;
}

/** For the activities that judge a change. */
export const baseChoice = ({ base: { ready }, tests: { base, answered } }: StepState) => ({
  ...(base !== undefined && 'base' in base ? { base: base.base } : {}),
  ...((answered ?? ready?.baseline) === 'known' ? { known: true as const } : {}),
});

/** Is the proposal to be tested before a decision is needed about it? */
export const wantsTrial = (state: StepState): boolean => {
  const { base, tests, proposal } = state;
  const passes =
    tests.base?.outcome === 'pass' && tests.base.prepared && tests.base.number === base.number;
  const wanted =
    base.ready?.verifyBefore === 'always' || (base.ready?.verifyBefore === 'prepared' && passes);
  return (
    wanted && isUntouched(state) && proposal !== null && tests.before?.proposal !== proposal.id
  );
};
/** What the tests said of the proposal that is there now; null: nothing. */
export const trialOf = ({ tests: { before }, proposal }: StepState) =>
  before?.outcome === 'tested' && before.proposal === proposal?.id ? before.result : null;

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

export function onTried(state: StepState, result: TryResult | NotYet, now: number): StepState {
  const { proposal, stage, base } = state;
  if (result.outcome === 'busy') {
    if (stage.at !== 'apply') return state;
    return waitToApply(state, result, now);
  }
  const { outcome, summary } = 'result' in result ? result.result : { summary: '', ...result };
  const words = cut(state, 'why' in result ? result.why : summary);
  const on = stage.at === 'review' ? 'proposal' : 'base';
  const said = { ...result, proposal: proposal?.id ?? '', number: base.number };
  const recorded = within(
    state,
    'tests',
    on === 'base' ? { base: said, outside: false } : { before: said },
  );
  return emit(recorded, now, { type: 'tests_tried', on, outcome, summary: words });
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
