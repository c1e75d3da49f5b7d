/** Bounds on what is read at all: an answer is split into lines, each an object of its own, before anything is known of it. */
import { BOUNDS } from '../shared/limits.js';
import type { Reason } from './types.js';

/** Null: it may be read. */
export const sizeFault = (answer: string): Reason | null => {
  const { maxAnswer_chars, maxAnswer_lines } = BOUNDS;
  const fault = (what: string, most: number): Reason => ({
    code: 'answer_too_large',
    message: `The answer has more than ${most.toLocaleString('en-US')} ${what}. Send it in several answers.`,
  });
  if (answer.length > maxAnswer_chars) return fault('characters', maxAnswer_chars);
  let lines = 0;
  for (let at = answer.indexOf('\n'); at >= 0; at = answer.indexOf('\n', at + 1)) {
    lines += 1;
    if (lines > maxAnswer_lines) return fault('lines', maxAnswer_lines);
  }
  return null;
};
