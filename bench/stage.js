/** What a measure plays on: a home, a Temporal dev server, the rehearsal model, the measured worker, a client. Closed in turn. */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openEmend } from '../dist/src/client/index.js';
import { startRehearsal } from '../dist/src/model/rehearsal/server.js';
import { findTemporalCli } from '../dist/src/temporal/cli-binary.js';
import { connectClient } from '../dist/src/temporal/connection.js';
import { startDevServer, freePort } from '../dist/src/temporal/dev-server.js';
import { actionCounts, requestCounts } from './actions.js';

/** What no rule of a section answers is a brief: the one other call of a step that names its files. */
const BRIEF =
  '**Shared**: nothing.\n\n**Files**: each gets a line.\n\n**New files**: none.\nEMEND-COMPLETE {{nonce}} 0 0\n';
/** A person's own servers, keys and git configuration stay out; where to find the CLI stays in. */
const cleanEnvironment = () =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => name === 'EMEND_TEMPORAL_CLI' || !/^(EMEND|TEMPORAL|ANTHROPIC|GIT)_/.test(name),
    ),
  );

/** `rules`: of the rehearsal's script. `record`: a file that gets its requests. `env`: added for worker and client; a function gets the server's address. */
export const openStage = async ({ rules, record, env: added = {} }) => {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-bench-')));
  const endings = [() => rm(dir, { recursive: true, force: true, maxRetries: 3 })];
  const close = async () => {
    for (const end of endings.splice(0).reverse()) await end();
  };
  try {
    const home = join(dir, 'home');
    await mkdir(home, { mode: 0o700 });
    const rehearsal = await startRehearsal({ v: 1, rules, default: { answer: BRIEF } }, { record });
    endings.push(() => rehearsal.close());
    const metricsPort = await freePort(0);
    const server = await startDevServer({
      home,
      cli: await findTemporalCli({
        env: process.env,
        log: (line) => process.stderr.write(`${line}\n`),
      }),
      port: 0,
      metricsPort,
      // Where `emend dev` keeps it too: a real database, not only memory.
      dbFile: join(home, 'server', 'db', 'temporal.sqlite'),
      logFile: join(home, 'server', 'log', 'server.log'),
    });
    endings.push(endAtExit(server.pid));
    endings.push(() => server.stop());
    const env = {
      ...cleanEnvironment(),
      EMEND_HOME: home,
      EMEND_SHUTDOWNGRACE_MS: '2000',
      // No address and no queue is named: client and worker find the server as under `emend dev`.
      BENCH_ADDRESS: server.address,
      TEMPORAL_CONFIG_FILE: join(dir, 'no-temporal.toml'),
      ANTHROPIC_BASE_URL: rehearsal.url,
      ANTHROPIC_API_KEY: 'none-is-needed',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      no_proxy: '127.0.0.1,localhost',
      ...(typeof added === 'function' ? added(server.address) : added),
    };
    const addWorker = async () => {
      const worker = await startMeasuredWorker(env);
      endings.push(() => worker.stop());
      return worker;
    };
    const worker = await addWorker();
    const emend = await openEmend({ env });
    endings.push(() => emend.close());
    const temporal = await connectClient({ env, home, connect_ms: 10_000 });
    endings.push(() => temporal.close());
    return {
      dir,
      home,
      env,
      emend,
      client: temporal.client,
      baselineQueue: 'baseline',
      worker,
      addWorker,
      serverPid: server.pid,
      costs: worker.costs,
      peakMemory: worker.peakMemory,
      requests: () => rehearsal.requests().length,
      actions: () => actionCounts(metricsPort),
      requestCounts: () => requestCounts(metricsPort),
      repository: (name, files) => makeRepository(join(dir, name), files),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

/** The server outlives its parent by design; should this one end without closing (Ctrl-C, a closed pipe, a bug), it is ended from here. */
export const endAtExit = (pid) => {
  const end = () => {
    try {
      process.kill(pid, 'SIGTERM');
    } catch {
      // It is gone already.
    }
  };
  const leave = () => process.exit(130);
  process.once('exit', end);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, leave);
  return () => {
    process.off('exit', end);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, leave);
  };
};

const startMeasuredWorker = async (env) => {
  const path = fileURLToPath(new URL('./worker.js', import.meta.url));
  const execArgv =
    process.env.BENCH_CPU_PROF === undefined
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_CPU_PROF}`];
  const child = fork(path, { env, execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const [first] = await Promise.race([once(child, 'message'), exited]);
  if (first !== 'ready') throw new Error('the worker ended before it was ready');
  return {
    pid: child.pid,
    /** What the worker cost since the last call; `parts`: from now on it tells what each activity costs. */
    costs: async (next = 'costs') => {
      const answer = once(child, 'message');
      child.send(next);
      return (await answer)[0].costs;
    },
    /** MiB of resident memory at its highest, all threads. */
    peakMemory: async () =>
      Number(
        /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${child.pid}/status`, 'utf8'))?.[1],
      ) / 1024,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
};

export const makeRepository = async (dir, files) => {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
  const git = (...args) => execFileSync('git', args, { cwd: dir });
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Bench');
  git('config', 'user.email', 'bench@example.org');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'base');
  return dir;
};
