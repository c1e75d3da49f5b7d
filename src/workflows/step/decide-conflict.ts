/** What a person's decision does to the step. Which decisions count is in shared/validate-decision.ts. Pure. */
import { within } from '../frame/machine.js';
import type { Answer, DecisionPoint, DecisionRequest } from '../../shared/decisions.js';
import { testsOfProposal } from './reduce-tests.js';
import { undecidedPaths, type FileEntry, type StepState } from './state.js';
import {
  close,
  endAfterRollback,
  endOfWork,
  lookAgain,
  regenerable,
  regenerateWith,
  resolveReview,
  withFiles,
} from './transitions.js';

/** `retry`, `manual` and `skip` where a decision is about the step as a whole. */
export function resolveCombined(
  state: StepState,
  request: DecisionRequest,
  now: number,
): StepState {
  const { stage, base } = state;
  const then = stage.at === 'roll_back' ? stage.then : null;
  const { outcome, problem } =
    then?.do === 'finish' ? then : ({ outcome: 'skipped', problem: null } as const);
  switch (request.answer) {
    case 'skip': {
      const skipped = withFiles(state, 'all', (file) => ({ ...file, status: 'skipped' }));
      return endAfterRollback(skipped, now, outcome, problem);
    }
    case 'manual': {
      // The step was ending and could not restore the files: the person has.
      if (then?.do === 'finish')
        return close(within(state, 'applied', { all: [] }), now, outcome, problem);
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

export const asManual = (file: FileEntry): FileEntry => ({
  ...file,
  status: 'done',
  manual: true,
  failure: null,
  verdict: null,
});

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

export function resolveConflict(
  state: StepState,
  open: DecisionPoint,
  request: DecisionRequest,
  now: number,
): StepState {
  if (state.stage.at === 'commit') {
    if (request.answer === 'rebase' && open.reason === 'hook_changed') return asLeft(state);
    // A checkout has no newer HEAD: the branch is looked at again.
    if (request.answer === 'rebase' && state.input.repository !== undefined)
      return {
        ...within(state, 'applied', { decision: open.n }),
        stage: { at: 'roll_back', then: { do: 'apply' } },
      };
    if (request.answer === 'rebase') return within(state, 'applied', { onto: open.n });
    const finish = { do: 'finish', outcome: 'skipped', problem: null } as const;
    return {
      ...state,
      stage: {
        at: 'roll_back',
        then: request.answer === 'regenerate' ? { do: 'new_base' } : finish,
      },
    };
  }
  const answered = (answer: Answer): readonly string[] =>
    open.files.map((file) => file.path).filter((path) => open.answered[path] === answer);
  const regenerate = answered('regenerate');
  // Anew from the files as they are; a file to be rebased beside them is found in conflict again, with the new proposal.
  if (regenerate.length > 0) return { ...lookAgain(state, regenerate), proposal: null };
  const files = answered('rebase');
  if (files.length > 0)
    return { ...within(state, 'applied', { decision: open.n }), stage: { at: 'rebase', files } };
  const left = resolveReview({ ...state, stage: { at: 'review' } }, now);
  return left.stage.at === 'review' ? endOfWork(left, now, 'skipped') : left;
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
