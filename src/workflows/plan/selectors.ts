/** Answers questions about the state of a plan. Pure. */
import type { PhaseId, PhaseMarker, ReadyPlan, Report } from '../../shared/plan.js';
import type { PhaseEntry, PlanState, Revising } from './state.js';

export const phaseOf = (state: PlanState, id: PhaseId): PhaseEntry => {
  const found = state.phases.find((phase) => phase.id === id);
  if (found === undefined) throw new Error(`the plan has no phase ${id}`);
  return found;
};

/** Is nothing left to do for it? */
export const isDone = ({ status }: PhaseEntry): boolean =>
  status === 'completed' || status === 'incomplete' || status === 'skipped';

export const groupOf = (state: PlanState): readonly PhaseEntry[] =>
  state.group.ids.map((id) => phaseOf(state, id));

/** Do phases run side by side? Where none declares dependencies they come one after the other anyway. */
export const inWaves = ({ input, reading }: PlanState): boolean =>
  input.options.mode === 'waves' ||
  (input.options.mode === 'auto' && reading.plan?.declared === true);

/** Phases that are still to be done. */
export const openOf = ({ phases }: Pick<PlanState, 'phases'>): readonly PhaseEntry[] =>
  phases.filter((phase) => !isDone(phase));

/** Returns the commands that test a phase, or several that ran side by side. */
export const commandsOf = ({ tests }: PlanState, ids: readonly PhaseId[]): readonly string[] => [
  ...new Set(ids.flatMap((id) => tests.own?.[id] ?? tests.commands)),
];

const isListed = (phase: PhaseEntry): boolean => phase.gone !== true || !isDone(phase);
/** Phases without those that are done and were removed from the document since. */
export const listedOf = ({ phases }: Pick<PlanState, 'phases'>): readonly PhaseEntry[] =>
  phases.filter(isListed);

/** Returns which of how many phases it is in the document that its number is from, and how many of those are completed. */
export function placeOf(
  state: PlanState,
  { id }: PhaseEntry,
): Readonly<Record<'place' | 'total' | 'done', number>> {
  // The phase itself is one of them until it is marked.
  const listed = state.phases.filter((phase) => phase.id === id || isListed(phase));
  const done = listed.filter(({ status }) => status === 'completed').length;
  return { place: listed.findIndex((phase) => phase.id === id) + 1, total: listed.length, done };
}

export const markerOf = ({ status }: PhaseEntry): PhaseMarker =>
  status === 'skipped' || status === 'incomplete' ? status : 'completed';

/** Phases whose mark is missing in the document. */
export const unmarkedOf = (state: PlanState): readonly PhaseEntry[] =>
  state.phases.filter((phase) => isDone(phase) && !phase.marked);

/** Does its mark wait for another commit? The next phase that runs alone includes it; the marks of a wave are one commit, and so are the last. */
export const isHeld = (state: PlanState, id: PhaseId): boolean => {
  if (unmarkedOf(state).some((phase) => phase.id !== id)) return true;
  const goesOn =
    state.controls.stopAfterPhase === null && state.phases.some((phase) => !isDone(phase));
  return goesOn && state.worktrees.made.length === 0;
};

/** Is the trigger a report of somebody? */
export const isReport = (trigger?: string): trigger is Report['trigger'] =>
  trigger === 'scope_drift' || trigger === 'person';

/** Returns the reports that wait, with the one that the plan takes up now. */
export function reportsOf({ revision: { current, drifts } }: PlanState): readonly Report[] {
  const { trigger, words: text = '' } = current ?? {};
  return isReport(trigger) ? [{ trigger, text, by: 'a person' }, ...drifts] : drifts;
}

/** Phases that a report may change: nothing of them is committed, and they may be replanned. */
const changeable = (state: PlanState): readonly PhaseEntry[] =>
  openOf(state).filter(
    ({ commits, replans }) =>
      commits.length === 0 && replans < (state.reading.plan?.thresholds.replanLimit ?? Infinity),
  );

/** Returns the phase that a report is judged for: the next that it may change. If all are done it is the last, as a new one may follow it. */
export function reportedFor(state: PlanState, group: readonly PhaseId[]): PhaseId {
  const open = changeable(state).map(({ id }) => id);
  return (
    group.find((id) => open.includes(id)) ?? open[0] ?? group[0] ?? state.phases.at(-1)?.id ?? ''
  );
}

/** Returns what a model may propose for a trigger. If all phases are done, a report can lead to a new phase and to nothing else. */
export function choicesOf(state: PlanState, { phase, trigger, actions }: Revising) {
  if (isDone(phaseOf(state, phase))) return { actions: ['add_phase'], others: [] };
  return {
    actions,
    others: isReport(trigger) ? changeable(state).filter(({ id }) => id !== phase) : [],
  };
}

/** Returns the number of phases with a failed verification since the plan was last revised for such. */
export function failedSince({ records: { failures, replans } }: PlanState): number {
  const last =
    replans.filter(({ trigger }) => trigger === 'test_failure_pattern').at(-1)?.at ?? -Infinity;
  return new Set(failures.filter(({ at: time_ms }) => time_ms > last).map(({ phase }) => phase))
    .size;
}

export const worktreeName = ({
  id,
  runs,
  tree,
}: Pick<PhaseEntry, 'id' | 'runs' | 'tree'>): string => tree?.name ?? `${id}-${runs + 1}`;

/** Does the phase need a worktree before it runs? A phase next to others works in its own one and nowhere else. */
export const lacksWorktree = ({ group }: PlanState, { worktree, tree }: PhaseEntry): boolean =>
  worktree === null && (group.ids.length > 1 || tree !== null);

/** Returns the names of a phase that activities need. */
export const about = ({ id, number, name }: PhaseEntry) => ({ id, number, name });

/** Returns the plan as it was read last. Throws Error before the first reading. */
export function readPlanOf({ reading: { plan } }: PlanState): ReadyPlan {
  if (plan === null) throw new Error('the plan was not read');
  return plan;
}
