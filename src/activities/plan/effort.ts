/** What the score of a phase asks for: a model, by the routes of `emend.yaml`, and words in the prompt (docs/decisions/0072). Pure. */
import type { Complexity } from '../../job/format-choice.js';

/** For `routes`; the steps at which the words begin. */
export const levelOf = (score: number): Complexity => (score <= 5 ? 'low' : score <= 7 ? 'medium' : 'high');

/** How hard to think; '' for nothing. */
export function effortWords(score: number): string {
  if (score <= 5) return '';
  if (score <= 7) return 'Think before you answer.';
  return score <= 9
    ? 'Think hard before you answer.'
    : 'Think harder than usual before you answer: this phase is complex.';
}
