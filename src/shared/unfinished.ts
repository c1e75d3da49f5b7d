/**
 * What a model leaves undone of the numbered tasks in its job. It writes lines before its response, `NOT DONE: 2: why`; the message of
 * the commit keeps them as `Not done: task 2: why`, so that whoever gave the job can read them there. Pure.
 */

const UNFINISHED_WHY_CHARS = 200; // bound: Characters of the reason that a model gives for a task that it left undone.
const UNFINISHED_TASKS = 100; // bound: Tasks of one job that a response can name as undone.

export interface ClaimedUnfinished {
  /** From 1, as the job lists the tasks. */
  readonly task: number;
  readonly why: string;
}

/** Returns the tasks that the lines name, by number. The first line about a task counts. */
function tasksNamed(lines: readonly string[], pattern: RegExp): readonly ClaimedUnfinished[] {
  const byTask = new Map<number, ClaimedUnfinished>();
  for (const line of lines) {
    const [, number, why = ''] = pattern.exec(line) ?? [];
    const task = Number(number ?? 0);
    if (task > 0 && !byTask.has(task))
      byTask.set(task, { task, why: why.trim().slice(0, UNFINISHED_WHY_CHARS) });
  }
  return [...byTask.values()].sort((a, b) => a.task - b.task).slice(0, UNFINISHED_TASKS);
}

const RESPONSE_LINE = /^[ \t]*NOT DONE: *(?:task *)?(\d{1,4})\b[ \t.:,)-]*(.*)$/is;
/** The first line of the edits in any format. From this line on the response is text of files. */
const FIRST_EDIT = /^(FILE|DELETE|FIND|EMEND-COMPLETE)\b|^(---|diff |@@ |\*\*\* |<<<|```|~~~|\{)/;
const MESSAGE_LINE = /^Not done: task (\d{1,4})(?:: (.*))?$/;

/** Reads the lines before the edits of a response. */
export function claimedUnfinished(response: string): readonly ClaimedUnfinished[] {
  const lines = response.split(/\r\n|\n|\r/);
  const edits = lines.findIndex((line) => FIRST_EDIT.test(line));
  return tasksNamed(lines.slice(0, edits < 0 ? lines.length : edits), RESPONSE_LINE);
}

/** Returns the tasks that every response leaves undone: each response knows its own files only. */
export const unfinishedInAll = (
  responses: readonly (readonly ClaimedUnfinished[])[],
): readonly ClaimedUnfinished[] =>
  (responses[0] ?? []).filter(({ task }) =>
    responses.every((claims) => claims.some((claim) => claim.task === task)),
  );

/** Returns the lines for the message of a commit; '' if every task is done. */
export const unfinishedText = (unfinished: readonly ClaimedUnfinished[]): string =>
  unfinished
    .map(({ task, why }) => `Not done: task ${task}${why === '' ? '' : `: ${why}`}`)
    .join('\n');

/** Reads the lines of `unfinishedText` in the message of a commit. */
export const readUnfinished = (message: string): readonly ClaimedUnfinished[] =>
  tasksNamed(message.split('\n'), MESSAGE_LINE);
