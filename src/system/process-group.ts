/**
 * Runs a process and everything that it starts as one group. The group is killed together at a time-out, at an abort, when its leader ends, and
 * when this process dies. execa is not used: it waits for pipes that a remaining grandchild may hold for ever.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { Writable } from 'node:stream';
import { withoutNulls } from '../shared/absence.js';
import { STORE_BOUNDS } from '../shared/bounds.js';
import { BoundedOutput } from './bounded-output.js';
import { signalGroup } from './capture.js';
import { coversFrom } from './inherited-descriptors.js';
import { afterRunning } from './time-limit.js';

export interface ProcessRequest {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeout_s: number;
  readonly maxOutput_bytes: number;
  readonly signal?: AbortSignal;
  /** Time between SIGTERM and SIGKILL. Default 2,000. */
  readonly killGrace_ms?: number;
  /** Contents of its descriptor 5 (`FIRST_INPUT`) and the following ones, which it reads to their ends. Only with `watch`. */
  readonly inputs?: readonly ProcessInput[];
  /**
   * Called again and again while the process runs, with the text that it wrote to descriptor 4 so far. Returns why it must be killed now; null:
   * it may go on.
   */
  readonly watch?: (report: string) => Promise<string | null>;
}
export type ProcessInput = { readonly bytes: Uint8Array } | { readonly file: string };
export interface ProcessOutcome {
  /** Exit code; null if a signal ended the process. It is 127 also if the process could not be started: `output` has the reason. */
  readonly exit: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly aborted: boolean;
  /** Head and tail of standard output and standard error, in the order in which they came. */
  readonly output: string;
  readonly seconds: number;
  /** Reason why the watch had the process killed; absent: it had not. */
  readonly ended?: string;
  /** Text that the process wrote to descriptor 4; absent without `watch`. */
  readonly report?: string;
}

const WATCH_MS = 100; // bound: Time between two questions to the watch. A limit may be exceeded for this time.
const REPORT_CHARS = 65_536; // bound: Characters of descriptor 4 that are kept.

/**
 * Shell program that starts the process with a watcher in its group. The watcher reads from a pipe of this process, which ends when this process
 * dies in whatever way, and kills the group. Otherwise a retry after a crash would run next to the old group.
 */
const WATCHED = '(read _ <&3; kill -s KILL 0) >/dev/null 2>&1 & exec 3<&-; exec "$@"';

/** Descriptor of the first input of a process. */
export const FIRST_INPUT = 5;

/** Starts the process with its descriptors, and writes its inputs. */
function started(request: ProcessRequest): ChildProcess {
  const { inputs = [] } = request;
  const files = inputs.map((input) => ('file' in input ? openSync(input.file, 'r') : null));
  const beyond = FIRST_INPUT + inputs.length;
  const watched = [
    'pipe' as const,
    ...files.map((fd) => fd ?? ('pipe' as const)),
    ...coversFrom(beyond),
  ];
  try {
    const child = spawn('/bin/sh', ['-c', WATCHED, 'emend', request.file, ...request.args], {
      cwd: request.cwd,
      env: request.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...(request.watch === undefined ? [] : watched)],
    });
    inputs.forEach((input, index) => {
      const pipe = child.stdio[FIRST_INPUT + index];
      if ('file' in input || !(pipe instanceof Writable)) return;
      // A process that ends early does not read it.
      pipe.on('error', () => undefined);
      pipe.end(input.bytes);
    });
    return child;
  } finally {
    for (const fd of files) if (fd !== null) closeSync(fd);
  }
}

/** State of a process that runs, from which its outcome is made. */
interface Run {
  readonly request: ProcessRequest;
  readonly begin_ms: number;
  readonly output: BoundedOutput;
  stopReason: 'timedOut' | 'aborted' | null;
  /** Reason why the watch had it killed; null: it had not. */
  ended: string | null;
  /** Text that it wrote to descriptor 4. */
  report: string;
}

