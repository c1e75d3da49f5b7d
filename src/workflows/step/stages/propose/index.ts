/** Propose: asks a model for an edit of each file. It asks its questions before the first call, and about files that failed after the last. */
import type { ResultOf } from '../../../../shared/activities.js';
import type { DecisionRequest } from '../../../../shared/decisions.js';
import { foundText } from '../../../../shared/event-text.js';
import { answeredAgain, outageEffect } from '../../../../shared/outage.js';
import type { PickedFile } from '../../../../shared/pick.js';
import { cut } from '../../../../shared/rules.js';
import { count } from '../../../../shared/text.js';
import { testsBy } from '../../../frame/decisions/answering.js';
import { emit, onModelDown } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { withFiles } from '../../ledger.js';
import {
  type Decide,
  type Effect,
  type Next,
  type On,
  pause,
  type Resolution,
} from '../../protocol.js';
import {
  callsUsed,
  chunksLeft,
  isPart,
  isUnfinished,
  leftOut,
  maxChunks,
  unfinishedPaths,
  wantsBase,
} from '../../selectors.js';
import { asksOverEstimate, sameFailure, spend, spendingPause } from '../../spending.js';
import type { StepState } from '../../state.js';
import { endAfterRollback, lookAgain, resolveWhole } from '../../ways.js';
import { approvalSummary } from '../review.js';
import { askFailedAgain, FAILURES, type FailureReason } from './failures.js';
import { onChunkStarted, onProposed } from './responses.js';

export const next: Next<'propose'> = { propose: proposeEffect };

export const on: On<'briefed' | 'chunk_started' | 'proposed'> = {
  briefed: (state, { result }, currentTime_ms) => onBriefed(state, result, currentTime_ms),
  chunk_started: (state, { chunk }, currentTime_ms) => onChunkStarted(state, chunk, currentTime_ms),
  proposed: onProposed,
};

export const decide: Decide<
  'test_command' | 'estimate' | 'runaway' | 'secret_found' | FailureReason
> = {
  test_command: resolveTestCommand,
  estimate: resolveEstimate,
  runaway: resolveRunaway,
  secret_found: (state, { request: { answer } }) =>
    answer === 'mask' || answer === 'send' ? { ...state, secrets: answer } : state,
  ...FAILURES,
};

/** Asks what must be answered first, then asks the model for the unfinished files. The tests of the base run next to its first call. */
function proposeEffect(state: StepState, currentTime_ms: number): Effect {
  const question = firstQuestion(state);
  if (question !== null) return question;
  if (!state.edits.files.some(isUnfinished)) return afterCalls(state);
  const interruption = limitReached(state, currentTime_ms) ?? outagePause(state, currentTime_ms);
  if (interruption !== null) return interruption;
  const call = nextCall(state);
  return wantsBase(state) ? { kind: 'try_base', beside: call } : call;
}

/** Returns the question about the test command or the estimate, which comes before the first call. Null: it is answered. */
function firstQuestion({ base: { ready }, answered }: StepState): Effect | null {
  if (ready === null) return null;
  const { found, from: source } = ready.test;
  if (!answered.tests && found !== null) {
    const command = source === undefined ? found : foundText(source);
    return pause('test_command', `found the project's test command: ${command}`, [], found);
  }
  if (!answered.estimate && ready.overEstimate.length > 0)
    return pause('estimate', ready.overEstimate.join('; '));
  return null;
}

/** Returns the wait for a model that is down, or the question about it. Null: no model is down. */
function outagePause(state: StepState, currentTime_ms: number): Effect | null {
  const effect = outageEffect(state, currentTime_ms);
  if (effect?.kind !== 'pause') return effect;
  return pause(effect.pause.reason, effect.pause.message, unfinishedPaths(state));
}

/** Returns the brief, the call for all files, or the calls for the next files side by side. */
function nextCall(state: StepState): Extract<Effect, { kind: 'brief' | 'propose' }> {
  const { files, combined, accepted: heads, chunks, briefWanted, brief } = state.edits;
  const seq = chunks + 1;
  if (combined !== null)
    return { kind: 'propose', chunks: [{ file: '*', seq, total: 1, attempt: combined, heads }] };
  if (briefWanted && brief === null) return { kind: 'brief' };
  // One call finds out whether a model that was down is back.
  const concurrency = state.outage === null ? (state.base.limits?.concurrency ?? 1) : 1;
  const width = Math.min(concurrency, chunksLeft(state));
  return {
    kind: 'propose',
    chunks: files
      .filter(isUnfinished)
      .slice(0, width)
      .map((file, index) => ({
        file: file.path,
        seq: seq + index,
        total: files.length,
        attempt: file,
        heads,
      })),
  };
}

