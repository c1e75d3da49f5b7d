/** Folds facts into a plan's state: what activities returned, how phases ended, what a person said. Pure and deterministic. */
import { ANSWERS_BY_REASON, decisionId, type Answer, type DecisionRequest, type PauseReason } from '../decisions.js';
import { BOUNDS } from '../limits.js';
import type { Pause } from '../decision-state.js';
import { phaseKey } from '../refs.js';
import { cut, emit } from '../transitions.js';
import { applyPlanDecision, abortPlan } from './decide.js';
import { onPhaseEnded, type EndedPhase } from './phase-end.js';
import type { VerifyResult } from '../protocol.js';
import { onPlanRead } from './read.js';
import { onGroupVerified, onMerged, onWorktree } from './side-by-side.js';
import {
  beginRevising,
  onDebugged,
  onJudged,
  onProposed,
  onReplanned,
  onScored,
  type ReviseTrigger,
} from './revising.js';
import type {
  ApplyReplanResult,
  DebugPhaseResult,
  JudgePhaseResult,
  ProposeReplanResult,
  ScorePhaseResult,
} from './advice.js';
import { undoneWords } from './undone-words.js';
import { closePlan, groupOf, markerOf, phaseOf, withPhase } from './state.js';
import type {
  CheckpointResult,
  MarkPhaseResult,
  MergePhaseResult,
  PhaseJobResult,
  PrepareWorktreeResult,
  ReadPlanResult,
  RemoveWorktreeResult,
} from './activities.js';
import type { PhaseEntry, PhaseId, PlanOutcome, PlanState, Revising } from './types.js';

export type PlanFact =
  | { readonly type: 'plan_read'; readonly result: ReadPlanResult }
  | { readonly type: 'begun'; readonly group: readonly PhaseId[] }
  | { readonly type: 'job_made'; readonly phase: PhaseId; readonly result: PhaseJobResult }
  | { readonly type: 'phases_started'; readonly phases: readonly PhaseId[] }
  | { readonly type: 'phase_ended'; readonly ended: EndedPhase }
  | {
      readonly type: 'worktree_ready';
      readonly phase: PhaseId;
      readonly name: string;
      readonly result: PrepareWorktreeResult;
    }
  | { readonly type: 'worktree_removed'; readonly name: string; readonly result: RemoveWorktreeResult }
  | { readonly type: 'group_verified'; readonly base: boolean; readonly result: VerifyResult }
  /** No test command: nothing is to be verified. */
  | { readonly type: 'group_untested'; readonly base: boolean }
  | { readonly type: 'phase_merged'; readonly phase: PhaseId; readonly result: MergePhaseResult }
  | { readonly type: 'phase_marked'; readonly phase: PhaseId; readonly result: MarkPhaseResult }
  | { readonly type: 'scored'; readonly phase: PhaseId; readonly result: ScorePhaseResult }
  | { readonly type: 'revise'; readonly phase: PhaseId; readonly trigger: ReviseTrigger; readonly words: string }
  | { readonly type: 'judged'; readonly revising: Revising; readonly result: JudgePhaseResult }
  | { readonly type: 'debugged'; readonly revising: Revising; readonly result: DebugPhaseResult }
  | { readonly type: 'proposed'; readonly revising: Revising; readonly result: ProposeReplanResult }
  | { readonly type: 'replanned'; readonly revising: Revising; readonly result: ApplyReplanResult }
  | { readonly type: 'drift'; readonly text: string; readonly by: string }
  | { readonly type: 'waited' }
  | { readonly type: 'checkpointed'; readonly result: CheckpointResult }
  | { readonly type: 'paused'; readonly pause: Pause }
  | { readonly type: 'decided'; readonly request: DecisionRequest }
  | { readonly type: 'ignored'; readonly what: string; readonly why: string }
  | { readonly type: 'wish'; readonly wish: 'pause' | 'resume' | 'stop'; readonly by: string }
  | {
      readonly type: 'activity_failed';
      readonly activity: string;
      readonly phase: PhaseId | null;
      readonly reason: PauseReason;
      readonly message: string;
    }
  | { readonly type: 'abort'; readonly by: string }
  | { readonly type: 'closed'; readonly outcome: PlanOutcome };

