/** What the kill tests of commands share: the command in a process of its own, every place at which it can be killed, the files below a folder. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ShimPlan, SysCall } from '../support/sys-shim.js';

export const NO_KILL: ShimPlan = { at: 0, when: 'before', fault: 'kill' };

/** Before and after each of the calls, the first being number 1. */
export const killsOf = (names: readonly SysCall[]) =>
  names.flatMap((_, i) => [
    { at: i + 1, when: 'before' as const },
    { at: i + 1, when: 'after' as const },
  ]);

export const runChild = (
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Record<string, string | undefined> },
) =>
  new Promise<{ signal: string | null; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [...args], { cwd, env }, (error, stdout, stderr) => {
      resolve({ signal: error?.signal ?? null, stdout, stderr });
    });
  });

export const filesBelow = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [path.slice(dir.length + 1), readFileSync(path, 'utf8')]),
  );