/** Returns the build. If files failed, it asks about them, with the proposal of the others built first if the answer may accept it. */
function afterCalls(state: StepState): Effect {
  const { files } = state.edits;
  const failed = files
    .filter((file) => file.status === 'failed')
    .map(({ path, failure }) => ({
      path,
      reason: failure?.reason ?? ('engine_failed' as const),
      message: failure?.message ?? 'failed',
    }));
  const [worst] = failed;
  if (worst === undefined) return { kind: 'build' };
  const isApprovable =
    state.input.rules.answers[worst.reason].includes('approve') &&
    leftOut(state).exclude.length < files.length;
  if (isApprovable && !(state.stage.at === 'propose' && state.stage.part)) return { kind: 'build' };
  const rest =
    state.proposal === null || !isPart(state)
      ? ''
      : `; approve accepts the rest without what failed: ${approvalSummary(state, state.proposal)}`;
  const message = `${failed.length} of ${count(files.length, 'file')} could not be edited: ${worst.message}${rest}`;
  return { kind: 'pause', pause: { reason: worst.reason, message, files: failed, subject: null } };
}

/** Returns the question about a limit that the next call would exceed, or about a run that spends without success. Null: none. */
function limitReached(state: StepState, currentTime_ms: number): Effect | null {
  const [used, most] = [callsUsed(state), maxChunks(state)];
  const spending = spendingPause(state, currentTime_ms);
  if (spending !== null || used < most) return spending;
  const message = `${used} edit calls used; maxTotalChunks is ${most}`;
  return pause('chunk_limit', message, unfinishedPaths(state), 'maxTotalChunks');
}

/** Takes up the brief, and the new files that it names. */
function onBriefed(
  state: StepState,
  result: ResultOf<'writeBrief'>,
  currentTime_ms: number,
): StepState {
  const { brief, message, usage, down, newFiles } = result;
  if (down !== undefined) return onModelDown(state, down, 'brief', currentTime_ms);
  const counted = spend({ ...state, ...answeredAgain(state, currentTime_ms) }, usage);
  const paid = within(counted, 'edits', { brief, briefWanted: brief !== null });
  const event =
    message === null
      ? { type: 'brief_ready' as const }
      : { type: 'warning' as const, message: cut(state.input.rules, message) };
  const nextState = emit(paid, currentTime_ms, event);
  return newFiles === undefined ? nextState : withNewFiles(nextState, newFiles, currentTime_ms);
}

/** Adds new files to the step. They change nothing of the base, so the result of its tests still holds. */
function withNewFiles(
  state: StepState,
  files: readonly PickedFile[],
  currentTime_ms: number,
): StepState {
  const paths = files.map(({ path }) => path);
  const { base, tests } = state;
  const sameTests =
    tests.base?.number === base.number ? { base: { ...tests.base, number: base.number + 1 } } : {};
  const change = {
    made: [...(base.made ?? []), ...paths],
    picks: [...(base.picks ?? []), ...files],
  };
  const nextState = emit(within(state, 'tests', sameTests), currentTime_ms, {
    type: 'files_picked',
    file_count: files.length,
    files,
  });
  return lookAgain(within(nextState, 'base', change), paths);
}

function resolveTestCommand(state: StepState, { decision, request }: Resolution): StepState {
  const tests = testsBy(request, decision.subject, state.base.ready?.test.from);
  return { ...within(state, 'tests', tests), answered: { ...state.answered, tests: true } };
}

function resolveEstimate(
  state: StepState,
  { request }: Resolution,
  currentTime_ms: number,
): StepState {
  const nextState = { ...state, answered: { ...state.answered, estimate: true } };
  return resolveWhole(nextState, request, currentTime_ms);
}

/** Carries out the answer. After another model or a note the run may ask about the same failure again. It asks about the estimate once. */
function resolveRunaway(
  state: StepState,
  { request }: Resolution,
  currentTime_ms: number,
): StepState {
  const overEstimate = state.answered.overEstimate || asksOverEstimate(state);
  const isSameFailure = state.answered.sameFailure || sameFailure(state) !== null;
  const nextState: StepState = { ...state, answered: { ...state.answered, overEstimate } };
  switch (request.answer) {
    case 'change_model':
    case 'revise': {
      const paths = state.edits.files
        .filter((file) => file.status === 'failed' || isUnfinished(file))
        .map(({ path }) => path);
      return askFailedAgain(nextState, paths, request);
    }
    case 'skip':
      return stop(nextState, request, currentTime_ms);
    default:
      return {
        ...nextState,
        answered: { ...nextState.answered, sameFailure: isSameFailure },
      };
  }
}

/** Skips the unfinished files. The finished ones go to review; if there are none, or at an audit, the run ends and restores what it applied. */
function stop(state: StepState, request: DecisionRequest, currentTime_ms: number): StepState {
  if (state.stage.at !== 'propose') return resolveWhole(state, request, currentTime_ms);
  const rest = withFiles(within(state, 'edits', { combined: null }), 'all', (file) =>
    file.status === 'done' ? file : { ...file, status: 'skipped' },
  );
  return rest.edits.files.some(({ status }) => status === 'done')
    ? rest
    : endAfterRollback(rest, currentTime_ms, 'skipped');
}