/** What may be said at a decision of a plan: without a phase there is nothing to skip or to have done by hand. */
const answersOf = (reason: PauseReason, asked: PhaseId | null): readonly Answer[] => {
  // On the merged tree there is no last proposal: what is there stays, or a person mends it and the tests run again.
  if (reason === 'tests_failed') return ['keep', 'manual'];
  // Of a whole plan: the phases that are to be left out are said in its document.
  if (reason === 'estimate') return ['continue'];
  const answers: readonly Answer[] = ANSWERS_BY_REASON[reason];
  return answers.filter((answer) => asked !== null || (answer !== 'manual' && answer !== 'skip'));
};

function onPaused(state: PlanState, wanted: Pause, now: number): PlanState {
  const n = state.nextDecision;
  const id = decisionId(n, state.input.stepKey, null);
  const count = (status: string): number => state.phases.filter((phase) => phase.status === status).length;
  const opened: PlanState = {
    ...state,
    ask: null,
    nextDecision: n + 1,
    decision: {
      ...{ id, n, reason: wanted.reason, message: wanted.message, files: [], proposalId: null, answered: {} },
      accepts: [...answersOf(wanted.reason, state.asked), 'abort'],
      openedAt: now,
      subject: wanted.subject,
    },
  };
  return emit(opened, now, {
    type: 'edit_step_paused',
    reason: wanted.reason,
    progress: {
      done: count('completed'),
      failed: count('incomplete') + count('failed'),
      skipped: count('skipped'),
      total: state.phases.length,
    },
    decision: id,
  });
}

function onBegun(before: PlanState, group: readonly PhaseId[], now: number): PlanState {
  const stage = group.length > 1 ? ('worktrees' as const) : ('jobs' as const);
  const state = { ...before, stage, group, baseTested: false, groups: before.groups + 1 };
  const total = state.phases.length;
  const threshold = state.plan?.thresholds.expansion ?? 0;
  return groupOf(state).reduce((told, { number, name, tasks, score, expanded, complexity }) => {
    const started = { type: 'phase_started', phase: number, total, name, tasks: tasks.total } as const;
    return emit(emit(told, now, started), now, {
      type: 'complexity_checked',
      phase: number,
      score: complexity.score,
      threshold,
      expanded,
      above: score.above,
      method: complexity.method,
    });
  }, state);
}

function onJob(
  state: PlanState,
  id: PhaseId,
  { job, path, title, fallback }: Extract<PhaseJobResult, { outcome: 'ready' }>,
  now: number,
): PlanState {
  const made = withPhase(state, id, { job: { ref: job, path, title } });
  const { number: phase } = phaseOf(state, id);
  return fallback === undefined ? made : emit(made, now, { type: 'phase_fallback', phase, to: fallback });
}

function onMarked(state: PlanState, id: PhaseId, result: MarkPhaseResult, now: number): PlanState {
  const phase = phaseOf(state, id);
  const free = { ...state, busyTries: 0, waiting: false };
  const marked = { marked: true, marks: phase.marks + 1 };
  switch (result.outcome) {
    case 'busy':
      return { ...state, busyTries: state.busyTries + 1, waiting: true };
    case 'marked': {
      const { commit, undone = [] } = result;
      const left: Partial<PhaseEntry> =
        undone.length === 0 ? {} : { status: 'incomplete', undone: undone.length, why: cut(undoneWords(undone)) };
      const next = withPhase(free, id, { ...marked, ...left });
      const { why } = phaseOf(next, id);
      return emit(next, now, {
        ...{ type: 'phase_marked', phase: phase.number, marker: markerOf(phaseOf(next, id)), commit, why },
      });
    }
    case 'conflict':
      return {
        ...free,
        asked: id,
        ask: {
          reason: 'engine_failed',
          message: cut(`the plan could not be marked: ${result.why}`),
          files: [],
          subject: null,
        },
      };
  }
}

function onWish(state: PlanState, wish: 'pause' | 'resume' | 'stop', by: string, now: number): PlanState {
  switch (wish) {
    case 'pause':
      return state.pausedBy === null ? emit({ ...state, pausedBy: by }, now, { type: 'plan_paused', by }) : state;
    case 'resume': {
      if (state.pausedBy === null && state.stopAfterPhase === null) return state;
      return emit({ ...state, pausedBy: null, stopAfterPhase: null }, now, { type: 'plan_resumed', by });
    }
    case 'stop':
      return emit({ ...state, stopAfterPhase: by }, now, { type: 'plan_stop_wanted', by });
  }
}

