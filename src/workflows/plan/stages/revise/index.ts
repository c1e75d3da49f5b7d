/** Revise: debugs a phase, or replans it, after a trigger that the rules have judged. It is no place: it interrupts the stage that comes next. */
import { answeredAgain, outageEffect } from '../../../../shared/outage.js';
import type {
  DebugPhaseResult,
  ProposeReplanResult,
} from '../../../../shared/replan-activities.js';
import type { StepUsage } from '../../../../shared/usage.js';
import { emit, onModelDown } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { spendingPause } from '../../budget.js';
import type { Decide, On, PlanEffect, PlanFacts, Resolution } from '../../protocol.js';
import { isReport, phaseOf } from '../../selectors.js';
import type { PlanState, Revising } from '../../state.js';
import { addOwnUsage } from '../../usage.js';
import { revisingAs } from '../../ways.js';
import { showComplexity } from '../choose.js';
import { resolvePhase } from '../phases.js';
import { beginRevising, goOn, judge, triggered } from './judge.js';
import { onNoReplan, onReplanned } from './replanned.js';

/** Steps of a revision that ask a model. */
const PAID: readonly Revising['step'][] = ['debug', 'propose'];

/** Returns the next effect of what the plan revises: it waits for a model that is down, and for a budget. */
export function reviseEffect(
  state: PlanState,
  revising: Revising,
  currentTime_ms: number,
): PlanEffect {
  const pause = PAID.includes(revising.step) ? spendingPause(state, currentTime_ms) : null;
  return outageEffect(state, currentTime_ms) ?? pause ?? { kind: 'revise', revising };
}

export const on: On<'revise' | 'debugged' | 'proposed' | 'replanned'> = {
  revise: onRevise,
  debugged: (state, { revising, result }, currentTime_ms) =>
    onDebugged(state, revising, result, currentTime_ms),
  proposed: (state, { revising, result }, currentTime_ms) =>
    onProposed(state, revising, result, currentTime_ms),
  replanned: (state, { revising, result }, currentTime_ms) =>
    onReplanned(state, revising, result, currentTime_ms),
};

export const decide: Decide<'expansion' | 'replan_limit'> = {
  expansion: resolveRevision,
  replan_limit: resolveRevision,
};

function onRevise(
  state: PlanState,
  { phase, trigger, words }: PlanFacts['revise'],
  currentTime_ms: number,
): PlanState {
  const { drifts } = state.revision;
  const remaining = within(state, 'revision', {
    drifts: isReport(trigger) ? drifts.slice(1) : drifts,
  });
  const shown =
    trigger === 'complexity' ? showComplexity(remaining, phase, currentTime_ms) : remaining;
  return beginRevising(shown, { phase, trigger, words }, currentTime_ms);
}

/** Counts a call of the plan itself that was answered. */
const countCall = (state: PlanState, usage: StepUsage, currentTime_ms: number): PlanState =>
  within({ ...addOwnUsage(state, usage), ...answeredAgain(state, currentTime_ms) }, 'counts', {
    planCalls: state.counts.planCalls + 1,
  });

function onDebugged(
  before: PlanState,
  revising: Revising,
  result: DebugPhaseResult,
  currentTime_ms: number,
): PlanState {
  const { report, path, message, down, usage } = result;
  if (down !== undefined) return onModelDown(before, down, 'debugPhase', currentTime_ms);
  const { number } = phaseOf(before, revising.phase);
  const debugged = emit(countCall(before, usage, currentTime_ms), currentTime_ms, {
    type: 'debug_report',
    phase: number,
    path,
    message,
  });
  return goOn(debugged, revising, { report }, currentTime_ms);
}

function onProposed(
  before: PlanState,
  revising: Revising,
  result: ProposeReplanResult,
  currentTime_ms: number,
): PlanState {
  if (result.outcome === 'failed' && result.down !== undefined)
    return onModelDown(before, result.down, 'proposeReplan', currentTime_ms);
  const state = countCall(before, result.usage, currentTime_ms);
  if (result.outcome === 'failed')
    return onNoReplan(state, revising, result.message, currentTime_ms);
  const { replan, action, why: reason, phase } = result;
  // The proposal names the phase that a report changes.
  const beyondLimit = revising.beyondLimit && phase === revising.phase;
  return revisingAs(state, {
    ...revising,
    step: 'apply',
    phase,
    beyondLimit,
    proposal: { ref: replan, action, why: reason },
  });
}

/** Takes up the answer to a question about a replan: `force`, `revise`, `expand`, `continue`, or `skip`, which leaves the phase out. */
function resolveRevision(
  before: PlanState,
  resolution: Resolution,
  currentTime_ms: number,
): PlanState {
  const { request } = resolution;
  const { current: revising } = before.revision;
  if (resolution.phase === null) return before;
  const state = { ...before, asked: null };
  if (revising?.step !== 'asked') return resolvePhase(state, resolution, currentTime_ms);
  switch (request.answer) {
    case 'force':
    case 'revise': {
      const words = [revising.words, request.note ?? ''].join('\n').trim();
      // An expansion takes no words: a note asks for another replan.
      const isOther = request.answer === 'revise' && revising.trigger === 'complexity';
      const trigger = isOther ? 'person' : revising.trigger;
      const forcedBy = `${request.by.name} (${request.by.from})`;
      return judge(state, { ...revising, trigger, forcedBy, words }, currentTime_ms);
    }
    case 'expand': {
      const next = { ...revising, step: 'apply' } as const;
      return revising.triggered === undefined
        ? triggered(state, next, currentTime_ms)
        : revisingAs(state, next);
    }
    case 'skip':
      return resolvePhase(state, resolution, currentTime_ms);
    default: {
      const isSettled = isReport(revising.trigger) || revising.trigger === 'complexity';
      return goOn(state, revising, isSettled ? {} : { asksItself: true }, currentTime_ms);
    }
  }
}
