/** Builds the proposal of the accepted edits, or carries the last one over to the files that are there now. */
import type {
  BuildProposalResult,
  ProposalSummary,
  RebaseResult,
} from '../../../shared/proposal-activities.js';
import { cut } from '../../../shared/rules.js';
import { linesChanged } from '../../../shared/text.js';
import { asking } from '../../frame/decisions/asking.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import { askForConsent, withoutOnce } from '../commands.js';
import { appliedPaths, hasFailed, wantsAudit } from '../selectors.js';
import type { FileEntry, StepState } from '../state.js';
import { endOfWork, PART, toReview } from '../ways.js';
import { askConflict } from './apply.js';
import { askForEntry } from './propose/responses.js';

export function onProposalBuilt(
  before: StepState,
  result: BuildProposalResult,
  now: number,
): StepState {
  if (result.outcome === 'no_sandbox') return askForConsent(before, result);
  const state = withoutOnce(before);
  switch (result.outcome) {
    case 'built':
      return onProposal(state, result.proposal, now);
    case 'empty': {
      if (hasFailed(state)) return { ...state, stage: PART, proposal: null };
      const allSkipped = state.edits.files.every((file) => file.status === 'skipped');
      return endOfWork(state, now, allSkipped ? 'skipped' : 'unchanged');
    }
    case 'refused': {
      const known = new Set(
        state.edits.files.filter(({ status }) => status === 'done').map(({ path }) => path),
      );
      const stranger = result.files.find((file) => !known.has(file.path));
      // Nothing that could be asked for again: building it again would go on for ever.
      if (result.files.length === 0 || stranger !== undefined) {
        const message = cut(
          state.input.rules,
          `build: ${stranger?.message ?? 'refused without a file'}`,
        );
        return asking(state, 'engine_failed', message);
      }
      return result.files.reduce<StepState>(
        (next, refused) => askForEntry(next, refused, now),
        state,
      );
    }
  }
}

/** A new proposal: verdicts on files whose base and result are the same stand. About failed files a person is asked first. */
function onProposal(state: StepState, proposal: ProposalSummary, now: number): StepState {
  // What an answer made that was asked for again, and that it makes no more, is no file of the step.
  const there = new Set([...appliedPaths(state), ...proposal.files.map(({ path }) => path)]);
  const isFile = ({ path, madeBy, status }: FileEntry): boolean =>
    madeBy === undefined || status === 'skipped' || there.has(path);
  const known = within(state, 'edits', { files: state.edits.files.filter(isFile) });
  const told = emit({ ...known, proposal }, now, {
    type: 'proposal_ready',
    proposal: proposal.id,
    file_count: proposal.files.length,
    ...linesChanged(proposal),
  });
  return wantsAudit(told, 'before_approval')
    ? { ...told, stage: { at: 'audit' } }
    : toReview(told, now);
}

export function onRebased(state: StepState, result: RebaseResult, now: number): StepState {
  const carried: StepState = { ...state, stage: { at: 'rebase', files: null } };
  const told = emit(carried, now, { type: 'rebased', clean: result.outcome !== 'conflict' });
  switch (result.outcome) {
    case 'built':
      return onProposal(told, withEarlierFindings(result.proposal, state.proposal), now);
    case 'empty':
      return endOfWork(told, now, 'unchanged');
    case 'conflict':
      return askConflict(told, { at: 'rebase', conflicts: result.conflicts }, now);
  }
}

/**
 * What was found in the edit, and the tolerances it needed, hold for the edit carried over: the reviewer sees them again, with the lines of
 * the merged file where its guard found them there, too.
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
