/** Commands of the step that did not run: they wait for their turn, or for a consent to run without a sandbox. Pure. */
import type { ActivityName } from '../../shared/activities.js';
import type { NoSandbox, SandboxBlocks } from '../../shared/proposal-activities.js';
import { cut } from '../../shared/rules.js';
import { asking } from '../frame/decisions/asking.js';
import { emit } from '../frame/log.js';
import type { StepState } from './state.js';

/** Reports commands that got no turn. The activity has waited, so the same effect comes next. */
export const onNoTurn = (
  state: StepState,
  activity: ActivityName,
  currentTime_ms: number,
): StepState =>
  emit(state, currentTime_ms, {
    type: 'warning',
    message: `${activity} is waiting for its turn: commands of other runs are running`,
  });

/** Asks for a consent to run the next commands without a sandbox. They did not run. */
export const askForConsent = (state: StepState, { why: reason }: NoSandbox): StepState =>
  asking(
    state,
    'sandbox_unavailable',
    cut(state.input.rules, `there is no sandbox for the next commands: ${reason}`),
  );

/** Asks about a sandbox that stops the commands. As far as is known, nothing is wrong with the change. */
export const askAboutSandbox = (state: StepState, { why: reason }: SandboxBlocks): StepState =>
  asking(state, 'sandbox_blocks_tests', cut(state.input.rules, reason));

/** Drops a consent that was given for the last commands alone. */
export const withoutOnce = (state: StepState): StepState => {
  if (state.sandbox?.without !== 'once') return state;
  const { reread } = state.sandbox;
  return { ...state, sandbox: reread === undefined ? {} : { reread } };
};
