/**
 * The one reducer of an edit step: facts (what an activity returned, what a person decided) in, the next state out. Pure and
 * deterministic, as it runs inside the workflow. ◆ Another outcome for the same facts is another replay (docs/versions.md).
 */
import type { Answer, Pause } from '../../shared/decisions.js';
import { planOf } from '../../shared/ids.js';
import { waited } from '../../shared/outage.js';
import { cut } from '../../shared/rules.js';
import { recordIgnored } from '../frame/decisions/answering.js';
import { asking, openDecision } from '../frame/decisions/asking.js';
import { noProgress, tellFailed } from '../frame/log.js';
import { type FactOf, type Folds, within } from '../frame/machine.js';
import { onNoTurn } from './commands.js';
import { abortStep, applyDecision } from './decide.js';
import type { Facts } from './protocol.js';
import { isPart, mayRunOutside, pathsToApply, progressOf } from './selectors.js';
import { onUsageCounted } from './spending.js';
import { onApplied, onRolledBack } from './stages/apply.js';
import { onProposalBuilt, onRebased } from './stages/build.js';
import { onCommitted } from './stages/commit.js';
import { onPicked, onPreflight } from './stages/preflight.js';
import { onBriefed } from './stages/propose/index.js';
import { failChunk, onChunkStarted, onProposed } from './stages/propose/responses.js';
import { onApprovedByPolicy } from './stages/review.js';
import { onAudited } from './stages/verify/audit.js';
import { onTested } from './stages/verify/tests.js';
import type { StepState } from './state.js';
import { close } from './ways.js';

function onPaused(state: StepState, wanted: Pause, now: number): StepState {
  // Before the files are known nobody can have changed them by hand, nor in a checkout, which is nobody's.
  const inPart = (state.proposal?.files ?? []).some((file) => (file.changes ?? 0) > 1);
  const offered: Partial<Record<Answer, boolean>> = {
    manual: state.base.ready !== null && state.input.repository === undefined,
    // Before the proposal is built, where a formatter may take it up.
    run_once: state.stage.at !== 'propose',
    outside: mayRunOutside(state),
    select: inPart,
    move:
      planOf(state.input.stepKey) === state.input.stepKey && state.input.repository === undefined,
    take: wanted.files.length > 0,
    // At an audit there is no file to ask for.
    ...(wanted.reason === 'runaway' && state.stage.at !== 'propose'
      ? { change_model: false, revise: false }
      : {}),
    approve: wanted.reason === 'approval' || (isPart(state) && wanted.files.length > 0),
  };
  const answers = state.input.rules.answers[wanted.reason].filter(
    (answer) => offered[answer] ?? true,
  );
  const proposalId = state.proposal?.id ?? null;
  return openDecision(state, wanted, now, { answers, proposalId, progress: progressOf(state) });
}

function onActivityFailed(
  state: StepState,
  fact: Facts['activity_failed'],
  now: number,
): StepState {
  const told = tellFailed(state, fact, now);
  const message = cut(state.input.rules, `${fact.activity}: ${fact.message}`);
  if (fact.chunk !== null)
    return failChunk(told, fact.chunk, { reason: fact.reason, message }, now);
  // A new base does not help what must be put back first.
  const reason =
    state.stage.at === 'roll_back' && fact.reason === 'blob_lost' ? 'engine_failed' : fact.reason;
  if (fact.activity !== 'applyProposal' || reason !== 'engine_failed' || state.proposal === null)
    return asking(told, reason, message);
  const uncertain = {
    proposal: state.proposal.ref,
    decision: state.applied.decision,
    files: pathsToApply(state),
  };
  return asking(within(told, 'applied', { uncertain }), reason, message);
}

function onWaited(state: StepState, now: number): StepState {
  const { stage } = state;
  const busy =
    stage.at === 'apply' && stage.busy !== null ? { ...stage.busy, waiting: false } : null;
  return {
    ...state,
    ...(busy === null ? {} : { stage: { at: 'apply', busy } }),
    ...waited(state, now),
  };
}

function onAbort(state: StepState, name: string, now: number): StepState {
  const by = { name, from: '' };
  return abortStep(
    state,
    { answer: 'abort', files: [], note: null, by, at: now, requestId: '' },
    now,
  );
}

const FOLDS: Folds<StepState, Facts> = {
  preflighted: (state, { result }, now) => onPreflight(state, result, now),
  picked: (state, { result }, now) => onPicked(state, result, now),
  briefed: (state, { result }, now) => onBriefed(state, result, now),
  chunk_started: (state, { chunk }, now) => onChunkStarted(state, chunk, now),
  proposed: onProposed,
  usage_counted: (state, { usage }, now) => onUsageCounted(state, usage, now),
  proposal_built: (state, { result }, now) =>
    result.outcome === 'busy'
      ? onNoTurn(state, 'buildProposal', now)
      : onProposalBuilt(state, result, now),
  approved_by_policy: (state, _, now) => onApprovedByPolicy(state, now),
  applied: (state, { result }, now) => onApplied(state, result, now),
  waited: (state, _, now) => onWaited(state, now),
  rebased: (state, { result }, now) => onRebased(state, result, now),
  tested: onTested,
  audited: (state, { result }, now) => onAudited(state, result, now),
  released: (state, _, now) => close(state, now, 'applied'),
  rolled_back: (state, { result }, now) => onRolledBack(state, result, now),
  committed: (state, { result }, now) =>
    result.outcome === 'busy' ? onNoTurn(state, 'commit', now) : onCommitted(state, result, now),
  paused: (state, { pause }, now) => onPaused(state, pause, now),
  decided: (state, { request }, now) => applyDecision(state, request, now),
  ignored: recordIgnored,
  activity_failed: onActivityFailed,
  no_progress: (state, { effects }) =>
    asking(state, 'engine_failed', noProgress(effects, state.stage.at)),
  abort: (state, { by }, now) => onAbort(state, by, now),
  finished: (state, _, now) => (state.stage.at === 'closed' ? state : close(state, now, 'failed')),
};

/** Folds one fact into the state. `now` is workflow time, ms since the epoch. */
export const reduce = <T extends keyof Facts>(
  state: StepState,
  fact: FactOf<Facts, T>,
  now: number,
): StepState => FOLDS[fact.type](state, fact, now);
