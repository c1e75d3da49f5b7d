/**
 * Revises a plan while it runs: the recorded rules judge a trigger, then the phase is debugged or replanned, or the plan asks. It begins
 * only if no child is open. Pure.
 */
import type { PhaseId, ReplanRecord } from '../../shared/plan.js';
import type { DecisionRequest } from '../../shared/decisions.js';
import { answeredAgain } from '../../shared/outage.js';
import { expandText } from '../../shared/event-text.js';
import { emit, notCounted, onModelDown } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { cut } from '../../shared/rules.js';
import { addUsage, NO_USAGE, subtractUsage, type StepUsage } from '../../shared/usage.js';
import type {
  ApplyReplanResult,
  DebugPhaseResult,
  ProposeReplanResult,
  ScorePhaseResult,
} from '../../shared/replan-activities.js';
import { evaluateTriggers, type TriggerFacts, type Verdict } from '../../shared/triggers.js';
import { onPlanRead } from './reading.js';
import { isReport } from './reports.js';
import {
  askAbout,
  busyAgain,
  FREE,
  groupOf,
  isDone,
  phaseOf,
  readAgain,
  withPhase,
  type PhaseEntry,
  type PlanState,
  type Revising,
} from './state.js';

export type ReviseTrigger = ReplanRecord['trigger'];
/** A trigger before its judgement. */
type Judged = Omit<Revising, 'step'>;

/** Begins with the judgement. `words`: what somebody reports. */
export function beginRevising(
  state: PlanState,
  phase: PhaseId,
  trigger: ReviseTrigger,
  words: string,
  now: number,
): PlanState {
  const isForced = state.input.options.forceReplan && !phaseOf(state, phase).forceSpent;
  return judge(
    state,
    {
      phase,
      trigger,
      words,
      forcedBy: isForced ? '--force-replan' : null,
      beyondLimit: false,
      actions: [],
      why: '',
      proposal: null,
    },
    now,
  );
}

/** The check stands before what it leads to. */
export function tellComplexity(state: PlanState, id: PhaseId, now: number): PlanState {
  const { number, score, expanded, complexity } = phaseOf(state, id);
  return emit(withPhase(state, id, { complexityTold: true }), now, {
    type: 'complexity_checked',
    phase: number,
    score: complexity.score,
    threshold: state.reading.plan?.thresholds.expansion ?? 0,
    expanded,
    above: score.above,
    method: complexity.method,
  });
}

const revisingAs = (state: PlanState, current: Revising | null): PlanState =>
  within(state, 'revision', { current });

/** Phases with a failed verification since the plan was last revised for such. */
export function failedSince({ records: { failures, replans } }: PlanState): number {
  const last =
    replans.filter(({ trigger }) => trigger === 'test_failure_pattern').at(-1)?.at ?? -Infinity;
  return new Set(failures.filter(({ at }) => at > last).map(({ phase }) => phase)).size;
}

/** What is due before the group begins: a person's report, a second score, a trigger of complexity. Null: nothing. */
export function dueBefore(
  state: PlanState,
  group: readonly PhaseId[],
):
  | 'drift'
  | { readonly failed: PhaseId }
  | { readonly score: PhaseId }
  | { readonly judge: PhaseId }
  | null {
  if (state.revision.drifts.length > 0) return 'drift';
  const phases = group.map((id) => phaseOf(state, id));
  const failed = phases.find(({ testsFailed }) => testsFailed);
  if (failed !== undefined) return { failed: failed.id };
  const unscored = phases.find(({ second, secondAsked }) => second && !secondAsked);
  if (unscored !== undefined) return { score: unscored.id };
  const threshold = state.reading.plan?.thresholds.expansion ?? Infinity;
  const complex = phases.find(
    ({ expanded, stages, complexityEvaluated, complexity, score }) =>
      !complexityEvaluated &&
      (expanded ? stages !== undefined : complexity.score >= threshold || score.above.length > 0),
  );
  return complex === undefined ? null : { judge: complex.id };
}

const used = (state: PlanState, { usage }: { readonly usage: PlanState['usage'] }): PlanState => ({
  ...state,
  usage: addUsage(state.usage, usage),
  ownUsage: addUsage(state.ownUsage ?? NO_USAGE, usage),
});

