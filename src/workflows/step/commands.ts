/** Commands of the step that did not run: they wait for their turn, or need a consent to run without a sandbox. Pure. */
import type { ActivityName } from '../../shared/activities.js';
import type { NoSandbox, SandboxBlocks } from '../../shared/proposal-activities.js';
import { cut } from '../../shared/rules.js';
import { asking } from '../frame/decisions/asking.js';
import { emit } from '../frame/log.js';
import type { StepState } from './state.js';

/** The same move comes next: the wait was in the activity. */
export const onNoTurn = (
  state: StepState,
  activity: ActivityName,
  currentTime_ms: number,
): StepState =>
  emit(state, currentTime_ms, {
    type: 'warning',
    message: `${activity} is waiting for its turn: commands of other runs are running`,
  });

/** Nothing was run: a person is asked first. */
export const askForConsent = (state: StepState, { why }: NoSandbox): StepState =>
  asking(
    state,
    'sandbox_unavailable',
    cut(state.input.rules, `there is no sandbox for the next commands: ${why}`),
  );

/** Nothing is wrong with the change, as far as is known. */
export const askAboutSandbox = (state: StepState, { why }: SandboxBlocks): StepState =>
  asking(state, 'sandbox_blocks_tests', cut(state.input.rules, why));

/** A consent for once is used up. */
export const withoutOnce = (state: StepState): StepState => {
  if (state.sandbox?.without !== 'once') return state;
  const { reread } = state.sandbox;
  return { ...state, sandbox: reread === undefined ? {} : { reread } };
};
