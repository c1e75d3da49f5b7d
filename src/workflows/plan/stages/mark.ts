/** Mark: writes what became of each phase into the plan's documents, removes worktrees, saves the checkpoint. */
import type { DecisionRequest } from '../../../shared/decisions.js';
import { describeUnfinished } from '../../../shared/event-text.js';
import type { PhaseId } from '../../../shared/plan.js';
import type { MarkPhaseResult } from '../../../shared/plan-activities.js';
import { cut } from '../../../shared/rules.js';
import { emit } from '../../frame/log.js';
import { within } from '../../frame/machine.js';
import type { Next, On, PlanEffect } from '../protocol.js';
import { markerOf, phaseOf, unmarkedOf } from '../selectors.js';
import { FREE, type PhaseEntry, type PlanState } from '../state.js';
import { askAbout, busyAgain, readAgain, withPhase } from '../ways.js';

export const next: Next<'marking'> = { marking: markEffect };

export const on: On<'phase_marked' | 'checkpointed'> = {
  phase_marked: (state, { phase, result }, currentTime_ms) =>
    onMarked(state, phase, result, currentTime_ms),
  checkpointed: (state, { result }, currentTime_ms) =>
    onCheckpointed(state, result.path, currentTime_ms),
};

function markEffect(state: PlanState): PlanEffect {
  const [unmarked] = unmarkedOf(state);
  if (unmarked !== undefined) return { kind: 'mark', phase: unmarked.id };
  const [name] = state.worktrees.made;
  return name === undefined ? { kind: 'checkpoint' } : { kind: 'clean', name };
}

function onMarked(
  state: PlanState,
  id: PhaseId,
  result: MarkPhaseResult,
  currentTime_ms: number,
): PlanState {
  const free = { ...state, ...marksAfter(state, result), busy: FREE };
  if (state.stage.at === 'closed') return warnOfMarks(free, result, currentTime_ms);
  switch (result.outcome) {
    case 'busy':
      return busyAgain(state);
    case 'marked':
      return withMark(free, id, result, currentTime_ms);
    case 'conflict': {
      // What was written of it is put back. The next attempt has records of its own.
      const nextState = withPhase(free, id, { marks: phaseOf(state, id).marks + 1 });
      const reason = result.why.replace(/\.?$/, '.');
      const message = `the plan could not be marked: ${reason} Then \`emend retry\` writes the mark; \`emend skip\` continues without it`;
      return askAbout(nextState, id, 'engine_failed', message);
    }
  }
}

/** Returns the marks that wait for a commit. A commit of the last mark, or of a wave's, includes all of them. */
function marksAfter({ marks = [] }: PlanState, result: MarkPhaseResult): Pick<PlanState, 'marks'> {
  if (result.outcome === 'busy') return {};
  if (result.marks === true) return { marks: [] };
  return result.outcome === 'conflict' || result.held == null
    ? {}
    : { marks: [...marks, result.held] };
}

/** Warns at the end of a plan if marks have no commit. */
function warnOfMarks(state: PlanState, result: MarkPhaseResult, currentTime_ms: number): PlanState {
  if (state.marks?.length === 0) return state;
  const reason = result.outcome === 'conflict' ? `: ${result.why}` : '';
  const message = cut(
    state.input.rules,
    `marks of phases are in the plan's documents but not committed${reason}`,
  );
  return emit(state, currentTime_ms, { type: 'warning', message });
}

function withMark(
  state: PlanState,
  id: PhaseId,
  { commit, unfinished = [] }: Extract<MarkPhaseResult, { readonly outcome: 'marked' }>,
  currentTime_ms: number,
): PlanState {
  const incomplete: Partial<PhaseEntry> =
    unfinished.length === 0
      ? {}
      : {
          status: 'incomplete',
          unfinished: unfinished.length,
          why: cut(state.input.rules, describeUnfinished(unfinished)),
        };
  const marks = phaseOf(state, id).marks + 1;
  const nextState = withPhase(state, id, { marked: true, marks, ...incomplete });
  const phase = phaseOf(nextState, id);
  return emit(nextState, currentTime_ms, {
    type: 'phase_marked',
    phase: phase.number,
    marker: markerOf(phase),
    commit,
    why: phase.why,
  });
}

/** Takes up the answer to a question about a mark: the phase is committed, and only its mark is missing. */
export const resolveMark = (state: PlanState, id: PhaseId, request: DecisionRequest): PlanState =>
  withPhase(
    state,
    id,
    request.answer === 'retry' ? { marksLost: 0 } : { marked: true, markSkipped: true },
  );

function onCheckpointed(state: PlanState, path: string, currentTime_ms: number): PlanState {
  const number = state.counts.checkpoints + 1;
  const saved = within(state, 'counts', { checkpoints: number });
  const nextState = state.stage.at === 'closed' ? saved : readAgain(saved);
  return emit(nextState, currentTime_ms, { type: 'checkpoint_saved', number, path });
}
