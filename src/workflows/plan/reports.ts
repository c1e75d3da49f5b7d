/** What people report while a plan runs: work out of its scope, or how to revise it. The plan keeps it until it takes it up between groups. Pure. */
import type { Report } from '../../shared/plan.js';
import { cut } from '../../shared/rules.js';
import { recordIgnored } from '../frame/decisions/answering.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { reportedFor } from './selectors.js';
import type { PlanState } from './state.js';

export function onReported(state: PlanState, report: Report, currentTime_ms: number): PlanState {
  const { drifts } = state.revision;
  const { driftsKept } = state.input.rules.bounds;
  if (drifts.length >= driftsKept) {
    const reason = `${driftsKept} reports are already waiting; send it again after the next phase`;
    return recordIgnored(state, { what: report.text, why: reason }, currentTime_ms);
  }
  return showReport(
    within(state, 'revision', { drifts: [...drifts, report] }),
    report,
    currentTime_ms,
  );
}

/** Emits the event of a report, with the phase that runs now or comes next. */
export function showReport(
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
