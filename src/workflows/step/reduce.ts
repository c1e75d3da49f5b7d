/**
 * The one reducer of an edit step: facts (what an activity returned, what a person decided) in, the next state out. Pure and
 * deterministic, as it runs inside the workflow. ◆ Another outcome for the same facts is another replay (docs/versions.md).
 */
import type { ActivityName, ResultOf } from '../../shared/activities.js';
import type { PickedFile } from '../../shared/pick.js';
import type { NoSandbox, NotYet } from '../../shared/proposal-activities.js';
import type { TestSubject } from '../../shared/test-activities.js';
import { abortStep, applyDecision } from './decide.js';
import type { Answer, Pause } from '../../shared/decisions.js';
import { pathsToApply, type Chunk } from './effects.js';
import { answeredAgain, waited } from '../../shared/outage.js';
import {
  onApplied,
  onCommitted,
  onRebased,
  onProposalBuilt,
  onProposalTested,
  onVerified,
} from './reduce-apply.js';
import { onAudited, onRolledBack } from './reduce-verify.js';
import { onPreflight } from './reduce-preflight.js';
import { mayRunOutside, onBaseTested, waitToApply } from './reduce-tests.js';
import {
  failChunk,
  onChunkStarted,
  onProposed,
  onUsageCounted,
  spend,
  type Proposed,
} from './reduce-propose.js';
import { asking } from '../frame/decisions/asking.js';
import { decisionId } from '../frame/decisions/state.js';
import { isPart, type FileEntry, type StepState } from './state.js';
import {
  close,
  lookAgain,
  lookFor,
  progressOf,
  resolveReview,
  takePicked,
  withFiles,
} from './transitions.js';
import { emit, noProgress, onModelDown, tellFailed } from '../frame/log.js';
import { recordIgnored } from '../frame/decisions/answering.js';
import { openDecision } from '../frame/decisions/asking.js';
import {
  within,
  type ActivityFailed,
  type FactOf,
  type Folds,
  type FrameFacts,
} from '../frame/machine.js';
import { cut } from '../../shared/rules.js';
import { planOf } from '../../shared/ids.js';
import { count } from '../../shared/text.js';

/** By their type. */
interface Facts extends FrameFacts {
  preflighted: { result: ResultOf<'preflight'> };
  picked: { result: ResultOf<'pickFiles'> };
  briefed: { result: ResultOf<'writeBrief'> };
  chunk_started: { chunk: Chunk };
  proposed: Proposed;
  proposal_built: { result: ResultOf<'buildProposal'> };
  approved_by_policy: object;
  applied: { result: ResultOf<'applyProposal'> };
  rebased: { result: ResultOf<'rebaseProposal'> };
  tested: { on: TestSubject; result: ResultOf<'runTests'> };
  audited: { result: ResultOf<'auditChange'> };
  /** The lock is ended. */
  released: object;
  rolled_back: { result: ResultOf<'rollBack'> };
  committed: { result: ResultOf<'commit'> };
  activity_failed: ActivityFailed & { chunk: Chunk | null };
  finished: object;
}
export type Fact = FactOf<Facts>;

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

function onTested(
  before: StepState,
  { on, result }: Facts['tested'],
  currentTime_ms: number,
): StepState {
  if (result.outcome === 'busy') return onTestsBusy(before, on, result, currentTime_ms);
  const state =
    result.keepsOutputs === true ? within(before, 'tests', { keepsOutputs: true }) : before;
  if (on.kind === 'base')
    return isOfBase(result) ? onBaseTested(state, result, currentTime_ms) : state;
  if ('on' in result && result.on === 'base') return state;
  if (on.kind !== 'proposal') return onVerified(state, result, currentTime_ms);
  const { files, isFresh = false } = on;
  return onProposalTested(state, { result, files, isFresh }, currentTime_ms);
}

function onTestsBusy(
  state: StepState,
  on: TestSubject,
  result: NotYet,
  currentTime_ms: number,
): StepState {
  if (on.kind !== 'base' || state.stage.at === 'review')
    return onNoTurn(state, 'runTests', currentTime_ms);
  // Next to a call for an edit the base is not waited for.
  return state.stage.at === 'apply' ? waitToApply(state, result, currentTime_ms) : state;
}

