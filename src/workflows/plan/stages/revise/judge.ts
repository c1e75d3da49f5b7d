/** Judges a trigger by the recorded rules, and begins what it calls for. Pure. */
import { expandText } from '../../../../shared/event-text.js';
import { cut } from '../../../../shared/rules.js';
import { evaluateTriggers, type TriggerFacts, type Verdict } from '../../../../shared/triggers.js';
import { emit } from '../../../frame/log.js';
import { failedSince, groupOf, isDone, isReport, phaseOf, readPlanOf } from '../../selectors.js';
import type { PhaseEntry, PlanState, Revising } from '../../state.js';
import { askAbout, revisingAs, withPhase } from '../../ways.js';

/** A trigger before its judgement. */
type Judged = Omit<Revising, 'step'>;

/** What calls for a revision. `words`: what somebody reports. */
export type Trigger = Pick<Revising, 'phase' | 'trigger' | 'words'>;

/** Begins a revision with the judgement of its trigger. */
export function beginRevising(
  state: PlanState,
  trigger: Trigger,
  currentTime_ms: number,
): PlanState {
  const isForced = state.input.options.forceReplan && !phaseOf(state, trigger.phase).forceSpent;
  return judge(
    state,
    {
      phase: trigger.phase,
      trigger: trigger.trigger,
      words: trigger.words,
      forcedBy: isForced ? '--force-replan' : null,
      beyondLimit: false,
      actions: [],
      why: '',
      proposal: null,
    },
    currentTime_ms,
  );
}

/** The phase goes on: it runs again if it failed; otherwise the trigger is settled. */
export function goOn(
  state: PlanState,
  { trigger, phase }: Pick<Revising, 'trigger' | 'phase'>,
  change: Partial<PhaseEntry>,
  currentTime_ms: number,
): PlanState {
  const settled = revisingAs(state, null);
  if (trigger === 'complexity')
    return withPhase(settled, phase, { ...change, complexityEvaluated: true });
  if (trigger !== 'test_failure_pattern') return withPhase(settled, phase, change);
  const pending = { status: 'pending', testsFailed: false, why: null, job: null } as const;
  return nextFailed(withPhase(settled, phase, { ...change, ...pending }), currentTime_ms);
}

/** Judges the next phase of the group that failed its tests: each is judged before any runs again. */
export function nextFailed(state: PlanState, currentTime_ms: number): PlanState {
  const failed = groupOf(state).find((phase) => phase.status === 'failed' && phase.testsFailed);
  if (failed !== undefined) {
    const atJobs: PlanState = { ...state, stage: { at: 'jobs' } };
    const trigger = { phase: failed.id, trigger: 'test_failure_pattern', words: '' } as const;
    return beginRevising(atJobs, trigger, currentTime_ms);
  }
  const isOpen = groupOf(state).some((phase) => !isDone(phase));
  return { ...state, stage: { at: isOpen ? 'jobs' : 'choosing' } };
}

/** Returns what the recorded rules need to know of the phase. */
function factsOf(state: PlanState, { phase: id, trigger, forcedBy }: Judged): TriggerFacts {
  const phase = phaseOf(state, id);
  return {
    trigger,
    score: phase.complexity.score,
    tasks: phase.tasks.total,
    expanded: phase.expanded,
    ...(phase.stages === undefined ? {} : { stages: phase.stages }),
    failures: phase.failures,
    failedPhases: failedSince(state),
    // A report may lead to a new phase after one that is done.
    resolved: !isReport(trigger) && (isDone(phase) || phase.commits.length > 0),
    replans: phase.replans,
    forced: forcedBy !== null,
  };
}

export function judge(state: PlanState, judged: Judged, currentTime_ms: number): PlanState {
  const { thresholds } = readPlanOf(state);
  const verdict = evaluateTriggers(factsOf(state, judged), thresholds, state.input.rules);
  const { tier, outcome } = verdict;
  const { trigger } = judged;
  const { number, replans, note } = phaseOf(state, judged.phase);
  const checked = emit(state, currentTime_ms, {
    type: 'trigger_checked',
    phase: number,
    trigger,
    tier,
    outcome,
    why: cut(state.input.rules, verdict.reason),
    replans,
    limit: thresholds.replanLimit,
  });
  switch (outcome) {
    case 'none':
    case 'notice':
      if (tier === 'debug') return revisingAs(checked, { ...judged, step: 'debug' });
      return goOn(checked, judged, { note: noteOf(verdict.suggestions) ?? note }, currentTime_ms);
    case 'replan':
      return calledFor(checked, judged, verdict, currentTime_ms);
    case 'limit':
      return atLimit(checked, judged, verdict.reason, currentTime_ms);
  }
}

/** Begins a replan. An expansion needs no model, but the consent of whoever approves changes. */
function calledFor(
  state: PlanState,
  judged: Judged,
  verdict: Verdict,
  currentTime_ms: number,
): PlanState {
  const { forced: beyondLimit, actions, reason } = verdict;
  const next = { ...judged, beyondLimit, actions, why: reason, proposal: null };
  if (judged.trigger !== 'complexity')
    return triggered(state, { ...next, step: 'propose' }, currentTime_ms);
  const expand = { ...next, proposal: { ref: null, action: 'expand_phase', why: reason } };
  const phase = phaseOf(state, judged.phase);
  const asks = state.reading.plan?.approval === 'ask' && phase.mayExpand !== true;
  if (!asks) return triggered(state, { ...expand, step: 'apply' }, currentTime_ms);
  const message = expandText(state.input.planPath, phase, reason);
  return askAbout(revisingAs(state, { ...expand, step: 'asked' }), phase.id, 'expansion', message);
}

/** Asks whether the phase is replanned once more than the limit allows. */
function atLimit(
  state: PlanState,
  judged: Judged,
  reason: string,
  currentTime_ms: number,
): PlanState {
  const { number, name, replans } = phaseOf(state, judged.phase);
  const stopped = emit(state, currentTime_ms, {
    type: 'loop_stopped',
    phase: number,
    replans,
    limit: state.reading.plan?.thresholds.replanLimit ?? 0,
    status: 'limit_reached',
    why: cut(state.input.rules, reason),
  });
  const message = `Phase ${number} (${name}): ${reason}. Replan it anyway?`;
  const waiting = revisingAs(stopped, { ...judged, step: 'asked', why: reason });
  return askAbout(waiting, judged.phase, 'replan_limit', message);
}

/** Emits what leads to a replan (with a warning if it exceeds the limit) and stores the time from which the replan is measured. */
export function triggered(state: PlanState, revising: Revising, currentTime_ms: number): PlanState {
  const { number, replans } = phaseOf(state, revising.phase);
  const limit = state.reading.plan?.thresholds.replanLimit ?? 0;
  const warned = revising.beyondLimit
    ? emit(state, currentTime_ms, {
        type: 'loop_stopped',
        phase: number,
        replans,
        limit,
        status: 'forced_override',
        why: revising.forcedBy ?? '',
      })
    : state;
  const logged = emit(warned, currentTime_ms, {
    type: 'replan_triggered',
    phase: number,
    trigger: revising.trigger,
    replans,
    limit,
    status: revising.beyondLimit ? 'forced' : 'invoked',
  });
  return revisingAs(logged, { ...revising, triggered: currentTime_ms - state.pausedFor_ms });
}

const noteOf = (suggestions: readonly string[]): string | null =>
  suggestions.length === 0
    ? null
    : `The tests failed, and nothing of the change was kept. What may help:\n${suggestions.map((line) => `- ${line}`).join('\n')}`;
