/** What the tests about ends share: runs stopped from outside, the lock afterwards, the command line as a child process, processes that must be gone. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import type { ClosedRun, ResolvedRun } from '../../src/client/index.js';
import { createApplyEngine } from '../../src/workspace/apply/engine.js';
import type { WorkspaceLock } from '../../src/workspace/ports.js';
import type { Scene } from './support.js';

/** As anybody with the Temporal API (or its UI) reaches a run. */
async function temporalOf(s: Scene): Promise<{ client: Client; close: () => Promise<void> }> {
  const connection = await Connection.connect({ address: s.emend.address });
  const client = new Client({ connection, namespace: s.emend.namespace });
  return { client, close: () => connection.close() };
}
export async function withHandle<T>(
  s: Scene,
  run: ResolvedRun,
  use: (handle: WorkflowHandle, client: Client) => Promise<T>,
): Promise<T> {
  const { client, close } = await temporalOf(s);
  try {
    return await use(client.workflow.getHandle(run.live!.workflowId), client);
  } finally {
    await close();
  }
}

export async function eventually<T>(
  what: string,
  look: () => Promise<T | null | false>,
  limit_s = 40,
): Promise<T> {
  const end = Date.now() + limit_s * 1000;
  while (Date.now() < end) {
    const seen = await look();
    if (seen !== null && seen !== false) return seen;
    await sleep(50);
  }
  throw new Error(`${what}: did not come within ${limit_s} s`);
}

/** How the newest run of the workflow id ended, in the server's words. */
export const closedOf = async (s: Scene, run: ResolvedRun): Promise<ClosedRun> => {
  const ref = { workflowId: run.live!.workflowId, runId: null };
  const ended = await eventually('the end of the run', async () => {
    const found = await s.emend.runs!.describe(ref);
    return found?.open === false && found;
  });
  return s.emend.runs!.closed(ended);
};

export const lockOf = (s: Scene): Promise<WorkspaceLock | null> =>
  createApplyEngine({ home: s.home, blobs: s.emend.blobs }).readLock(s.repo);

/** Process ids that a test command wrote down, a line each run of it. */
export const pidsIn = (path: string): number[] => {
  try {
    return readFileSync(path, 'utf8').trim().split(/\s+/).map(Number);
  } catch {
    return [];
  }
};

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}
/** `emend ...` as a person types it. */
export const emendCommand = (s: Scene, ...args: readonly string[]): Promise<Said> =>
  emendIn(s, {}, ...args);
/** The same with more in the environment, or in another directory. */
export const emendIn = (
  s: Scene,
  {
    cwd = s.repo,
    env = {},
  }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> },
  ...args: readonly string[]
): Promise<Said> =>
  new Promise((resolve) => {
    const client = join(process.cwd(), 'dist', 'client.js');
    const told = { ...s.env, NODE_OPTIONS: '', NO_COLOR: '1', ...env };
    const child = execFile(
      process.execPath,
      [client, ...args],
      { cwd, env: told },
      (_error, out, err) => {
        resolve({ code: child.exitCode ?? -1, out, err });
      },
    );
  });