const isOfBase = (
  result: Exclude<ResultOf<'runTests'>, NotYet>,
): result is Extract<typeof result, { readonly on: 'base' } | NoSandbox> =>
  result.outcome === 'no_sandbox' || ('on' in result && result.on === 'base');

/** The same move comes next: the wait was in the activity. */
const onNoTurn = (state: StepState, activity: ActivityName, now: number): StepState =>
  emit(state, now, {
    type: 'warning',
    message: `${activity} is waiting for its turn: commands of other runs are running`,
  });

const policyVerdict = (state: StepState): StepState => {
  const n = state.nextDecision;
  const keys = new Map((state.proposal?.files ?? []).map((file) => [file.path, file.key]));
  return withFiles({ ...state, nextDecision: n + 1 }, [...keys.keys()], (file): FileEntry => {
    const key = keys.get(file.path) ?? '';
    const standing = file.verdict?.key === key;
    return standing
      ? file
      : {
          ...file,
          verdict: { answer: 'approve', decision: n, key, isAutomatic: true },
        };
  });
};

function onPicked(state: StepState, result: ResultOf<'pickFiles'>, now: number): StepState {
  if (result.outcome === 'failed' && result.down !== undefined)
    return onModelDown(state, result.down, 'pick', now);
  const paid = spend({ ...state, ...answeredAgain(state, now) }, result.usage);
  if (result.outcome === 'failed')
    return asking(paid, result.reason, cut(state.input.rules, result.message));
  if (result.outcome === 'look_for')
    return lookFor(emit(paid, now, { type: 'looking_for', words: result.words }), result.words);
  const { files } = result;
  if (result.outcome === 'nothing_found')
    return askWhich(paid, 'nothing_found', result.message, files);
  const made = files.filter(({ isNew }) => isNew === true).map(({ path }) => path);
  const named = made.length === 0 ? paid : within(paid, 'base', { made });
  const wanted = `the model wants to edit ${count(files.length, 'file')}; --pick asks before any is edited`;
  const why = result.tooMany ?? (state.input.pick === true ? wanted : undefined);
  return why === undefined ? takePicked(named, files, now) : askWhich(named, 'pick', why, files);
}

const askWhich = (
  state: StepState,
  reason: 'nothing_found' | 'pick',
  message: string,
  files: readonly PickedFile[],
): StepState => {
  const named = files.map(({ path, why }) => ({
    path,
    reason,
    message: cut(state.input.rules, why),
  }));
  return { ...state, ask: { reason, message, files: named, subject: null } };
};

function onBriefed(state: StepState, result: ResultOf<'writeBrief'>, now: number): StepState {
  const { brief, message, usage, down, newFiles } = result;
  if (down !== undefined) return onModelDown(state, down, 'brief', now);
  const answered = spend({ ...state, ...answeredAgain(state, now) }, usage);
  const paid = within(answered, 'edits', { brief, briefWanted: brief !== null });
  const event =
    message === null
      ? { type: 'brief_ready' as const }
      : { type: 'warning' as const, message: cut(state.input.rules, message) };
  const told = emit(paid, now, event);
  return newFiles === undefined ? told : makeToo(told, newFiles, now);
}
/** New files change nothing of the base: what its tests said holds for it with them. */
function makeToo(state: StepState, files: readonly PickedFile[], now: number): StepState {
  const paths = files.map(({ path }) => path);
  const { base, tests } = state;
  const known =
    tests.base?.number === base.number ? { base: { ...tests.base, number: base.number + 1 } } : {};
  const change = {
    made: [...(base.made ?? []), ...paths],
    picks: [...(base.picks ?? []), ...files],
  };
  const told = emit(within(state, 'tests', known), now, {
    type: 'files_picked',
    file_count: files.length,
    files,
  });
  return lookAgain(within(told, 'base', change), paths);
}

const onApprovedByPolicy = (state: StepState, now: number): StepState =>
  resolveReview(
    emit(policyVerdict(state), now, {
      type: 'decided',
      decision: decisionId(state, state.proposal?.id),
      answer: 'approve',
      files: state.proposal?.files.length ?? 0,
      skipped: [],
      by: 'policy (approval: auto)',
    }),
    now,
  );

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
