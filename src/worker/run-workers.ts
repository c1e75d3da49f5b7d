/**
 * Several workers that live and end together: where one fails the others are told to stop, and a stop has an end. An activity that does
 * not listen keeps its worker, the connection under it and so the process for as long as it likes; after `stop_ms` it is left behind and
 * that is said (`worker_stuck`). Whoever hears that ends the process: what was left holds on to it.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import { problem, ProblemError } from '../shared/problems.js';
import {
  placeOf,
  type ConnectOptions,
  reach,
  reachOver,
  type ServerPlace,
} from '../temporal/connection.js';
import { serverSettings } from '../temporal/settings.js';

/** What is used of a Temporal Worker. */
export interface OneWorker {
  run(): Promise<void>;
  getState(): string;
  getStatus(): { readonly numInFlightActivities: number };
  shutdown(): void;
}
export interface RunOptions {
  /** From the first wish to stop to the end of waiting: longer than the workers' own `shutdownForceTime`. */
  readonly stop_ms: number;
  /** How long the closing of what they used may take. */
  readonly close_ms: number;
  /** Closes what the workers used, once they have ended. */
  readonly close: () => Promise<unknown>;
}

const wordsOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
const stuck = (why: string): ProblemError =>
  new ProblemError(problem('worker_stuck', `The worker did not stop: ${why}.`));

/**
 * `done` settles when all have ended and what they used is closed; it rejects with what broke, or with `worker_stuck`. `stop` asks all of
 * them to stop and waits for it.
 */
export const runWorkers = (
  workers: readonly OneWorker[],
  { stop_ms, close_ms, close }: RunOptions,
) => {
  const given = new AbortController();
  const wish = new AbortController();
  let asked = false;
  /** Settles `stop_ms` after the first wish. */
  const tooLate = once(wish.signal, 'abort')
    .then(() => sleep(stop_ms, undefined, { signal: given.signal }))
    .catch(() => undefined);
  const askAll = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    wish.abort();
  };

  const run = async (): Promise<void> => {
    const failures: Error[] = [];
    const one = async (worker: OneWorker): Promise<void> => {
      try {
        await worker.run();
      } catch (error) {
        failures.push(error instanceof Error ? error : new Error(String(error)));
        askAll();
      }
    };
    const ended = Promise.all(workers.map(one)).then(() => 'ended' as const);
    const how = await Promise.race([ended, tooLate.then(() => 'late' as const)]);
    const closed = await Promise.race([
      close().then(
        () => null,
        (error: unknown) => error,
      ),
      sleep(close_ms, 'closing its connection takes too long', { signal: given.signal }),
    ]);
    given.abort();
    // What broke before anybody wished for an end is the reason; afterwards it is that the end did not come.
    const [first] = failures;
    if (!asked && first !== undefined) throw first;
    const isAtWork = workers.some((worker) => worker.getStatus().numInFlightActivities > 0);
    if (isAtWork) throw stuck(`an activity has not ended ${stop_ms} ms after it was asked to stop`);
    // Each call to a server, or a network, that is silent holds on to the worker.
    if (first !== undefined || how === 'late') throw stuck('the Temporal server does not answer');
    if (closed !== null) throw stuck(wordsOf(closed));
  };
  const done = run();
  return {
    done,
    stop: async (): Promise<void> => {
      asked = true;
      askAll();
      await done;
    },
  };
};

// A worker's connection to the Temporal server, with what a worker needs beside it.

/** A connection that the program made itself, in place of one that the environment names; it stays the program's to close. */
export interface WorkerPlace {
  readonly connection?: NativeConnection | undefined;
  /** With `connection`. Default: `default`. */
  readonly namespace?: string | undefined;
}
export interface WorkerConnection extends ServerPlace {
  readonly connection: NativeConnection;
  close(): Promise<void>;
}

/**
 * As `connectClient`, for a worker; over a connection of the program where there is one. `Runtime.install`, if wanted, must come before.
 */
export const connectWorker = async ({
  connection: program,
  namespace,
  ...options
}: ConnectOptions & WorkerPlace): Promise<WorkerConnection> => {
  if (program !== undefined) {
    const settings = await reachOver({ connection: program, namespace }, options);
    return { connection: program, ...placeOf(settings), close: () => Promise.resolve() };
  }
  const settings = await serverSettings(options.env, options.home);
  const connection = await reach(settings, options.connect_ms, () =>
    NativeConnection.connect(settings.connection),
  );
  return { connection, ...placeOf(settings), close: () => connection.close() };
};
