/** Tests of the change, before or after it is applied: when they run, what follows if they fail, and the answers to that. */
import type { ResultOf } from '../../../../shared/activities.js';
import type { Failure } from '../../../../shared/failure.js';
import type { ChangedFiles, NoSandbox } from '../../../../shared/proposal-activities.js';
import { cut } from '../../../../shared/rules.js';
import {
  PASSED,
  type LockedWorkspace,
  type RunTestsResult,
  type TestRun,
} from '../../../../shared/test-activities.js';
import { asking } from '../../../frame/decisions/asking.js';
import { emit, warnOfPaths } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { askForConsent, withoutOnce } from '../../commands.js';
import type { Effect, Facts, Resolution } from '../../protocol.js';
import {
  answersLeft,
  havePassed,
  isProven,
  pathsIfApproved,
  regenerable,
  testsOfProposal,
  toRegenerate,
  undecidedPaths,
  wantsBase,
  wantsTestsFirst,
} from '../../selectors.js';
import type { StepState } from '../../state.js';
import {
  afterVerify,
  regenerateWith,
  resolveWhole,
  resolveReview,
  rollBack,
  waitToApply,
} from '../../ways.js';
import { onBaseTested, withWrites } from './base.js';

/** Returns the tests that must come before the proposal is reviewed. Null: none. */
export const testsBeforeApproval = (state: StepState): Effect | null =>
  state.base.ready?.testsAfterApproval === true
    ? null
    : testsBefore(state, pathsIfApproved(state), false);

/** Returns the tests that must come before these files of the proposal are reviewed, or applied (`isFresh`). Null: none. */
export function testsBefore(
  state: StepState,
  files: readonly string[],
  isFresh: boolean,
): Effect | null {
  if (!wantsTestsFirst(state) || files.length === 0) return null;
  const isDone = isFresh ? isProven(state, files) : havePassed(state, files);
  if (isDone) return null;
  if (wantsBase(state)) return { kind: 'try_base', beside: null };
  return { kind: 'test_proposal', files, isFresh };
}

/** Takes up a run of the tests, by what they ran on. */
export function onTested(
  before: StepState,
  { on, result }: Facts['tested'],
  currentTime_ms: number,
): StepState {
  if (result.outcome === 'busy') return onLockedBase(before, result, currentTime_ms);
  const state =
    result.keepsOutputs === true ? within(before, 'tests', { keepsOutputs: true }) : before;
  if (on.kind === 'base')
    return isOfBase(result) ? onBaseTested(state, result, currentTime_ms) : state;
  if ('on' in result && result.on === 'base') return state;
  if (on.kind !== 'proposal') return onVerified(state, result, currentTime_ms);
  const { files, isFresh = false } = on;
  return onProposalTested(state, { result, files, isFresh }, currentTime_ms);
}

/** Tests the base once nobody has locked the workspace: before an apply the step waits, next to a call of the model it does not. */
function onLockedBase(
  state: StepState,
  result: LockedWorkspace,
  currentTime_ms: number,
): StepState {
  if (state.stage.at === 'apply') return waitToApply(state, result, currentTime_ms);
  // Without an overlay the proposal is not tested before its approval, so the reviewer does not wait for the base.
  if (state.stage.at === 'review') return within(state, 'tests', { afterApply: result.noOverlay });
  return state;
}

const isOfBase = (
  result: Exclude<ResultOf<'runTests'>, LockedWorkspace>,
): result is Extract<typeof result, { readonly on: 'base' } | NoSandbox> =>
  result.outcome === 'no_sandbox' || ('on' in result && result.on === 'base');

type ChangeResult = Exclude<RunTestsResult, { readonly on: 'base' } | LockedWorkspace>;

/** Takes up a run of the tests in the workspace, after the apply. */
function onVerified(before: StepState, result: ChangeResult, currentTime_ms: number): StepState {
  const run = finishedRun(before, result, currentTime_ms);
  return 'state' in run ? afterVerify(run.state) : run;
}

/** Takes up a run of the tests on these files of the proposal, before they are applied. */
function onProposalTested(
  before: StepState,
  { result, files, isFresh }: { result: ChangeResult; files: readonly string[]; isFresh: boolean },
  currentTime_ms: number,
): StepState {
  const proposal = before.proposal?.id;
  if (proposal === undefined) return before;
  const tested =
    'on' in result && result.on === 'proposal'
      ? within(before, 'tests', { proposed: { proposal, files, isFresh, result } })
      : before;
  const run = finishedRun(tested, result, currentTime_ms);
  return 'state' in run ? run.state : run;
}

