/** Runs a demo as a person does: on dist/, in a process group of its own. */
import { execFileSync, spawn } from 'node:child_process';
import { expect } from '@jest/globals';

/** Generous: other tests run beside it. */
const LIMIT_MS: Readonly<Record<string, number>> = { 'run.js': 100_000, 'plan.js': 280_000 };

export const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd, encoding: 'utf8' });

export interface Demo {
  readonly code: number | null;
  readonly output: string;
}
/**
 * `scratch` is its temporary directory. `onOutput` sees all that was said so far, whenever there is more of it. Fails when anything of the
 * demo outlives it.
 */
export const runDemo = async (
  scratch: string,
  [program = '', ...args]: readonly string[],
  onOutput?: (output: string, pid: number) => void,
): Promise<Demo> => {
  const child = spawn(process.execPath, [`demo/${program}`, ...args], {
    env: { ...process.env, TMPDIR: scratch, NODE_OPTIONS: '', FORCE_COLOR: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const pid = child.pid!;
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      onOutput?.(output, pid);
    });
  const timer = setTimeout(() => process.kill(-pid, 'SIGKILL'), LIMIT_MS[program]);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  const server = Number(/\(pid (\d+)\)/.exec(output)?.[1]);
  expect(server).toBeGreaterThan(0);
  // A negative id means the whole process group.
  // The system takes a moment to clear ended processes away; what is still there then was left behind.
  for (const left of [-pid, server]) await gone(left);
  return { code, output };
};

async function gone(id: number): Promise<void> {
  const end = Date.now() + 5_000;
  for (;;) {
    try {
      process.kill(id, 0);
    } catch (error) {
      expect(String(error)).toContain('ESRCH');
      return;
    }
    if (Date.now() > end) throw new Error(`process ${id} was left behind`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