/** In place of what results told; a journal that knows fewer calls (another home's) does not take any back. */
export function onUsageCounted(state: PlanState, usage: StepUsage | null, now: number): PlanState {
  if (usage === null) return notCounted(state, now);
  const { ownUsage = NO_USAGE } = state;
  const others = subtractUsage(state.usage, ownUsage);
  return usage.calls < ownUsage.calls
    ? state
    : { ...state, usage: addUsage(others, usage), ownUsage: usage };
}

export function onScored(
  before: PlanState,
  id: PhaseId,
  result: ScorePhaseResult,
  now: number,
): PlanState {
  const { score, method, reasoning, discrepancy, message } = result;
  const { number } = phaseOf(before, id);
  const state = withPhase(used(before, result), id, {
    secondAsked: true,
    complexity: { score, method, reasoning },
  });
  const words = message === null ? null : cut(state.input.rules, message);
  const told = emit(state, now, {
    type: 'second_score',
    phase: number,
    score,
    method,
    message: words,
  });
  if (discrepancy === null) return told;
  const explanation = cut(state.input.rules, reasoning ?? '');
  return emit(told, now, {
    type: 'score_discrepancy',
    phase: number,
    ...discrepancy,
    reasoning: explanation,
  });
}

/** The phase goes on: it runs again if it failed; otherwise the trigger is settled. */
function goOn(
  state: PlanState,
  { trigger, phase }: Pick<Revising, 'trigger' | 'phase'>,
  change: Partial<PhaseEntry>,
  now: number,
): PlanState {
  const settled = revisingAs(state, null);
  if (trigger === 'complexity')
    return withPhase(settled, phase, { ...change, complexityEvaluated: true });
  if (trigger !== 'test_failure_pattern') return withPhase(settled, phase, change);
  const pending = { status: 'pending', testsFailed: false, why: null, job: null } as const;
  return nextFailed(withPhase(settled, phase, { ...change, ...pending }), now);
}

