/** Kept answers through today's edit engine, with no model and no network: which come out otherwise than they did. */
import { judge, readKept, type Verdict } from './answers.js';
import type { Task } from './task.js';

export interface Replayed {
  readonly answers: number;
  readonly models: readonly string[];
  /** A line for each answer whose outcome differs, and for each run whose task is gone or has changed. */
  readonly differences: readonly string[];
  /** Answers that edit, and a line for each of those about which a guard of now asks a person, whatever approves. */
  readonly edited: number;
  readonly asked: readonly string[];
}

export const replay = async (dir: string, tasks: readonly Task[]): Promise<Replayed> => {
  const differences: string[] = [];
  const models = new Set<string>();
  const asked: string[] = [];
  let [answers, edited] = [0, 0];
  for (const run of readKept(dir)) {
    const name = `${run.task} (${run.format})`;
    const task = tasks.find(({ id }) => id === run.task);
    models.add(run.model);
    if (task?.hash !== run.taskHash) {
      differences.push(
        `${name}: ${task === undefined ? 'there is no such task' : 'the task has changed since'}`,
      );
      continue;
    }
    for (const [index, answer] of run.answers.entries()) {
      answers += 1;
      const now = await judge(task, answer);
      if (now?.outcome === 'edited') edited += 1;
      const asks = now?.asks ?? [];
      if (asks.length > 0) asked.push(`${name}, answer ${index + 1}: ${asks.join(', ')}`);
      const [was, is] = [told(answer.verdict), told(now)];
      if (was !== is) differences.push(`${name}, answer ${index + 1}: was ${was}, is ${is}`);
    }
  }
  return { answers, models: [...models], differences, edited, asked };
};

const told = (verdict: Verdict | null): string => {
  if (verdict === null) return 'not judged';
  const { outcome, reasons, tolerances, results } = verdict;
  const files = Object.entries(results)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, hash]) => `${path} ${hash.slice(0, 12)}`);
  return [outcome, ...reasons, ...tolerances.map((tolerance) => `by ${tolerance}`), ...files].join(
    ' ',
  );
};
