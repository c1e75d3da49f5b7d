/** What the answers to `runaway` do: go on, change the model, revise, stop. Pure. */
import type { DecisionRequest } from '../../shared/decisions.js';
import { within } from '../frame/machine.js';
import { resolveCombined } from './decide-conflict.js';
import { askFailedAgain } from './retry.js';
import { asksOverEstimate, sameFailure } from './runaway.js';
import { isUnfinished, type FileEntry, type StepState } from './state.js';
import { endAfterRollback, withFiles } from './transitions.js';

/** After another model or a note, the same failure is asked about again; the estimate is asked about once. */
export function resolveRunaway(state: StepState, request: DecisionRequest, now: number): StepState {
  const overEstimate = state.answered.overEstimate || asksOverEstimate(state);
  const sameFailed = state.answered.sameFailure || sameFailure(state) !== null;
  const told: StepState = { ...state, answered: { ...state.answered, overEstimate } };
  switch (request.answer) {
    case 'change_model':
    case 'revise': {
      const isFailed = ({ status }: FileEntry): boolean => status === 'failed';
      const again = state.edits.files.filter((file) => isFailed(file) || isUnfinished(file));
      return askFailedAgain(
        told,
        again.map(({ path }) => path),
        request,
      );
    }
    case 'skip':
      return stop(told, request, now);
    default:
      return { ...told, answered: { ...told.answered, sameFailure: sameFailed } };
  }
}

/** What is done goes to review; without it the run ends. */
function stop(state: StepState, request: DecisionRequest, now: number): StepState {
  if (state.stage.at !== 'propose') return resolveCombined(state, request, now);
  const rest = withFiles(within(state, 'edits', { combined: null }), 'all', (file) =>
    file.status === 'done' ? file : { ...file, status: 'skipped' },
  );
  return rest.edits.files.some(({ status }) => status === 'done')
    ? rest
    : endAfterRollback(rest, now, 'skipped');
}
