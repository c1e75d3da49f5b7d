/** Read: reads the plan's documents, first and between groups of phases, and asks about what changed in them. */
import type { ReadPlanResult } from '../../../../shared/plan-activities.js';
import type { ReadyPlan } from '../../../../shared/plan.js';
import { sentence } from '../../../../shared/problems.js';
import { emit } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import type { Decide, Next, On } from '../../protocol.js';
import type { PlanState } from '../../state.js';
import { askAbout, closePlan, readAgain } from '../../ways.js';
import { inherited, onLaterReading, resolveChanged } from './changes.js';
import { onFirstReading, resumeOrBegin } from './first.js';
import { checkMarkers } from './markers.js';

export const next: Next<'reading'> = { reading: () => ({ kind: 'read' }) };

export const on: On<'plan_read'> = {
  plan_read: (state, { result }, currentTime_ms) => onPlanRead(state, result, currentTime_ms),
};

export const decide: Decide<'configuration' | 'resume' | 'plan_changed'> = {
  configuration: (state, { request }) =>
    request.answer === 'trust' ? trustConfiguration(state) : state,
  resume: (state, { request }, currentTime_ms) =>
    resumeOrBegin(state, request.answer === 'resume', currentTime_ms),
  plan_changed: (state, { request }) => resolveChanged(state, request.answer === 'take_new'),
};

export function onPlanRead(
  before: PlanState,
  result: ReadPlanResult,
  currentTime_ms: number,
): PlanState {
  const { plan } = before.reading;
  const state = withNotes(before, result, currentTime_ms);
  const reading = state.stage.at === 'reading' ? state.stage : { inherit: null, renew: false };
  switch (result.outcome) {
    case 'untrusted': {
      const doubtful = within(state, 'reading', { untrusted: result.hashes });
      return askAbout(doubtful, null, 'configuration', result.message);
    }
    case 'refused':
      if (plan === null) return closePlan(state, 'refused', currentTime_ms, result.problem);
      // Somebody broke the document while the plan runs. Once it is repaired, it is read under the next number.
      return askAbout(readAgain(state, reading), null, 'engine_failed', sentence(result.problem));
    case 'same': {
      // A reset brought back a reading that was made for another state: the plan is read again.
      const isOther = plan?.hash !== result.hash || reading.inherit !== null || reading.renew;
      return isOther
        ? readAgain(state, reading)
        : checkMarkers(state, plan, result, currentTime_ms);
    }
    case 'ready': {
      const titled = withTitle(state, result);
      if (plan === null) return onFirstReading(titled, result, currentTime_ms);
      return reading.inherit === null
        ? onLaterReading(titled, plan, result, currentTime_ms)
        : inherited(titled, reading.inherit, result);
    }
  }
}

/** Reports the notes that the reading before did not have. Their lines move as the document changes. */
function withNotes(state: PlanState, result: ReadPlanResult, currentTime_ms: number): PlanState {
  const notes = result.outcome === 'ready' ? (result.notes ?? []) : [];
  const inWords = (note: string): string => note.replace(/:\d+: /, ': ');
  const known = new Set(state.reading.plan?.notes?.map(inWords));
  return notes
    .filter((note) => !known.has(inWords(note)))
    .reduce(
      (nextState, message) => emit(nextState, currentTime_ms, { type: 'warning', message }),
      state,
    );
}

/** Names the run as its document does: the first activity reads no file of the workspace. */
function withTitle(state: PlanState, { title }: ReadyPlan): PlanState {
  return title === state.input.title ? state : within(state, 'input', { title });
}

/** Lets the next reading accept the contents that the question was about. */
function trustConfiguration(state: PlanState): PlanState {
  const { untrusted = [], trusts = [] } = state.reading;
  return within(state, 'reading', { trusts: [...trusts, ...untrusted], untrusted: [] });
}
