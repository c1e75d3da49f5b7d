/** What a person's decision does to the step. Which decisions count is in judge.ts. Pure. */
import type { Answer, DecisionPoint, DecisionRequest } from '../../shared/decisions.js';
import type { FileEntry, StepState } from './state.js';
import {
  askAgain,
  close,
  endAfterRollback,
  endOfWork,
  regenerable,
  regenerateAll,
  resolveReview,
  withFiles,
} from './transitions.js';

/** `retry`, `manual` and `skip` where a decision is about the step as a whole. */
export function resolveCombined(state: StepState, request: DecisionRequest, now: number): StepState {
  const ending = state.stage === 'rollback' && state.afterRollback === 'finish';
  switch (request.answer) {
    case 'skip':
      return endAfterRollback(
        withFiles(state, 'all', (file) => ({ ...file, status: 'skipped' })),
        now,
        ending ? (state.outcome ?? 'skipped') : 'skipped',
        ending ? state.problem : null,
      );
    case 'manual':
      // The step was ending and could not put the files back: the person has.
      if (ending) return close({ ...state, applications: [] }, now, state.outcome ?? 'skipped', state.problem);
      return {
        ...withFiles(state, 'all', (file) => (file.status === 'skipped' ? file : asManual(file))),
        stage: 'seal',
        whole: null,
        afterRollback: null,
      };
    default:
      return state.stage === 'pick' ? { ...state, pickDraw: state.pickDraw + 1 } : state;
  }
}

export const asManual = (file: FileEntry): FileEntry => ({
  ...file,
  status: 'done',
  manual: true,
  failure: null,
  verdict: null,
});

export function resolveConflict(
  state: StepState,
  open: DecisionPoint,
  request: DecisionRequest,
  now: number,
): StepState {
  const theirs = open.files.map((file) => file.path);
  if (state.conflictAt === 'commit') {
    // Bytes that a hook changes are a new proposal: the files as the hook left them.
    if (request.answer === 'rebase' && open.reason === 'hook_changed')
      return {
        ...withFiles(state, 'all', (file) =>
          // A verdict stands for a file that the hook left alone; what it changed nobody has reviewed yet.
          file.status === 'skipped' ? file : { ...asManual(file), verdict: file.verdict, unreviewed: true },
        ),
        conflictAt: null,
        stage: 'seal',
      };
    if (request.answer === 'rebase') return { ...state, ontoCurrent: open.n, conflictAt: null };
    const after = request.answer === 'regenerate' ? ('new_base' as const) : ('finish' as const);
    return {
      ...state,
      stage: 'rollback',
      afterRollback: after,
      outcome: after === 'finish' ? 'skipped' : null,
      conflictAt: null,
    };
  }
  const answered = (answer: Answer): readonly string[] => theirs.filter((path) => open.answered[path] === answer);
  const regenerate = answered('regenerate');
  // Anew from the files as they are; a file to be rebased beside them is found in conflict again, with the new proposal.
  if (regenerate.length > 0)
    return {
      ...state,
      stage: 'preflight',
      snapshotNumber: state.snapshotNumber + 1,
      snapshotOnly: regenerate,
      proposal: null,
      conflictAt: null,
    };
  const rebase = answered('rebase');
  if (rebase.length > 0)
    return { ...state, stage: 'rebase', rebaseFiles: rebase, approvalNumber: open.n, conflictAt: null };
  const left = resolveReview({ ...state, stage: 'review', conflictAt: null }, now);
  return left.stage === 'review' ? endOfWork(left, now, 'skipped') : left;
}

export function resolveTestsFailed(
  state: StepState,
  open: DecisionPoint,
  request: DecisionRequest,
  now: number,
): StepState {
  const fresh = { ...state, failedVerifications: 0, lastSignature: null };
  switch (request.answer) {
    case 'revise':
      return revise(fresh, request.note ?? null);
    case 'keep': {
      // What was approved with an earlier proposal (before a conflict) is sealed with the last one again.
      const last = new Set(state.proposal?.files.map((file) => file.path));
      const earlier = regenerable(state).some((path) => !last.has(path));
      return { ...state, stage: earlier ? 'seal' : 'apply', approvalNumber: open.n, incomplete: true };
    }
    default:
      return resolveCombined(fresh, request, now);
  }
}

/** Asked for again with the note and what the tests said; what a person changed by hand becomes the new base of those files. */
function revise(state: StepState, note: string | null): StepState {
  const change = { note, refusal: state.failureOutput };
  const theirs = state.files.filter((file) => file.manual && file.status === 'done').map((file) => file.path);
  const again = regenerateAll(state, change);
  if (theirs.length === 0) return again;
  return {
    ...withFiles(again, theirs, (file) => askAgain(file, change)),
    stage: 'preflight',
    snapshotNumber: state.snapshotNumber + 1,
    snapshotOnly: theirs,
  };
}
