/**
 * Does the edit engine's work where it holds nothing up: small inputs at once, large ones (over 100 ms of CPU) in a thread of their own
 * with limits of memory and time. What breaks there is `engine_failed`: the same bytes would break it again, so it is not retried.
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { BOUNDS } from '../../shared/limits.js';
import { ProblemError, problem } from '../../shared/problems.js';
import { afterRunning, timeFor } from '../../system/time-limit.js';
import { createTurns } from '../../system/turns.js';
import { costOf, doWork, sizeOf, type EditWork, type EditWorkKind } from './edit-work.js';

// bound: Edits over fewer bytes take less than about 100 ms and are made at once; more go to a thread.
const EDIT_INLINE_BYTES = 256 * 1024;
const EDIT_MEMORY_MIB = 2048; // bound: Memory of one thread of the edit engine.
export const EDIT_TIME_MS = 120_000; // bound: Time that one edit may take in it.
const EDIT_TURN_MS = 600_000; // bound: Large edits wait this long for a thread, or as long as their activity has time for the edit after it.

export interface EditRunner {
  /** Throws ProblemError `engine_failed`; an AbortError where `signal` was aborted. */
  run<K extends EditWorkKind>(
    kind: K,
    input: EditWork[K]['input'],
    signal: AbortSignal,
  ): Promise<EditWork[K]['result']>;
}
export interface EditRunnerOptions {
  /** Work over at most this many bytes is done in the calling thread. */
  readonly inline_bytes?: number;
  /** JavaScript heap of a thread, MiB; bytes of files lie outside it. */
  readonly memory_MiB?: number;
  readonly timeout_ms?: number;
  /** How long large work waits for a thread. */
  readonly turn_ms?: number;
  /** The thread's entry, built JavaScript. */
  readonly entry?: URL;
}

export const createEditRunner = ({
  inline_bytes = EDIT_INLINE_BYTES,
  memory_MiB = EDIT_MEMORY_MIB,
  timeout_ms = EDIT_TIME_MS,
  turn_ms = EDIT_TURN_MS,
  entry = new URL('./edit-thread.js', import.meta.url),
}: EditRunnerOptions = {}): EditRunner => {
  // Running from source there is no JavaScript for a thread to start from.
  const threads = existsSync(fileURLToPath(entry));
  return {
    run: async (kind, input, signal) => {
      const bytes = sizeOf(kind, input);
      const asProblem = (error: unknown): never => {
        if (signal.aborted) throw error;
        throw new ProblemError(engineFailed(kind, bytes, error, { memory_MiB, timeout_ms }));
      };
      if (!threads || bytes * costOf(kind, input) <= inline_bytes)
        return doWork(kind, input).catch(asProblem);
      const edit = () =>
        inThread<EditWork[typeof kind]['result']>(
          new Worker(entry, threadOptions({ kind, input }, memory_MiB)),
          signal,
          timeFor(timeout_ms),
        ).catch(asProblem);
      return threadTurn({ wait_ms: turn_ms, work_ms: timeout_ms, signal }, edit);
    },
  };
};

/** Each holds a processor and up to `EDIT_MEMORY_MIB` while it works; started anew each time, as what breaks one must not meet the next. */
const threadTurn = createTurns(availableParallelism(), 'Large edits of runs');

const threadOptions = (workerData: unknown, memory_MiB: number) => ({
  workerData,
  resourceLimits: {
    maxOldGenerationSizeMb: memory_MiB,
    maxYoungGenerationSizeMb: BOUNDS.editYoung_MiB,
  },
  // Nothing of the worker's environment (keys, tokens) is needed to edit text.
  env: {},
  execArgv: [],
});

const inThread = <R>(thread: Worker, signal: AbortSignal, timeout_ms: number): Promise<R> =>
  new Promise<R>((resolve, reject) => {
    const end = (settle: () => void): void => {
      callOff();
      signal.removeEventListener('abort', onAbort);
      void thread.terminate();
      settle();
    };
    const onAbort = (): void =>
      end(() => reject(signal.reason instanceof Error ? signal.reason : new Error('cancelled')));
    const callOff = afterRunning(timeout_ms, () => end(() => reject(new TimeLimit())));
    signal.addEventListener('abort', onAbort);
    thread.once('message', (result: R) => end(() => resolve(result)));
    thread.once('error', (error: Error) => end(() => reject(error)));
    thread.once('exit', (code) =>
      end(() => reject(new Error(`its thread exited with code ${code}`))),
    );
    if (signal.aborted) onAbort();
  });

class TimeLimit extends Error {}

const WORDS: Record<EditWorkKind, string> = {
  answer: 'parsing and locating an answer',
  guards: 'checking the result',
  merge: 'merging with the current file',
  outline: 'listing the definitions',
  regions: 'splitting the file into regions',
  describe: 'reading the file',
  prompt: 'listing the files for a request',
  brief: 'listing the files for a request',
  audit: 'listing the files for a request',
  diff: 'building the diff',
  renames: 'comparing deleted and new files',
  plan: 'reading the plan',
  secrets: 'looking for secrets',
};

const engineFailed = (
  kind: EditWorkKind,
  bytes: number,
  error: unknown,
  { memory_MiB, timeout_ms }: { readonly memory_MiB: number; readonly timeout_ms: number },
) => {
  const code = (error as { code?: unknown }).code;
  const why =
    code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? `it needed more than ${memory_MiB} MiB of memory`
      : error instanceof TimeLimit
        ? `it took more than ${timeout_ms / 1000} s`
        : String(error);
  return problem(
    'engine_failed',
    `The edit engine failed at ${WORDS[kind]} (${bytes} bytes): ${why}.`,
  );
};
