/** The server and the worker of this machine: what `emend dev` runs, and `emend run --dev` for one run. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, fail, PROBLEMS } from '../shared/problems.js';
import { findTemporalCli } from '../temporal/cli-binary.js';
import { startDevServer, type DevServer } from '../temporal/dev-server.js';
import { ownServer, refusal } from '../temporal/own-server.js';
import { configuredServer } from '../temporal/settings.js';
import { homePaths } from '../stores/home.js';
import { type Io, asides, type QuietFlag } from './io.js';
import { openEmend } from '../client/open.js';
import { hearInterrupt, interruptible, type Session } from './session.js';
import { needRuns, type Emend, type RunGateway } from '../client/types.js';
import type { RunningWorker as ServedWorker, ServedAs } from '../worker/index.js';

const HURRIED_STOP_MS = 1_000; // bound: A server that is to end at once still gets this long before it is killed.
const WORKER_APPEARS_MS = 10_000; // bound: A worker that was just started is seen by the server within this time.

export type RunningWorker = Pick<ServedWorker, 'stop' | 'done'>;
export type WorkerLogger = Awaited<ReturnType<typeof workerLogger>>;

const hasModelSettings = (env: Io['env']): boolean =>
  ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL'].some(
    (name) => (env[name] ?? '') !== '',
  );
const NO_MODEL =
  'Neither ANTHROPIC_API_KEY nor ANTHROPIC_BASE_URL is set, so no model can be called.';

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
export const startServer = async (
  env: Io['env'],
  home: string,
  log: (text: string) => void,
  ui = false,
): Promise<DevServer> => {
  const configured = configuredServer(env);
  if (configured !== null)
    fail(
      'usage',
      `A Temporal server is configured, ${configured.address}: commands use it, not one started here.`,
      `To start a worker for it: emend worker. To use a local server: ${configured.without}; emend dev`,
    );
  const own = await ownServer(home);
  if (own.is === 'starting') fail('no_server', ...(await refusal(home, own)));
  const cli = await findTemporalCli({ env, log });
  const { server } = homePaths(home);
  // A worker follows: its libraries are loaded while the server is not ready yet.
  void import('../worker/index.js').catch(() => undefined);
  return startDevServer({
    home,
    cli,
    ui,
    log,
    dbFile: join(server, 'db', 'temporal.sqlite'),
    logFile: join(server, 'log', 'server.log'),
  });
};

/** `stderr`: lines for whoever watches the worker, `warnings` those of them that report something wrong; a home: `server/log/worker.log` in it, out of the way of what a run shows. */
export type WorkerLog = 'stderr' | 'warnings' | { readonly home: string };

/** The worker's libraries are large: they are loaded only here and in `startOwnWorker`. */
export const workerLogger = async (io: Io, log: WorkerLog) => {
  const { workerLog } = await import('../worker/index.js');
  const { env, errIsTty: isPlain } = io;
  if (log === 'stderr') return workerLog('info', { isPlain, env });
  if (log === 'warnings') return workerLog('warn', { isPlain, env });
  const dest = join(homePaths(log.home).server, 'log', 'worker.log');
  return workerLog('info', { place: { dest, mkdir: true }, env });
};

export const startOwnWorker = async (
  io: Io,
  home: string,
  logger: WorkerLogger,
  served: ServedAs = {},
): Promise<RunningWorker> => {
  const { createWorker } = await import('../worker/index.js');
  return createWorker({ ...served, env: io.env, home, logger });
};

/**
 * Ends the worker within its grace time, then the server: a worker hands back what it was doing while somebody listens. A second
 * Ctrl-C waits for nothing but the server's end, so that none is left behind.
 */
export const stopServices = async (
  io: Io,
  worker: RunningWorker | null,
  server: DevServer | null,
): Promise<void> => {
  const second = hearInterrupt(io);
  try {
    await Promise.race([worker?.stop(), second.came]);
  } finally {
    await server?.stop(second.heard() ? HURRIED_STOP_MS : undefined);
    second.off();
  }
  if (second.heard()) io.exitNow(EXIT.interrupted);
};

// `emend run` and `emend plan run`: with `--dev` a server and a worker for this run where none answers; they end with it.

/** `server`: one was started, so connect again. Null: all is there. Throws ProblemError `no_api_key` before anything is started, or why server or worker did not start. */
const startMissing = async (io: Io, emend: Emend, flags: QuietFlag) => {
  if (emend.runs !== null && (await emend.runs.polled(emend.queues.workflow))) return null;
  checkModelSettings(io.env);
  const server =
    emend.runs === null ? await startServer(io.env, emend.home, asides(io, flags).err) : null;
  const logger = await workerLogger(io, { home: emend.home });
  const worker: RunningWorker = await startOwnWorker(io, emend.home, logger).catch(
    async (error: unknown) => {
      await server?.stop();
      throw error;
    },
  );
  // A worker that breaks shows in the run, which stops moving; its error must not end this process unheard.
  worker.done.catch((error: unknown) =>
    io.err(`The worker ended: ${error instanceof Error ? error.message : String(error)}`),
  );
  return {
    server: server !== null,
    // What it has accepted is on disk, and nobody is left to answer: to end by itself takes it more than a second.
    stop: () => stopServices(io, worker, server && { ...server, stop: () => server.stop(0) }),
  };
};

/** Waits until the server has seen a worker at the queue; a worker that never comes is told by the run itself. */
export const untilPolled = async (runs: RunGateway, queue: string): Promise<void> => {
  const end = performance.now() + WORKER_APPEARS_MS;
  while (!(await runs.polled(queue)) && performance.now() < end) await sleep(50);
};

/**
 * Opens Emend for a run that is to be started and closes it afterwards, whatever happens. `signal` aborts at the first Ctrl-C. Throws
 * ProblemError `no_server`, and what starting a server or worker throws.
 */
export const withRunning = <Flags extends { readonly dev?: true } & QuietFlag, T>(
  io: Io,
  flags: Flags,
  use: (session: Session<Flags>, signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  interruptible(io, async (signal) => {
    let emend = await openEmend({ env: io.env });
    const services = flags.dev === true ? await startMissing(io, emend, flags) : null;
    try {
      if (services?.server === true) {
        await emend.close();
        emend = await openEmend({ env: io.env });
      }
      const runs = needRuns(emend);
      // The server takes a moment to know a worker that was just started.
      if (services !== null) await untilPolled(runs, emend.queues.workflow);
      return await use({ io, emend, flags }, signal);
    } finally {
      await services?.stop();
      await emend.close();
    }
  });
