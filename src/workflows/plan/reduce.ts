/**
 * The reducer of a plan. The stages fold in their own facts; here are those that can come at any stage. Pure and deterministic, as it runs
 * inside the workflow.
 */
import type { Answer, Pause } from '../../shared/decisions.js';
import { waited } from '../../shared/outage.js';
import { recordIgnored } from '../frame/decisions/answering.js';
import { asking, openDecision } from '../frame/decisions/asking.js';
import { noProgress, tellFailed } from '../frame/log.js';
import { within, type Folds } from '../frame/machine.js';
import { onControl } from './controls.js';
import { abortPlan, applyPlanDecision } from './decide.js';
import type { PlanFact, PlanFacts } from './protocol.js';
import { onReported } from './reports.js';
import { isDone, phaseOf } from './selectors.js';
import { ON } from './stages/index.js';
import type { PlanState } from './state.js';
import { onUsageCounted } from './usage.js';
import { askAbout, closePlan, readAgain, withoutCurrent } from './ways.js';

const FOLDS: Folds<PlanState, PlanFacts> = {
  ...ON,
  reported: (state, { report }, currentTime_ms) => onReported(state, report, currentTime_ms),
  control_received: onControl,
  usage_counted: (state, { usage }, currentTime_ms) => onUsageCounted(state, usage, currentTime_ms),
  waited: (state, _, currentTime_ms) => ({
    ...within(state, 'busy', { waiting: false }),
    ...waited(state, currentTime_ms),
  }),
  paused: (state, { pause }, currentTime_ms) => onPaused(state, pause, currentTime_ms),
  decided: (state, { request }, currentTime_ms) =>
    applyPlanDecision(state, request, currentTime_ms),
  ignored: recordIgnored,
  activity_failed: onActivityFailed,
  no_progress: (state, { effects }) => onNoProgress(state, effects),
  abort: (state, { by: name }, currentTime_ms) => abortPlan(state, name, currentTime_ms),
  closed: (state, { outcome }, currentTime_ms) => closePlan(state, outcome, currentTime_ms),
};

/** Folds one fact into the state. */
export const reducePlan = <T extends keyof PlanFacts>(
  state: PlanState,
  fact: PlanFact<T>,
  currentTime_ms: number,
): PlanState => FOLDS[fact.type](state, fact, currentTime_ms);

/** Opens the decision that a pause asks for, with the answers that are possible now. */
function onPaused(state: PlanState, pause: Pause, currentTime_ms: number): PlanState {
  const count = (status: string): number =>
    state.phases.filter((phase) => phase.status === status).length;
  const progress = {
    done: count('completed'),
    failed: count('incomplete') + count('failed'),
    skipped: count('skipped'),
    total: state.phases.length,
  };
  return openDecision(state, pause, currentTime_ms, {
    answers: answersTo(state, pause),
    progress,
    ofPlan: true,
  });
}

/** Returns the answers that a decision of the plan offers. Without a phase there is nothing to skip or to do by hand. */
function answersTo(state: PlanState, { reason, subject }: Pause): readonly Answer[] {
  const { asked: phase, stage } = state;
  // There is no last proposal, before phases begin or on the merged tree: the tree stays as it is, or somebody repairs it and the tests run again.
  if (reason === 'tests_failed')
    return phase === null ? ['revise', 'keep', 'manual'] : ['revise', 'continue', 'manual', 'skip'];
  // It is about the whole plan: its document says which phases to leave out.
  if (reason === 'estimate' || reason === 'runaway') return ['continue'];
  // No test command was found.
  if (reason === 'test_command' && subject === null) return ['other', 'no_tests'];
  const isDue =
    phase !== null &&
    (!isDone(phaseOf(state, phase)) || stage.at === 'marking' || stage.at === 'merging');
  return state.input.rules.answers[reason].filter(
    (answer) =>
      answer !== 'approve' &&
      answer !== 'move' &&
      (isDue || (answer !== 'manual' && answer !== 'skip')),
  );
}

function onActivityFailed(
  state: PlanState,
  fact: PlanFacts['activity_failed'],
  currentTime_ms: number,
): PlanState {
  const { activity, phase, message } = fact;
  const failed = { ...tellFailed(state, fact, currentTime_ms), again: true };
  // A mark needs no model, whatever is lost: it is tried once more, or left out.
  const reason =
    activity === 'markPhase' && fact.reason === 'blob_lost' ? 'engine_failed' : fact.reason;
  return askAbout(failed, phase, reason, `${activity}: ${message}`);
}

/** ◆ The cause is not known, so a `retry` begins with a new reading. Merges that are under way are not forgotten for it. */
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
