/**
 * A child process and all that it wrote, in bytes. By Node's own spawn: a library round it cost the worker more processor time for each
 * short git command than Node needs to start it (docs/measures.md).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { STORE_BOUNDS } from '../shared/bounds.js';
import { afterRunning } from './turns.js';

export interface ProcessCall {
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | string;
  /** Of each of the two outputs; one that writes more is ended. */
  readonly max_bytes: number;
  /** One that takes longer is ended, with all that it started. */
  readonly timeout_ms: number;
  /** Ends it, with all that it started. */
  readonly signal?: AbortSignal;
}
export interface ProcessOutput {
  /** Null: it could not be started, was ended by a signal or wrote too much. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Why it could not be started, or was ended here. */
  readonly failure: string | null;
}

/** Started by this process itself: for all others it is `captureProcess` of launcher.ts. */
export const captureHere = (
  file: string,
  args: readonly string[],
  call: ProcessCall,
): Promise<ProcessOutput> => {
  const { cwd, env, input } = call;
  try {
    const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] as const;
    // A process group of its own, which can be ended as a whole, and without a terminal: nothing in it can ask there.
    const child = spawn(file, args, { cwd, env, stdio: [...stdio], detached: true });
    return outputOf(child, call);
  } catch (error) {
    // A NUL in an argument.
    const none = Buffer.alloc(0);
    const failure = error instanceof Error ? error.message : String(error);
    return Promise.resolve({ code: null, signal: null, stdout: none, stderr: none, failure });
  }
};

/** To a process that was started `detached`, and to all that it started. */
export const signalGroup = ({ pid }: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // ESRCH: nothing of the group is left.
  }
};

/** Collects what a stream brings, up to a number of bytes, and returns it when asked. */
function gathered(
  stream: NodeJS.ReadableStream | null,
  max_bytes: number,
  onLimit: () => void,
): () => Buffer {
  const parts: Buffer[] = [];
  let size = 0;
  stream?.on('data', (part: Buffer) => {
    size += part.length;
    if (size <= max_bytes) parts.push(part);
    else onLimit();
  });
  return () => Buffer.concat(parts);
}

const outputOf = (
  child: ChildProcess,
  { input, max_bytes, timeout_ms, signal: abort }: ProcessCall,
): Promise<ProcessOutput> =>
  new Promise((resolve) => {
    let failure: string | null = null;
    let lastResort: NodeJS.Timeout | undefined;
    const end = (why: string): void => {
      if (failure !== null) return;
      failure = why;
      // Git removes its lock files where it may.
      signalGroup(child, 'SIGTERM');
      lastResort = setTimeout(() => {
        signalGroup(child, 'SIGKILL');
        // What has left the group may hold the pipes open for ever; what waits for a dead mount does not even die.
        lastResort = setTimeout(() => {
          for (const stream of child.stdio) stream?.destroy();
          child.unref();
          finish(null, null);
        }, STORE_BOUNDS.drain_ms);
      }, STORE_BOUNDS.killGrace_ms);
    };
    const callOff = afterRunning(timeout_ms, () =>
      end(`it took longer than ${Math.round(timeout_ms) / 1000} s and was stopped`),
    );
    const onAbort = (): void => end('it was stopped');
    abort?.addEventListener('abort', onAbort);
    const stopAtLimit = (name: string) => (): void =>
      end(`it wrote more than ${max_bytes} bytes to its ${name}`);
    const stdout = gathered(child.stdout, max_bytes, stopAtLimit('standard output'));
    const stderr = gathered(child.stderr, max_bytes, stopAtLimit('standard error'));
    // One that does not read to the end says so by its exit code.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    const finish = (code: number | null, signal: NodeJS.Signals | null): void => {
      callOff();
      abort?.removeEventListener('abort', onAbort);
      clearTimeout(lastResort);
      // Its children outlived it.
      if (failure !== null) signalGroup(child, 'SIGKILL');
      resolve({
        code: failure === null ? code : null,
        signal,
        stdout: stdout(),
        stderr: stderr(),
        failure,
      });
    };
    child.once('error', (error) => {
      failure ??= error.message;
      // Without a process there is no end to wait for.
      if (child.pid === undefined) finish(null, null);
    });
    child.once('close', finish);
  });
