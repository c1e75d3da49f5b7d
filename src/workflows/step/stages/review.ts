/** Review: has the proposal tested, then approved by the policy or by the reviewer. */
import type { DecisionPoint, DecisionRequest } from '../../../shared/decisions.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import { count, linesChanged } from '../../../shared/text.js';
import { answerOf } from '../../../shared/validate-decision.js';
import { decisionId } from '../../frame/decisions/state.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import { withFiles } from '../ledger.js';
import {
  type Decide,
  type Effect,
  type Next,
  type On,
  pause,
  type Resolution,
} from '../protocol.js';
import {
  lacksConsent,
  testsAfterApply,
  testsOfProposal,
  undecidedPaths,
  wantsTests,
} from '../selectors.js';
import type { FileEntry, StepState } from '../state.js';
import { resolveReview } from '../ways.js';
import { testsBeforeApproval } from './verify/tests.js';

export const next: Next<'review'> = { review: reviewEffect };

export const on: On<'approved_by_policy'> = {
  approved_by_policy: (state, _, currentTime_ms) => onApprovedByPolicy(state, currentTime_ms),
};

export const decide: Decide<'approval'> = { approval: resolveApproval };

/** Runs the tests that come before the review, then approves by policy or asks about the files without a verdict. */
function reviewEffect(state: StepState): Effect {
  const { proposal } = state;
  if (proposal === null) return { kind: 'build' };
  const undecided = undecidedPaths(state);
  if (undecided.length === 0) return { kind: 'finish' };
  const tests = testsBeforeApproval(state);
  if (tests !== null) return tests;
  const isAutomatic = state.base.ready?.approval === 'auto';
  // Under `approval: auto` failed tests do not stop here: they fail once more, and `tests_failed` has the answers that help.
  if (isAutomatic && proposal.mustAsk.length === 0) return { kind: 'approve_by_policy' };
  const message = `${reviewReason(state, proposal, isAutomatic)}: ${approvalSummary(state, proposal)}`;
  return pause('approval', message, undecided);
}

/** Returns why the reviewer is asked. */
function reviewReason(state: StepState, proposal: ProposalSummary, isAutomatic: boolean): string {
  const hasFailed = state.tests.failedProposals.includes(proposal.id);
  const reasons = [...(hasFailed ? [SAME_BYTES] : []), ...proposal.mustAsk];
  if (isAutomatic) return `approval is auto, but a person must review: ${reasons.join('; ')}`;
  return hasFailed ? `the proposal is ready, but ${SAME_BYTES}` : 'the proposal is ready';
}

const SAME_BYTES = 'the tests already failed with exactly these changes';

/** Returns what an approval would take, and what it would consent to. */
export function approvalSummary(state: StepState, proposal: ProposalSummary): string {
  const { files } = proposal;
  const { added, removed } = linesChanged(proposal);
  const parts = [
    `${count(files.length, 'file')}, +${added} -${removed} lines`,
    ...testsText(state),
    ...networkText(state),
    ...(lacksConsent(state) ? [`${UNSANDBOXED} (${state.base.ready?.noSandbox ?? ''})`] : []),
  ];
  return parts.join('; ');
}

/** Returns what the commands in the sandbox reach. Without a sandbox they reach everything. */
function networkText({ base, sandbox }: StepState): readonly string[] {
  const network = base.ready?.network;
  return network === undefined || sandbox?.without !== undefined
    ? []
    : [`its commands reach ${network}`];
}

const UNSANDBOXED = 'tests will run without a sandbox';

/** Returns the result of the tests on the proposal, or when they will run. */
function testsText(state: StepState): readonly string[] {
  const tested = testsOfProposal(state);
  if (tested !== null) return [`tests of the proposal: ${tested.outcome}: ${tested.summary}`];
  if (!wantsTests(state)) return [];
  const reason = testsAfterApply(state);
  return reason === null
    ? ['the tests run on the approved files before they are applied']
    : [`the tests run in the workspace after the change is applied: ${reason}`];
}

function onApprovedByPolicy(state: StepState, currentTime_ms: number): StepState {
  const approved = emit(withPolicyVerdicts(state), currentTime_ms, {
    type: 'decided',
    decision: decisionId(state, state.proposal?.id),
    answer: 'approve',
    files: state.proposal?.files.length ?? 0,
    skipped: [],
    by: 'policy (approval: auto)',
  });
  return resolveReview(approved, currentTime_ms);
}

/** Approves the files of the proposal that have no verdict on exactly these bytes. */
function withPolicyVerdicts(state: StepState): StepState {
  const decision = state.nextDecision;
  const keys = new Map((state.proposal?.files ?? []).map((file) => [file.path, file.key]));
  return withFiles({ ...state, nextDecision: decision + 1 }, [...keys.keys()], (file) => {
    const key = keys.get(file.path) ?? '';
    if (file.verdict?.key === key) return file;
    return { ...file, verdict: { answer: 'approve', decision, key, isAutomatic: true } };
  });
}

/** Takes up the answers of a review: another proposal if one is needed, else the verdicts. */
function resolveApproval(
  state: StepState,
  { decision, request }: Resolution,
  currentTime_ms: number,
): StepState {
  const answers = Object.values(decision.answered);
  if (answers.includes('revise'))
    return { ...withoutProposal(state, decision), stage: { at: 'propose' } };
  if (answers.includes('select'))
    return { ...withoutProposal(state, decision), stage: { at: 'build' } };
  return resolveReview(withConsent(state, request), currentTime_ms);
}

/** Returns the file with the changes that the reviewer selected. The next proposal has only these, and is reviewed again. */
export const withSelection = (
  file: FileEntry,
  proposal: ProposalSummary | null,
  changes: readonly number[] | null,
): FileEntry =>
  proposal === null
    ? file
    : {
        ...file,
        verdict: null,
        selected: { proposal: proposal.ref, diff: proposal.diff, changes },
      };

/** Keeps all other files as this proposal has them, if the reviewer selected changes. A rebase may have changed them. */
function pinProposal(state: StepState, open: DecisionPoint): StepState {
  const { proposal } = state;
  if (proposal === null || !Object.values(open.answered).includes('select')) return state;
  const proposed = new Set(proposal.files.map((file) => file.path));
  return withFiles(state, 'all', (file) => {
    const isKept =
      proposed.has(file.path) &&
      file.status === 'done' &&
      !file.manual &&
      answerOf(open, file.path) !== 'select';
    return isKept
      ? { ...file, selected: { proposal: proposal.ref, diff: proposal.diff, changes: null } }
      : file;
  });
}

/** Drops the proposal, and the answer that accepted its failed tests. */
const withoutProposal = (state: StepState, open: DecisionPoint): StepState => ({
  ...pinProposal(within(state, 'applied', { incomplete: false }), open),
  proposal: null,
});

/** Takes an approval as the consent to commands without a sandbox, which its question named. A policy consents to nothing. */
export const withConsent = (state: StepState, { answer, by: author }: DecisionRequest): StepState =>
  answer === 'approve' && author.from !== 'policy' && lacksConsent(state)
    ? { ...state, sandbox: { ...state.sandbox, without: 'run' } }
    : state;
