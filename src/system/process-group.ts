/**
 * A process and everything it starts, as one group: killed together at time-out, abort, when its leader ends, and when this
 * process dies. Not execa: that waits for pipes which a left-over grandchild may hold for ever.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { signalGroup } from './capture.js';
import { afterRunning } from './turns.js';
import { STORE_BOUNDS } from '../shared/bounds.js';

/** Keeps the head and the tail of an output within a bound: the first error and the summary are what people look for. */
class BoundedOutput {
  readonly #max_bytes: number;
  readonly #head: Buffer[] = [];
  #headRoom: number;
  #tail: Buffer[] = [];
  #tail_bytes = 0;
  #cut_bytes = 0;

  constructor(max_bytes: number) {
    this.#max_bytes = max_bytes;
    this.#headRoom = Math.floor(max_bytes / 2);
  }

  add(chunk: Buffer): void {
    const first = chunk.subarray(0, this.#headRoom);
    const rest = chunk.subarray(first.length);
    if (first.length > 0) this.#head.push(first);
    this.#headRoom -= first.length;
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tail_bytes += rest.length;
    // Trimmed in strides, so that many small chunks do not cost a copy each.
    if (this.#tail_bytes > 2 * this.#max_bytes) this.#trim();
  }

  kept(): string {
    this.#trim();
    const [head, tail] = [
      Buffer.concat(this.#head).toString('utf8'),
      Buffer.concat(this.#tail).toString('utf8'),
    ];
    return this.#cut_bytes === 0
      ? head + tail
      : `${head}\n[... ${this.#cut_bytes} bytes cut ...]\n${tail}`;
  }

  #trim(): void {
    const room = Math.ceil(this.#max_bytes / 2);
    const over = this.#tail_bytes - room;
    if (over <= 0) return;
    this.#tail = [Buffer.from(Buffer.concat(this.#tail).subarray(over))];
    this.#tail_bytes = room;
    this.#cut_bytes += over;
  }
}

export interface ProcessRequest {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeout_s: number;
  readonly maxOutput_bytes: number;
  readonly signal?: AbortSignal;
  /** Between SIGTERM and SIGKILL. Default 2,000. */
  readonly killGrace_ms?: number;
  /** Contents of its descriptor 5 (`FIRST_INPUT`) and the following ones, which it reads to their ends. Only with `watch`. */
  readonly inputs?: readonly ProcessInput[];
  /** Asked again and again while it runs, with what it wrote to descriptor 4 so far: why it must be killed now; null: it may go on. */
  readonly watch?: (told: string) => Promise<string | null>;
}
export type ProcessInput = { readonly bytes: Uint8Array } | { readonly file: string };
export interface ProcessOutcome {
  /** Null when a signal ended it. 127 also when it could not be started; `output` says why. */
  readonly exit: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly aborted: boolean;
  /** Standard output and standard error as they came, head and tail kept. */
  readonly output: string;
  readonly seconds: number;
  /** Why the watch had it killed; absent: it had not. */
  readonly ended?: string;
  /** With `watch`: what it wrote to descriptor 4. */
  readonly told?: string;
}

const WATCH_MS = 100; // bound: What is watched is looked at this often: a limit is exceeded at least for this time,
const TOLD_CHARS = 65_536; // bound: and of what it tells so much is kept.

/**
 * The group must not outlive us, or a retry after a crash would run at the same time: a watcher in the group reads from a pipe of ours,
 * which ends when we die, however we die.
 */
const WATCHED = '(read _ <&3; kill -s KILL 0) >/dev/null 2>&1 & exec 3<&-; exec "$@"';

/**
 * What whoever started us left open would be open in a child, too, and a directory leads out of any sandbox. Each such descriptor from
 * `first` on is covered by /dev/null.
 */
const covers = (first: number): ('ignore' | number)[] => {
  const isLeft = (fd: number): boolean => {
    try {
      const flags =
        /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
      return (Number.parseInt(flags, 8) & CLOSED_AT_EXEC) === 0;
    } catch {
      return false; // closed meanwhile, as that of the listing itself
    }
  };
  const left = readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd >= first && isLeft(fd));
  if (left.length === 0) return [];
  nothing ??= openSync('/dev/null', 'r');
  const cover = nothing;
  return Array.from({ length: Math.max(...left) + 1 - first }, (_, at) =>
    left.includes(at + first) ? cover : 'ignore',
  );
};
let nothing: number | undefined;
/** Descriptor of the first input of a process. */
export const FIRST_INPUT = 5;
const CLOSED_AT_EXEC = 0o2000000;

/** Starts the process with its descriptors, and writes its inputs. */
function started(request: ProcessRequest): ChildProcess {
  const { inputs = [] } = request;
  const files = inputs.map((input) => ('file' in input ? openSync(input.file, 'r') : null));
  const beyond = FIRST_INPUT + inputs.length;
  const watched = [
    'pipe' as const,
    ...files.map((fd) => fd ?? ('pipe' as const)),
    ...covers(beyond),
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

/** Started by this process itself: for all others it is `runProcess` of launcher.ts. */
export async function runHere(request: ProcessRequest): Promise<ProcessOutcome> {
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1000;
  const output = new BoundedOutput(request.maxOutput_bytes);
  let stopped: 'timedOut' | 'aborted' | null = null;
  let ended: string | null = null;
  let told = '';
  const outcome = (exit: number | null, signal: string | null): ProcessOutcome => {
    const how = { timedOut: stopped === 'timedOut', aborted: stopped === 'aborted' };
    const watched =
      request.watch === undefined ? {} : { told, ...(ended === null ? {} : { ended }) };
    return { exit, signal, ...how, output: output.kept(), seconds: seconds(), ...watched };
  };
  if (request.signal?.aborted) {
    stopped = 'aborted';
    return outcome(null, null);
  }

  const child = started(request);
  let lastResort: NodeJS.Timeout | undefined;
  const stop = (why: 'timedOut' | 'aborted'): void => {
    if (stopped !== null) return;
    stopped = why;
    signalGroup(child, 'SIGTERM');
    lastResort = setTimeout(
      () => signalGroup(child, 'SIGKILL'),
      request.killGrace_ms ?? STORE_BOUNDS.killGrace_ms,
    );
  };
  const onAbort = (): void => stop('aborted');
  const callOff = afterRunning(request.timeout_s * 1000, () => stop('timedOut'));
  request.signal?.addEventListener('abort', onAbort);
  const watch = request.watch;
  let looking = false;
  const look = async (): Promise<void> => {
    if (watch === undefined || looking || ended !== null) return;
    looking = true;
    ended = await watch(told).catch(() => null);
    looking = false;
    if (ended !== null) signalGroup(child, 'SIGKILL');
  };
  const watching = watch === undefined ? undefined : setInterval(() => void look(), WATCH_MS);

  try {
    return await new Promise<ProcessOutcome>((resolve) => {
      child.stdout?.on('data', (chunk: Buffer) => output.add(chunk));
      child.stderr?.on('data', (chunk: Buffer) => output.add(chunk));
      child.stdio[3]?.on('error', () => undefined); // the watcher is killed with its end open
      child.stdio[4]?.on('data', (chunk: Buffer) => {
        told = (told + chunk.toString('utf8')).slice(0, TOLD_CHARS);
      });
      child.once('error', (error) => {
        output.add(Buffer.from(`could not be started in ${request.cwd}: ${error.message}\n`));
        resolve(outcome(127, null));
      });
      child.once('exit', (exit, signal) => {
        signalGroup(child, 'SIGKILL');
        const drained = setTimeout(() => {
          child.stdout?.destroy();
          child.stderr?.destroy();
          resolve(outcome(exit, signal));
        }, STORE_BOUNDS.drain_ms);
        child.once('close', () => {
          clearTimeout(drained);
          resolve(outcome(exit, signal));
        });
      });
    });
  } finally {
    callOff();
    clearTimeout(lastResort);
    clearInterval(watching);
    request.signal?.removeEventListener('abort', onAbort);
  }
}