const outcomeOf = (run: Run, exit: number | null, signal: string | null): ProcessOutcome => ({
  exit,
  signal,
  timedOut: run.stopReason === 'timedOut',
  aborted: run.stopReason === 'aborted',
  output: run.output.text(),
  seconds: (performance.now() - run.begin_ms) / 1000,
  ...(run.request.watch === undefined
    ? {}
    : withoutNulls({ report: run.report, ended: run.ended })),
});

/** Stops the group at its time limit and at an abort, first by SIGTERM. Returns a function that removes both. */
function stopInTime(child: ChildProcess, run: Run): () => void {
  const { timeout_s, signal, killGrace_ms = STORE_BOUNDS.killGrace_ms } = run.request;
  let lastResort: NodeJS.Timeout | undefined;
  const stop = (reason: 'timedOut' | 'aborted'): void => {
    if (run.stopReason !== null) return;
    run.stopReason = reason;
    signalGroup(child, 'SIGTERM');
    lastResort = setTimeout(() => signalGroup(child, 'SIGKILL'), killGrace_ms);
  };
  const onAbort = (): void => stop('aborted');
  const callOff = afterRunning(timeout_s * 1000, () => stop('timedOut'));
  signal?.addEventListener('abort', onAbort);
  return () => {
    callOff();
    clearTimeout(lastResort);
    signal?.removeEventListener('abort', onAbort);
  };
}

/** Asks the watch of the request again and again, one question at a time. Returns a function that ends this. */
function startWatch(child: ChildProcess, run: Run): () => void {
  const { watch } = run.request;
  if (watch === undefined) return () => undefined;
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (isLooking || run.ended !== null) return;
    isLooking = true;
    run.ended = await watch(run.report).catch(() => null);
    isLooking = false;
    if (run.ended !== null) signalGroup(child, 'SIGKILL');
  };
  const timer = setInterval(() => void look(), WATCH_MS);
  return () => clearInterval(timer);
}

/** Collects the outputs of the process until it has ended and they are closed, or until they have had their time to close. */
const untilEnd = (child: ChildProcess, run: Run): Promise<ProcessOutcome> =>
  new Promise((resolve) => {
    const { output, request } = run;
    child.stdout?.on('data', (chunk: Buffer) => output.add(chunk));
    child.stderr?.on('data', (chunk: Buffer) => output.add(chunk));
    // The watcher in the group is killed with its end of the pipe open.
    child.stdio[3]?.on('error', () => undefined);
    child.stdio[4]?.on('data', (chunk: Buffer) => {
      run.report = (run.report + chunk.toString('utf8')).slice(0, REPORT_CHARS);
    });
    child.once('error', (error) => {
      output.add(Buffer.from(`could not be started in ${request.cwd}: ${error.message}\n`));
      resolve(outcomeOf(run, 127, null));
    });
    child.once('exit', (exit, signal) => {
      signalGroup(child, 'SIGKILL');
      const drained = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        resolve(outcomeOf(run, exit, signal));
      }, STORE_BOUNDS.drain_ms);
      child.once('close', () => {
        clearTimeout(drained);
        resolve(outcomeOf(run, exit, signal));
      });
    });
  });

/** Starts the process from this one. All other code calls `runProcess` of launcher.ts. */
export async function runHere(request: ProcessRequest): Promise<ProcessOutcome> {
  const run: Run = {
    request,
    begin_ms: performance.now(),
    output: new BoundedOutput(request.maxOutput_bytes),
    stopReason: null,
    ended: null,
    report: '',
  };
  if (request.signal?.aborted) {
    run.stopReason = 'aborted';
    return outcomeOf(run, null, null);
  }
  const child = started(request);
  const endLimits = stopInTime(child, run);
  const endWatch = startWatch(child, run);
  try {
    return await untilEnd(child, run);
  } finally {
    endLimits();
    endWatch();
  }
}
