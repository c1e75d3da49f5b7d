/**
 * From an answer to its outcome, all or nothing:
 *
 *   stop reason                        marker             parses              outcome
 *   cut (max_tokens, …, none)          any                any                 truncated
 *   refusal                                                                   declined
 *   end_turn, stop_sequence            right              yes                 edited, unchanged or refused
 *                                      right              no                  invalid
 *                                      missing or wrong   yes                 unmarked
 *                                      missing or wrong   ends inside a block truncated
 *                                      missing or wrong   otherwise no        invalid
 */
import type { FoundMarker } from './marker-json.js';
import { BOUNDS } from '../shared/limits.js';
import { sizeFault } from './answer-size.js';
import { findMarker } from './marker.js';
import { MODULES } from './modules.js';
import { compose, decodeOffered, type OfferedFiles } from './outcome-compose.js';
import { editResults } from './outcome-results.js';
import type {
  AnswerOutcome,
  ApplyAnswerInput,
  ApplyOptions,
  FormatModule,
  NotEdited,
  Reading,
  Reason,
  StopReason,
} from './types.js';

const not = (outcome: NotEdited['outcome'], reasons: readonly Reason[]): NotEdited => ({ outcome, reasons });

const bounded = (outcome: AnswerOutcome): AnswerOutcome =>
  outcome.outcome === 'edited' ? outcome : { ...outcome, reasons: outcome.reasons.slice(0, BOUNDS.reasonsTold) };

export const applyAnswer = (input: ApplyAnswerInput): AnswerOutcome => {
  const { format, answer, files, options } = input;
  const stopped = judgeStop(options.stopReason);
  if (stopped !== null) return stopped;
  const tooLarge = sizeFault(format, answer);
  if (tooLarge !== null) return not('invalid', [tooLarge]);

  const found = findMarker(format, answer, options.nonce);
  const offered = decodeOffered(files);
  const whole = found.marker === 'right' && !found.openFence;
  const context = { files: offered, options, whole };
  const read = MODULES[format].read(found.body, context);
  const outcome = judge(read, found, offered, options);
  return read.edits === 0 || outcome.outcome === 'truncated'
    ? bounded(outcome)
    : { ...bounded(outcome), edits: editResults(read.edits, outcome) };
};

const judge = (
  { reading, files: fileCount, edits }: ReturnType<FormatModule['read']>,
  found: FoundMarker,
  offered: OfferedFiles,
  options: ApplyOptions,
): AnswerOutcome => {
  const unusable = judgeMarker(found, reading, options);
  if (unusable !== null) return unusable;
  if (reading.kind === 'invalid') return not('invalid', reading.reasons);
  if (reading.kind === 'refused' && reading.needs !== undefined)
    return { outcome: 'needs_lines', reasons: reading.reasons, needs: reading.needs };
  const { counts } = found;
  if (counts !== undefined && reading.kind === 'plans' && (counts.files !== fileCount || counts.edits !== edits))
    return not('invalid', [
      {
        code: 'marker_counts',
        message: `The last line counts ${counts.files} files and ${counts.edits} edits; the answer holds ${fileCount} and ${edits}.`,
      },
    ]);
  return compose(reading, offered, options, found.notes);
};

/** Null: the model ended by itself, as far as the API says. An unknown stop reason proves no end. */
const judgeStop = (stopReason: StopReason | undefined): NotEdited | null => {
  if (stopReason === undefined || stopReason === 'end_turn' || stopReason === 'stop_sequence') return null;
  if (stopReason === 'refusal')
    return not('declined', [{ code: 'declined', message: 'The model declined to answer.' }]);
  const message =
    stopReason === null
      ? 'The answer has no stop reason: its stream ended early.'
      : `The answer was cut off (stop reason ${stopReason}).`;
  return not('truncated', [{ code: 'stop_reason', message }]);
};

/** Null: the marker is right, or not asked for and the answer not open. */
const judgeMarker = (found: FoundMarker, reading: Reading, options: ApplyOptions): NotEdited | null => {
  const faults = options.requireMarker ? found.notes.filter((note) => note.code.startsWith('marker_')) : [];
  const reasons = [...faults, ...(reading.kind === 'invalid' ? reading.reasons : [])];
  const fence = { code: 'cut_inside_fence', message: 'A fence round the answer was opened and not closed.' };
  if (found.openFence) return not('truncated', [...reasons, fence]);
  if (found.marker === 'right') return null;
  if (reading.kind === 'invalid') return not(reading.open ? 'truncated' : 'invalid', reasons);
  return options.requireMarker ? not('unmarked', reasons) : null;
};
