/**
 * Builds of Emend beside today's: packed releases (test/packed, as `npm pack` made them), unpacked where their packages resolve, and
 * workers of any build.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Scene } from './support.js';

/** This checkout, whose dist is today's build. */
export const TODAY = process.cwd();

/** Unpacks a release once and returns its root: below the checkout, so that it finds the checkout's node_modules. */
export const unpacked = (version: string): string => {
  const tarball = join(TODAY, 'test/packed', `emend-${version}.tgz`);
  const digest = createHash('sha256').update(readFileSync(tarball)).digest('hex').slice(0, 12);
  const place = join(TODAY, '.emend-test', `emend-${version}-${digest}`);
  if (existsSync(place)) return place;
  mkdirSync(join(TODAY, '.emend-test'), { recursive: true });
  const fresh = mkdtempSync(join(TODAY, '.emend-test', 'unpacking-'));
  execFileSync('tar', ['-xzf', tarball, '-C', fresh]);
  try {
    renameSync(join(fresh, 'package'), place);
  } catch (error) {
    // Another test process was quicker.
    if (!existsSync(place)) throw error;
  }
  rmSync(fresh, { recursive: true, force: true });
  return place;
};

export interface BuildWorker {
  readonly pid: number;
  fired(): boolean;
  readonly exited: Promise<void>;
  /** Sends the signal (default SIGTERM, a graceful stop) and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<void>;
  send(signal: NodeJS.Signals): void;
}
export interface BuildWorkerOptions {
  readonly parts?: 'workflows' | 'activities';
  /** `<system call>:<n>`: dies after the n-th such call in the scene's repository. */
  readonly kill?: string;
  readonly extra?: boolean;
  /** The first result of this activity says `v: 2`. */
  readonly later?: string;
}

let count = 0;
/** A worker of the build at `root` on the scene's queues; see build-worker.js. Resolves when it polls. */
export const buildWorker = async (
  s: Scene,
  root: string,
  options: BuildWorkerOptions = {},
): Promise<BuildWorker> => {
  const mark = join(s.home, '..', `build-fault-${count++}`);
  const child = spawn(process.execPath, [join(TODAY, 'test/support/build-worker.js'), root], {
    env: {
      ...s.env,
      NODE_OPTIONS: '',
      ...(options.parts === undefined ? {} : { PARTS: options.parts }),
      ...(options.kill === undefined ? {} : { KILL: options.kill, KILL_UNDER: s.repo }),
      ...(options.later === undefined ? {} : { LATER: options.later }),
      KILL_MARK: mark,
      ...(options.extra === true ? { EXTRA: '1' } : {}),
    },
    stdio: ['ignore', 'pipe', process.env.EMEND_TEST_VERBOSE === undefined ? 'ignore' : 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  running.add(child);
  void exited.then(() => running.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('exit', (code, signal) =>
      reject(new Error(`worker ended before it was ready: ${String(code)} ${String(signal)}`)),
    );
  });
  return {
    pid: child.pid!,
    fired: () => existsSync(mark),
    exited,
    end: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exited;
    },
    send: (signal) => child.kill(signal),
  };
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
