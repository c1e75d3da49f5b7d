/** Build: makes the proposal of the accepted edits, or rebases the last one onto the current files. */
import type {
  BuildProposalResult,
  ProposalSummary,
  RebaseResult,
} from '../../../shared/proposal-activities.js';
import { cut } from '../../../shared/rules.js';
import { linesChanged } from '../../../shared/text.js';
import { listTolerances } from '../../../shared/tolerance-text.js';
import { asking } from '../../frame/decisions/asking.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import { askForConsent, withoutOnce } from '../commands.js';
import type { Next, On } from '../protocol.js';
import { appliedPaths, hasFailed, wantsAudit } from '../selectors.js';
import type { FileEntry, StepState } from '../state.js';
import { endOfWork, PART, toReview } from '../ways.js';
import { askConflict } from './apply.js';
import { askForEntry, type RefusedFile } from './propose/responses.js';

export const next: Next<'build' | 'rebase'> = {
  build: () => ({ kind: 'build' }),
  rebase: () => ({ kind: 'rebase' }),
};

export const on: On<'proposal_built' | 'rebased'> = {
  proposal_built: (state, { result }, currentTime_ms) =>
    onProposalBuilt(state, result, currentTime_ms),
  rebased: (state, { result }, currentTime_ms) => onRebased(state, result, currentTime_ms),
};

/** A build asks nothing of its own: its questions are about the sandbox, a conflict, or files that failed. */
export const decide = {};

function onProposalBuilt(
  before: StepState,
  result: BuildProposalResult,
  currentTime_ms: number,
): StepState {
  if (result.outcome === 'no_sandbox') return askForConsent(before, result);
  const state = withoutOnce(before);
  switch (result.outcome) {
    case 'built':
      return onProposal(state, result.proposal, currentTime_ms);
    case 'empty': {
      if (hasFailed(state)) return { ...state, stage: PART, proposal: null };
      const allSkipped = state.edits.files.every((file) => file.status === 'skipped');
      return endOfWork(state, currentTime_ms, allSkipped ? 'skipped' : 'unchanged');
    }
    case 'refused':
      return onRefused(state, result.files, currentTime_ms);
  }
}

/** Asks again for the files that the build refused. If there is none, the same build would be refused for ever, so the reviewer is asked. */
function onRefused(
  state: StepState,
  files: readonly RefusedFile[],
  currentTime_ms: number,
): StepState {
  const known = new Set(
    state.edits.files.filter(({ status }) => status === 'done').map(({ path }) => path),
  );
  const stranger = files.find((file) => !known.has(file.path));
  if (files.length > 0 && stranger === undefined)
    return files.reduce<StepState>(
      (nextState, refused) => askForEntry(nextState, refused, currentTime_ms),
      state,
    );
  const message = `build: ${stranger?.message ?? 'refused without a file'}`;
  return asking(state, 'engine_failed', cut(state.input.rules, message));
}

/** Takes up a new proposal. Verdicts stay on files whose base and result are the same. */
function onProposal(
  state: StepState,
  proposal: ProposalSummary,
  currentTime_ms: number,
): StepState {
  // A file that an earlier response made, and that the last response does not make, is no file of the step.
  const proposed = new Set([...appliedPaths(state), ...proposal.files.map(({ path }) => path)]);
  const isFile = ({ path, madeBy, status }: FileEntry): boolean =>
    madeBy === undefined || status === 'skipped' || proposed.has(path);
  const known = within(state, 'edits', { files: state.edits.files.filter(isFile) });
  const nextState = emit({ ...known, proposal }, currentTime_ms, {
    type: 'proposal_ready',
    proposal: proposal.id,
    file_count: proposal.files.length,
    ...linesChanged(proposal),
    ...listTolerances(proposal.tolerances),
  });
  return wantsAudit(nextState, 'before_approval')
    ? { ...nextState, stage: { at: 'audit' } }
    : toReview(nextState, currentTime_ms);
}

function onRebased(state: StepState, result: RebaseResult, currentTime_ms: number): StepState {
  const carried: StepState = { ...state, stage: { at: 'rebase', files: null } };
  const nextState = emit(carried, currentTime_ms, {
    type: 'rebased',
    clean: result.outcome !== 'conflict',
  });
  switch (result.outcome) {
    case 'built':
      return onProposal(
        nextState,
        withEarlierFindings(result.proposal, state.proposal),
        currentTime_ms,
      );
    case 'empty':
      return endOfWork(nextState, currentTime_ms, 'unchanged');
    case 'conflict':
      return askConflict(
        nextState,
        { place: 'rebase', conflicts: result.conflicts },
        currentTime_ms,
      );
  }
}

/**
 * Adds the findings and tolerances of the edit before the rebase: they hold for the rebased edit too. A finding that the guard has again shows
 * the lines of the merged file.
 */
function withEarlierFindings(
  proposal: ProposalSummary,
  earlier: ProposalSummary | null,
): ProposalSummary {
  if (earlier === null) return proposal;
  const paths = new Set(proposal.files.map((file) => file.path));
  const again = new Set(proposal.findings.map(({ guard, path }) => `${guard} ${path}`));
  const still = earlier.findings.filter(
    ({ guard, path }) => paths.has(path) && !again.has(`${guard} ${path}`),
  );
  const findings = [...still, ...proposal.findings];
  return {
    ...proposal,
    findings,
    tolerances: [...new Set([...earlier.tolerances, ...proposal.tolerances])],
  };
}
