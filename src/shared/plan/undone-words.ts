import { count } from '../text.js';

/** `1 task is not done: Write the tests (no room)`, for a phase's summary, its event and its status. Pure. */
export const undoneWords = (undone: readonly { readonly text: string; readonly why: string }[]): string =>
  `${count(undone.length, 'task')} ${undone.length === 1 ? 'is' : 'are'} not done: ${undone
    .map(({ text, why }) => `${text} (${why})`)
    .join('; ')}`;
