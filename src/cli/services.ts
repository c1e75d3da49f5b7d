/** The server and the worker of this machine: what `emend dev` runs, and `emend run --dev` for one run. */
import { join } from 'node:path';
import { EXIT, fail, PROBLEMS } from '../shared/problems.js';
import { findTemporalCli } from '../temporal/cli-binary.js';
import { startDevServer, type DevServer } from '../temporal/dev-server.js';
import { homePaths } from '../workspace/home.js';
import type { Io } from './io.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

export interface RunningWorker {
  /** Lets what runs finish within the grace time. */
  stop(): Promise<void>;
  /** Settles when the worker has ended, rejects when it broke. */
  readonly done: Promise<void>;
}

const hasModelSettings = (env: Io['env']): boolean =>
  ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL'].some((name) => (env[name] ?? '') !== '');
const NO_MODEL = 'Neither ANTHROPIC_API_KEY nor ANTHROPIC_BASE_URL is set, so no model can be asked.';

/** Throws ProblemError `no_api_key` where a worker of this machine could ask no model. */
export const checkModelSettings = (env: Io['env']): void => {
  if (!hasModelSettings(env)) fail('no_api_key', NO_MODEL);
};

/** A worker without a key still applies, tests and commits what is approved: it is told, not refused. */
export const warnWithoutModel = (io: Io): void => {
  if (!hasModelSettings(io.env))
    io.err(`${NO_MODEL} Runs that need one will wait for a decision. ${PROBLEMS.no_api_key.hint}`);
};

/** `log` gets what is done until the server is there, as fetching the Temporal CLI. */
export const startServer = async (env: Io['env'], home: string, log: (text: string) => void): Promise<DevServer> => {
  const cli = await findTemporalCli({ env, log });
  const { server } = homePaths(home);
  return startDevServer({
    home,
    cli,
    dbFile: join(server, 'db', 'temporal.sqlite'),
    logFile: join(server, 'log', 'server.log'),
  });
};

/** `stderr`: lines for whoever watches the worker, `warnings` those of them that tell of something wrong; `file`: `server/log/worker.log` in the home, out of the way of what a run shows. */
export type WorkerLog = 'stderr' | 'warnings' | 'file';

/** The worker's libraries are large: they are loaded only here. */
export const startOwnWorker = async (io: Io, home: string, log: WorkerLog): Promise<RunningWorker> => {
  const [{ startWorker }, { pino }] = await Promise.all([import('../../worker.js'), import('pino')]);
  const place =
    log === 'file'
      ? { dest: join(homePaths(home).server, 'log', 'worker.log'), mkdir: true, sync: true }
      : { fd: 2, sync: true };
  const level = log === 'warnings' ? 'warn' : 'info';
  return startWorker({ env: io.env, home, logger: pino({ name: 'emend-worker', level }, pino.destination(place)) });
};

/**
 * Ends the worker within its grace time, then the server: a worker hands back what it was doing while somebody listens. A second
 * Ctrl-C waits for nothing but the server's end, so that none is left behind.
 */
export const stopServices = async (io: Io, worker: RunningWorker | null, server: DevServer | null): Promise<void> => {
  const second = { came: false };
  let off = (): void => undefined;
  const hurried = new Promise<void>((resolve) => {
    off = io.onInterrupt(() => {
      second.came = true;
      resolve();
    });
  });
  try {
    await Promise.race([worker?.stop(), hurried]);
  } finally {
    await server?.stop(second.came ? SERVER_BOUNDS.hurriedStop_ms : undefined);
    off();
  }
  if (second.came) io.exitNow(EXIT.interrupted);
};
