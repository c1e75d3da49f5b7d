/**
 * Which tasks of a phase were left undone, by what can be known of it:
 *
 *   the model's word   lines before its answer, `NOT DONE: 2: why`, by the number that the task has in the phase's job; kept in the
 *                      commit's message as `Not done: task 2: why`
 *   the files          a task that speaks of making a file which is not there
 *   skipped            a task that names a file which a person skipped
 *   the job            a task that a person wrote or changed after it
 *   tasks above        a task is not done as long as one under it is not
 *
 * What nobody doubts counts as done: the model was asked to name what it leaves out, and the tests passed. Pure.
 */

import type { ClaimedUnfinished } from '../../shared/unfinished.js';
import type { Task } from './types.js';

export type UnfinishedTask = Readonly<Record<'text' | 'why', string>>;

const MADE = /\b(?:add|create|write|new|introduce|implement|scaffold)\b[^`]{0,40}`([^`\s]+)`/gi;
const TAKEN_AWAY = /\b(?:delete|remove|rename|replace|move|drop)\b/i;

/** Paths of the files that a task speaks of making; one that speaks of taking something away as well may mean another file. */
export const filesToMake = (text: string): readonly string[] =>
  TAKEN_AWAY.test(text) ? [] : [...text.matchAll(MADE)].map(([, path = '']) => path);

const PART_OF_PATH = /[\w/-]|\.\w/;

/** As a whole path: `a.js` is named by `./a.js` too, not by `src/a.js`, nor by `a.jsx`. */
const isNamed = (path: string, text: string): boolean => {
  for (let at = text.indexOf(path); at >= 0; at = text.indexOf(path, at + 1)) {
    const before = text[at - 1] ?? '';
    const after = text.slice(at + path.length, at + path.length + 2);
    const isWhole =
      !/[\w./-]/.test(before) || /^[^\w./-]?\.\/$/.test(text.slice(Math.max(0, at - 3), at));
    if (isWhole && after.search(PART_OF_PATH) !== 0) return true;
  }
  return false;
};

/** It asks that tests run, or that they pass: nobody but the tests themselves can say that it is done. */
const TESTS = [
  /^\W*(?:re-?)?(?:run|execute)\b.*\b(?:tests?|test suite|pytest|jest|vitest)\b/i,
  /\btests?(?: suite)?(?: \w+){0,2} (?:pass(?:es|ed)?|(?:is|are|be|stay) green)\b/i,
];
const asksForTests = (text: string): boolean => TESTS.some((words) => words.test(text));

/** What became of a phase's commit. `isAsked`: its job listed a task. `isMissing`: a path that a task speaks of making is not there. `skipped`: paths left out of it. */
export interface Outcome {
  readonly isAsked: (task: string) => boolean;
  readonly isMissing: (path: string) => boolean;
  readonly skipped: readonly string[];
  readonly tested: boolean;
}

/** In the order of the tasks. */
export function unfinishedTasks(
  tasks: readonly Pick<Task, 'text' | 'done' | 'depth'>[],
  said: readonly ClaimedUnfinished[],
  { isAsked, isMissing, skipped, tested }: Outcome,
): readonly UnfinishedTask[] {
  const own = tasks.map((task, index): string | null => {
    if (task.done) return null;
    if (!isAsked(task.text)) return 'it was written while the phase ran';
    const words = said.find((each) => each.task === index + 1);
    if (words !== undefined) return words.why === '' ? 'the model says so' : words.why;
    const left = skipped.find((path) => isNamed(path, task.text));
    if (left !== undefined) return `${left} was skipped`;
    if (!tested && asksForTests(task.text)) return 'no tests passed';
    const missing = filesToMake(task.text).find(isMissing);
    return missing === undefined ? null : `${missing} is not there`;
  });
  return tasks.flatMap((task, index): readonly UnfinishedTask[] => {
    if (task.done) return [];
    const next = tasks.findIndex((each, at) => at > index && each.depth <= task.depth);
    const isUnder = own
      .slice(index + 1, next < 0 ? tasks.length : next)
      .some((why) => why !== null);
    const why = own[index] ?? (isUnder ? 'a task under it is not done' : null);
    return why === null ? [] : [{ text: task.text, why }];
  });
}
