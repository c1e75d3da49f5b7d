/** Workers and command lines of this build, and of variants of it with other workflows. */
import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scene } from './support.js';

/** This checkout, whose dist is today's build. */
export const TODAY = process.cwd();

export interface BuildWorker {
  readonly pid: number;
  /** Did the planned result of another version come? */
  fired(): boolean;
  /** Stops it gracefully. */
  end(): Promise<void>;
}
export interface BuildWorkerOptions {
  readonly parts?: 'workflows' | 'activities';
  /** The first result of this activity says `v: 3`. */
  readonly later?: string;
}

let count = 0;
/** A worker of this build on the scene's queues; see build-worker.js. Resolves when it polls. */
export const buildWorker = async (
  s: Scene,
  { parts, later }: BuildWorkerOptions = {},
): Promise<BuildWorker> => {
  const mark = join(s.home, '..', `build-fault-${count++}`);
  const child = spawn(process.execPath, [join(TODAY, 'test/support/build-worker.js')], {
    env: {
      ...s.env,
      NODE_OPTIONS: '',
      ...(parts === undefined ? {} : { PARTS: parts }),
      ...(later === undefined ? {} : { LATER: later, LATER_MARK: mark }),
    },
    stdio: ['ignore', 'pipe', process.env.EMEND_TEST_VERBOSE === undefined ? 'ignore' : 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('exit', (code, signal) =>
      reject(new Error(`worker ended before it was ready: ${String(code)} ${String(signal)}`)),
    );
  });
  return { pid: child.pid!, fired: () => existsSync(mark), end: () => endWorker(child) };
};

const running = new Set<ReturnType<typeof spawn>>();
/** For afterEach: ends what a failed test left. */
export const endBuildWorkers = async (): Promise<void> => {
  await Promise.all(
    [...running].map(
      (child) =>
        new Promise<void>((resolve) => {
          child.once('exit', () => resolve());
          if (!child.kill('SIGKILL')) resolve();
        }),
    ),
  );
};

/** The command line of the build at `root`, as a person would type it. Answers exit code and standard output. */
export const commandOf = (
  s: Scene,
  root: string,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly out: string }> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'dist/client.js'), ...args], {
      cwd: s.repo,
      env: { ...s.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
    running.add(child);
    child.once('exit', (code) => {
      running.delete(child);
      resolve({ code, out });
    });
  });

/** Today's build with other workflows: a build of its own id, unpacked where its packages resolve. */
export const variant = (id: string, change?: (bundle: string) => string): string => {
  const place = join(TODAY, '.emend-test', `build-${id}-${process.pid}`);
  rmSync(place, { recursive: true, force: true });
  cpSync(join(TODAY, 'dist'), join(place, 'dist'), { recursive: true });
  cpSync(join(TODAY, 'package.json'), join(place, 'package.json'));
  const bundle = join(place, 'dist/workflow-bundle.js');
  const today = readFileSync(bundle, 'utf8');
  const changed = change?.(today);
  if (changed === today) throw new Error('the change of the bundle changed nothing');
  if (changed !== undefined) writeFileSync(bundle, changed);
  writeFileSync(join(place, 'dist/build-id'), id);
  return place;
};

/** Changes a bundle of workflows so that it also reads version 3. */
export const readingVersion3 = (bundle: string): string => {
  const changed = bundle.replace(
    'const isKnown = (value) => versionOf(value) === VERSION;',
    'const isKnown = (value) => [2, 3].includes(versionOf(value));',
  );
  if (changed === bundle) throw new Error('the bundle checks versions in another way now');
  return changed;
};

/** `emend worker ...` of a build, as a person would start it; resolves when it says that it is ready. */
export const commandWorker = async (
  s: Scene,
  root: string,
  ...args: readonly string[]
): Promise<ChildProcess> => {
  const child = spawn(process.execPath, [join(root, 'dist/client.js'), 'worker', ...args], {
    cwd: s.repo,
    env: { ...s.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (bytes: Buffer) => {
      said += bytes.toString();
      if (said.includes('worker ready')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`worker ended (${String(code)}): ${said}`)));
  });
  return child;
};
/** Asks it to end in good order and waits for it. */
export const endWorker = (child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill(signal);
  });
