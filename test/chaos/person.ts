/** The person of a chaos run: saves files, answers decision points, talks to Temporal directly; writes down all that they did. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
  ftruncateSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { decide } from '../../src/client/runs/decide.js';
import { withLive, type ResolvedRun } from '../../src/client/runs/resolve.js';
import { ProblemError } from '../../src/shared/problems.js';
import type { Answer, DecisionPoint } from '../../src/shared/decisions.js';
import { savedBy, type Carrier } from './jobs.js';
import type { Given, Save, World } from './world.js';

export type Told = Given['told'];

export interface Reply {
  readonly answer: Answer;
  readonly files?: readonly string[];
  readonly note?: string;
  readonly decision?: string;
}

let people = 0;
const TOLD: Readonly<Record<string, Told>> = {
  resolved: 'counted',
  recorded: 'counted',
  already_resolved: 'resolved before',
  sent: 'sent',
};

/** Gives one answer through the client functions and notes what came of it. */
export const answer = async (
  world: World,
  carrier: Carrier,
  run: ResolvedRun,
  reply: Reply,
): Promise<Told> => {
  const by = `person-${++people}`;
  const log = (told: Told, said: string, decision: string): Told => {
    world.given.push({
      carrier: carrier.name,
      stepKey: run.stepKey,
      decision,
      answer: reply.answer,
      by,
      told,
      said,
    });
    return told;
  };
  try {
    const { outcome, message, decision } = await decide(world.emend, run, {
      ...reply,
      by: { name: by, from: 'cli' },
    });
    return log(TOLD[outcome] ?? 'unclear', message, decision);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const told = error.problem.code === 'answer_not_accepted' ? 'refused' : 'unclear';
    return log(told, error.problem.message, reply.decision ?? '');
  }
};

/** As `temporal workflow signal` or the Temporal UI send it. Its writer is not told whether it counts. */
export const signalled = async (
  world: World,
  carrier: Carrier,
  run: ResolvedRun,
  point: DecisionPoint,
  word: Answer,
) => {
  const sent = await withHandle(world, run, async (handle) => {
    await handle.signal(word, { decision: point.id });
    return true;
  }).catch(() => false);
  const told = sent ? 'sent' : 'unclear';
  world.given.push({
    carrier: carrier.name,
    stepKey: run.stepKey,
    decision: point.id,
    answer: word,
    by: 'signal',
    told,
    said: '',
  });
};

export const withHandle = async <T>(
  world: World,
  run: ResolvedRun,
  use: (handle: WorkflowHandle, client: Client) => Promise<T>,
): Promise<T> => {
  const connection = await Connection.connect({ address: world.server.address });
  try {
    const client = new Client({ connection, namespace: world.emend.namespace });
    return await use(client.workflow.getHandle(run.live?.workflowId ?? ''), client);
  } finally {
    await connection.close();
  }
};

/** `in place`: the file is cut and written anew, as simple editors do; `by rename`: another file takes its name, as careful ones do. */
export type HowToSave = 'in place' | 'by rename';

export const save = (
  world: World,
  carrier: Carrier,
  path: string,
  how: HowToSave,
  overlapping = false,
): Save => {
  const at = join(carrier.workspace, path);
  const name = `save ${world.saves.length + 1}`;
  // An editor has the file as it was opened: the base, where the path is just absent.
  const seen = ((): string => {
    try {
      return readFileSync(at, 'utf8');
    } catch {
      return carrier.base[path] ?? '';
    }
  })();
  const bytes = savedBy(path, seen, name, overlapping);
  if (how === 'by rename') {
    const beside = join(dirname(at), `.person-${randomUUID()}`);
    writeFileSync(beside, bytes);
    renameSync(beside, at);
  } else {
    const handle = openSync(at, 'a');
    try {
      ftruncateSync(handle, 0);
      writeSync(handle, bytes);
    } finally {
      closeSync(handle);
    }
  }
  const saved = { carrier: carrier.name, workspace: carrier.workspace, path, bytes, how };
  world.saves.push(saved);
  return saved;
};

/** How long a server that stands still or was killed may be away. */
const AWAY_MS = 60_000;
/** Null: the server does not know the run, or is away for good. One that is away just then says nothing of the run. */
export const again = async (world: World, stepKey: string): Promise<ResolvedRun | null> => {
  for (const end = Date.now() + AWAY_MS; ;) {
    try {
      // By its whole key: no list is asked for.
      const run = await withLive(world.emend, stepKey, null);
      return run.live === null ? null : run;
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      if (error.problem.code !== 'no_server' || Date.now() > end) return null;
      await sleep(500);
    }
  }
};

interface Said {
  readonly code: number;
  readonly out: string;
}
/** `emend ...` as a person types it, in a process of its own. */
export const emend = (world: World, cwd: string, ...args: readonly string[]): Promise<Said> =>
  new Promise((resolve) => {
    const env = { ...process.env, ...world.env, NODE_OPTIONS: '', NO_COLOR: '1' };
    const child = execFile(
      process.execPath,
      [join(process.cwd(), 'dist/client.js'), ...args],
      { cwd, env },
      (_e, out, err) => {
        resolve({ code: child.exitCode ?? -1, out: out + err });
      },
    );
  });
