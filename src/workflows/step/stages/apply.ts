/** Apply: writes the approved files, asks about conflicts, and restores the files on a way back. */
import type { Answer } from '../../../shared/decisions.js';
import { sentence } from '../../../shared/problems.js';
import type {
  ApplyResult,
  ConflictFile,
  HeldLock,
  ProposalSummary,
  RollbackResult,
} from '../../../shared/proposal-activities.js';
import { cut } from '../../../shared/rules.js';
import { asking } from '../../frame/decisions/asking.js';
import { busyWait_ms, emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import type { Decide, Effect, Next, On, Resolution } from '../protocol.js';
import { isLast, pathsToApply, verifiesAfterApply, wantsBase, wantsCommit } from '../selectors.js';
import { NO_BASE_MOVES, type StepState } from '../state.js';
import {
  afterApply,
  afterRollback,
  close,
  endOfWork,
  lookAgain,
  resolveReview,
  waitToApply,
} from '../ways.js';
import { testsBefore } from './verify/tests.js';

export const next: Next<'apply' | 'roll_back'> = {
  apply: applyEffect,
  roll_back: () => ({ kind: 'roll_back' }),
};

export const on: On<'applied' | 'rolled_back'> = {
  applied: (state, { result }, currentTime_ms) => onApplied(state, result, currentTime_ms),
  rolled_back: (state, { result }, currentTime_ms) => onRolledBack(state, result, currentTime_ms),
};

export const decide: Decide<'conflict'> = {
  conflict: resolveConflict,
};

/** Waits for a locked workspace, runs the tests that are still to run, then applies. */
function applyEffect(state: StepState): Effect {
  const busy = state.stage.at === 'apply' ? state.stage.busy : null;
  if (busy?.waiting === true)
    return { kind: 'wait', ms: busyWait_ms(state.input.timings.lockPoll_ms, busy.tries) };
  if (wantsBase(state)) return { kind: 'try_base', beside: null };
  const files = pathsToApply(state);
  return (
    testsBefore(state, files, true) ?? {
      kind: 'apply',
      files,
      releaseAfter: !verifiesAfterApply(state) && isLast(state),
    }
  );
}

function onApplied(before: StepState, result: ApplyResult, currentTime_ms: number): StepState {
  const state = within(before, 'applied', { uncertain: null });
  const { proposal } = state;
  if (proposal === null) return state;
  switch (result.outcome) {
    case 'applied':
      return afterApply(withApplication(state, proposal, result, currentTime_ms), currentTime_ms);
    case 'conflict':
      return askConflict(
        withApplication(state, proposal, result, currentTime_ms),
        { place: 'apply', conflicts: result.conflicts },
        currentTime_ms,
      );
    case 'busy':
      return waitToApply(withoutUnboundPass(state), result, currentTime_ms);
    case 'base_changed':
      return askConflict(state, { place: 'apply', conflicts: result.conflicts }, currentTime_ms);
    case 'already_committed':
      return onAlreadyCommitted(state, result, currentTime_ms);
    case 'base_moved':
      return onBaseMoved(state, { proposal, otherLock: result.otherLock }, currentTime_ms);
    case 'failed':
      return asking(state, 'engine_failed', cut(state.input.rules, sentence(result.problem)));
  }
}

/** Goes on to the commit of the run, which is there: its activity finds it under its lock. A job that wants no commit now ends unchanged. */
const onAlreadyCommitted = (
  state: StepState,
  { lock, applications: all }: Extract<ApplyResult, { outcome: 'already_committed' }>,
  currentTime_ms: number,
): StepState =>
  wantsCommit(state)
    ? { ...within(state, 'applied', { lock, all }), stage: { at: 'commit' } }
    : close(state, currentTime_ms, 'unchanged');

/** Records the files that were written, with the lock. After a conflict these are the files without one. */
function withApplication(
  state: StepState,
  proposal: ProposalSummary,
  { files, lock }: Extract<ApplyResult, { outcome: 'applied' | 'conflict' }>,
  currentTime_ms: number,
): StepState {
  const { all, decision } = state.applied;
  const application = { proposal: proposal.ref, decision, files };
  const change = {
    lock: lockAfter(state, lock),
    all: files.length === 0 ? all : [...all, application],
  };
  const applied: StepState = {
    ...within(within(state, 'applied', change), 'tests', NO_BASE_MOVES),
    stage: { at: 'apply', busy: null },
  };
  return emit(applied, currentTime_ms, {
    type: 'applied',
    file_count: files.length,
    proposal: proposal.id,
  });
}

/** Forgets a pass on a base without a hash. The workspace is locked by another run, which may change its files. */
const withoutUnboundPass = (state: StepState): StepState =>
  state.tests.proposed?.result.baseHash === null
    ? within(state, 'tests', { proposed: null })
    : state;

const BASE_MOVES = 3; // bound: Test runs in a row that a change of other files makes void, before the reviewer is asked.

const BASE_MOVES_BY_RUNS = 10; // bound: Test runs in a row that other runs in the workspace make void, before the reviewer is asked.

/**
 * Has the tests run again right before the apply, as other files changed since they passed. After some rounds the reviewer is asked. Runs that
 * work in one workspace move its base for each other, and each of them ends, so they get more rounds.
 */
function onBaseMoved(
  state: StepState,
  { proposal, otherLock }: { proposal: ProposalSummary; otherLock: number | null },
  currentTime_ms: number,
): StepState {
  const { tests } = state;
  const isByRun = otherLock !== null && otherLock > (tests.otherLock ?? 0);
  const baseMoves = tests.baseMoves + (isByRun ? 0 : 1);
  const movesByRuns = tests.movesByRuns + (isByRun ? 1 : 0);
  const untested = within(state, 'tests', { proposed: null, baseMoves, movesByRuns, otherLock });
  if (baseMoves < BASE_MOVES && movesByRuns < BASE_MOVES_BY_RUNS) {
    const message = 'files changed since the tests passed: the tests run again before the apply';
    return emit(untested, currentTime_ms, { type: 'warning', message });
  }
  const reason = `other files of the workspace changed ${baseMoves + movesByRuns} times between the tests and the apply; \`rebase\` tests again`;
  const conflicts = proposal.files.map(({ path }) => ({ path, why: reason }));
  return askConflict(
    within(untested, 'tests', NO_BASE_MOVES),
    { place: 'apply', conflicts },
    currentTime_ms,
  );
}

/** Returns the lock for the commit: the HEAD of the first application, which will be its parent, with the token of the newest lock. */
const lockAfter = ({ applied: { all, lock } }: StepState, newest: HeldLock): HeldLock =>
  all.length === 0 || lock === null ? newest : { ...lock, token: newest.token };

/** Files in conflict, and the place that found them. */
interface Conflict {
  readonly place: 'apply' | 'commit' | 'rebase';
  readonly conflicts: readonly ConflictFile[];
  readonly reason?: 'conflict' | 'hook_changed';
}

/** Reports the files in conflict, and asks what to do about each. */
export function askConflict(
  state: StepState,
  { place, conflicts, reason = 'conflict' }: Conflict,
  currentTime_ms: number,
): StepState {
  const files = conflicts.map((conflict) => ({
    path: conflict.path,
    reason,
    message: cut(state.input.rules, conflict.why),
  }));
  const message = cut(state.input.rules, files.map((file) => withPath(file)).join('; '));
  const nextState = emit(state, currentTime_ms, {
    type: 'conflict',
    files: files.map((file) => file.path),
    where: place,
  });
  return { ...nextState, ask: { reason, message, files, subject: null } };
}

/** Begins the message with its path, unless it does already. */
const withPath = ({ path, message }: { readonly path: string; readonly message: string }): string =>
  message.startsWith(path) ? message : `${path}: ${message}`;

/** Takes up the answers to a conflict that an apply or a rebase found. */
function resolveConflict(
  state: StepState,
  { decision }: Resolution,
  currentTime_ms: number,
): StepState {
  const pathsAnswered = (answer: Answer): readonly string[] =>
    decision.files.map((file) => file.path).filter((path) => decision.answered[path] === answer);
  const regenerate = pathsAnswered('regenerate');
  // The model is asked again on the current files. A file to be rebased next to them comes up again as a conflict of the new proposal.
  if (regenerate.length > 0) return { ...lookAgain(state, regenerate), proposal: null };
  const files = pathsAnswered('rebase');
  if (files.length > 0)
    return {
      ...within(state, 'applied', { decision: decision.n }),
      stage: { at: 'rebase', files },
    };
  const rest = resolveReview({ ...state, stage: { at: 'review' } }, currentTime_ms);
  return rest.stage.at === 'review' ? endOfWork(rest, currentTime_ms, 'skipped') : rest;
}

/** Takes up restored files, and continues with what the rollback was for. */
export function onRolledBack(
  state: StepState,
  result: RollbackResult,
  currentTime_ms: number,
): StepState {
  const { stage } = state;
  // The commit activity moved the branch and then died. What is committed is not rolled back.
  if (result.commit !== undefined) {
    const committed = {
      ...within(state, 'applied', { uncertain: null, lock: null }),
      commit: result.commit,
    };
    const note = 'the commit had been made before the files were to be put back';
    return close(
      emit(committed, currentTime_ms, { type: 'committed', commit: result.commit, note }),
      currentTime_ms,
      'committed',
    );
  }
  const nextState = emit(
    within(state, 'applied', { all: [], uncertain: null, lock: null }),
    currentTime_ms,
    {
      type: 'rolled_back',
      file_count: result.files.length,
      leftAlone: result.leftAlone.map((file) => file.path),
    },
  );
  return stage.at === 'roll_back'
    ? afterRollback(nextState, stage.then, currentTime_ms)
    : close(nextState, currentTime_ms, 'aborted');
}
