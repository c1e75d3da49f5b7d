/** `emend run --dev`: a server and a worker for this run where none answers; they end with it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Emend, RunGateway } from '../client/types.js';
import type { Io } from './io.js';
import { checkModelSettings, startOwnWorker, startServer, stopServices } from './services.js';
import type { RunningWorker } from './services.js';

export interface OwnServices {
  /** A server was started: connect again. */
  readonly server: boolean;
  /** A worker was started: the server takes a moment to know it. */
  readonly worker: boolean;
  stop(): Promise<void>;
}

/** Throws ProblemError `no_api_key` before anything is started, or why server or worker did not start. */
export const startMissing = async (io: Io, emend: Emend): Promise<OwnServices> => {
  if (emend.runs !== null && (await emend.runs.polled(emend.queues.workflow)))
    return { server: false, worker: false, stop: () => Promise.resolve() };
  checkModelSettings(io.env);
  const server = emend.runs === null ? await startServer(io, emend.home) : null;
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

const POLLED_MS = 10_000;
/** Waits until the server has seen a worker at the queue; a worker that never comes is told by the run itself. */
export const untilPolled = async (runs: RunGateway, queue: string): Promise<void> => {
  const end = performance.now() + POLLED_MS;
  while (!(await runs.polled(queue)) && performance.now() < end) await sleep(50);
};
