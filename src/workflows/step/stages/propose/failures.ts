/** Orders failed files again as an answer says: with another model, another output budget or a note. Pure. */
import type { Answer, DecisionRequest, PauseReason } from '../../../../shared/decisions.js';
import { within } from '../../../frame/machine.js';
import { askAgain, FRESH, withFiles } from '../../ledger.js';
import type { CallProgress, FileEntry, StepState } from '../../state.js';
import { resolveReview } from '../../ways.js';
import { withConsent } from '../review.js';

/** Failures after which the model's answer is still valid. */
const KEEPS_ANSWER: ReadonlySet<PauseReason> = new Set([
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
 * Returns a call that has not begun. If the machinery failed and not the model, its recorded answer is used and not paid for twice.
 * A smaller prompt needs a new request, because the recorded one would be refused again.
 */
function freshCall(
  { failure, regeneration }: CallProgress,
  { set }: DecisionRequest,
): Partial<CallProgress> {
  const isAnswerValid = failure !== null && KEEPS_ANSWER.has(failure.reason);
  const isSame = isAnswerValid && set?.inputBudget_tokens === undefined;
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
const retried = (state: StepState, file: FileEntry, request: DecisionRequest): FileEntry => ({
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
    retried(state, file, request),
  );
}

/** The proposal of the files that are done is that of the step once the failed ones are left out; else it is built anew with them. */
export function resolveFailed(
  state: StepState,
  answers: ReadonlySet<Answer>,
  request: DecisionRequest,
  now: number,
): StepState {
  if (state.stage.at !== 'propose' || state.stage.part === undefined) return state;
  const leftOut = [...answers].every((answer) => answer === 'approve' || answer === 'skip');
  if (!leftOut || state.proposal === null)
    return { ...state, stage: { at: 'propose' }, proposal: null };
  return resolveReview(withConsent({ ...state, stage: { at: 'review' } }, request), now);
}
