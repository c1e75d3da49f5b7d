/**
 * Runs a child process and captures all that it writes, in bytes. It uses Node's own spawn: a library around it cost the worker more processor
 * time for each short git command than Node needs to start it (docs/measures.md).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { STORE_BOUNDS } from '../shared/bounds.js';
import { afterRunning } from './time-limit.js';

export interface ProcessCall {
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | string;
  /** Maximum size of each of the two outputs. A process that writes more is ended. */
  readonly max_bytes: number;
  /** A process that takes longer is ended, with all that it started. */
  readonly timeout_ms: number;
  /** Ends the process, with all that it started. */
  readonly signal?: AbortSignal;
}
export interface ProcessOutput {
  /** Exit code. Null: the process could not be started, was ended by a signal or wrote too much. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Reason why the process could not be started, or why Emend ended it, as a clause; null: neither. */
  readonly failure: string | null;
}

/** Starts the process from this one. All other code calls `captureProcess` of launcher.ts. */
export const captureHere = (
  file: string,
  args: readonly string[],
  call: ProcessCall,
): Promise<ProcessOutput> => {
  const { cwd, env, input } = call;
  try {
    const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] as const;
    // A process group of its own can be ended as a whole. It has no terminal, so nothing in it can ask there.
    const child = spawn(file, args, { cwd, env, stdio: [...stdio], detached: true });
    return outputOf(child, call);
  } catch (error) {
    // An argument has a NUL.
    const none = Buffer.alloc(0);
    const failure = error instanceof Error ? error.message : String(error);
    return Promise.resolve({ code: null, signal: null, stdout: none, stderr: none, failure });
  }
};

/** Sends a signal to a process that was started `detached`, and to all that it started. */
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
    const end = (reason: string): void => {
      if (failure !== null) return;
      failure = reason;
      // Git removes its lock files where it may.
      signalGroup(child, 'SIGTERM');
      lastResort = setTimeout(() => {
        signalGroup(child, 'SIGKILL');
        // A process that left the group may hold the pipes open for ever. One that waits for a dead mount does not even die.
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
    // A process that does not read all of its input reports that by its exit code.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    const finish = (code: number | null, signal: NodeJS.Signals | null): void => {
      callOff();
      abort?.removeEventListener('abort', onAbort);
      clearTimeout(lastResort);
      // Its children may have outlived it.
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
