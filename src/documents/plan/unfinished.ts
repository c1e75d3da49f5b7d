/**
 * Finds the tasks of a phase that are not done. A task is not done if
 *
 *   - the model reports it: a line `NOT DONE: 2: reason` before the response, with the number of the task in the phase's job. The message of
 *     the commit keeps it as `Not done: task 2: reason`;
 *   - it asks for a new file, and the file does not exist;
 *   - it names a file that the reviewer skipped;
 *   - its author wrote or changed it after the job started;
 *   - it asks that tests pass, and no tests passed;
 *   - a task under it is not done.
 *
 * All other tasks count as done, because the model was asked to report the rest and the tests passed. Pure.
 */

import type { ClaimedUnfinished } from '../../shared/unfinished.js';
import type { Task } from './types.js';

export type UnfinishedTask = Readonly<Record<'text' | 'why', string>>;

const CREATES_FILE =
  /\b(?:add|create|write|new|introduce|implement|scaffold)\b[^`]{0,40}`([^`\s]+)`/gi;
const REMOVES = /\b(?:delete|remove|rename|replace|move|drop)\b/i;

/** Returns the paths of the files that a task asks to create. A task that also removes something may mean another file, so it has none. */
export const filesToMake = (text: string): readonly string[] =>
  REMOVES.test(text) ? [] : [...text.matchAll(CREATES_FILE)].map(([, path = '']) => path);

const PART_OF_PATH = /[\w/-]|\.\w/;

/** Returns whether a text names a whole path: `./a.js` also names `a.js`, but `src/a.js` and `a.jsx` do not. */
const isNamed = (path: string, text: string): boolean => {
  for (let index = text.indexOf(path); index >= 0; index = text.indexOf(path, index + 1)) {
    const before = text[index - 1] ?? '';
    const after = text.slice(index + path.length, index + path.length + 2);
    const isWhole =
      !/[\w./-]/.test(before) || /^[^\w./-]?\.\/$/.test(text.slice(Math.max(0, index - 3), index));
    if (isWhole && after.search(PART_OF_PATH) !== 0) return true;
  }
  return false;
};

/** Words of a task that asks for a run of tests or for tests that pass. Only a run of the tests can show that it is done. */
const TESTS = [
  /^\W*(?:re-?)?(?:run|execute)\b.*\b(?:tests?|test suite|pytest|jest|vitest)\b/i,
  /\btests?(?: suite)?(?: \w+){0,2} (?:pass(?:es|ed)?|(?:is|are|be|stay) green)\b/i,
];
const asksForTests = (text: string): boolean => TESTS.some((words) => words.test(text));

/** Facts about the commit of a phase. */
interface Outcome {
  /** Returns whether the phase's job listed the task. */
  readonly isAsked: (task: string) => boolean;
  /** Returns whether a file that a task asks to create does not exist. */
  readonly isMissing: (path: string) => boolean;
  /** Paths that the reviewer left out of the commit. */
  readonly skipped: readonly string[];
  readonly tested: boolean;
}

/** Returns the tasks that are not done, in the order of the plan. `claims` are the reports of the model. */
export function unfinishedTasks(
  tasks: readonly Pick<Task, 'text' | 'done' | 'depth'>[],
  claims: readonly ClaimedUnfinished[],
  { isAsked, isMissing, skipped, tested }: Outcome,
): readonly UnfinishedTask[] {
  const ownReasons = tasks.map((task, index): string | null => {
    if (task.done) return null;
    if (!isAsked(task.text)) return 'it was written while the phase ran';
    const claim = claims.find((candidate) => candidate.task === index + 1);
    if (claim !== undefined) return claim.why === '' ? 'the model says so' : claim.why;
    const skippedPath = skipped.find((path) => isNamed(path, task.text));
    if (skippedPath !== undefined) return `${skippedPath} was skipped`;
    if (!tested && asksForTests(task.text)) return 'no tests passed';
    const missing = filesToMake(task.text).find(isMissing);
    return missing === undefined ? null : `${missing} is not there`;
  });
  return tasks.flatMap((task, index): readonly UnfinishedTask[] => {
    if (task.done) return [];
    const next = tasks.findIndex(
      (other, position) => position > index && other.depth <= task.depth,
    );
    const hasUnfinishedSubtask = ownReasons
      .slice(index + 1, next < 0 ? tasks.length : next)
      .some((reason) => reason !== null);
    const reason =
      ownReasons[index] ?? (hasUnfinishedSubtask ? 'a task under it is not done' : null);
    return reason === null ? [] : [{ text: task.text, why: reason }];
  });
}
