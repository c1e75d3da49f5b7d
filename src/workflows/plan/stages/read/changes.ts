/** What a later reading of the plan changes, and what the answer to it does. Pure. */
import type { PhaseReading, ReadyPlan } from '../../../../shared/plan.js';
import { within } from '../../../frame/machine.js';
import { isDone } from '../../selectors.js';
import type { PhaseEntry, PlanState, Reading } from '../../state.js';
import { askAbout } from '../../ways.js';
import { closedBy, entryOf } from './entry.js';
import { checkMarkers } from './markers.js';

/** Checks the markers, then asks if unfinished work was changed. Finished work may be reworded. */
export function onLaterReading(
  state: PlanState,
  known: ReadyPlan,
  result: ReadyPlan,
  currentTime_ms: number,
): PlanState {
  const { texts, settings, level, hash, notes = [] } = result;
  const renew = state.stage.at === 'reading' && state.stage.renew;
  const plan = renew ? { ...known, texts, settings } : known;
  const next = checkMarkers(state, plan, result, currentTime_ms);
  if (next.ask !== null) return next;
  if (hash === plan.hash) return next;
  const changes = changesOf(state, plan, result);
  if (changes.length === 0)
    return within(next, 'reading', { plan: { ...plan, level, hash, notes } });
  const message = `unfinished work was changed in the document: ${changes.join('; ')}`;
  return askAbout(within(next, 'reading', { changed: result }), null, 'plan_changed', message);
}

/** Returns in words how unfinished work differs between two readings. */
function changesOf(state: PlanState, plan: ReadyPlan, result: ReadyPlan): readonly string[] {
  const before = new Map(plan.phases.map((phase) => [phase.id, phase]));
  const after = new Set(result.phases.map(({ id }) => id));
  const open = new Set(state.phases.filter((phase) => !isDone(phase)).map(({ id }) => id));
  const isDue = (id: string): boolean => after.has(id) && open.has(id);
  const waits = ({ dependsOn }: PhaseReading): string => dependsOn.filter(isDue).join();
  return [
    ...result.phases.flatMap((phase) => {
      const old = before.get(phase.id);
      if (old === undefined) return [`Phase ${phase.number} (${phase.name}) is new`];
      if (!open.has(phase.id)) return [];
      const renamed = old.name === phase.name ? '' : `, now ${phase.name}`;
      return [
        ...(old.text === phase.text
          ? []
          : [`the text of Phase ${phase.number} (${old.name}${renamed}) changed`]),
        ...(waits(old) === waits(phase) ? [] : [`Phase ${phase.number} has other dependencies`]),
      ];
    }),
    ...plan.phases
      .filter(({ id }) => open.has(id) && !after.has(id))
      .map(({ number, name }) => `Phase ${number} (${name}) was removed`),
  ];
}

/** `take_new`: phases keep what became of them, new ones wait, open ones that are gone are dropped. Otherwise the plan asks again only after another change. */
export function resolveChanged(state: PlanState, takeNew: boolean): PlanState {
  const { plan, changed } = state.reading;
  if (plan === null || changed === null) return state;
  if (!takeNew)
    return within(state, 'reading', { changed: null, plan: { ...plan, hash: changed.hash } });
  const gone = state.phases.filter(
    (phase) => isDone(phase) && !changed.phases.some(({ id }) => id === phase.id),
  );
  const phases = takenOver(state, changed, true);
  return {
    ...within(state, 'reading', { changed: null, plan: changed }),
    phases: [...gone.map((phase) => ({ ...phase, marked: true })), ...phases],
  };
}

/** Returns the phases of a reading: what is known of a phase stays, new ones begin with `counts`. `isRescored`: also phases of the same text get a new score. */
function takenOver(
  state: PlanState,
  { phases }: ReadyPlan,
  isRescored: boolean,
  counts: Partial<PhaseEntry> = {},
): readonly PhaseEntry[] {
  const known = new Map(state.phases.map((phase) => [phase.id, phase]));
  return phases.map((phase) => {
    const old = known.get(phase.id);
    if (old === undefined) return { ...entryOf(phase), ...counts };
    if (isDone(old)) return { ...old, ...phase };
    const { complexity } = isRescored || old.text !== phase.text ? entryOf(phase) : old;
    return { ...old, ...phase, complexity, ...closedBy(phase) };
  });
}

/** Takes over the plan as a replan of this run has changed it. */
export function inherited(
  state: PlanState,
  counts: NonNullable<Reading['inherit']>,
  result: ReadyPlan,
): PlanState {
  const read = within(within(state, 'reading', { plan: result }), 'group', { ids: [] });
  return { ...read, phases: takenOver(state, result, false, counts), stage: { at: 'choosing' } };
}
