/**
 * The reducer of an edit step. The stages fold in their own facts; here are those that can come at any stage. ◆ Pure and deterministic, as it
 * runs inside the workflow: another outcome for the same facts is another replay (docs/versions.md).
 */
import type { Answer, DecisionRecord, Pause } from '../../shared/decisions.js';
import { planOf } from '../../shared/ids.js';
import { waited } from '../../shared/outage.js';
import { cut } from '../../shared/rules.js';
import { recordIgnored } from '../frame/decisions/answering.js';
import { asking, openDecision } from '../frame/decisions/asking.js';
import { noProgress, tellFailed } from '../frame/log.js';
import { type FactOf, type Folds, within } from '../frame/machine.js';
import { abortStep, applyDecision } from './decide.js';
import type { Facts } from './protocol.js';
import { isPart, mayRunOutside, pathsToApply, progressOf } from './selectors.js';
import { onUsageCounted } from './spending.js';
import { ON } from './stages/index.js';
import { failChunk } from './stages/propose/responses.js';
import type { StepState } from './state.js';
import { close } from './ways.js';

const FOLDS: Folds<StepState, Facts> = {
  ...ON,
  usage_counted: (state, { usage }, currentTime_ms) => onUsageCounted(state, usage, currentTime_ms),
  waited: (state, _, currentTime_ms) => onWaited(state, currentTime_ms),
  paused: (state, { pause }, currentTime_ms) => onPaused(state, pause, currentTime_ms),
  decided: (state, { request }, currentTime_ms) => applyDecision(state, request, currentTime_ms),
  ignored: recordIgnored,
  activity_failed: onActivityFailed,
  no_progress: (state, { effects }) =>
    asking(state, 'engine_failed', noProgress(effects, state.stage.at)),
  abort: (state, { by: name }, currentTime_ms) => onAbort(state, name, currentTime_ms),
  finished: (state, _, currentTime_ms) =>
    state.stage.at === 'closed' ? state : close(state, currentTime_ms, 'failed'),
};

/** Folds one fact into the state. */
export const reduce = <T extends keyof Facts>(
  state: StepState,
  fact: FactOf<Facts, T>,
  currentTime_ms: number,
): StepState => FOLDS[fact.type](state, fact, currentTime_ms);

/** Opens the decision that a pause asks for, with the answers that are possible now. */
function onPaused(state: StepState, pause: Pause, currentTime_ms: number): StepState {
  const offers = offersOf(state, pause);
  const answers = state.input.rules.answers[pause.reason].filter(
    (answer) => offers[answer] ?? true,
  );
  const proposalId = state.proposal?.id ?? null;
  const progress = progressOf(state);
  return openDecision(state, pause, currentTime_ms, { answers, proposalId, progress });
}

/** Returns for each answer that is not always possible whether it is possible now. */
function offersOf(state: StepState, pause: Pause): Partial<Record<Answer, boolean>> {
  const { base, input, proposal, stage } = state;
  const hasDirectory = input.repository === undefined;
  const asksAboutFiles = pause.files.length > 0;
  const offers = {
    // Nobody can have edited files that are not known yet, or that are in a checkout.
    manual: base.ready !== null && hasDirectory,
    // The formatter of the build would use up a consent that is given before it.
    run_once: stage.at !== 'propose',
    outside: mayRunOutside(state),
    select: (proposal?.files ?? []).some((file) => (file.changes ?? 0) > 1),
    move: planOf(input.stepKey) === input.stepKey && hasDirectory,
    take: asksAboutFiles,
    approve: pause.reason === 'approval' || (isPart(state) && asksAboutFiles),
  };
  // At an audit there is no file to ask a model for again.
  return pause.reason === 'runaway' && stage.at !== 'propose'
    ? { ...offers, change_model: false, revise: false }
    : offers;
}

/** Asks about an activity that failed for good, or ends the chunk that it was for. */
function onActivityFailed(
  state: StepState,
  { activity, message, reason, chunk }: Facts['activity_failed'],
  currentTime_ms: number,
): StepState {
  const nextState = tellFailed(state, { activity, message, reason }, currentTime_ms);
  const text = cut(state.input.rules, `${activity}: ${message}`);
  if (chunk !== null) return failChunk(nextState, chunk, { reason, message: text }, currentTime_ms);
  // A new base does not help before the files are restored.
  const question =
    state.stage.at === 'roll_back' && reason === 'blob_lost' ? 'engine_failed' : reason;
  return asking(
    activity === 'applyProposal' && question === 'engine_failed'
      ? withUncertainApply(nextState)
      : nextState,
    question,
    text,
  );
}

/** Records that the files of the proposal may be written, so that an end of the step restores them too. */
function withUncertainApply(state: StepState): StepState {
  if (state.proposal === null) return state;
  const uncertain = {
    proposal: state.proposal.ref,
    decision: state.applied.decision,
    files: pathsToApply(state),
  };
  return within(state, 'applied', { uncertain });
}

/** Ends a wait for the workspace or for a model. */
function onWaited(state: StepState, currentTime_ms: number): StepState {
  const { stage } = state;
  const busy =
    stage.at === 'apply' && stage.busy !== null ? { ...stage.busy, waiting: false } : null;
  return {
    ...state,
    ...(busy === null ? {} : { stage: { at: 'apply', busy } }),
    ...waited(state, currentTime_ms),
  };
}

function onAbort(state: StepState, name: string, currentTime_ms: number): StepState {
  const record: DecisionRecord = {
    answer: 'abort',
    files: [],
    note: null,
    by: { name, from: '' },
    at: currentTime_ms,
    requestId: '',
  };
  return abortStep(state, record, currentTime_ms);
}
