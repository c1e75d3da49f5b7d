/** The ways between the stages: forward, back to an earlier stage, and to the end of the step. Pure. */
import { auditText } from '../../shared/audit.js';
import type { DecisionRequest } from '../../shared/decisions.js';
import type { Problem } from '../../shared/problems.js';
import type { NotYet } from '../../shared/proposal-activities.js';
import { cut } from '../../shared/rules.js';
import type { StepOutcome } from '../../shared/run.js';
import { asking } from '../frame/decisions/asking.js';
import { emit, leftOnHost } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { askAgain, asManual, withFiles } from './ledger.js';
import {
  hasFailed,
  openThere,
  pathsToApply,
  toRegenerate,
  undecidedPaths,
  verifiesAfterApply,
  wantsAudit,
  wantsCommit,
} from './selectors.js';
import type { AfterRollback, CallProgress, StepState } from './state.js';

/** Goes on to the review. If files failed, it asks about them first. */
export const toReview = (state: StepState, currentTime_ms: number): StepState =>
  hasFailed(state)
    ? { ...state, stage: PART }
    : resolveReview({ ...state, stage: { at: 'review' } }, currentTime_ms);

/** Goes on to the apply once every file has a verdict, or ends if nothing was approved. */
export function resolveReview(state: StepState, currentTime_ms: number): StepState {
  const proposal = state.proposal;
  if (state.stage.at !== 'review' || proposal === null) return state;
  if (undecidedPaths(state).length > 0) return state;
  const toApply = pathsToApply(state);
  if (toApply.length === 0) return endOfWork(state, currentTime_ms, 'skipped');
  const { files } = state.edits;
  const decision = files.reduce(
    (n, file) => Math.max(n, file.verdict?.decision ?? 0),
    state.applied.decision,
  );
  return { ...within(state, 'applied', { decision }), stage: { at: 'apply', busy: null } };
}

/** The place at which the step asks about failed files, with the proposal of the others. */
export const PART = { at: 'propose', part: true } as const;

/** Goes on if nothing more is to be applied: commits what was applied before a conflict, or ends. */
export function endOfWork(
  state: StepState,
  currentTime_ms: number,
  outcome: StepOutcome,
): StepState {
  if (state.applied.all.length === 0) return close(state, currentTime_ms, outcome);
  return afterApply(state, currentTime_ms);
}

/** Goes on after the apply: tests the change in the workspace if it was not tested before, then commits it or ends. */
export const afterApply = (state: StepState, currentTime_ms: number): StepState => {
  if (verifiesAfterApply(state)) return { ...state, stage: { at: 'verify' } };
  const unverified = within(state, 'tests', { last: state.tests.last ?? 'no_tests' });
  return afterTests(unverified, currentTime_ms);
};

/** Goes on after the tests. The workspace is locked only if something follows. */
const afterTests = (state: StepState, currentTime_ms: number): StepState =>
  stageAfterTests(state) ?? close(state, currentTime_ms, 'applied');

/** Goes on after tests in the workspace, which is still locked. */
export const afterVerify = (state: StepState): StepState =>
  stageAfterTests(state) ?? { ...state, stage: { at: 'release' } };

const stageAfterTests = (state: StepState): StepState | null => {
  if (wantsAudit(state, 'after_tests')) return { ...state, stage: { at: 'audit' } };
  return wantsCommit(state) ? { ...state, stage: { at: 'commit' } } : null;
};

/** Waits to apply: the workspace is locked, or there was no turn. It is reported once, and again with new advice. */
export function waitToApply(
  state: StepState,
  { holder, advice }: Omit<NotYet, 'outcome'>,
  currentTime_ms: number,
): StepState {
  const last = (state.stage.at === 'apply' ? state.stage.busy : null) ?? { tries: 0, advice: null };
  const busy = { tries: last.tries + 1, advice: advice ?? null, waiting: true };
  const waits: StepState = { ...state, stage: { at: 'apply', busy } };
  const isKnown = last.tries > 0 && (busy.advice === null || busy.advice === last.advice);
  if (holder === undefined || isKnown) return waits;
  return emit(waits, currentTime_ms, {
    type: 'apply_busy',
    holder,
    ...(advice === undefined ? {} : { advice }),
  });
}

/** Goes back to preflight, which reads the files again. `only`: these files. Null: all. */
export const lookAgain = (state: StepState, only: readonly string[] | null): StepState => ({
  ...within(state, 'base', { number: state.base.number + 1 }),
  stage: { at: 'preflight', only },
});

/** Goes back to the start, from the current files. Skipped files stay skipped. */
export const newBase = (state: StepState): StepState => {
  const again = withFiles(state, 'all', (file) =>
    file.status === 'skipped' ? file : askAgain(file),
  );
  return { ...within(lookAgain(again, null), 'edits', { accepted: [] }), proposal: null };
};

/** Asks again for every file that the model changed, from its original. Files that were edited by hand stay as they are. Responses count on. */
const regenerateAll = (state: StepState, change: Partial<CallProgress>): StepState => ({
  ...withFiles(within(state, 'applied', { incomplete: false }), toRegenerate(state), (file) =>
    askAgain(file, { answers: file.answers, ...change }),
  ),
  stage: { at: 'propose' },
  proposal: null,
});

