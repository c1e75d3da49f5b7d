/** Takes up a replan that was written to the plan's documents, or that could not be. Pure. */
import type { ReplanRecord } from '../../../../shared/plan.js';
import type { ApplyReplanResult } from '../../../../shared/replan-activities.js';
import { cut } from '../../../../shared/rules.js';
import { emit } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { isDone, isReport, phaseOf } from '../../selectors.js';
import { FREE, type PhaseEntry, type PlanState, type Revising } from '../../state.js';
import { askAbout, busyAgain, readAgain, revisingAs, withPhase } from '../../ways.js';
import { onPlanRead } from '../read/index.js';
import { goOn } from './judge.js';

type Replanned = Extract<ApplyReplanResult, { readonly outcome: 'replanned' }>;

export function onReplanned(
  state: PlanState,
  revising: Revising,
  result: ApplyReplanResult,
  currentTime_ms: number,
): PlanState {
  const free = { ...state, busy: FREE };
  switch (result.outcome) {
    case 'busy':
      return busyAgain(state);
    case 'refused':
      return onNoReplan(free, revising, result.why, currentTime_ms);
    case 'conflict':
      return revising.trigger === 'complexity'
        ? askAboutUnwritten(free, revising, result.why)
        : onNoReplan(free, revising, result.why, currentTime_ms);
    case 'replanned':
      return withReplan(free, revising, result, currentTime_ms);
  }
}

/**
 * Without a usable replan the phase goes on as it is. If its tests fail once more, its own run asks. A report is not dropped: the plan asks
 * about it.
 */
export function onNoReplan(
  state: PlanState,
  revising: Revising,
  reason: string,
  currentTime_ms: number,
): PlanState {
  const { number, name } = phaseOf(state, revising.phase);
  const { trigger, words, phase } = revising;
  const failed = emit(state, currentTime_ms, {
    type: 'replan_failed',
    phase: number,
    trigger,
    why: cut(state.input.rules, reason),
  });
  if (!isReport(trigger)) return goOn(failed, revising, { asksItself: true }, currentTime_ms);
  const message = `Phase ${number} (${name}): ${words}: no replan was possible: ${reason}`;
  return askAbout(
    revisingAs(failed, { ...revising, step: 'asked' }),
    phase,
    'replan_limit',
    message,
  );
}

/** Asks about an expansion that could not be written. */
function askAboutUnwritten(state: PlanState, revising: Revising, reason: string): PlanState {
  const { id, number, name } = phaseOf(state, revising.phase);
  const message = `Phase ${number} (${name}) should be expanded, ${revising.why}, and its plan could not be written: ${reason}`;
  return askAbout(revisingAs(state, { ...revising, step: 'asked' }), id, 'expansion', message);
}

/** Counts the replan, and takes over the changed plan. */
function withReplan(
  state: PlanState,
  revising: Revising,
  result: Replanned,
  currentTime_ms: number,
): PlanState {
  const { phase: id, beyondLimit } = revising;
  const before = phaseOf(state, id);
  const replans = beyondLimit ? 1 : before.replans + 1;
  const forceSpent = before.forceSpent || beyondLimit;
  const landed = result.marks === true ? { ...state, marks: [] } : state;
  const changed = withPhase(landed, id, replannedPhase(before, revising, { replans, forceSpent }));
  const reported = reportReplan(changed, revising, result, currentTime_ms);
  const record = recordOfReplan(revising, result, currentTime_ms);
  const next = within(revisingAs(reported, null), 'records', {
    replans: [...state.records.replans, record],
  });
  // Phases that the replan added begin with its counts: a chain of new phases also ends at the limit.
  const again = readAgain(next, { inherit: { replans, forceSpent } });
  return result.plan === null ? again : onPlanRead(again, result.plan, currentTime_ms);
}

/** Returns what changes of the phase. One that is done stays as it is: a new phase comes after it. */
const replannedPhase = (
  phase: PhaseEntry,
  { trigger }: Revising,
  counts: Pick<PhaseEntry, 'replans' | 'forceSpent'>,
): Partial<PhaseEntry> => ({
  ...counts,
  ...(isDone(phase) ? {} : AFRESH),
  ...(trigger === 'complexity' ? { complexityEvaluated: true } : {}),
});

const AFRESH: Partial<PhaseEntry> = {
  failures: [],
  note: null,
  report: null,
  asksItself: false,
  testsFailed: false,
  why: null,
  job: null,
  status: 'pending',
};

function reportReplan(
  state: PlanState,
  { phase: id, trigger, beyondLimit, triggered }: Revising,
  result: Replanned,
  currentTime_ms: number,
): PlanState {
  const { action, oldStructure, newStructure, complexityBefore, complexityAfter, commit } = result;
  const { number, replans } = phaseOf(state, id);
  const planTime_ms = currentTime_ms - state.pausedFor_ms;
  return emit(state, currentTime_ms, {
    type: 'replanned',
    phase: number,
    trigger,
    action,
    oldStructure,
    newStructure,
    complexityBefore,
    complexityAfter,
    forced: beyondLimit,
    replans,
    commit,
    duration_ms: planTime_ms - (triggered ?? planTime_ms),
  });
}

const recordOfReplan = (
  { phase, trigger, beyondLimit }: Revising,
  { action, oldStructure, newStructure, complexityBefore, complexityAfter }: Replanned,
  currentTime_ms: number,
): ReplanRecord => ({
  phase,
  trigger,
  action,
  oldStructure,
  newStructure,
  complexityBefore,
  complexityAfter,
  forced: beyondLimit,
  at: currentTime_ms,
});
