/** Folds facts into a plan's state: what activities returned, how phases ended, what a person said. Pure and deterministic. */
import type { PhaseId, PlanOutcome, Report } from '../../shared/plan.js';
import { sentence } from '../../shared/problems.js';
import type { Answer, Pause } from '../../shared/decisions.js';
import type { ActivityName, ResultOf } from '../../shared/activities.js';
import { asking } from '../frame/decision-state.js';
import { waited } from '../../shared/outage.js';
import { phaseKey } from '../../shared/ids.js';
import { emit, recordIgnored, noProgress, openDecision, tellFailed } from '../frame/log.js';
import {
  within,
  type ActivityFailed,
  type FactOf,
  type Folds,
  type FrameFacts,
  type RunIo,
} from '../frame/machine.js';
import { abortPlan, applyPlanDecision, onControl } from './decide.js';
import { onMarked, onPhaseEnded, type EndedPhase } from './phase-end.js';
import { onPlanRead } from './reading.js';
import { onGroupVerified, onMerged, onWorktree } from './worktrees.js';
import * as revise from './revising.js';
import {
  askAbout,
  closePlan,
  groupOf,
  isDone,
  phaseOf,
  placeOf,
  readAgain,
  withPhase,
  type PlanState,
  type Revising,
} from './state.js';
import { isReport, onReported, withoutCurrent } from './reports.js';
interface OfPhase<N extends ActivityName> {
  phase: PhaseId;
  result: ResultOf<N>;
}
interface OfRevising<N extends ActivityName> {
  revising: Revising;
  result: ResultOf<N>;
}
interface PlanFacts extends FrameFacts {
  plan_read: { result: ResultOf<'readPlan'> };
  begun: { group: readonly PhaseId[] };
  job_made: OfPhase<'writePhaseJob'>;
  phases_started: { phases: readonly PhaseId[] };
  phase_ended: { ended: EndedPhase };
  worktree_ready: OfPhase<'prepareWorktree'> & { name: string };
  worktree_removed: { name: string; result: ResultOf<'removeWorktree'> };
  group_verified: { base: boolean; result: ResultOf<'runTests'> };
  /** No test command: nothing is to be verified. */
  group_untested: { base: boolean };
  phase_merged: OfPhase<'mergePhase'>;
  phase_marked: OfPhase<'markPhase'>;
  scored: OfPhase<'scorePhase'>;
  revise: { phase: PhaseId; trigger: revise.ReviseTrigger; words: string };
  debugged: OfRevising<'debugPhase'>;
  proposed: OfRevising<'proposeReplan'>;
  replanned: OfRevising<'applyReplan'>;
  reported: { report: Report };
  checkpointed: { result: ResultOf<'saveCheckpoint'> };
  /** Phases side by side without a worktree: each gets its own before it runs. */
  worktrees_wanted: object;
  control_received: { control: 'pause' | 'resume' | 'stop'; by: string };
  activity_failed: ActivityFailed & { phase: PhaseId | null };
  closed: { outcome: PlanOutcome };
}
export type PlanFact = FactOf<PlanFacts>;
/** What a plan's moves are performed with; each is about a phase, or about the plan as a whole. */
export type PlanRun = RunIo<PlanState, PlanFact, PhaseId | null>;

/** What may be said at a decision of a plan: without a phase there is nothing to skip or to have done by hand. */
const answersOf = (state: PlanState, { reason, subject }: Pause): readonly Answer[] => {
  const { asked, stage } = state;
  // Before phases begin, or on the merged tree, where there is no last proposal: what is there stays, or a person mends it and the tests run again.
  if (reason === 'tests_failed')
    return asked === null ? ['revise', 'keep', 'manual'] : ['revise', 'continue', 'manual', 'skip'];
  // Of a whole plan: the phases that are to be left out are said in its document.
  if (reason === 'estimate' || reason === 'runaway') return ['continue'];
  // Nothing was found that could be run.
  if (reason === 'test_command' && subject === null) return ['other', 'no_tests'];
  const isDue =
    asked !== null &&
    (!isDone(phaseOf(state, asked)) || stage.at === 'marking' || stage.at === 'merging');
  return state.input.rules.answers[reason].filter(
    (answer) =>
      answer !== 'approve' &&
      answer !== 'move' &&
      (isDue || (answer !== 'manual' && answer !== 'skip')),
  );
};

