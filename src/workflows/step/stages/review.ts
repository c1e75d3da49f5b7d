/** Has the proposal reviewed: by its tests, by a policy, or by the reviewer. */
import type { DecisionPoint, DecisionRequest } from '../../../shared/decisions.js';
import type { ProposalSummary } from '../../../shared/proposal-activities.js';
import { count, linesChanged } from '../../../shared/text.js';
import { answerOf } from '../../../shared/validate-decision.js';
import { decisionId } from '../../frame/decisions/state.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import { withFiles } from '../ledger.js';
import { type Effect, pause } from '../protocol.js';
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

export function reviewEffect(state: StepState): Effect {
  const proposal = state.proposal;
  if (proposal === null) return { kind: 'build' };
  const undecided = undecidedPaths(state);
  if (undecided.length > 0) {
    const tests = testsBeforeApproval(state);
    if (tests !== null) return tests;
    const auto = state.base.ready?.approval === 'auto';
    // Told, not asked about: under `approval: auto` the tests fail once more, and `tests_failed` has the answers that help.
    if (auto && proposal.mustAsk.length === 0) return { kind: 'approve_by_policy' };
    const failedBefore = state.tests.failedProposals.includes(proposal.id) ? [SAME_BYTES] : [];
    const told =
      failedBefore.length === 0
        ? 'the proposal is ready'
        : `the proposal is ready, but ${SAME_BYTES}`;
    const why = auto
      ? `approval is auto, but a person must review: ${[...failedBefore, ...proposal.mustAsk].join('; ')}`
      : told;
    return pause('approval', `${why}: ${sumOf(state, proposal)}`, undecided);
  }
  return { kind: 'finish' };
}

const SAME_BYTES = 'the tests already failed with exactly these changes';

/** What an approval would take, and consent to. */
export function sumOf(state: StepState, proposal: ProposalSummary): string {
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

/** Says what the commands in the sandbox reach. Without a sandbox they reach everything. */
function networkText({ base, sandbox }: StepState): readonly string[] {
  const network = base.ready?.network;
  return network === undefined || sandbox?.without !== undefined
    ? []
    : [`its commands reach ${network}`];
}

const UNSANDBOXED = 'tests will run without a sandbox';

/** Says what the tests showed on the proposal, or when they will run. */
function testsText(state: StepState): readonly string[] {
  const tested = testsOfProposal(state);
  if (tested !== null) return [`tests of the proposal: ${tested.outcome}: ${tested.summary}`];
  if (!wantsTests(state)) return [];
  const why = testsAfterApply(state);
  return why === null
    ? ['the tests run on the approved files before they are applied']
    : [`the tests run in the workspace after the change is applied: ${why}`];
}

export const onApprovedByPolicy = (state: StepState, now: number): StepState =>
  resolveReview(
    emit(policyVerdict(state), now, {
      type: 'decided',
      decision: decisionId(state, state.proposal?.id),
      answer: 'approve',
      files: state.proposal?.files.length ?? 0,
      skipped: [],
      by: 'policy (approval: auto)',
    }),
    now,
  );

const policyVerdict = (state: StepState): StepState => {
  const n = state.nextDecision;
  const keys = new Map((state.proposal?.files ?? []).map((file) => [file.path, file.key]));
  return withFiles({ ...state, nextDecision: n + 1 }, [...keys.keys()], (file): FileEntry => {
    const key = keys.get(file.path) ?? '';
    const standing = file.verdict?.key === key;
    return standing
      ? file
      : {
          ...file,
          verdict: { answer: 'approve', decision: n, key, isAutomatic: true },
        };
  });
};

/** The file as the next proposal takes it: what was chosen of it, to be looked at again. */
export const chosen = (
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

/** Where something was chosen, all other files stay as this proposal has them (it may have been carried over to newer files). */
function pinProposal(state: StepState, open: DecisionPoint): StepState {
  const { proposal } = state;
  if (proposal === null || !Object.values(open.answered).includes('select')) return state;
  const proposed = new Set(proposal.files.map((file) => file.path));
  return withFiles(state, 'all', (file) => {
    const stays =
      proposed.has(file.path) &&
      file.status === 'done' &&
      !file.manual &&
      answerOf(open, file.path) !== 'select';
    return stays
      ? { ...file, selected: { proposal: proposal.ref, diff: proposal.diff, changes: null } }
      : file;
  });
}

/** Another proposal is wanted: failed tests of this one were kept for it alone. */
export const anew = (state: StepState, open: DecisionPoint): StepState => ({
  ...pinProposal(within(state, 'applied', { incomplete: false }), open),
  proposal: null,
});

/** Whoever approved was told that the commands run without a sandbox; a policy is told nothing. */
export const withConsent = (state: StepState, { answer, by }: DecisionRequest): StepState =>
  answer === 'approve' && by.from !== 'policy' && lacksConsent(state)
    ? { ...state, sandbox: { ...state.sandbox, without: 'run' } }
    : state;