/** Judges the next phase of the group that failed its tests: each is judged before any runs again. */
export function nextFailed(state: PlanState, now: number): PlanState {
  const failed = groupOf(state).find((phase) => phase.status === 'failed' && phase.testsFailed);
  if (failed !== undefined) {
    const atJobs: PlanState = { ...state, stage: { at: 'jobs' } };
    return beginRevising(atJobs, failed.id, 'test_failure_pattern', '', now);
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

/** Judges the trigger, and begins what it calls for. */
function judge(state: PlanState, judged: Judged, now: number): PlanState {
  const { plan } = state.reading;
  if (plan === null) throw new Error('no plan was read');
  const verdict = evaluateTriggers(factsOf(state, judged), plan.thresholds, state.input.rules);
  const { tier, outcome } = verdict;
  const { trigger } = judged;
  const { number, replans, note } = phaseOf(state, judged.phase);
  const checked = emit(state, now, {
    type: 'trigger_checked',
    phase: number,
    trigger,
    tier,
    outcome,
    why: cut(state.input.rules, verdict.why),
    replans,
    limit: plan.thresholds.replanLimit,
  });
  switch (outcome) {
    case 'none':
    case 'notice':
      if (tier === 'debug') return revisingAs(checked, { ...judged, step: 'debug' });
      return goOn(checked, judged, { note: noteOf(verdict.suggestions) ?? note }, now);
    case 'replan':
      return calledFor(checked, judged, verdict, now);
    case 'limit':
      return atLimit(checked, judged, verdict.why, now);
  }
}

/** Begins a replan. An expansion needs no model, but the consent of whoever approves changes. */
function calledFor(state: PlanState, judged: Judged, verdict: Verdict, now: number): PlanState {
  const { forced: beyondLimit, actions, why } = verdict;
  const next = { ...judged, beyondLimit, actions, why, proposal: null };
  if (judged.trigger !== 'complexity') return triggered(state, { ...next, step: 'propose' }, now);
  const expand = { ...next, proposal: { ref: null, action: 'expand_phase', why } };
  const phase = phaseOf(state, judged.phase);
  const asks = state.reading.plan?.approval === 'ask' && phase.mayExpand !== true;
  if (!asks) return triggered(state, { ...expand, step: 'apply' }, now);
  const message = expandText(state.input.planPath, phase, why);
  return askAbout(revisingAs(state, { ...expand, step: 'asked' }), phase.id, 'expansion', message);
}

/** Asks whether the phase is replanned once more than the limit allows. */
function atLimit(state: PlanState, judged: Judged, why: string, now: number): PlanState {
  const { number, name, replans } = phaseOf(state, judged.phase);
  const stopped = emit(state, now, {
    type: 'loop_stopped',
    phase: number,
    replans,
    limit: state.reading.plan?.thresholds.replanLimit ?? 0,
    status: 'limit_reached',
    why: cut(state.input.rules, why),
  });
  const message = `Phase ${number} (${name}): ${why}. Replan it anyway?`;
  const asked = revisingAs(stopped, { ...judged, step: 'asked', why });
  return askAbout(asked, judged.phase, 'replan_limit', message);
}

/** Emits what leads to a replan (with a warning if it exceeds the limit) and stores the time from which the replan is measured. */
function triggered(state: PlanState, revising: Revising, now: number): PlanState {
  const { number, replans } = phaseOf(state, revising.phase);
  const limit = state.reading.plan?.thresholds.replanLimit ?? 0;
  const warned = revising.beyondLimit
    ? emit(state, now, {
        type: 'loop_stopped',
        phase: number,
        replans,
        limit,
        status: 'forced_override',
        why: revising.forcedBy ?? '',
      })
    : state;
  const logged = emit(warned, now, {
    type: 'replan_triggered',
    phase: number,
    trigger: revising.trigger,
    replans,
    limit,
    status: revising.beyondLimit ? 'forced' : 'invoked',
  });
  return revisingAs(logged, { ...revising, triggered: now - state.pausedFor_ms });
}

const noteOf = (suggestions: readonly string[]): string | null =>
  suggestions.length === 0
    ? null
    : `The tests failed, and nothing of the change was kept. What may help:\n${suggestions.map((line) => `- ${line}`).join('\n')}`;

/** A report or a proposal was answered. */
const advised = (
  state: PlanState,
  result: { readonly usage: PlanState['usage'] },
  now: number,
): PlanState =>
  within({ ...used(state, result), ...answeredAgain(state, now) }, 'counts', {
    planCalls: state.counts.planCalls + 1,
  });

export function onDebugged(
  before: PlanState,
  revising: Revising,
  result: DebugPhaseResult,
  now: number,
): PlanState {
  if (result.down !== undefined) return onModelDown(before, result.down, 'debugPhase', now);
  const { number } = phaseOf(before, revising.phase);
  const event = {
    type: 'debug_report',
    phase: number,
    path: result.path,
    message: result.message,
  } as const;
  return goOn(
    emit(advised(before, result, now), now, event),
    revising,
    { report: result.report },
    now,
  );
}

export function onProposed(
  before: PlanState,
  revising: Revising,
  result: ProposeReplanResult,
  now: number,
): PlanState {
  if (result.outcome === 'failed' && result.down !== undefined)
    return onModelDown(before, result.down, 'proposeReplan', now);
  const state = advised(before, result, now);
  if (result.outcome === 'failed') return onNoReplan(state, revising, result.message, now);
  const { replan, action, why, phase } = result;
  // Which of the phases a report changes is for the proposal to say.
  const beyondLimit = revising.beyondLimit && phase === revising.phase;
  return revisingAs(state, {
    ...revising,
    step: 'apply',
    phase,
    beyondLimit,
    proposal: { ref: replan, action, why },
  });
}

/**
 * Without a replan that can be used the phase goes on as it stands; where its tests fail once more, its own run asks a person. What a
 * person reports is not dropped for it: they are asked.
 */
function onNoReplan(state: PlanState, revising: Revising, why: string, now: number): PlanState {
  const { number, name } = phaseOf(state, revising.phase);
  const { trigger } = revising;
  const told = emit(state, now, {
    type: 'replan_failed',
    phase: number,
    trigger,
    why: cut(state.input.rules, why),
  });
  if (!isReport(trigger)) return goOn(told, revising, { asksItself: true }, now);
  const message = `Phase ${number} (${name}): ${revising.words}: no replan was possible: ${why}`;
  return askAbout(
    revisingAs(told, { ...revising, step: 'asked' }),
    revising.phase,
    'replan_limit',
    message,
  );
}

export function onReplanned(
  state: PlanState,
  revising: Revising,
  result: ApplyReplanResult,
  now: number,
): PlanState {
  const free = { ...state, busy: FREE };
  const { trigger, beyondLimit, triggered = now - state.pausedFor_ms } = revising;
  const phase = phaseOf(state, revising.phase);
  switch (result.outcome) {
    case 'busy':
      return busyAgain(state);
    case 'refused':
      return onNoReplan(free, revising, result.why, now);
    case 'conflict': {
      if (trigger !== 'complexity') return onNoReplan(free, revising, result.why, now);
      const message = `Phase ${phase.number} (${phase.name}) should be expanded, ${revising.why}, and its plan could not be written: ${result.why}`;
      return askAbout(
        revisingAs(free, { ...revising, step: 'asked' }),
        phase.id,
        'expansion',
        message,
      );
    }
    case 'replanned': {
      const landed = result.marks === true ? { ...free, marks: [] } : free;
      const { action, oldStructure, newStructure, complexityBefore, complexityAfter } = result;
      const record: ReplanRecord = {
        phase: phase.id,
        trigger,
        action,
        oldStructure,
        newStructure,
        complexityBefore,
        complexityAfter,
        forced: beyondLimit,
        at: now,
      };
      const replans = beyondLimit ? 1 : phase.replans + 1;
      const forceSpent = phase.forceSpent || beyondLimit;
      const afresh = {
        failures: [],
        note: null,
        report: null,
        asksItself: false,
        testsFailed: false,
      };
      const changed: Partial<PhaseEntry> = {
        replans,
        forceSpent,
        // What is done stays as it is: a new phase comes after it.
        ...(isDone(phase) ? {} : { ...afresh, why: null, job: null, status: 'pending' }),
        ...(trigger === 'complexity' ? { complexityEvaluated: true } : {}),
      };
      const told = emit(withPhase(landed, phase.id, changed), now, {
        type: 'replanned',
        phase: phase.number,
        trigger,
        action,
        oldStructure,
        newStructure,
        complexityBefore,
        complexityAfter,
        forced: beyondLimit,
        replans,
        commit: result.commit,
        duration_ms: now - state.pausedFor_ms - triggered,
      });
      // Phases that the replan added count as replanned as often: a chain of new phases ends at the limit, too.
      const next = within(revisingAs(told, null), 'records', {
        replans: [...state.records.replans, record],
      });
      const again = readAgain(next, { inherit: { replans, forceSpent } });
      return result.plan === null ? again : onPlanRead(again, result.plan, now);
    }
  }
}

/** `force`, `revise`, `expand`, `continue` or `skip`, where a person was asked about a replan; null: this was not asked, or the phase is left out. */
export function resolveRevision(
  state: PlanState,
  said: DecisionRequest,
  now: number,
): PlanState | null {
  const { current: revising } = state.revision;
  if (revising?.step !== 'asked') return null;
  switch (said.answer) {
    case 'force':
    case 'revise': {
      const words = [revising.words, said.note ?? ''].join('\n').trim();
      // An expansion takes no words: what a person wants instead is a replan of theirs.
      const trigger =
        said.answer === 'revise' && revising.trigger === 'complexity' ? 'person' : revising.trigger;
      const forcedBy = `${said.by.name} (${said.by.from})`;
      return judge(state, { ...revising, trigger, forcedBy, words }, now);
    }
    case 'expand': {
      const next = { ...revising, step: 'apply' } as const;
      return revising.triggered === undefined
        ? triggered(state, next, now)
        : revisingAs(state, next);
    }
    case 'skip':
      return null;
    default:
      return goOn(
        state,
        revising,
        isReport(revising.trigger) || revising.trigger === 'complexity' ? {} : { asksItself: true },
        now,
      );
  }
}
