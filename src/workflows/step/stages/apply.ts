/** Writes the approved files, asks about conflicts, and restores the files on a way back. */
import type { Answer, DecisionPoint, DecisionRequest } from '../../../shared/decisions.js';
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
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import type { Effect } from '../protocol.js';
import { isLast, pathsToApply, verifiesAfterApply, wantsCommit } from '../selectors.js';
import { NO_BASE_MOVES, type StepState } from '../state.js';
import {
  afterApply,
  afterRollback,
  asLeft,
  close,
  endOfWork,
  lookAgain,
  resolveReview,
  waitToApply,
} from '../ways.js';
import { testsBefore } from './verify/tests.js';

export function applyEffect(state: StepState): Effect {
  const files = pathsToApply(state);
  return (
    testsBefore(state, files, true) ?? {
      kind: 'apply',
      files,
      releaseAfter: !verifiesAfterApply(state) && isLast(state),
    }
  );
}

export function onApplied(before: StepState, result: ApplyResult, now: number): StepState {
  const state = within(before, 'applied', { uncertain: null });
  const { proposal } = state;
  if (proposal === null) return state;
  switch (result.outcome) {
    case 'applied':
    case 'conflict': {
      const { all, decision } = state.applied;
      const application = { proposal: proposal.ref, decision, files: result.files };
      const change = {
        lock: lockAfter(state, result.lock),
        all: result.files.length === 0 ? all : [...all, application],
      };
      const applied: StepState = {
        ...within(within(state, 'applied', change), 'tests', NO_BASE_MOVES),
        stage: { at: 'apply', busy: null },
      };
      const told = emit(applied, now, {
        type: 'applied',
        file_count: result.files.length,
        proposal: proposal.id,
      });
      return result.outcome === 'applied'
        ? afterApply(told, now)
        : askConflict(told, { at: 'apply', conflicts: result.conflicts }, now);
    }
    case 'busy':
      return waitToApply(withoutUnboundPass(state), result, now);
    case 'base_changed':
      return askConflict(state, { at: 'apply', conflicts: result.conflicts }, now);
    case 'already_committed':
      return onAlreadyCommitted(state, result, now);
    case 'base_moved':
      return onBaseMoved(state, { proposal, otherLock: result.otherLock }, now);
    case 'failed':
      return asking(state, 'engine_failed', cut(state.input.rules, sentence(result.problem)));
  }
}

/** The commit of the run is there: the commit activity finds it under its lock. A job that wants no commit any more ends without a change. */
const onAlreadyCommitted = (
  state: StepState,
  { lock, applications: all }: Extract<ApplyResult, { outcome: 'already_committed' }>,
  currentTime_ms: number,
): StepState =>
  wantsCommit(state)
    ? { ...within(state, 'applied', { lock, all }), stage: { at: 'commit' } }
    : close(state, currentTime_ms, 'unchanged');

/** A pass on a base without a hash holds for that moment only: the workspace is locked, so its files may change. */
const withoutUnboundPass = (state: StepState): StepState =>
  state.tests.proposed?.result.baseHash === null
    ? within(state, 'tests', { proposed: null })
    : state;

const BASE_MOVES = 3;

// bound: Test runs in a row that a change of other files makes void, before the reviewer is asked.
const BASE_MOVES_BY_RUNS = 10;

// bound: Test runs in a row that other runs in the workspace make void, before the reviewer is asked.

/**
 * Other files changed since the tests passed: the tests run again right before the apply. Runs that work in one workspace move its base
 * for each other, and each of them comes to its end: that is no question for the reviewer until there is no end of it.
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
    { at: 'apply', conflicts },
    currentTime_ms,
  );
}

/** The commit's parent is HEAD as it was at the first application; the lock that is held is the newest. */
const lockAfter = ({ applied: { all, lock } }: StepState, newest: HeldLock): HeldLock =>
  all.length === 0 || lock === null ? newest : { ...lock, token: newest.token };

interface Conflict {
  readonly at: 'apply' | 'commit' | 'rebase';
  readonly conflicts: readonly ConflictFile[];
  readonly reason?: 'conflict' | 'hook_changed';
}

export function askConflict(
  state: StepState,
  { at, conflicts, reason = 'conflict' }: Conflict,
  now: number,
): StepState {
  const files = conflicts.map((conflict) => ({
    path: conflict.path,
    reason,
    message: cut(state.input.rules, conflict.why),
  }));
  const message = cut(state.input.rules, files.map((file) => withPath(file)).join('; '));
  const told = emit(state, now, {
    type: 'conflict',
    files: files.map((file) => file.path),
    where: at,
  });
  return { ...told, ask: { reason, message, files, subject: null } };
}

/** A reason that names its file already is not told the name twice. */
const withPath = ({ path, message }: { readonly path: string; readonly message: string }): string =>
  message.startsWith(path) ? message : `${path}: ${message}`;

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

export function onRolledBack(state: StepState, result: RollbackResult, now: number): StepState {
  const { stage } = state;
  // The branch had moved before the step was ended (its commit activity died after that): what is committed is not taken back.
  if (result.commit !== undefined) {
    const committed = {
      ...within(state, 'applied', { uncertain: null, lock: null }),
      commit: result.commit,
    };
    const note = 'the commit had been made before the files were to be put back';
    return close(
      emit(committed, now, { type: 'committed', commit: result.commit, note }),
      now,
      'committed',
    );
  }
  const told = emit(within(state, 'applied', { all: [], uncertain: null, lock: null }), now, {
    type: 'rolled_back',
    file_count: result.files.length,
    leftAlone: result.leftAlone.map((file) => file.path),
  });
  return stage.at === 'roll_back'
    ? afterRollback(told, stage.then, now)
    : close(told, now, 'aborted');
}
