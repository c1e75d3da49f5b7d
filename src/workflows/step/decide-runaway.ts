/** Carries out the answers to `runaway`: continue, change the model, revise, stop. Pure. */
import type { DecisionRequest } from '../../shared/decisions.js';
import { within } from '../frame/machine.js';
import { resolveCombined } from './decide-conflict.js';
import { askFailedAgain } from './retry.js';
import { asksOverEstimate, sameFailure } from './runaway.js';
import { isUnfinished, type FileEntry, type StepState } from './state.js';
import { endAfterRollback, withFiles } from './transitions.js';

/** Carries out the answer. After another model or a note the run may ask about the same failure again. It asks about the estimate once. */
export function resolveRunaway(
  state: StepState,
  request: DecisionRequest,
  currentTime_ms: number,
): StepState {
  const overEstimate = state.answered.overEstimate || asksOverEstimate(state);
  const sameFailed = state.answered.sameFailure || sameFailure(state) !== null;
  const answeredState: StepState = { ...state, answered: { ...state.answered, overEstimate } };
  switch (request.answer) {
    case 'change_model':
    case 'revise': {
      const isFailed = ({ status }: FileEntry): boolean => status === 'failed';
      const again = state.edits.files.filter((file) => isFailed(file) || isUnfinished(file));
      return askFailedAgain(
        answeredState,
        again.map(({ path }) => path),
        request,
      );
    }
    case 'skip':
      return stop(answeredState, request, currentTime_ms);
    default:
      return {
        ...answeredState,
        answered: { ...answeredState.answered, sameFailure: sameFailed },
      };
  }
}

/** Skips the unfinished files. The finished ones go to review; if there are none, or at an audit, the run ends and restores what it applied. */
function stop(state: StepState, request: DecisionRequest, currentTime_ms: number): StepState {
  if (state.stage.at !== 'propose') return resolveCombined(state, request, currentTime_ms);
  const rest = withFiles(within(state, 'edits', { combined: null }), 'all', (file) =>
    file.status === 'done' ? file : { ...file, status: 'skipped' },
  );
  return rest.edits.files.some(({ status }) => status === 'done')
    ? rest
    : endAfterRollback(rest, currentTime_ms, 'skipped');
}
