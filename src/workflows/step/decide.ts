/** Takes up an answer to a decision of the step: its settings, what it orders for each file, then what follows. Pure. */
import {
  type Answer,
  type DecisionPoint,
  type DecisionRecord,
  type DecisionRequest,
  isOfTheRest,
  namedFiles,
  type PauseReason,
} from '../../shared/decisions.js';
import type { BlobRef } from '../../shared/ids.js';
import type { LimitName } from '../../shared/limits.js';
import { defaultChunks, isLimitName } from '../../shared/rules.js';
import { answerOf } from '../../shared/validate-decision.js';
import { decidedBy, recordOf, resolvedBy, seenWith, tryNow } from '../frame/decisions/answering.js';
import { raisedLimit, type ReachedLimit, requestedLimits } from '../frame/decisions/limits.js';
import { waitsForHost } from '../frame/decisions/state.js';
import { emit } from '../frame/log.js';
import { within } from '../frame/machine.js';
import { askAgain, asManual, splitByFile, withFiles } from './ledger.js';
import { moved } from './move.js';
import type { Decide, Resolution } from './protocol.js';
import { hasFailed, testsOfProposal, unfinishedPaths, withMakers } from './selectors.js';
import { asksOverEstimate } from './spending.js';
import { DECIDE, type StepReason } from './stages/index.js';
import { askFailedAgain, callSettings } from './stages/propose/failures.js';
import { withSelection } from './stages/review.js';
import type { FileEntry, StepState } from './state.js';
import { endAfterRollback, endWithoutHost, newBase } from './ways.js';

/** Takes up a request that counts. `shared/validate-decision.ts` decides which do. */
export const applyDecision = (
  state: StepState,
  request: DecisionRequest,
  currentTime_ms: number,
): StepState => reportSkipped(state, takeAnswer(state, request, currentTime_ms));

function takeAnswer(state: StepState, request: DecisionRequest, currentTime_ms: number): StepState {
  const { decision } = state;
  const counted = { ...state, seenRequests: seenWith(state, request.requestId) };
  if (request.answer === 'abort')
    return abortStep(counted, recordOf(request, currentTime_ms), currentTime_ms);
  if (decision === null) return tryNow(counted, request, currentTime_ms);
  const paths = pathsOf(decision, request);
  const answered = {
    ...decision.answered,
    ...Object.fromEntries(paths.map((path) => [path, request.answer])),
  };
  const records = [...state.pendingRecords, recordOf(request, currentTime_ms, paths)];
  const nextState = withAnswer(counted, decision, { request, paths }, currentTime_ms);
  const isComplete = decision.files.every((file) => Object.hasOwn(answered, file.path));
  if (!isComplete && !state.input.rules.wholeAnswers.includes(request.answer))
    return { ...nextState, decision: { ...decision, answered }, pendingRecords: records };
  const closed = { ...nextState, ...resolvedBy(state, decision, records, currentTime_ms) };
  const resolved = emit(closed, currentTime_ms, {
    type: 'decision_resolved',
    decision: decision.id,
    reason: decision.reason,
  });
  const resolution = { decision: { ...decision, answered }, request };
  return resolve(resolved, resolution, currentTime_ms);
}

/** Returns the paths that the request answers: those that it names, or all that have no answer yet. */
function pathsOf(decision: DecisionPoint, request: DecisionRequest): readonly string[] {
  const open = decision.files
    .map((file) => file.path)
    .filter((path) => answerOf(decision, path) === undefined);
  const named = namedFiles(request);
  return named === undefined ? open : open.filter((path) => named.includes(path));
}

/** A request, and the paths that it answers. */
interface Answered {
  readonly request: DecisionRequest;
  readonly paths: readonly string[];
}

/** Reports the answer, takes its settings, and does at once what it orders for each file. */
function withAnswer(
  state: StepState,
  decision: DecisionPoint,
  { request, paths }: Answered,
  currentTime_ms: number,
): StepState {
  const files = isOfTheRest(decision, request.answer) ? (state.proposal?.files ?? []) : paths;
  const event = decidedBy(request, decision.id, files.length);
  const reported = emit(state, currentTime_ms, event);
  const set = withSettings(mayExceedEstimate(reported, request), decision, request);
  return splitIfMixed(withFileAnswers(set, decision, { request, paths }), currentTime_ms);
}

