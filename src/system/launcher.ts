/**
 * Lets a small process, the launcher, start processes for a worker. To start one, the system copies the page tables of the process that starts
 * it, whose thread is blocked meanwhile: 10 to 20 ms in a worker of 200 to 400 MB, 1 ms in the launcher (docs/measures.md, "Starting a
 * process"). The launcher ends with the worker.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { captureHere, type ProcessCall, type ProcessOutput } from './capture.js';
import { isNodeTrusted } from './programs.js';
import { runHere, type ProcessOutcome, type ProcessRequest } from './process-group.js';
import { timeFor } from './time-limit.js';

/** Message to the launcher (launcher-process.ts): a process to start, the abort of one that runs, or the answer of its watch. */
export type LauncherRequest = { readonly id: number } & (
  | StartRequest
  | { readonly abort: true }
  | { readonly ended: string | null }
);
export type StartRequest =
  | {
      readonly capture: readonly [
        file: string,
        args: readonly string[],
        call: Omit<ProcessCall, 'signal'>,
      ];
    }
  | { readonly run: Omit<ProcessRequest, 'signal' | 'watch'>; readonly watched: boolean };
/** Message from the launcher: the result of a process, its failure, or the text that it wrote for its watch. */
export type LauncherReply = Readonly<
  { id: number } & ({ done: unknown } | { failed: string } | { report: string })
>;

let entry: URL | null = null;
/** Makes this process use a launcher from now on. `file` is the launcher's module; null: this process starts its own processes, as before. */
export const useLauncher = (
  file: URL | null = new URL('./launcher-process.js', import.meta.url),
): void => {
  entry = file;
};

let launcher: ChildProcess | null = null;
/**
 * Returns the launcher's module; null: this process starts its own processes. It does so also if Node.js is in a workspace, where a model may
 * have replaced it.
 */
const launcherEntry = (): URL | null =>
  entry === null || launcher !== null || isNodeTrusted() ? entry : null;
let last = 0;
const open = new Map<number, (reply: LauncherReply) => void>();

const launched = (file: URL): ChildProcess => {
  if (launcher !== null) return launcher;
  const child = fork(file, [], {
    // A group of its own: Ctrl-C in a terminal is for the worker, which lets its work end. It gets no key or token of ours.
    detached: true,
    env: {},
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  child.on('message', (reply: LauncherReply) => open.get(reply.id)?.(reply));
  const fail = (reason: string): void => {
    if (launcher !== child) return;
    launcher = null;
    for (const [id, receive] of open)
      receive({ id, failed: `the process that starts others ended: ${reason}` });
  };
  child.on('error', (error) => fail(error.message));
  child.once('exit', (code, signal) => fail(`${code ?? signal}`));
  child.unref();
  launcher = child;
  return child;
};

/** Parts of a request that cannot cross to the launcher, and act on a process while it runs. */
interface Controls {
  readonly watch?: ProcessRequest['watch'];
  readonly signal?: AbortSignal | undefined;
}
const ask = <T>(file: URL, start: StartRequest, { watch, signal }: Controls = {}): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    const child = launched(file);
    const id = (last += 1);
    const receive = (reply: LauncherReply): void => {
      if ('report' in reply)
        return void watch?.(reply.report)
          .catch(() => null)
          .then((ended) => send({ id, ended }));
      open.delete(id);
      // The launcher keeps this process alive only while a process runs.
      if (open.size === 0) child.channel?.unref();
      signal?.removeEventListener('abort', abort);
      if ('done' in reply) resolve(reply.done as T);
      else reject(new Error(reply.failed));
    };
    const send = (request: LauncherRequest): void => {
      // A launcher that has ended is reported by its `exit`.
      child.send(request, () => undefined);
    };
    const abort = (): void => send({ id, abort: true });
    open.set(id, receive);
    child.channel?.ref();
    signal?.addEventListener('abort', abort);
    send({ id, ...start });
  });

/**
 * Runs a process and returns its outputs once it has ended and they are closed. Rejects only if the launcher ended: its processes are then as
 * after a crash of this one.
 */
export const captureProcess = (
  ...[file, args, call]: Parameters<typeof captureHere>
): Promise<ProcessOutput> => {
  const entryFile = launcherEntry();
  if (entryFile === null) return captureHere(file, args, call);
  const { signal, ...rest } = call;
  return ask<ProcessOutput>(entryFile, { capture: [file, args, rest] }, { signal });
};

/** Runs a process, and ends all that it started with it. Rejects in the same case as captureProcess. */
export const runProcess = (processRequest: ProcessRequest): Promise<ProcessOutcome> => {
  // Only this process knows how much of an activity's time remains.
  const request = { ...processRequest, timeout_s: timeFor(processRequest.timeout_s * 1000) / 1000 };
  const file = launcherEntry();
  if (file === null || request.signal?.aborted === true) return runHere(request);
  const { watch, signal, ...run } = request;
  return ask<ProcessOutcome>(file, { run, watched: watch !== undefined }, { watch, signal });
};
