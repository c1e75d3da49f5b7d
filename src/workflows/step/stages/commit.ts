/** Commits the change, or only unlocks the workspace if no commit is wanted. */
import { sentence } from '../../../shared/problems.js';
import type { CommitResult } from '../../../shared/proposal-activities.js';
import { cut } from '../../../shared/rules.js';
import { asking } from '../../frame/decisions/asking.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import { askAboutSandbox, askForConsent, withoutOnce } from '../commands.js';
import type { StepState } from '../state.js';
import { close } from '../ways.js';
import { askConflict } from './apply.js';

export function onCommitted(before: StepState, result: CommitResult, now: number): StepState {
  if (result.outcome === 'no_sandbox') return askForConsent(before, result);
  const state = withoutOnce(before);
  switch (result.outcome) {
    case 'committed': {
      const { commit, note, marks } = result;
      const made = { ...state, ...(marks === true ? { marks } : {}), commit };
      return close(emit(made, now, { type: 'committed', commit, note }), now, 'committed');
    }
    case 'sandbox_blocks':
      return askAboutSandbox(state, result);
    case 'nothing':
      return close(state, now, 'unchanged');
    case 'conflict': {
      const { staged, reason } = result;
      const held = staged === undefined ? state : within(state, 'applied', { staged });
      return askConflict(
        held,
        { at: 'commit', conflicts: [{ path: '(commit)', why: result.why }], reason },
        now,
      );
    }
    case 'failed':
      return asking(state, 'engine_failed', cut(state.input.rules, sentence(result.problem)));
  }
}
