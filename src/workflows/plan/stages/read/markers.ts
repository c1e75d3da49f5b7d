/** Checks after each reading whether the document marks the phases that are done. A lost mark is written again. Pure. */
import type { PhaseReading, ReadyPlan } from '../../../../shared/plan.js';
import type { SamePlan } from '../../../../shared/plan-activities.js';
import { emit } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { isDone } from '../../selectors.js';
import type { PhaseEntry, PlanState } from '../../state.js';
import { askAbout } from '../../ways.js';

type FoundPhase = SamePlan['phases'][number] | PhaseReading;

export function checkMarkers(
  state: PlanState,
  plan: ReadyPlan,
  result: SamePlan | ReadyPlan,
  currentTime_ms: number,
): PlanState {
  const found = new Map<string, FoundPhase>(result.phases.map((phase) => [phase.id, phase]));
  const lost = state.phases.filter((phase) => isMarkLost(phase, found.get(phase.id)));
  const lostOnes = new Set(lost);
  const phases = state.phases.map((phase) =>
    foundPhase(phase, found.get(phase.id), lostOnes.has(phase)),
  );
  const read = within({ ...state, phases }, 'reading', { plan: { ...plan, level: result.level } });
  const checked = emit(within(read, 'group', { ids: [] }), currentTime_ms, {
    type: 'markers_checked',
    lost: lost.map(({ number }) => number),
  });
  const next: PlanState = { ...checked, stage: { at: lost.length > 0 ? 'marking' : 'choosing' } };
  const gone = phases.find(({ marked, marksLost }) => !marked && marksLost > plan.lostMarks);
  return gone === undefined ? next : askLostMark(next, gone);
}

const isMarkLost = (phase: PhaseEntry, found: FoundPhase | undefined): boolean =>
  isDone(phase) &&
  phase.marked &&
  !phase.markSkipped &&
  phase.why?.startsWith('the run started') !== true &&
  found?.marker === null;

/** Returns the phase with what the document says of it now. */
function foundPhase(phase: PhaseEntry, found: FoundPhase | undefined, isLost: boolean): PhaseEntry {
  if (found === undefined) return { ...phase, gone: true };
  const { number, expanded, tasks, marker } = found;
  // The new name of a phase that is done counts. The plan asks about the name of an open one.
  const name = isDone(phase) && 'name' in found ? found.name : phase.name;
  return {
    ...phase,
    gone: false,
    name,
    number,
    expanded,
    tasks: { ...phase.tasks, ...tasks },
    marker,
    ...(isLost ? { marked: false, marksLost: phase.marksLost + 1 } : {}),
  };
}

/** Asks instead of writing a mark that another program removes each time. */
function askLostMark(state: PlanState, { id, number, name, marksLost }: PhaseEntry): PlanState {
  const message = `the mark of Phase ${number} (${name}) was written ${marksLost} times but disappears from ${state.input.planPath} each time: a hook, a formatter or another program removes it`;
  return askAbout(state, id, 'engine_failed', message);
}
