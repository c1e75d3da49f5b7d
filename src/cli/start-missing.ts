/** `emend run` and `emend plan run`: with `--dev` a server and a worker for this run where none answers; they end with it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmend } from '../client/open.js';
import type { Emend, RunGateway } from '../client/types.js';
import { fail } from '../shared/problems.js';
import type { Io } from './io.js';
import { asides, type QuietFlag } from './quiet.js';
import { checkModelSettings, startOwnWorker, startServer, stopServices, type RunningWorker } from './services.js';
import { SERVER_BOUNDS } from '../shared/bounds.js';

interface OwnServices {
  /** A server was started: connect again. */
  readonly server: boolean;
  /** A worker was started: the server takes a moment to know it. */
  readonly worker: boolean;
  stop(): Promise<void>;
}

/** Throws ProblemError `no_api_key` before anything is started, or why server or worker did not start. */
const startMissing = async (io: Io, emend: Emend, flags: QuietFlag): Promise<OwnServices> => {
  if (emend.runs !== null && (await emend.runs.polled(emend.queues.workflow)))
    return { server: false, worker: false, stop: () => Promise.resolve() };
  checkModelSettings(io.env);
  const server = emend.runs === null ? await startServer(io.env, emend.home, asides(io, flags).err) : null;
  let worker: RunningWorker;
  try {
    worker = await startOwnWorker(io, emend.home, 'file');
  } catch (error) {
    await server?.stop();
    throw error;
  }
  // A worker that breaks shows in the run, which stops moving; its error must not end this process unheard.
  worker.done.catch((error: unknown) => {
    io.err(`The worker ended: ${error instanceof Error ? error.message : String(error)}`);
  });
  return {
    server: server !== null,
    worker: true,
    stop: () => stopServices(io, worker, server),
  };
};

/** Waits until the server has seen a worker at the queue; a worker that never comes is told by the run itself. */
export const untilPolled = async (runs: RunGateway, queue: string): Promise<void> => {
  const end = performance.now() + SERVER_BOUNDS.workerAppears_ms;
  while (!(await runs.polled(queue)) && performance.now() < end) await sleep(50);
};

/**
 * Opens Emend for a run that is to be started and closes it afterwards, whatever happens. `signal` aborts at the first Ctrl-C. Throws
 * ProblemError `no_server`, and what starting a server or worker throws.
 */
export const withRunning = async <T>(
  io: Io,
  { dev, ...flags }: { readonly dev?: true } & QuietFlag,
  use: (emend: Emend, signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const stop = new AbortController();
  const off = io.onInterrupt(() => {
    stop.abort();
  });
  let emend = await openEmend({ env: io.env });
  const services = dev === true ? await startMissing(io, emend, flags) : null;
  try {
    if (services?.server === true) {
      await emend.close();
      emend = await openEmend({ env: io.env });
    }
    if (emend.runs === null)
      return fail('no_server', emend.unreachable?.message ?? 'No Temporal server answers.', emend.unreachable?.next);
    if (services?.worker === true) await untilPolled(emend.runs, emend.queues.workflow);
    return await use(emend, stop.signal);
  } finally {
    off();
    await services?.stop();
    await emend.close();
  }
};