/** Asks again with the note and the reason of the failure, as the reviewer wants it. Edits by hand become the new base of their files. */
export function regenerateWith(state: StepState, note: string | null): StepState {
  const change = { note, refusal: state.tests.output, answers: 0 };
  const manual = state.edits.files
    .filter((file) => file.manual && file.status === 'done')
    .map((file) => file.path);
  const again = regenerateAll(state, change);
  if (manual.length === 0) return again;
  return lookAgain(
    withFiles(again, manual, (file) => askAgain(file, change)),
    manual,
  );
}

/** Goes back to the build, with the files as a hook or tests left them. These are a new proposal. */
export const asLeft = (state: StepState): StepState => ({
  ...withFiles(state, 'all', (file) =>
    // The verdict counts on for a file without a change. Its key differs for a changed file, so that is reviewed.
    file.status === 'skipped'
      ? file
      : { ...asManual(file), verdict: file.verdict, unreviewed: true },
  ),
  stage: { at: 'build' },
});

/** Restores the files, then continues with `then`. Before an apply there is nothing to restore. */
export const rollBack = (
  state: StepState,
  then: AfterRollback,
  currentTime_ms: number,
): StepState =>
  state.applied.all.length === 0 && state.applied.uncertain === null
    ? afterRollback(state, then, currentTime_ms)
    : { ...state, stage: { at: 'roll_back', then } };

/** Continues with what a rollback was for. */
export function afterRollback(
  state: StepState,
  then: AfterRollback,
  currentTime_ms: number,
): StepState {
  switch (then.do) {
    case 'ask':
      return asking(
        { ...state, stage: { at: 'review' } },
        'tests_failed',
        cut(state.input.rules, lastSummary(state)),
      );
    case 'regenerate':
      return then.note === undefined
        ? regenerateAll(state, { refusal: state.tests.output })
        : regenerateWith(state, then.note);
    case 'new_base':
      return newBase(state);
    case 'apply':
      return { ...state, stage: { at: 'apply', busy: null } };
    case 'finish':
      return close(state, currentTime_ms, then.outcome, then.problem);
  }
}

const lastSummary = (state: StepState): string => {
  const last = state.events.filter(({ type }) => type === 'verified' || type === 'audited').at(-1);
  if (last?.type === 'audited') return `the audit: ${auditText(last)}`;
  return last?.type === 'verified' ? last.summary : 'the tests failed';
};

/** Takes up `retry`, `manual` and `skip` if the decision is about the step as a whole. */
export function resolveWhole(
  state: StepState,
  request: DecisionRequest,
  currentTime_ms: number,
): StepState {
  const { stage, base } = state;
  const then = stage.at === 'roll_back' ? stage.then : null;
  const { outcome, problem } =
    then?.do === 'finish' ? then : ({ outcome: 'skipped', problem: null } as const);
  switch (request.answer) {
    case 'skip': {
      const skipped = withFiles(state, 'all', (file) => ({ ...file, status: 'skipped' }));
      return endAfterRollback(skipped, currentTime_ms, outcome, problem);
    }
    case 'manual': {
      // The step could not restore the files at its end, and whoever answers has restored them.
      if (then?.do === 'finish')
        return close(within(state, 'applied', { all: [] }), currentTime_ms, outcome, problem);
      const nextState = withFiles(state, 'all', (file) =>
        file.status === 'skipped' ? file : asManual(file),
      );
      return { ...within(nextState, 'edits', { combined: null }), stage: { at: 'build' } };
    }
    default:
      return stage.at === 'pick'
        ? within(state, 'base', { pickRegeneration: base.pickRegeneration + 1 })
        : state;
  }
}

/** Ends the step. */
export const close = (
  state: StepState,
  currentTime_ms: number,
  outcome: StepOutcome,
  problem: Problem | null = null,
): StepState =>
  emit(
    { ...state, stage: { at: 'closed', outcome, problem }, decision: null, ask: null },
    currentTime_ms,
    {
      type: 'step_finished',
      outcome,
    },
  );

/** Ends the step. What is applied, or may be applied, and is not committed is rolled back first. */
export const endAfterRollback = (
  state: StepState,
  currentTime_ms: number,
  outcome: StepOutcome,
  problem: Problem | null = null,
): StepState => {
  const { all: known, uncertain } = state.applied;
  const all = uncertain === null ? known : [...known, uncertain];
  if (all.length === 0 || state.commit !== null)
    return close(state, currentTime_ms, outcome, problem);
  const stage = { at: 'roll_back', then: { do: 'finish', outcome, problem } } as const;
  return { ...within(state, 'applied', { all }), stage, ask: null };
};

/**
 * Ends the step without its host, which may be gone for ever. The result names the files that are applied there, or were being applied, so
 * that they can be restored once the host is back.
 */
export const endWithoutHost = (state: StepState, currentTime_ms: number): StepState => {
  const { input, commit } = state;
  const openOnHost = openThere(state);
  // A checkout is disposable, and the token fences off a worker that may still write there.
  if (openOnHost.files.length === 0 || commit !== null || input.repository !== undefined)
    return close(state, currentTime_ms, 'aborted');
  const nextState = {
    ...within(state, 'applied', { all: [], uncertain: null, lock: null }),
    openOnHost,
  };
  return close(nextState, currentTime_ms, 'aborted', leftOnHost(openOnHost));
};
