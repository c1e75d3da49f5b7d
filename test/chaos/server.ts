/** The chaos run's own Temporal server: on a SQLite file, so that it can be killed and started again where it was. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { alive } from '../support/alive.js';

export interface Server {
  readonly address: string;
  /** SIGKILL, then another server on the same file and ports. */
  killAndRestart(away_ms: number): Promise<void>;
  freeze(ms: number): Promise<void>;
  /** Stands still with `others` and this process, which is the person, the supervisor and the model. */
  sleepWith(others: () => readonly number[], ms: number): Promise<void>;
  /** Is it away, or was it up to `AFTER_MS` ago? */
  lately(): boolean;
  close(): Promise<void>;
}

/** Workers notice an absent server some time after it is back. */
const AFTER_MS = 30_000;
const GONE_MS = 10_000;

/** The server's command with one setting more, which it takes on the command line only. */
export const suggesting = (dir: string, cli: string, events: number): string => {
  const path = join(dir, 'temporal-suggests');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const flag = `--dynamic-config-value limit.historyCount.suggestContinueAsNew=${events}`;
  writeFileSync(path, `#!/bin/sh\nexec '${cli}' "$@" ${flag}\n`, { mode: 0o755 });
  return path;
};

export const startServer = async (
  dir: string,
  suggested: number,
  note: (line: string) => void,
): Promise<Server> => {
  const found = await findTemporalCli({ env: process.env, log: note });
  const cli = suggested === 0 ? found : { ...found, path: suggesting(dir, found.path, suggested) };
  const options = {
    home: dir,
    cli,
    dbFile: join(dir, 'db', 'temporal.db'),
    logFile: join(dir, 'server.log'),
  };
  const first = await startDevServer({ ...options, port: 0 });
  const ports = { port: Number(first.address.split(':').at(-1)) };
  let now: DevServer | null = first;
  let back = 0;
  /** One thing at a time is done to it. */
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => (turn = turn.then(work));
  return {
    address: first.address,
    killAndRestart: (away_ms) =>
      inTurn(async () => {
        if (now === null) return;
        const { pid } = now;
        now = null;
        process.kill(pid, 'SIGKILL');
        for (const end = Date.now() + GONE_MS; alive(pid) && Date.now() < end;) await sleep(20);
        await sleep(away_ms);
        now = await startDevServer({ ...options, ...ports });
        back = Date.now();
      }),
    freeze: (ms) =>
      inTurn(async () => {
        if (now === null) return;
        const { pid } = now;
        process.kill(pid, 'SIGSTOP');
        await sleep(ms);
        process.kill(pid, 'SIGCONT');
        back = Date.now();
      }),
    sleepWith: (others, ms) =>
      inTurn(async () => {
        if (now === null) return;
        const pids = [now.pid, ...others(), process.pid].join(' ');
        // A shell in a group of its own stays awake to wake us.
        const script = `kill -STOP ${pids}; sleep ${ms / 1000}; kill -CONT ${pids}`;
        const shell = spawn('/bin/sh', ['-c', script], { detached: true, stdio: 'ignore' });
        await once(shell, 'exit');
        back = Date.now();
      }),
    lately: () => now === null || Date.now() - back < AFTER_MS,
    close: async () => {
      await turn.catch(() => undefined);
      await now?.stop();
    },
  };
};