/** `now` is workflow time, ms since the epoch. */
export function reducePlan(state: PlanState, fact: PlanFact, now: number): PlanState {
  switch (fact.type) {
    case 'plan_read':
      return onPlanRead(state, fact.result, now);
    case 'begun':
      return onBegun(state, fact.group, now);
    case 'job_made': {
      const { result } = fact;
      if (result.outcome === 'ready') return onJob(state, fact.phase, result, now);
      const message = cut(result.problem.message);
      return { ...state, asked: fact.phase, ask: { reason: 'engine_failed', message, files: [], subject: null } };
    }
    case 'phases_started':
      return fact.phases.reduce<PlanState>(
        (told, id) => {
          const { number, status, runs } = phaseOf(told, id);
          if (status === 'running') return told;
          return emit(withPhase(told, id, { status: 'running', runs: runs + 1, result: null }), now, {
            type: 'phase_editing',
            phase: number,
            run: runs + 1,
            child: phaseKey(state.input.stepKey, id, runs + 1),
          });
        },
        { ...state, stage: 'running' },
      );
    case 'worktree_ready':
      return onWorktree(state, fact.phase, fact.name, fact.result);
    case 'worktree_removed': {
      const { dropped } = fact.result;
      const worktrees = state.worktrees.filter((name) => name !== fact.name);
      return emit({ ...state, worktrees }, now, { type: 'worktree_removed', name: fact.name, dropped });
    }
    case 'group_verified':
      return onGroupVerified(state, fact.base, fact.result, now);
    case 'group_untested':
      return { ...state, stage: fact.base ? 'jobs' : 'marking' };
    case 'phase_merged':
      return onMerged(state, fact.phase, fact.result, now);
    case 'phase_ended':
      return onPhaseEnded(state, fact.ended, now);
    case 'phase_marked':
      return onMarked(state, fact.phase, fact.result, now);
    case 'scored':
      return onScored(state, fact.phase, fact.result, now);
    case 'revise': {
      const drifts = fact.trigger === 'scope_drift' ? state.drifts.slice(1) : state.drifts;
      return beginRevising({ ...state, drifts }, fact.phase, fact.trigger, fact.words);
    }
    case 'judged':
      return onJudged(state, fact.revising, fact.result, now);
    case 'debugged':
      return onDebugged(state, fact.revising, fact.result, now);
    case 'proposed':
      return onProposed(state, fact.revising, fact.result, now);
    case 'replanned':
      return onReplanned(state, fact.revising, fact.result, now);
    case 'drift': {
      const { text, by } = fact;
      if (state.drifts.length >= BOUNDS.driftsKept) return state;
      return emit({ ...state, drifts: [...state.drifts, { text, by }] }, now, {
        type: 'scope_drift',
        text: cut(text),
        by,
      });
    }
    case 'waited':
      return { ...state, waiting: false };
    case 'checkpointed': {
      const number = state.checkpoints + 1;
      const next = { stage: 'reading', reading: state.reading + 1, group: [] } as const;
      const saved = { ...state, checkpoints: number, ...(state.stage === 'closed' ? {} : next) };
      return emit(saved, now, { type: 'checkpoint_saved', number, path: fact.result.path });
    }
    case 'paused':
      return onPaused(state, fact.pause, now);
    case 'decided':
      return applyPlanDecision(state, fact.request, now);
    case 'ignored': {
      const ignored = [...state.ignored, cut(`${fact.what}: ${fact.why}`)].slice(-BOUNDS.ignoredKept);
      const event = { type: 'decision_ignored', what: cut(fact.what), why: cut(fact.why) } as const;
      return emit({ ...state, ignored }, now, event);
    }
    case 'wish':
      return onWish(state, fact.wish, fact.by, now);
    case 'activity_failed': {
      const told = emit(state, now, { type: 'activity_failed', activity: fact.activity, message: cut(fact.message) });
      const message = cut(`${fact.activity}: ${fact.message}`);
      return { ...told, asked: fact.phase, ask: { reason: fact.reason, message, files: [], subject: null } };
    }
    case 'abort':
      return abortPlan(state, fact.by, now);
    case 'closed':
      return closePlan(state, fact.outcome, now);
  }
}
