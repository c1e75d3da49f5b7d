/** What people report while a plan runs: work out of its scope, or how it is to be revised. Kept until it is taken up between groups. Pure. */
import type { PhaseId, Report } from '../../shared/plan.js';
import { emit } from '../frame/log.js';
import { recordIgnored } from '../frame/decisions/answering.js';
import { within } from '../frame/machine.js';
import { cut } from '../../shared/rules.js';
import {
  isDone,
  openOf,
  phaseOf,
  type PhaseEntry,
  type PlanState,
  type Revising,
} from './state.js';

export const isReport = (trigger?: string): trigger is Report['trigger'] =>
  trigger === 'scope_drift' || trigger === 'person';

export function onReported(state: PlanState, report: Report, currentTime_ms: number): PlanState {
  const { drifts } = state.revision;
  const { driftsKept } = state.input.rules.bounds;
  if (drifts.length >= driftsKept) {
    const reason = `${driftsKept} reports are already waiting; send it again after the next phase`;
    return recordIgnored(state, { what: report.text, why: reason }, currentTime_ms);
  }
  return tellReport(
    within(state, 'revision', { drifts: [...drifts, report] }),
    report,
    currentTime_ms,
  );
}

/** Emits the event of a report, with the phase that runs now or comes next. */
export function tellReport(
  state: PlanState,
  { trigger, text, by: author }: Report,
  currentTime_ms: number,
): PlanState {
  const id = reportedFor(state, state.group.ids);
  return emit(state, currentTime_ms, {
    type: trigger === 'person' ? 'revision_wanted' : 'scope_drift',
    phase: state.phases.find((phase) => phase.id === id)?.number ?? null,
    text: cut(state.input.rules, text),
    by: author,
  });
}

/** Those that wait, with the one that is being taken up. */
export function reportsOf({ revision: { current, drifts } }: PlanState): readonly Report[] {
  const { trigger, words: text = '' } = current ?? {};
  return isReport(trigger) ? [{ trigger, text, by: 'a person' }, ...drifts] : drifts;
}

/** What is being revised is given up; a report comes up again. */
export const withoutCurrent = (state: PlanState): PlanState =>
  within(state, 'revision', { current: null, drifts: reportsOf(state) });

/** Phases that a report may change: nothing of them is committed, and they may be replanned. */
const changeable = (state: PlanState): readonly PhaseEntry[] =>
  openOf(state).filter(
    ({ commits, replans }) =>
      commits.length === 0 && replans < (state.reading.plan?.thresholds.replanLimit ?? Infinity),
  );

/** The phase that a report is judged for: the next that it may change; where all are done the last, after which a new one may come. */
export function reportedFor(state: PlanState, group: readonly PhaseId[]): PhaseId {
  const open = changeable(state).map(({ id }) => id);
  return (
    group.find((id) => open.includes(id)) ?? open[0] ?? group[0] ?? state.phases.at(-1)?.id ?? ''
  );
}

/** What may be proposed for a report: where all phases are done, a new one and nothing else. */
export function choicesOf(state: PlanState, { phase, trigger, actions }: Revising) {
  if (isDone(phaseOf(state, phase))) return { actions: ['add_phase'], others: [] };
  return {
    actions,
    others: isReport(trigger) ? changeable(state).filter(({ id }) => id !== phase) : [],
  };
}
