/**
 * A child process and all that it wrote, in bytes. By Node's own spawn: a library round it cost the worker more processor time for each
 * short git command than Node needs to start it (docs/measures.md).
 */
import { spawn, type ChildProcess } from 'node:child_process';

export interface ProcessCall {
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | string;
  /** Of each of the two outputs; one that writes more is ended. */
  readonly max_bytes: number;
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

/** Never rejects. Ends once the process has, and its outputs are closed. */
export const captureProcess = (file: string, args: readonly string[], call: ProcessCall): Promise<ProcessOutput> => {
  const { cwd, env, input } = call;
  try {
    const child = spawn(file, args, { cwd, env, stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
    return outputOf(child, call);
  } catch (error) {
    // A NUL in an argument.
    const none = Buffer.alloc(0);
    const failure = error instanceof Error ? error.message : String(error);
    return Promise.resolve({ code: null, signal: null, stdout: none, stderr: none, failure });
  }
};

const outputOf = (child: ChildProcess, { input, max_bytes }: ProcessCall): Promise<ProcessOutput> =>
  new Promise((resolve) => {
    let failure: string | null = null;
    const gather = (stream: NodeJS.ReadableStream | null, name: string): (() => Buffer) => {
      const parts: Buffer[] = [];
      let size = 0;
      stream?.on('data', (part: Buffer) => {
        size += part.length;
        if (size <= max_bytes) parts.push(part);
        else if (failure === null) {
          failure = `it wrote more than ${max_bytes} bytes to its ${name}`;
          child.kill();
        }
      });
      return () => Buffer.concat(parts);
    };
    const stdout = gather(child.stdout, 'standard output');
    const stderr = gather(child.stderr, 'standard error');
    // One that does not read to the end says so by its exit code.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    const finish = (code: number | null, signal: NodeJS.Signals | null): void => {
      resolve({ code: failure === null ? code : null, signal, stdout: stdout(), stderr: stderr(), failure });
    };
    child.once('error', (error) => {
      failure ??= error.message;
      // Without a process there is no end to wait for.
      if (child.pid === undefined) finish(null, null);
    });
    child.once('close', finish);
  });