/** The decisions of all stages, and those that can come at any stage. */
const DECISIONS: Decide<StepReason> = {
  ...DECIDE,
  workspace_unreachable: (state, { request }, currentTime_ms) =>
    request.answer === 'move' ? moved(state, request, currentTime_ms) : state,
  blob_lost: readAgain,
};

/** Does what follows once each file of the decision has its answer. */
function resolve(state: StepState, resolution: Resolution, currentTime_ms: number): StepState {
  const decisions: Partial<Decide<PauseReason>> = DECISIONS;
  const take = decisions[resolution.decision.reason];
  return take === undefined ? state : take(state, resolution, currentTime_ms);
}

/** Reads all files again, as stored bytes are gone. Applied files are restored first. The picked files are kept, and a lost pick is made again. */
function readAgain(state: StepState): StepState {
  const { base, applied, commit } = state;
  const nextState = within(state, 'base', { pickRegeneration: base.pickRegeneration + 1 });
  return applied.all.length > 0 && commit === null
    ? { ...nextState, stage: { at: 'roll_back', then: { do: 'new_base' } } }
    : newBase(nextState);
}

/** Lists in the `decided` event the files that the answer leaves out: without a worker only events show what became of a file. */
const reportSkipped = (before: StepState, after: StepState): StepState => {
  const open = new Set(
    before.edits.files.filter((file) => file.status !== 'skipped').map((file) => file.path),
  );
  const skipped = after.edits.files.filter(
    (file) => file.status === 'skipped' && open.has(file.path),
  );
  if (skipped.length === 0) return after;
  const paths = skipped.map((file) => file.path);
  const events = after.events.map((event) =>
    event.type === 'decided' && event.seq >= before.nextSeq ? { ...event, skipped: paths } : event,
  );
  return { ...after, events };
};

/** Takes the limits that the answer sets, and raises the limit that was reached on `retry`. */
function withSettings(
  state: StepState,
  decision: DecisionPoint,
  request: DecisionRequest,
): StepState {
  const { base } = state;
  const requested = requestedLimits(state.input.rules, request);
  if (base.limits === null)
    return within(state, 'base', { early: { ...base.early, ...requested } });
  const limits = { ...base.limits, ...requested };
  const name = decision.subject;
  // An answer for each file raises it once.
  const isFirstRetry =
    request.answer === 'retry' && !Object.values(decision.answered).includes('retry');
  if (!isFirstRetry || name === null || !isLimitName(state.input.rules, name))
    return within(state, 'base', { limits });
  return within(state, 'base', {
    limits: { ...limits, [name]: raisedLimit(requested[name], reachedLimit(state, name)) },
  });
}

function reachedLimit({ base, edits, input, usage }: StepState, name: LimitName): ReachedLimit {
  const isMoney = name === 'budget_usd';
  const chunks = defaultChunks(input.rules, edits.files.length);
  return {
    current: base.limits?.[name],
    first: base.ready?.limits[name],
    fallback: isMoney ? (base.budget?.usd ?? chunks) : chunks,
    isCounted: !isMoney || usage.usd !== null,
  };
}

const ORDERS_CALLS: ReadonlySet<Answer> = new Set(['retry', 'revise', 'regenerate']);

/** Takes an answer that orders calls as the answer to `runaway`, if the run is over its estimate: it would be asked right after. */
const mayExceedEstimate = (state: StepState, { answer }: DecisionRequest): StepState =>
  ORDERS_CALLS.has(answer) && asksOverEstimate(state)
    ? { ...state, answered: { ...state.answered, overEstimate: true } }
    : state;