function onPaused(state: PlanState, wanted: Pause, now: number): PlanState {
  const count = (status: string): number =>
    state.phases.filter((phase) => phase.status === status).length;
  const progress = {
    done: count('completed'),
    failed: count('incomplete') + count('failed'),
    skipped: count('skipped'),
    total: state.phases.length,
  };
  return openDecision(state, wanted, now, {
    answers: answersOf(state, wanted),
    progress,
    ofPlan: true,
  });
}

function onBegun(before: PlanState, group: readonly PhaseId[], now: number): PlanState {
  const begun = within(within(before, 'group', { ids: group, baseTested: false }), 'counts', {
    groups: before.counts.groups + 1,
  });
  const state: PlanState = { ...begun, stage: { at: group.length > 1 ? 'worktrees' : 'jobs' } };
  return groupOf(state).reduce((told, phase) => {
    const { id, number, name, tasks, complexityTold } = phase;
    const list = tasks.shown === undefined ? {} : { list: tasks.shown };
    const { place, total } = placeOf(state, phase);
    const event = {
      type: 'phase_started',
      phase: number,
      place,
      total,
      name,
      tasks: tasks.total,
      ...list,
    } as const;
    const started = emit(told, now, event);
    return withPhase(complexityTold ? started : revise.tellComplexity(started, id, now), id, {
      complexityTold: false,
    });
  }, state);
}

function onJob(
  state: PlanState,
  id: PhaseId,
  result: ResultOf<'writePhaseJob'>,
  now: number,
): PlanState {
  if (result.outcome === 'refused')
    return askAbout(state, id, 'engine_failed', sentence(result.problem));
  const { job, path, title, fallback } = result;
  const made = withPhase(state, id, { job: { ref: job, path, title } });
  const { number: phase } = phaseOf(state, id);
  return fallback === undefined
    ? made
    : emit(made, now, { type: 'phase_fallback', phase, to: fallback });
}

function onStarted(state: PlanState, id: PhaseId, now: number): PlanState {
  const { number, status, runs } = phaseOf(state, id);
  if (status === 'running') return state;
  return emit(withPhase(state, id, { status: 'running', runs: runs + 1, result: null }), now, {
    type: 'phase_editing',
    phase: number,
    run: runs + 1,
    child: phaseKey(state.input.stepKey, id, runs + 1),
  });
}

function onWorktreeRemoved(
  state: PlanState,
  { name, result }: PlanFacts['worktree_removed'],
  now: number,
): PlanState {
  const { dropped, kept: ref } = result;
  const made = state.worktrees.made.filter((each) => each !== name);
  const removed = emit(within(state, 'worktrees', { made }), now, {
    type: 'worktree_removed',
    name,
    dropped,
    ...(ref === null ? {} : { kept: ref }),
  });
  if (dropped === null || ref === null) return removed;
  return within(removed, 'worktrees', {
    kept: [...state.worktrees.kept, { name, ref, commit: dropped }],
  });
}

function onRevise(
  state: PlanState,
  { phase, trigger, words }: PlanFacts['revise'],
  now: number,
): PlanState {
  const { drifts } = state.revision;
  const left = within(state, 'revision', { drifts: isReport(trigger) ? drifts.slice(1) : drifts });
  const told = trigger === 'complexity' ? revise.tellComplexity(left, phase, now) : left;
  return revise.beginRevising(told, phase, trigger, words, now);
}

function onCheckpointed(state: PlanState, path: string, now: number): PlanState {
  const number = state.counts.checkpoints + 1;
  const saved = within(state, 'counts', { checkpoints: number });
  const next = state.stage.at === 'closed' ? saved : readAgain(saved);
  return emit(next, now, { type: 'checkpoint_saved', number, path });
}

