/**
 * A small process that starts processes for a worker. To start one, the system copies the page tables of whoever asks, whose thread stands
 * still meanwhile: 10 to 20 ms in a worker of 200 to 400 MB, 1 here (docs/measures.md, "Starting a process"). It ends with the worker.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { captureHere, type ProcessCall, type ProcessOutput } from './capture.js';
import { isNodeTrusted } from './programs.js';
import { runHere, type ProcessOutcome, type ProcessRequest } from './process-group.js';
import { timeFor } from './turns.js';

/** What crosses to the launcher (launcher-process.ts): a process to be started, and what concerns one that runs. */
export type Asked = { readonly id: number } & (
  | Started
  | { readonly abort: true }
  | { readonly ended: string | null }
);
export type Started =
  | {
      readonly capture: readonly [
        file: string,
        args: readonly string[],
        call: Omit<ProcessCall, 'signal'>,
      ];
    }
  | { readonly run: Omit<ProcessRequest, 'signal' | 'watch'>; readonly watched: boolean };
/** And back: its end, or what it told whoever watches it. */
export type Told = Readonly<
  { id: number } & ({ done: unknown } | { failed: string } | { told: string })
>;

let entry: URL | null = null;
/** From now on this process has a launcher start its processes: `file`, a module; null: it starts its own, as at first. */
export const useLauncher = (
  file: URL | null = new URL('./launcher-process.js', import.meta.url),
): void => {
  entry = file;
};

let launcher: ChildProcess | null = null;
/** Null: this process starts its own. It does so too if Node.js is in a workspace, where a model may have replaced it. */
const launcherEntry = (): URL | null =>
  entry === null || launcher !== null || isNodeTrusted() ? entry : null;
let last = 0;
const open = new Map<number, (told: Told) => void>();

const launched = (file: URL): ChildProcess => {
  if (launcher !== null) return launcher;
  const child = fork(file, [], {
    // A group of its own: Ctrl-C in a terminal is for the worker, which lets its work end. And no key or token of ours.
    detached: true,
    env: {},
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  child.on('message', (told: Told) => open.get(told.id)?.(told));
  const fail = (why: string): void => {
    if (launcher !== child) return;
    launcher = null;
    for (const [id, tell] of open)
      tell({ id, failed: `the process that starts others ended: ${why}` });
  };
  child.on('error', (error) => fail(error.message));
  child.once('exit', (code, signal) => fail(`${code ?? signal}`));
  child.unref();
  launcher = child;
  return child;
};

/** What goes on over a process that runs. */
interface Over {
  readonly watch?: ProcessRequest['watch'];
  readonly signal?: AbortSignal | undefined;
}
const ask = <T>(file: URL, started: Started, { watch, signal }: Over = {}): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    const child = launched(file);
    const id = (last += 1);
    const tell = (told: Told): void => {
      if ('told' in told)
        return void watch?.(told.told)
          .catch(() => null)
          .then((ended) => send({ id, ended }));
      open.delete(id);
      // Only who waits for something is kept alive.
      if (open.size === 0) child.channel?.unref();
      signal?.removeEventListener('abort', abort);
      if ('done' in told) resolve(told.done as T);
      else reject(new Error(told.failed));
    };
    const send = (asked: Asked): void => {
      // Where it has ended, that is told by itself.
      child.send(asked, () => undefined);
    };
    const abort = (): void => send({ id, abort: true });
    open.set(id, tell);
    child.channel?.ref();
    signal?.addEventListener('abort', abort);
    send({ id, ...started });
  });

/** Ends once the process has, and its outputs are closed. Rejects only where the launcher ended: what it ran is as after a crash of ours. */
export const captureProcess = (
  ...[file, args, call]: Parameters<typeof captureHere>
): Promise<ProcessOutput> => {
  const entryFile = launcherEntry();
  if (entryFile === null) return captureHere(file, args, call);
  const { signal, ...rest } = call;
  return ask<ProcessOutput>(entryFile, { capture: [file, args, rest] }, { signal });
};

/** A process and all that it starts, ended together. Rejects as captureProcess. */
export const runProcess = (wanted: ProcessRequest): Promise<ProcessOutcome> => {
  // Of the time that is left to an activity only this process knows.
  const request = { ...wanted, timeout_s: timeFor(wanted.timeout_s * 1000) / 1000 };
  const file = launcherEntry();
  if (file === null || request.signal?.aborted === true) return runHere(request);
  const { watch, signal, ...run } = request;
  return ask<ProcessOutcome>(file, { run, watched: watch !== undefined }, { watch, signal });
};
