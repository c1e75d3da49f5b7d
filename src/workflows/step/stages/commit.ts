/** Commit: commits the change, or only unlocks the workspace if no commit is wanted. */
import { sentence } from '../../../shared/problems.js';
import type { CommitResult } from '../../../shared/proposal-activities.js';
import { cut } from '../../../shared/rules.js';
import { asking } from '../../frame/decisions/asking.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import { askAboutSandbox, askForConsent, onNoTurn, withoutOnce } from '../commands.js';
import type { Decide, Next, On, Resolution } from '../protocol.js';
import type { StepState } from '../state.js';
import { asLeft, close } from '../ways.js';
import { askConflict } from './apply.js';

export const next: Next<'commit' | 'release'> = {
  commit: () => ({ kind: 'commit' }),
  release: () => ({ kind: 'release' }),
};

export const on: On<'committed' | 'released'> = {
  committed: (state, { result }, currentTime_ms) =>
    result.outcome === 'busy'
      ? onNoTurn(state, 'commit', currentTime_ms)
      : onCommitted(state, result, currentTime_ms),
  released: (state, _, currentTime_ms) => close(state, currentTime_ms, 'applied'),
};

export const decide: Decide<'conflict' | 'hook_changed'> = {
  conflict: resolveConflict,
  hook_changed: resolveConflict,
};

function onCommitted(before: StepState, result: CommitResult, currentTime_ms: number): StepState {
  if (result.outcome === 'no_sandbox') return askForConsent(before, result);
  const state = withoutOnce(before);
  switch (result.outcome) {
    case 'committed': {
      const { commit, note, marks } = result;
      const committed = { ...state, ...(marks === true ? { marks } : {}), commit };
      return close(
        emit(committed, currentTime_ms, { type: 'committed', commit, note }),
        currentTime_ms,
        'committed',
      );
    }
    case 'sandbox_blocks':
      return askAboutSandbox(state, result);
    case 'nothing':
      return close(state, currentTime_ms, 'unchanged');
    case 'conflict': {
      const { staged, reason } = result;
      const nextState = staged === undefined ? state : within(state, 'applied', { staged });
      return askConflict(
        nextState,
        { place: 'commit', conflicts: [{ path: '(commit)', why: result.why }], reason },
        currentTime_ms,
      );
    }
    case 'failed':
      return asking(state, 'engine_failed', cut(state.input.rules, sentence(result.problem)));
  }
}

/** Takes up the answer to a conflict at the commit, or to files that a hook changed. The change is applied, and not committed. */
function resolveConflict(
  state: StepState,
  { decision, request: { answer } }: Resolution,
): StepState {
  if (answer !== 'rebase') {
    const finish = { do: 'finish', outcome: 'skipped', problem: null } as const;
    return {
      ...state,
      stage: { at: 'roll_back', then: answer === 'regenerate' ? { do: 'new_base' } : finish },
    };
  }
  if (decision.reason === 'hook_changed') return asLeft(state);
  // The commit is made on the current HEAD of a directory.
  if (state.input.repository === undefined) return within(state, 'applied', { onto: decision.n });
  // A checkout has no newer HEAD, so the change is applied again on the current branch.
  return {
    ...within(state, 'applied', { decision: decision.n }),
    stage: { at: 'roll_back', then: { do: 'apply' } },
  };
}
