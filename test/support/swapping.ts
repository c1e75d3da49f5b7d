/** Another process that swaps a directory for a link and back while something works with it. */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const TURNS = 2_000;

/** Runs `work` again and again meanwhile, and returns how often each outcome occurred. */
export async function whileSwapped(
  directory: string,
  target: string,
  work: (turn: number) => Promise<string>,
  turns: number = TURNS,
): Promise<ReadonlyMap<string, number>> {
  const program = join(import.meta.dirname, 'swap-child.js');
  const child = spawn(process.execPath, [program, directory, target], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  const outcomes = new Map<string, number>();
  try {
    for (let turn = 0; turn < turns; turn++) {
      const outcome = await work(turn);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  } finally {
    if (child.exitCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
  }
  return outcomes;
}
