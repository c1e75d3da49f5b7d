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

/** About failed files a person is asked first. */
export const toReview = (state: StepState, currentTime_ms: number): StepState =>
  hasFailed(state)
    ? { ...state, stage: PART }
    : resolveReview({ ...state, stage: { at: 'review' } }, currentTime_ms);

/** Every file has its verdict: on to apply, or nothing was approved. */
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

export const PART = { at: 'propose', part: true } as const;

/** Nothing more to apply: commit what was applied before (after a conflict), or end. */
export function endOfWork(
  state: StepState,
  currentTime_ms: number,
  outcome: StepOutcome,
): StepState {
  if (state.applied.all.length === 0) return close(state, currentTime_ms, outcome);
  return afterApply(state, currentTime_ms);
}

/** What was asked for is on disk: it is tested there if it was not tested before, then committed, or the step ends. */
export const afterApply = (state: StepState, currentTime_ms: number): StepState => {
  if (verifiesAfterApply(state)) return { ...state, stage: { at: 'verify' } };
  const unverified = within(state, 'tests', { last: state.tests.last ?? 'no_tests' });
  return afterTests(unverified, currentTime_ms);
};

/** What is on disk passed its tests, or has none; nothing is locked any more unless something follows. */
const afterTests = (state: StepState, currentTime_ms: number): StepState =>
  stageAfterTests(state) ?? close(state, currentTime_ms, 'applied');

/** What is on disk passed its tests there, under the step's lock. */
export const afterVerify = (state: StepState): StepState =>
  stageAfterTests(state) ?? { ...state, stage: { at: 'release' } };

const stageAfterTests = (state: StepState): StepState | null => {
  if (wantsAudit(state, 'after_tests')) return { ...state, stage: { at: 'audit' } };
  return wantsCommit(state) ? { ...state, stage: { at: 'commit' } } : null;
};

/** The workspace is locked, or there was no turn. Told once, and again when there is something that a person can do about it. */
export function waitToApply(
  state: StepState,
  { holder, advice }: Omit<NotYet, 'outcome'>,
  currentTime_ms: number,
): StepState {
  const last = (state.stage.at === 'apply' ? state.stage.busy : null) ?? { tries: 0, advice: null };
  const busy = { tries: last.tries + 1, advice: advice ?? null, waiting: true };
  const waits: StepState = { ...state, stage: { at: 'apply', busy } };
  const isTold = last.tries > 0 && (busy.advice === null || busy.advice === last.advice);
  if (holder === undefined || isTold) return waits;
  return emit(waits, currentTime_ms, {
    type: 'apply_busy',
    holder,
    ...(advice === undefined ? {} : { advice }),
  });
}

/** The files are looked at once more; `only`: these alone, null: all. */
export const lookAgain = (state: StepState, only: readonly string[] | null): StepState => ({
  ...within(state, 'base', { number: state.base.number + 1 }),
  stage: { at: 'preflight', only },
});

/** Everything anew from the files as they are now; what a person left out stays out. */
export const newBase = (state: StepState): StepState => {
  const again = withFiles(state, 'all', (file) =>
    file.status === 'skipped' ? file : askAgain(file),
  );
  return { ...within(lookAgain(again, null), 'edits', { accepted: [] }), proposal: null };
};

/** Every file that the model changed is asked for again from its original; what a person changed stays theirs. No person asks: answers count on. */
const regenerateAll = (state: StepState, change: Partial<CallProgress>): StepState => ({
  ...withFiles(within(state, 'applied', { incomplete: false }), toRegenerate(state), (file) =>
    askAgain(file, { answers: file.answers, ...change }),
  ),
  stage: { at: 'propose' },
  proposal: null,
});

/** A person asks again with the note and why it failed; what a person changed by hand becomes the new base of those files. */
export function regenerateWith(state: StepState, note: string | null): StepState {
  const change = { note, refusal: state.tests.output, answers: 0 };
  const theirs = state.edits.files
    .filter((file) => file.manual && file.status === 'done')
    .map((file) => file.path);
  const again = regenerateAll(state, change);
  const asked = withFiles(again, theirs, (file) => askAgain(file, change));
  return theirs.length === 0 ? again : lookAgain(asked, theirs);
}

/** Bytes that a hook or tests changed are a new proposal: the files as those left them. */
export const asLeft = (state: StepState): StepState => ({
  ...withFiles(state, 'all', (file) =>
    // A verdict stands for a file that was left alone; what was changed nobody has reviewed yet.
    file.status === 'skipped'
      ? file
      : { ...asManual(file), verdict: file.verdict, unreviewed: true },
  ),
  stage: { at: 'build' },
});

/** Before it is applied there is nothing to put back. */
export const rollBack = (
  state: StepState,
  then: AfterRollback,
  currentTime_ms: number,
): StepState =>
  state.applied.all.length === 0 && state.applied.uncertain === null
    ? afterRollback(state, then, currentTime_ms)
    : { ...state, stage: { at: 'roll_back', then } };

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

/** `retry`, `manual` and `skip` where a decision is about the step as a whole. */
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
      // The step was ending and could not restore the files: the person has.
      if (then?.do === 'finish')
        return close(within(state, 'applied', { all: [] }), currentTime_ms, outcome, problem);
      const theirs = withFiles(state, 'all', (file) =>
        file.status === 'skipped' ? file : asManual(file),
      );
      return { ...within(theirs, 'edits', { combined: null }), stage: { at: 'build' } };
    }
    default:
      return stage.at === 'pick'
        ? within(state, 'base', { pickRegeneration: base.pickRegeneration + 1 })
        : state;
  }
}

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

/** Ends the step; what is (or may be) applied and not committed is rolled back first. */
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
 * Ends the step though its host takes no work: that may be gone for ever. What is applied there, or was being applied when it went, is
 * named for whoever looks on that host once it is back.
 */
export const endWithoutHost = (state: StepState, currentTime_ms: number): StepState => {
  const { input, commit } = state;
  const openOnHost = openThere(state);
  // A checkout is disposable, and whoever may still work there is fenced by the token.
  if (openOnHost.files.length === 0 || commit !== null || input.repository !== undefined)
    return close(state, currentTime_ms, 'aborted');
  const left = {
    ...within(state, 'applied', { all: [], uncertain: null, lock: null }),
    openOnHost,
  };
  return close(left, currentTime_ms, 'aborted', leftOnHost(openOnHost));
};
