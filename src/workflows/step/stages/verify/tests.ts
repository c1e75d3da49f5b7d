/** Runs the tests on the change, before or after it is applied, and answers failed tests. */
import type { ResultOf } from '../../../../shared/activities.js';
import type { DecisionPoint, DecisionRequest } from '../../../../shared/decisions.js';
import type { VerificationFailure } from '../../../../shared/plan.js';
import type { ChangedFiles, NoSandbox, NotYet } from '../../../../shared/proposal-activities.js';
import { cut } from '../../../../shared/rules.js';
import {
  PASSED,
  type RunTestsResult,
  type TestRun,
  type TestSubject,
} from '../../../../shared/test-activities.js';
import { asking } from '../../../frame/decisions/asking.js';
import { emit, warnOfPaths } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { askForConsent, onNoTurn, withoutOnce } from '../../commands.js';
import type { Effect, Facts } from '../../protocol.js';
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
  resolveCombined,
  resolveReview,
  rollBack,
  waitToApply,
} from '../../ways.js';
import { onBaseTested, withWrites } from './base.js';

/** Returns the tests that must come before the proposal is reviewed; null: none. */
export const testsBeforeApproval = (state: StepState): Effect | null =>
  state.base.ready?.testsAfterApproval === true
    ? null
    : testsBefore(state, pathsIfApproved(state), false);

/** Returns the tests that must come before these files of the proposal are reviewed, or applied (`isFresh`); null: none. */
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

export function onTested(
  before: StepState,
  { on, result }: Facts['tested'],
  currentTime_ms: number,
): StepState {
  if (result.outcome === 'busy') return onTestsBusy(before, on, result, currentTime_ms);
  const state =
    result.keepsOutputs === true ? within(before, 'tests', { keepsOutputs: true }) : before;
  if (on.kind === 'base')
    return isOfBase(result) ? onBaseTested(state, result, currentTime_ms) : state;
  if ('on' in result && result.on === 'base') return state;
  if (on.kind !== 'proposal') return onVerified(state, result, currentTime_ms);
  const { files, isFresh = false } = on;
  return onProposalTested(state, { result, files, isFresh }, currentTime_ms);
}

function onTestsBusy(
  state: StepState,
  on: TestSubject,
  result: NotYet,
  currentTime_ms: number,
): StepState {
  if (on.kind !== 'base' || state.stage.at === 'review')
    return onNoTurn(state, 'runTests', currentTime_ms);
  // Next to a call for an edit the base is not waited for.
  return state.stage.at === 'apply' ? waitToApply(state, result, currentTime_ms) : state;
}

const isOfBase = (
  result: Exclude<ResultOf<'runTests'>, NotYet>,
): result is Extract<typeof result, { readonly on: 'base' } | NoSandbox> =>
  result.outcome === 'no_sandbox' || ('on' in result && result.on === 'base');

type ChangeResult = Exclude<RunTestsResult, { readonly on: 'base' }>;

/** Folds in a run of the tests on what was applied. */
function onVerified(before: StepState, result: ChangeResult, currentTime_ms: number): StepState {
  const run = finishedRun(before, result, currentTime_ms);
  return 'state' in run ? afterVerify(run.state) : run;
}

/** Folds in a run of the tests on these files of the proposal, before they are applied. */
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

/** Returns the state after tests that passed, or (`StepState`) what follows where they did not pass, or did not run. */
function finishedRun(
  before: StepState,
  result: ChangeResult,
  currentTime_ms: number,
): { readonly state: StepState } | StepState {
  if (result.outcome === 'no_sandbox') return askForConsent(before, result);
  if (result.outcome === 'no_overlay')
    return within(before, 'tests', { afterApply: result.reason });
  const ran = withoutOnce(before);
  const state = within(ran, 'tests', { runs: (ran.tests.runs ?? 0) + 1 });
  if (result.outcome === 'changed_files') return askAboutChanged(state, result);
  const verified = withVerdict(state, result, currentTime_ms);
  const { outcome, kind, signature, output, summary, suggestions } = result;
  if (PASSED.includes(outcome)) return { state: within(verified, 'tests', { longer: false }) };
  // A failure that may have been the machine's is tried once more, with more time.
  if (result.transient && !before.tests.longer)
    return within(verified, 'tests', { longer: true, proposed: null });
  return onFailedVerification(
    within(verified, 'tests', { longer: false }),
    { kind, signature, output, suggestions, summary: cut(state.input.rules, summary) },
    currentTime_ms,
  );
}

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

/** What was verified is put back and asked for again, told why; or whoever decides is asked. */
export function onFailedVerification(
  told: StepState,
  failure: VerificationFailure,
  now: number,
): StepState {
  const { tests, proposal, input } = told;
  const { kind, signature, output } = failure;
  if (input.testsFailed === 'return') {
    const then = { do: 'finish', outcome: 'tests_failed', problem: null } as const;
    return rollBack(within(told, 'tests', { failure }), then, now);
  }
  const failures = tests.failures + 1;
  const again = signature !== null && signature === tests.signature;
  const spent = failures >= (told.base.limits?.maxFailedVerifications ?? 3);
  const tested = proposal === null || kind === 'audit' ? [] : [proposal.id];
  const failedProposals = [...tests.failedProposals, ...tested];
  const wanted = toRegenerate(told);
  const usedUp = told.edits.files.some(
    (file) => wanted.includes(file.path) && answersLeft(told, file) <= 0,
  );
  const asks = again || spent || usedUp || wanted.length === 0;
  const counted = within(told, 'tests', { failures, signature, output, failedProposals });
  return rollBack(counted, { do: asks ? 'ask' : 'regenerate' }, now);
}

export function resolveTestsFailed(
  state: StepState,
  open: DecisionPoint,
  request: DecisionRequest,
  now: number,
): StepState {
  const fresh = within(state, 'tests', { failures: 0, signature: null });
  switch (request.answer) {
    case 'revise':
      return regenerateWith(fresh, request.note ?? null);
    case 'keep': {
      // What was approved with an earlier proposal (before a conflict) is built into the last one again.
      const last = new Set(state.proposal?.files.map((file) => file.path));
      const earlier = regenerable(state).some((path) => !last.has(path));
      // What failed before the approval is still to be approved; after an audit the tests are still to come.
      if (undecidedPaths(state).length > 0) {
        const incomplete = testsOfProposal(state) !== null;
        const reviewed = within(fresh, 'applied', { incomplete });
        return resolveReview({ ...reviewed, stage: { at: 'review' } }, now);
      }
      const kept = within(state, 'applied', { decision: open.n, incomplete: true });
      return { ...kept, stage: earlier ? { at: 'build' } : { at: 'apply', busy: null } };
    }
    default:
      return resolveCombined(fresh, request, now);
  }
}

/** What was tested is what is committed: other bytes are asked about. */
function askAboutChanged(state: StepState, { by, files, staged }: ChangedFiles): StepState {
  const isAgain =
    state.stage.at === 'verify' ? '; on disk they have the content of the change again' : '';
  const what =
    by === 'tests'
      ? `the tests passed, but files to be committed were changed in the meantime${isAgain}`
      : 'files were changed after the change was applied and before the tests ran';
  const withStaged = within(state, 'applied', { staged: staged ?? null });
  return asking(
    withStaged,
    'tests_changed_files',
    cut(state.input.rules, `${what}: ${files.join(', ')}`),
  );
}
