/** Asks a model for an edit of each file: questions before the first call, the brief, the chunks, and what follows failed files. */
import type { ResultOf } from '../../../../shared/activities.js';
import type { DecisionRequest } from '../../../../shared/decisions.js';
import { answeredAgain, outageEffect } from '../../../../shared/outage.js';
import type { PickedFile } from '../../../../shared/pick.js';
import { cut } from '../../../../shared/rules.js';
import { count } from '../../../../shared/text.js';
import { emit, onModelDown } from '../../../frame/log.js';
import { within } from '../../../frame/machine.js';
import { withFiles } from '../../ledger.js';
import { type Effect, pause } from '../../protocol.js';
import {
  callsUsed,
  chunksLeft,
  isPart,
  isUnfinished,
  leftOut,
  maxChunks,
  unfinishedPaths,
} from '../../selectors.js';
import { asksOverEstimate, sameFailure, spend, spendingPause } from '../../spending.js';
import type { FileEntry, StepState } from '../../state.js';
import { endAfterRollback, lookAgain, resolveCombined } from '../../ways.js';
import { sumOf } from '../review.js';
import { askFailedAgain } from './failures.js';

export function proposeEffect(state: StepState, now: number): Effect {
  const { files, combined, accepted: heads, ...edits } = state.edits;
  const pending = files.filter(isUnfinished);
  const first = pending[0];
  if (first !== undefined) {
    const limited = limitReached(state, now);
    if (limited !== null) return limited;
    const waiting = outageEffect(state, now);
    if (waiting?.kind === 'pause')
      return pause(waiting.pause.reason, waiting.pause.message, unfinishedPaths(state));
    if (waiting !== null) return waiting;
    const seq = edits.chunks + 1;
    if (combined !== null)
      return { kind: 'propose', chunks: [{ file: '*', seq, total: 1, attempt: combined, heads }] };
    if (edits.briefWanted && edits.brief === null) return { kind: 'brief' };
    // Whether a model is back is tried with one call.
    const most = state.outage === null ? (state.base.limits?.concurrency ?? 1) : 1;
    const width = Math.min(most, chunksLeft(state));
    return {
      kind: 'propose',
      chunks: pending.slice(0, width).map((file, index) => ({
        file: file.path,
        seq: seq + index,
        total: files.length,
        attempt: file,
        heads,
      })),
    };
  }
  const failed = files
    .filter((file) => file.status === 'failed')
    .map(({ path, failure }) => ({
      path,
      reason: failure?.reason ?? ('engine_failed' as const),
      message: failure?.message ?? 'failed',
    }));
  const [worst] = failed;
  if (worst === undefined) return { kind: 'build' };
  const approvable =
    state.input.rules.answers[worst.reason].includes('approve') &&
    leftOut(state).exclude.length < files.length;
  if (approvable && !(state.stage.at === 'propose' && state.stage.part)) return { kind: 'build' };
  const part =
    state.proposal === null || !isPart(state)
      ? ''
      : `; approve accepts the rest without what failed: ${sumOf(state, state.proposal)}`;
  const message = `${failed.length} of ${count(files.length, 'file')} could not be edited: ${worst.message}${part}`;
  return { kind: 'pause', pause: { reason: worst.reason, message, files: failed, subject: null } };
}

function limitReached(state: StepState, now: number): Effect | null {
  const [used, most] = [callsUsed(state), maxChunks(state)];
  const spending = spendingPause(state, now);
  if (spending !== null || used < most) return spending;
  const message = `${used} edit calls used; maxTotalChunks is ${most}`;
  return pause('chunk_limit', message, unfinishedPaths(state), 'maxTotalChunks');
}

export function onBriefed(
  state: StepState,
  result: ResultOf<'writeBrief'>,
  now: number,
): StepState {
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

/** Carries out the answer. After another model or a note the run may ask about the same failure again. It asks about the estimate once. */
export function resolveRunaway(
  state: StepState,
  request: DecisionRequest,
  currentTime_ms: number,
): StepState {
  const overEstimate = state.answered.overEstimate || asksOverEstimate(state);
  const sameFailed = state.answered.sameFailure || sameFailure(state) !== null;
  const answeredState: StepState = { ...state, answered: { ...state.answered, overEstimate } };
  switch (request.answer) {
    case 'change_model':
    case 'revise': {
      const isFailed = ({ status }: FileEntry): boolean => status === 'failed';
      const again = state.edits.files.filter((file) => isFailed(file) || isUnfinished(file));
      return askFailedAgain(
        answeredState,
        again.map(({ path }) => path),
        request,
      );
    }
    case 'skip':
      return stop(answeredState, request, currentTime_ms);
    default:
      return {
        ...answeredState,
        answered: { ...answeredState.answered, sameFailure: sameFailed },
      };
  }
}

/** Skips the unfinished files. The finished ones go to review; if there are none, or at an audit, the run ends and restores what it applied. */
function stop(state: StepState, request: DecisionRequest, currentTime_ms: number): StepState {
  if (state.stage.at !== 'propose') return resolveCombined(state, request, currentTime_ms);
  const rest = withFiles(within(state, 'edits', { combined: null }), 'all', (file) =>
    file.status === 'done' ? file : { ...file, status: 'skipped' },
  );
  return rest.edits.files.some(({ status }) => status === 'done')
    ? rest
    : endAfterRollback(rest, currentTime_ms, 'skipped');
}
