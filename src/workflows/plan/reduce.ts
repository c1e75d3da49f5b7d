/** Folds facts into a plan's state: what activities returned, how phases ended, what a person said. Pure and deterministic. */
import type { PhaseId, PlanOutcome, Report } from '../../shared/plan.js';
import type { Answer, Pause } from '../../shared/decisions.js';
import { asking, waitsForHost } from '../frame/decision-state.js';
import { waited } from '../../shared/outage.js';
import { phaseKey } from '../../shared/ids.js';
import { emit, recordIgnored, noProgress, openDecision, tellFailed } from '../frame/log.js';
import { within, type ActivityFailed, type FrameFact, type RunIo } from '../frame/machine.js';
import { answersTo, cut } from '../../shared/rules.js';
import { abortPlan, applyPlanDecision, onControl } from './decide.js';
import { onMarked, onPhaseEnded, type EndedPhase } from './phase-end.js';
import type { NotYet, VerifyOutcome } from '../../shared/proposal-activities.js';
import { onPlanRead } from './reading.js';
import { onGroupVerified, onMerged, onWorktree } from './worktrees.js';
import {
  beginRevising,
  onDebugged,
  onTriggersEvaluated,
  onProposed,
  onReplanned,
  onScored,
  tellComplexity,
  type ReviseTrigger,
} from './revising.js';
import type {
  ApplyReplanResult,
  DebugPhaseResult,
  EvaluateTriggersResult,
  ProposeReplanResult,
  ScorePhaseResult,
} from '../../shared/replan-activities.js';
import { closePlan, groupOf, isDone, phaseOf, readAgain, withPhase, type PlanState, type Revising } from './state.js';
import { isReport, onReported, withoutCurrent } from './reports.js';
import type {
  CheckpointResult,
  MarkPhaseResult,
  MergePhaseResult,
  PhaseJobResult,
  PrepareWorktreeResult,
  ReadPlanResult,
  RemoveWorktreeResult,
} from '../../shared/plan-activities.js';

export type PlanFact =
  | FrameFact
  | { readonly type: 'plan_read'; readonly result: ReadPlanResult }
  | { readonly type: 'begun'; readonly group: readonly PhaseId[] }
  | { readonly type: 'job_made'; readonly phase: PhaseId; readonly result: PhaseJobResult }
  | { readonly type: 'phases_started'; readonly phases: readonly PhaseId[] }
  | { readonly type: 'phase_ended'; readonly ended: EndedPhase }
  | {
      readonly type: 'worktree_ready';
      readonly phase: PhaseId;
      readonly name: string;
      readonly result: PrepareWorktreeResult | NotYet;
    }
  | { readonly type: 'worktree_removed'; readonly name: string; readonly result: RemoveWorktreeResult }
  | { readonly type: 'group_verified'; readonly base: boolean; readonly result: VerifyOutcome | NotYet }
  /** No test command: nothing is to be verified. */
  | { readonly type: 'group_untested'; readonly base: boolean }
  | { readonly type: 'phase_merged'; readonly phase: PhaseId; readonly result: MergePhaseResult }
  | { readonly type: 'phase_marked'; readonly phase: PhaseId; readonly result: MarkPhaseResult }
  | { readonly type: 'scored'; readonly phase: PhaseId; readonly result: ScorePhaseResult }
  | { readonly type: 'revise'; readonly phase: PhaseId; readonly trigger: ReviseTrigger; readonly words: string }
  | { readonly type: 'triggers_evaluated'; readonly revising: Revising; readonly result: EvaluateTriggersResult }
  | { readonly type: 'debugged'; readonly revising: Revising; readonly result: DebugPhaseResult }
  | { readonly type: 'proposed'; readonly revising: Revising; readonly result: ProposeReplanResult }
  | { readonly type: 'replanned'; readonly revising: Revising; readonly result: ApplyReplanResult }
  | { readonly type: 'reported'; readonly report: Report }
  | { readonly type: 'checkpointed'; readonly result: CheckpointResult }
  /** Phases side by side without a worktree: each gets its own before it runs. */
  | { readonly type: 'worktrees_wanted' }
  | { readonly type: 'control_received'; readonly control: 'pause' | 'resume' | 'stop'; readonly by: string }
  | (ActivityFailed & { readonly phase: PhaseId | null })
  | { readonly type: 'closed'; readonly outcome: PlanOutcome };
/** What a plan's moves are performed with; each is about a phase, or about the plan as a whole. */
export type PlanRun = RunIo<PlanState, PlanFact, PhaseId | null>;

/** What may be said at a decision of a plan: without a phase there is nothing to skip or to have done by hand. */
const answersOf = (state: PlanState, { reason, subject }: Pause): readonly Answer[] => {
  const { asked, stage } = state;
  // Before phases begin, or on the merged tree, where there is no last proposal: what is there stays, or a person mends it and the tests run again.
  if (reason === 'tests_failed')
    return asked === null ? ['revise', 'keep', 'manual'] : ['revise', 'continue', 'manual', 'skip'];
  // Of a whole plan: the phases that are to be left out are said in its document.
  if (reason === 'estimate') return ['continue'];
  // Nothing was found that could be run.
  if (reason === 'test_command' && subject === null) return ['other', 'no_tests'];
  const isDue = asked !== null && (!isDone(phaseOf(state, asked)) || stage.at === 'marking' || stage.at === 'merging');
  return answersTo(state, reason).filter(
    (answer) => answer !== 'approve' && (isDue || (answer !== 'manual' && answer !== 'skip')),
  );
};