/** Ends the step at any stage. It resolves an open decision. */
export function abortStep(
  state: StepState,
  record: DecisionRecord,
  currentTime_ms: number,
): StepState {
  const { decision, pendingRecords } = state;
  const { name, from: source } = record.by;
  const author = source === '' ? name : `${name} (${source})`;
  const closed =
    decision === null
      ? {}
      : resolvedBy(state, decision, [...pendingRecords, record], currentTime_ms);
  const nextState = emit({ ...state, ...closed, abortedBy: author, ask: null }, currentTime_ms, {
    type: 'abort_requested',
    by: author,
  });
  return waitsForHost(state)
    ? endWithoutHost(nextState, currentTime_ms)
    : endAfterRollback(nextState, currentTime_ms, 'aborted');
}

/** Ends the call for all files once it is not for all of them any more. The other files are asked for one by one. */
function splitIfMixed(state: StepState, currentTime_ms: number): StepState {
  const { combined, files } = state.edits;
  if (combined === null) return state;
  const unfinished = unfinishedPaths(state);
  if (unfinished.length === files.length) return state;
  if (unfinished.length > 0)
    return splitByFile(state, 'answered by file', currentTime_ms, unfinished.length > 1);
  return hasFailed(state) ? state : within(state, 'edits', { combined: null });
}

/** Does at once what an answer orders for each file. The first verdict on a file counts. */
function withFileAnswers(
  state: StepState,
  decision: DecisionPoint,
  { request, paths }: Answered,
): StepState {
  const { answer } = request;
  if (answer === 'retry')
    return askFailedAgain(
      state,
      decision.files.length === 0 ? unfinishedPaths(state) : paths,
      request,
    );
  const change = fileChange(state, decision, request);
  if (change === undefined) return state;
  if (!isOfTheRest(decision, answer))
    return withFiles(state, answer === 'revise' ? withMakers(state, paths) : paths, change);
  // The files that the decision lists are left out, and those of the proposal are approved.
  const proposed = state.proposal?.files.map((file) => file.path) ?? [];
  return withFiles(withFiles(state, paths, change), proposed, verdictOf(state, decision, request));
}

type FileChange = (file: FileEntry) => FileEntry;

/** Returns what the answer changes in the entry of each file. Undefined: it changes none. */
function fileChange(
  state: StepState,
  decision: DecisionPoint,
  request: DecisionRequest,
): FileChange | undefined {
  const { proposal } = state;
  const skip: FileChange = (file) => ({ ...file, status: 'skipped' });
  const verdict = verdictOf(state, decision, request);
  const changes: Partial<Record<Answer, FileChange>> = {
    approve: isOfTheRest(decision, 'approve') ? skip : verdict,
    skip: decision.reason === 'approval' ? (file) => verdict(skip(file)) : skip,
    take_theirs: skip,
    select: (file) =>
      withSelection(
        file,
        proposal,
        new Map(Object.entries(request.select ?? {})).get(file.path) ?? null,
      ),
    revise: (file) => askAgain(file, { ...callSettings(request), refusal: rejectedEdit(state) }),
    manual: asManual,
    // The host is back. Its recorded answer is taken, without a new request.
    wait: (file) =>
      file.status === 'failed' ? { ...file, status: 'pending', failure: null } : file,
  };
  return changes[request.answer];
}

/** Returns the change that adds the verdict of the answer to a file: `skip`, or otherwise `approve`. */
function verdictOf(
  { proposal }: StepState,
  { n }: DecisionPoint,
  { answer, by: author }: DecisionRequest,
): FileChange {
  const keys = new Map((proposal?.files ?? []).map((file) => [file.path, file.key]));
  return (file) => ({
    ...file,
    verdict: {
      answer: answer === 'skip' ? 'skip' : 'approve',
      decision: n,
      key: keys.get(file.path) ?? '',
      ...(author.from === 'policy' ? { isAutomatic: true as const } : {}),
    },
  });
}

/** Returns the edit that the model is shown with a note: the output of its failed tests, which says more, or its diff. */
function rejectedEdit(state: StepState): BlobRef | null {
  const tested = testsOfProposal(state);
  const output = tested?.signature == null ? null : tested.output;
  return output ?? state.proposal?.diff ?? null;
}
