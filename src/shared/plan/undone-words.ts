import { count } from '../text.js';

/** What the job of a phase asks for, below its tasks. */
export const UNDONE_ASKED =
  'Where your answer leaves one of these tasks undone, say so before the answer itself, one line for each such task: `NOT DONE: <number of the task>: <why>`. Write no such line of a task that is done, or that the files of another answer are for.';

/** The same of a call for a part of a file: what no part does is told by all of them together. */
export const UNDONE_ASKED_OF_A_PART =
  'Name with `NOT DONE` each task that you do nothing for in this part, whatever the other parts are for: a task is left undone where every part names it.';

/** `1 task is not done: Write the tests (no room)`, for a phase's summary, its event and its status. Pure. */
export const undoneWords = (undone: readonly { readonly text: string; readonly why: string }[]): string =>
  `${count(undone.length, 'task')} ${undone.length === 1 ? 'is' : 'are'} not done: ${undone
    .map(({ text, why }) => `${text} (${why})`)
    .join('; ')}`;
