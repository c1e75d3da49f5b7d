/** What an exam has come to so far, in a JSON file that is written after every task, so that an exam can be gone on with. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { TaskRun } from './run-task.js';
import type { Task } from './task.js';

export interface Results {
  readonly v: 1;
  /** As the server names it in its answers; null: none has come yet. */
  readonly model: string | null;
  readonly begun: string;
  readonly command: string;
  readonly runs: readonly TaskRun[];
}

export const readResults = (file: string, command: string): Results => {
  if (!existsSync(file))
    return { v: 1, model: null, begun: new Date().toISOString(), command, runs: [] };
  const value = JSON.parse(readFileSync(file, 'utf8')) as { readonly v?: unknown };
  if (value.v !== 1) throw new Error(`${file} is no result file of this exam`);
  return value as Results;
};

export const writeResults = (file: string, results: Results): void => {
  writeFileSync(`${file}.new`, `${JSON.stringify(results, null, 1)}\n`);
  renameSync(`${file}.new`, file);
};

/** The other model whose results these are: gone on with, they would count as this one's. */
export const otherModel = ({ model, runs }: Results, asked: string): string | null =>
  runs.length === 0 || model === null || model === asked ? null : model;

/** A task that has changed since is run again. */
export const isDone = ({ runs }: Results, task: Task, format: string): boolean =>
  runs.some((run) => run.task === task.id && run.format === format && run.taskHash === task.hash);

export const withRun = (results: Results, run: TaskRun, model: string | null): Results => ({
  ...results,
  model: results.model ?? model,
  runs: [
    ...results.runs.filter(({ task, format }) => task !== run.task || format !== run.format),
    run,
  ],
});
