/** Files that are asked for again as a person says: with another model, another output budget or a note. Pure. */
import type { DecisionRequest, PauseReason } from '../../shared/decisions.js';
import { within } from '../frame/machine.js';
import type { CallProgress, FileEntry, StepState } from './state.js';
import { askAgain, FRESH, withFiles } from './transitions.js';

/** Failures that say nothing about the answer of the model. */
const ANSWER_STANDS: ReadonlySet<PauseReason> = new Set([
  'engine_failed',
  'model_unavailable',
  'workspace_unreachable',
]);

/** What the answer sets for the calls that follow. */
export const callSettings = ({ set, note }: DecisionRequest): Partial<CallProgress> => {
  const { model, outputBudget_tokens } = set ?? {};
  return {
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof outputBudget_tokens === 'number' ? { outputBudget_tokens } : {}),
    ...(note === undefined ? {} : { note }),
  };
};

/**
 * Where the machinery failed and not the answer, a recorded answer is still the wanted one: it must not be paid for again.
 * A smaller prompt is another request: the stored one would be sent again and be refused again.
 */
function freshCall(
  { failure, regeneration }: CallProgress,
  { set }: DecisionRequest,
): Partial<CallProgress> {
  const stands = failure !== null && ANSWER_STANDS.has(failure.reason);
  const isSame = stands && set?.inputBudget_tokens === undefined;
  return { ...FRESH, regeneration: isSame ? regeneration : regeneration + 1 };
}

/** The formats were tried one after the other: again from the file's own. `path` null: the call for all files. */
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

/** At a limit the files were not asked yet: their next answer is the first one, not a new one. */
const retried = (state: StepState, file: FileEntry, request: DecisionRequest): FileEntry => ({
  ...(file.status === 'failed'
    ? askAgain(file, { ...freshCall(file, request), ...ownFormat(state, file, file.path) })
    : file),
  ...callSettings(request),
});

/** A hint for the step as a whole, or for the one call over all files, reaches every file that is still to be asked for. */
export function askFailedAgain(
  state: StepState,
  paths: readonly string[],
  request: DecisionRequest,
): StepState {
  const { combined: asked } = state.edits;
  const again =
    asked?.status === 'failed'
      ? { ...freshCall(asked, request), ...ownFormat(state, asked, null) }
      : {};
  const combined = asked === null ? null : { ...asked, ...again, ...callSettings(request) };
  return withFiles(within(state, 'edits', { combined }), paths, (file) =>
    retried(state, file, request),
  );
}