function onActivityFailed(
  state: PlanState,
  fact: PlanFacts['activity_failed'],
  now: number,
): PlanState {
  const told = tellFailed(state, fact, now);
  // A mark asks no model again, whatever is lost: it is tried once more, or left out.
  const reason =
    fact.activity === 'markPhase' && fact.reason === 'blob_lost' ? 'engine_failed' : fact.reason;
  return askAbout(
    { ...told, again: true },
    fact.phase,
    reason,
    `${fact.activity}: ${fact.message}`,
  );
}

/** ◆ What made it so is not known: a `retry` begins with a new reading. Merges that are under way are not forgotten for it. */
function onNoProgress(state: PlanState, moves: number): PlanState {
  const { stage } = state;
  const cleared = within(withoutCurrent(state), 'busy', { waiting: false });
  const stopped = asking(
    { ...cleared, asked: null, again: false },
    'engine_failed',
    noProgress(moves, stage.at),
  );
  if (stage.at === 'merging') return stopped;
  return readAgain(stopped, { inherit: stage.at === 'reading' ? stage.inherit : null });
}

const FOLDS: Folds<PlanState, PlanFacts> = {
  plan_read: (state, { result }, now) => onPlanRead(state, result, now),
  begun: (state, { group }, now) => onBegun(state, group, now),
  job_made: (state, { phase, result }, now) => onJob(state, phase, result, now),
  phases_started: (state, { phases }, now) =>
    phases.reduce<PlanState>((told, id) => onStarted(told, id, now), {
      ...state,
      stage: { at: 'running' },
    }),
  worktree_ready: (state, { phase, name, result }) =>
    result.outcome === 'busy' ? state : onWorktree(state, phase, name, result),
  worktree_removed: onWorktreeRemoved,
  group_verified: (state, { base, result }, now) =>
    result.outcome === 'busy' ? state : onGroupVerified(state, base, result, now),
  group_untested: (state, { base }) => ({ ...state, stage: { at: base ? 'jobs' : 'marking' } }),
  phase_merged: (state, { phase, result }, now) => onMerged(state, phase, result, now),
  phase_ended: (state, { ended }, now) => onPhaseEnded(state, ended, now),
  phase_marked: (state, { phase, result }, now) => onMarked(state, phase, result, now),
  scored: (state, { phase, result }, now) => revise.onScored(state, phase, result, now),
  revise: onRevise,
  debugged: (state, { revising, result }, now) => revise.onDebugged(state, revising, result, now),
  proposed: (state, { revising, result }, now) => revise.onProposed(state, revising, result, now),
  replanned: (state, { revising, result }, now) => revise.onReplanned(state, revising, result, now),
  reported: (state, { report }, now) => onReported(state, report, now),
  usage_counted: (state, { usage }, now) => revise.onUsageCounted(state, usage, now),
  waited: (state, _, now) => ({
    ...within(state, 'busy', { waiting: false }),
    ...waited(state, now),
  }),
  checkpointed: (state, { result }, now) => onCheckpointed(state, result.path, now),
  paused: (state, { pause }, now) => onPaused(state, pause, now),
  decided: (state, { request }, now) => applyPlanDecision(state, request, now),
  worktrees_wanted: (state) => ({ ...state, stage: { at: 'worktrees' } }),
  ignored: recordIgnored,
  control_received: (state, { control, by }, now) => onControl(state, control, by, now),
  activity_failed: onActivityFailed,
  no_progress: (state, { effects }) => onNoProgress(state, effects),
  abort: (state, { by }, now) => abortPlan(state, by, now),
  closed: (state, { outcome }, now) => closePlan(state, outcome, now),
};

/** Folds one fact into the state. `now` is workflow time, ms since the epoch. */
export const reducePlan = <T extends keyof PlanFacts>(
  state: PlanState,
  fact: FactOf<PlanFacts, T>,
  now: number,
): PlanState => FOLDS[fact.type](state, fact, now);
