/** Calls that failed: the answers to them, and the next call by such an answer, with another model, another output budget or a note. */
import type { DecisionRequest, PauseReason } from '../../../../shared/decisions.js';
import { within } from '../../../frame/machine.js';
import { askAgain, FRESH, withFiles } from '../../ledger.js';
import type { Decide, Resolution } from '../../protocol.js';
import type { CallProgress, FileEntry, StepState } from '../../state.js';
import { resolveReview, resolveWhole } from '../../ways.js';
import { withConsent } from '../review.js';
import { withNewAudit } from '../verify/audit.js';

/** Reasons of calls that failed, and of limits that stop the next call. */
export type FailureReason =
  | 'truncation'
  | 'unmarked'
  | 'declined'
  | 'call_lost'
  | 'attempts_exhausted'
  | 'prompt_cut'
  | 'chunk_limit'
  | 'budget'
  | 'model_unavailable'
  | 'engine_failed';

export const FAILURES: Decide<FailureReason> = {
  truncation: resolveFailure,
  unmarked: resolveFailure,
  declined: resolveFailure,
  call_lost: resolveFailure,
  attempts_exhausted: resolveFailure,
  prompt_cut: resolveFailure,
  chunk_limit: resolveFailure,
  budget: resolveFailure,
  model_unavailable: resolveFailure,
  engine_failed: resolveFailure,
};

/** Failures after which the response of the model is still valid. */
const KEEPS_RESPONSE: ReadonlySet<PauseReason> = new Set([
  'engine_failed',
  'model_unavailable',
  'workspace_unreachable',
]);

/** Returns the settings of the answer for the calls that follow. */
export const callSettings = ({ set, note }: DecisionRequest): Partial<CallProgress> => {
  const { model, outputBudget_tokens } = set ?? {};
  return {
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof outputBudget_tokens === 'number' ? { outputBudget_tokens } : {}),
    ...(note === undefined ? {} : { note }),
  };
};

/**
 * Returns a call that has not begun. If the machinery failed and not the model, its recorded response is used and not paid for twice.
 * A smaller prompt needs a new request, because the recorded one would be refused again.
 */
function freshCall(
  { failure, regeneration }: CallProgress,
  { set }: DecisionRequest,
): Partial<CallProgress> {
  const isResponseValid = failure !== null && KEEPS_RESPONSE.has(failure.reason);
  const isSame = isResponseValid && set?.inputBudget_tokens === undefined;
  return { ...FRESH, regeneration: isSame ? regeneration : regeneration + 1 };
}

/** Begins with the file's own format again if the call has tried all formats. `path` null: the call for all files. */
function ownFormat(
  { base: { ready } }: StepState,
  { format, failure }: CallProgress,
  path: string | null,
): Partial<CallProgress> {
  const target =
    path === null ? ready?.combined : ready?.targets.find((known) => known.path === path);
  const own = target?.format;
  if (failure?.reason !== 'attempts_exhausted' || own === undefined || own === format) return {};
  return { format: own, refusal: null };
}

/** Adds the answer's settings. A file that a limit stopped before its call keeps its state, because its next answer is its first. */
const retriedFile = (state: StepState, file: FileEntry, request: DecisionRequest): FileEntry => ({
  ...(file.status === 'failed'
    ? askAgain(file, { ...freshCall(file, request), ...ownFormat(state, file, file.path) })
    : file),
  ...callSettings(request),
});

/** Orders the failed files again. The answer's note and settings reach the call for all files and every path. */
export function askFailedAgain(
  state: StepState,
  paths: readonly string[],
  request: DecisionRequest,
): StepState {
  const { combined: call } = state.edits;
  const freshProgress =
    call?.status === 'failed'
      ? { ...freshCall(call, request), ...ownFormat(state, call, null) }
      : {};
  const combined = call === null ? null : { ...call, ...freshProgress, ...callSettings(request) };
  return withFiles(within(state, 'edits', { combined }), paths, (file) =>
    retriedFile(state, file, request),
  );
}

/**
 * Takes up the answer to calls that failed, or that a limit stopped. If it names files, they have their answers by now. If not, it is about
 * the step, or about a call of another stage: a pick or an audit.
 */
function resolveFailure(
  state: StepState,
  resolution: Resolution,
  currentTime_ms: number,
): StepState {
  const { decision, request } = resolution;
  return decision.files.length === 0
    ? resolveWhole(withNewAudit(state, resolution), request, currentTime_ms)
    : resolveFailedFiles(state, resolution, currentTime_ms);
}

/** Reviews the proposal of the other files, if the answers leave out all that failed. Otherwise a proposal is built with them. */
function resolveFailedFiles(
  state: StepState,
  { decision, request }: Resolution,
  currentTime_ms: number,
): StepState {
  if (state.stage.at !== 'propose' || state.stage.part === undefined) return state;
  const isRestApproved = Object.values(decision.answered).every(
    (answer) => answer === 'approve' || answer === 'skip',
  );
  if (!isRestApproved || state.proposal === null)
    return { ...state, stage: { at: 'propose' }, proposal: null };
  return resolveReview(withConsent({ ...state, stage: { at: 'review' } }, request), currentTime_ms);
}
