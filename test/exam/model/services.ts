/** The exam's own Temporal dev server (in memory, any ports), home and worker: nothing of the person's is used but the model's settings. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { openEmend, type Emend } from '../../../src/client/index.js';
import { findTemporalCli } from '../../../src/temporal/cli-binary.js';
import { startDevServer } from '../../../src/temporal/dev-server.js';
import { start_ms } from './limits.js';

/** A local model may read a long prompt for minutes before its first word; Node's fetch gives up after 300 s. */
export const STREAM_IDLE_MS = '290000';

export interface Services {
  readonly emend: Emend;
  readonly stop: () => Promise<void>;
}

/** `root`: the project, built. `dir`: an empty directory for home and logs. */
export const startServices = async (root: string, dir: string): Promise<Services> => {
  const home = join(dir, 'home');
  const log = (text: string): void => void process.stderr.write(`${text}\n`);
  const cli = await findTemporalCli({ env: process.env, log });
  const server = await startDevServer({
    home,
    cli,
    port: 0,
    dbFile: null,
    logFile: join(dir, 'server.log'),
  });
  const env = {
    EMEND_STREAMIDLE_MS: STREAM_IDLE_MS,
    ...process.env,
    EMEND_HOME: home,
    EMEND_STORE: undefined,
    EMEND_QUEUE: 'exam',
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_NAMESPACE: undefined,
    TEMPORAL_PROFILE: undefined,
  };
  let worker: ChildProcess | null = null;
  const stop = async (): Promise<void> => {
    if (worker !== null) await ended(worker);
    await server.stop();
  };
  try {
    worker = await startWorkerProcess(root, env, join(dir, 'worker.log'));
    const emend = await openEmend({ env });
    // A signal may ask for it while it is on its way.
    let stopped: Promise<void> | null = null;
    return { emend, stop: () => (stopped ??= emend.close().then(stop)) };
  } catch (error) {
    await stop();
    throw error;
  }
};

const startWorkerProcess = (
  root: string,
  env: NodeJS.ProcessEnv,
  logFile: string,
): Promise<ChildProcess> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, 'dist', 'worker.js')], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const log = createWriteStream(logFile);
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`the worker was not ready within ${start_ms / 1000} s; see ${logFile}`));
    }, start_ms);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      log.write(chunk);
      said = `${said}${chunk.toString()}`.slice(-10_000);
      if (!said.includes('worker ready')) return;
      clearTimeout(late);
      resolve(child);
    });
    child.once('exit', (code, signal) => {
      clearTimeout(late);
      reject(
        new Error(`the worker ended before it was ready (${String(code ?? signal)}):\n${said}`),
      );
    });
  });

const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const hard = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await exit;
  clearTimeout(hard);
};
