/** Bounds on what is read at all: an answer is split into lines and operations, each an object of its own, before anything is known of it. */
import type { AnswerFormat } from '../shared/formats.js';
import { BOUNDS } from '../shared/limits.js';
import type { Reason } from './types.js';

// bound: The edit engine reads no longer answers, whoever asks; a job's own limit is maxAnswer_bytes.
export const MAX_ANSWER_CHARS = 64 * 1024 * 1024;
export const MAX_ANSWER_LINES = 2_000_000; // bound: Lines of an answer.

/** Null: it may be read. Costs one pass over the text. */
export const sizeFault = (format: AnswerFormat, answer: string): Reason | null => {
  if (answer.length > MAX_ANSWER_CHARS)
    return fault('answer_too_large', 'characters', MAX_ANSWER_CHARS);
  if (hasMore(answer, '\n', MAX_ANSWER_LINES))
    return fault('answer_too_large', 'lines', MAX_ANSWER_LINES);
  // Every operation names its file; within a string the second quote has a backslash before it.
  const isJson = format === 'structured-edit' || format === 'string-replace';
  if (isJson && hasMore(answer, '"file_path"', BOUNDS.maxAnswer_edits)) return tooManyEdits();
  return null;
};

/** Also of operations that name no file. */
export const tooManyEdits = (): Reason => fault('too_many_edits', 'edits', BOUNDS.maxAnswer_edits);

const fault = (code: string, what: string, most: number): Reason => ({
  code,
  message: `The answer has more than ${most.toLocaleString('en-US')} ${what}. Send it in several answers.`,
});

const hasMore = (text: string, what: string, most: number): boolean => {
  if (text.length <= most * what.length) return false;
  let count = 0;
  for (
    let at = text.indexOf(what);
    at >= 0 && count <= most;
    at = text.indexOf(what, at + what.length)
  )
    count += 1;
  return count > most;
};
