/** Pauses, resumes or stops the plan as a whole. The plan takes it up between phases. Pure. */
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import type { PlanFacts } from './protocol.js';
import type { PlanState } from './state.js';
import { readAfterWait } from './ways.js';

export function onControl(
  state: PlanState,
  { control, by: name }: PlanFacts['control_received'],
  currentTime_ms: number,
): PlanState {
  const { pausedBy, stopAfterPhase } = state.controls;
  switch (control) {
    case 'pause':
      if (pausedBy !== null) return state;
      return emit(within(state, 'controls', { pausedBy: name }), currentTime_ms, {
        type: 'plan_paused',
        by: name,
      });
    case 'resume':
      if (pausedBy === null && stopAfterPhase === null) return state;
      return readAfterWait(
        emit({ ...state, controls: { pausedBy: null, stopAfterPhase: null } }, currentTime_ms, {
          type: 'plan_resumed',
          by: name,
        }),
      );
    case 'stop':
      return emit(within(state, 'controls', { stopAfterPhase: name }), currentTime_ms, {
        type: 'plan_stop_wanted',
        by: name,
      });
  }
}