function onPaused(state: PlanState, wanted: Pause, now: number): PlanState {
  const count = (status: string): number => state.phases.filter((phase) => phase.status === status).length;
  const progress = {
    done: count('completed'),
    failed: count('incomplete') + count('failed'),
    skipped: count('skipped'),
    total: state.phases.length,
  };
  return openDecision(state, wanted, now, { answers: answersOf(state, wanted), progress });
}

function onBegun(before: PlanState, group: readonly PhaseId[], now: number): PlanState {
  const begun = within(within(before, 'group', { ids: group, baseTested: false }), 'counts', {
    groups: before.counts.groups + 1,
  });
  const state: PlanState = { ...begun, stage: { at: group.length > 1 ? 'worktrees' : 'jobs' } };
  const total = state.phases.length;
  return groupOf(state).reduce((told, { id, number, name, tasks, complexityTold }) => {
    const list = tasks.shown === undefined ? {} : { list: tasks.shown };
    const event = { type: 'phase_started', phase: number, total, name, tasks: tasks.total, ...list } as const;
    const started = emit(told, now, event);
    return withPhase(complexityTold ? started : tellComplexity(started, id, now), id, { complexityTold: false });
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

/** ◆ What made it so is not known: a `retry` begins with a new reading. Merges that are under way are not forgotten for it. */
function onNoProgress(state: PlanState, renames: number): PlanState {
  const { stage } = state;
  const cleared = within(withoutCurrent(state), 'busy', { waiting: false });
  const stopped = asking({ ...cleared, asked: null, again: false }, 'engine_failed', noProgress(renames, stage.at));
  if (stage.at === 'merging') return stopped;
  return readAgain(stopped, { inherit: stage.at === 'reading' ? stage.inherit : null });
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
      return asking({ ...state, asked: fact.phase }, 'engine_failed', cut(state, result.problem.message));
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
        { ...state, stage: { at: 'running' } },
      );
    case 'worktree_ready':
      return fact.result.outcome === 'busy' ? state : onWorktree(state, fact.phase, fact.name, fact.result);
    case 'worktree_removed': {
      const { name } = fact;
      const { dropped, kept: ref } = fact.result;
      const made = state.worktrees.made.filter((each) => each !== name);
      const removed = emit(within(state, 'worktrees', { made }), now, {
        ...{ type: 'worktree_removed', name, dropped },
        ...(ref === null ? {} : { kept: ref }),
      });
      if (dropped === null || ref === null) return removed;
      return within(removed, 'worktrees', { kept: [...state.worktrees.kept, { name, ref, commit: dropped }] });
    }
    case 'group_verified':
      return fact.result.outcome === 'busy' ? state : onGroupVerified(state, fact.base, fact.result, now);
    case 'group_untested':
      return { ...state, stage: { at: fact.base ? 'jobs' : 'marking' } };
    case 'phase_merged':
      return onMerged(state, fact.phase, fact.result, now);
    case 'phase_ended':
      return onPhaseEnded(state, fact.ended, now);
    case 'phase_marked':
      return onMarked(state, fact.phase, fact.result, now);
    case 'scored':
      return onScored(state, fact.phase, fact.result, now);
    case 'revise': {
      const { drifts } = state.revision;
      const left = within(state, 'revision', { drifts: isReport(fact.trigger) ? drifts.slice(1) : drifts });
      const told = fact.trigger === 'complexity' ? tellComplexity(left, fact.phase, now) : left;
      return beginRevising(told, fact.phase, fact.trigger, fact.words);
    }
    case 'triggers_evaluated':
      return onTriggersEvaluated(state, fact.revising, fact.result, now);
    case 'debugged':
      return onDebugged(state, fact.revising, fact.result, now);
    case 'proposed':
      return onProposed(state, fact.revising, fact.result, now);
    case 'replanned':
      return onReplanned(state, fact.revising, fact.result, now);
    case 'reported':
      return onReported(state, fact.report, now);
    case 'waited':
      return { ...within(state, 'busy', { waiting: false }), ...waited(state, now) };
    case 'checkpointed': {
      const number = state.counts.checkpoints + 1;
      const saved = within(state, 'counts', { checkpoints: number });
      return emit(state.stage.at === 'closed' ? saved : readAgain(saved), now, {
        type: 'checkpoint_saved',
        number,
        path: fact.result.path,
      });
    }
    case 'paused':
      return onPaused(state, fact.pause, now);
    case 'decided':
      return applyPlanDecision(state, fact.request, now);
    case 'worktrees_wanted':
      return { ...state, stage: { at: 'worktrees' } };
    case 'ignored':
      return recordIgnored(state, fact, now);
    case 'control_received':
      return onControl(state, fact.control, fact.by, now);
    case 'activity_failed': {
      const told = tellFailed(state, fact, now);
      const message = cut(state, `${fact.activity}: ${fact.message}`);
      // A mark asks no model again, whatever is lost: it is tried once more, or left out.
      const reason = fact.activity === 'markPhase' && fact.reason === 'blob_lost' ? 'engine_failed' : fact.reason;
      return asking({ ...told, again: true, asked: fact.phase }, reason, message);
    }
    case 'no_progress':
      return onNoProgress(state, fact.effects);
    case 'abort':
      return abortPlan(state, { by: fact.by, withoutHost: waitsForHost(state) }, now);
    case 'closed':
      return closePlan(state, fact.outcome, now);
  }
}