/** Returns the state after tests that passed (`state`), or what follows if they failed or did not run. */
function finishedRun(
  before: StepState,
  result: ChangeResult,
  currentTime_ms: number,
): { readonly state: StepState } | StepState {
  if (result.outcome === 'no_sandbox') return askForConsent(before, result);
  if (result.outcome === 'no_overlay')
    return within(before, 'tests', { afterApply: result.reason });
  const runs = (before.tests.runs ?? 0) + 1;
  const state = within(withoutOnce(before), 'tests', { runs });
  if (result.outcome === 'changed_files') return askAboutChanged(state, result);
  const verified = withVerdict(state, result, currentTime_ms);
  const { outcome, kind, signature, output, summary, suggestions } = result;
  if (PASSED.includes(outcome)) return { state: within(verified, 'tests', { longer: false }) };
  // The machine may have caused the failure, so the tests run once more, with more time.
  if (result.transient && !before.tests.longer)
    return within(verified, 'tests', { longer: true, proposed: null });
  return onFailedVerification(
    within(verified, 'tests', { longer: false }),
    { kind, signature, output, suggestions, summary: cut(state.input.rules, summary) },
    currentTime_ms,
  );
}

/** Records the result of the tests and reports it. */
function withVerdict(state: StepState, result: TestRun, currentTime_ms: number): StepState {
  const { outcome, kind, signature, on, alsoChanged = [] } = result;
  const verdict = { last: outcome, remember: null, warnings: result.warnings ?? [] };
  const verified = emit(within(state, 'tests', verdict), currentTime_ms, {
    type: 'verified',
    outcome,
    kind,
    signature,
    summary: cut(state.input.rules, result.summary),
  });
  const others =
    on === 'proposal'
      ? 'the tests also wrote other files, which are not kept'
      : 'the tests also changed other files';
  return withWrites(
    warnOfPaths(verified, others, alsoChanged, currentTime_ms),
    'the tests',
    result,
    currentTime_ms,
  );
}

/**
 * Rolls the change back, then asks the model again with the output of the tests. It asks the reviewer if the same failure comes twice, if a
 * limit is reached, or if the model changed nothing. The phase of a plan ends instead, as its plan decides.
 */
export function onFailedVerification(
  state: StepState,
  failure: Failure,
  currentTime_ms: number,
): StepState {
  const { tests, proposal, input } = state;
  const { kind, signature, output } = failure;
  if (input.testsFailed === 'return') {
    const finish = { do: 'finish', outcome: 'tests_failed', problem: null } as const;
    return rollBack(within(state, 'tests', { failure }), finish, currentTime_ms);
  }
  const failures = tests.failures + 1;
  const isSameFailure = signature !== null && signature === tests.signature;
  const isLast = failures >= (state.base.limits?.maxFailedVerifications ?? 3);
  const failedProposal = proposal === null || kind === 'audit' ? [] : [proposal.id];
  const paths = toRegenerate(state);
  const isUsedUp = state.edits.files.some(
    (file) => paths.includes(file.path) && answersLeft(state, file) <= 0,
  );
  const mustAsk = isSameFailure || isLast || isUsedUp || paths.length === 0;
  const nextState = within(state, 'tests', {
    failures,
    signature,
    output,
    failedProposals: [...tests.failedProposals, ...failedProposal],
  });
  return rollBack(nextState, { do: mustAsk ? 'ask' : 'regenerate' }, currentTime_ms);
}

/** Takes up the answer to failed tests. The failures are counted from zero again. */
export function resolveTestsFailed(
  state: StepState,
  { decision, request }: Resolution,
  currentTime_ms: number,
): StepState {
  const fresh = within(state, 'tests', { failures: 0, signature: null });
  switch (request.answer) {
    case 'revise':
      return regenerateWith(fresh, request.note ?? null);
    case 'keep': {
      // After tests before the approval, the files are still to be approved. After an audit, the tests are still to come.
      if (undecidedPaths(state).length > 0) {
        const incomplete = testsOfProposal(state) !== null;
        const reviewed = within(fresh, 'applied', { incomplete });
        return resolveReview({ ...reviewed, stage: { at: 'review' } }, currentTime_ms);
      }
      // Files that were approved with an earlier proposal, before a conflict, become part of the last one.
      const paths = new Set(state.proposal?.files.map((file) => file.path));
      const hasEarlier = regenerable(state).some((path) => !paths.has(path));
      const nextState = within(state, 'applied', { decision: decision.n, incomplete: true });
      return { ...nextState, stage: hasEarlier ? { at: 'build' } : { at: 'apply', busy: null } };
    }
    default:
      return resolveWhole(fresh, request, currentTime_ms);
  }
}

/** Asks about files whose bytes are not those that were tested: only tested bytes are committed. */
function askAboutChanged(state: StepState, { by: author, files, staged }: ChangedFiles): StepState {
  const isAgain =
    state.stage.at === 'verify' ? '; on disk they have the content of the change again' : '';
  const message =
    author === 'tests'
      ? `the tests passed, but files to be committed were changed in the meantime${isAgain}`
      : 'files were changed after the change was applied and before the tests ran';
  const withStaged = within(state, 'applied', { staged: staged ?? null });
  return asking(
    withStaged,
    'tests_changed_files',
    cut(state.input.rules, `${message}: ${files.join(', ')}`),
  );
}
