/**
 * `npm run bench:many`: `emend hosts`, `emend list` and `emend doctor` with 1,000 hosts and 10,000 open runs. Real are Temporal's dev server with
 * its database on disk, the runs (executions with the memo and the search attributes that Emend writes; no worker begins them), some pollers, and
 * the commands. Simulated are the other hosts: their records in the store, and the beats that their workers would send. Calls are counted in the
 * commands by a gRPC interceptor. Exit codes: 0 the goals are met, 1 one is missed or nothing was measured, 2 usage.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { hostQueueOf, queuesFor, SEARCH_ATTRIBUTES } from '../dist/src/shared/names.js';
import { hostId, resolveHome } from '../dist/src/stores/home.js';
import { recordStart } from '../dist/src/stores/hosts.js';
import { openStores, resolveStore } from '../dist/src/stores/location.js';
import { together } from '../dist/src/system/together.js';
import { findTemporalCli } from '../dist/src/temporal/cli-binary.js';
import { startDevServer } from '../dist/src/temporal/dev-server.js';
import { WORKER_BEAT_MS, workerIdentity } from '../dist/src/temporal/live-workers.js';
import { sumOf } from './actions.js';
import { EMEND } from './commands.js';
import { median, row, shown, spread, table } from './numbers.js';
import { machineLine, runBench } from './program.js';
import { endAtExit } from './stage.js';

const GOAL = { atMost: 3 };
const CALLS_GOAL = { atMost: 20 };
/** The last ones of the hosts have no worker. */
const SILENT_HOSTS = 10;
const WAITING_ONE_IN = 10;
const STARTS_AT_ONCE = 32;
const BUILD = 'bench-1';
/** Beats of one call. */
const BEATS_PAGE = 1_000;

const USAGE = `npm run bench:many -- [options]
  --hosts N        hosts that the store knows (1000)
  --runs N         open runs (10000)
  --pollers N      hosts whose workers are real pollers (8)
  --rounds N       times that each command is measured (3)
  --command FILE   a program to measure, dist/client.js of a build (again and again; this one's)`;

const readOptions = () => {
  const of = (value) => ({ type: 'string', default: value });
  const { values } = parseArgs({
    options: {
      hosts: of('1000'),
      runs: of('10000'),
      pollers: of('8'),
      rounds: of('3'),
      command: { type: 'string', multiple: true, default: [EMEND[1]] },
      help: { type: 'boolean' },
    },
  });
  for (const name of ['hosts', 'runs', 'pollers', 'rounds'])
    if (!/^[1-9][0-9]*$/.test(values[name]))
      throw new Error(`--${name}: expected a whole number from 1, received ${values[name]}`);
  const { command: commands, help = false, ...numbers } = values;
  const counts = Object.fromEntries(Object.entries(numbers).map(([k, v]) => [k, Number(v)]));
  return { ...counts, commands: commands.map((path) => resolve(path)), help };
};

/** Ids of a home or of a run: 32 hex digits, different in their first 8. */
const idOf = (n) => `${(n + 1).toString(16).padStart(8, '0')}${'0'.repeat(24)}`;

const startServer = (home) =>
  findTemporalCli({ env: process.env, log: (line) => process.stderr.write(`${line}\n`) }).then(
    (cli) =>
      startDevServer({
        home,
        cli,
        port: 0,
        dbFile: join(home, 'server', 'db', 'temporal.sqlite'),
        logFile: join(home, 'server', 'log', 'server.log'),
      }),
  );

/** Starts the runs, spread over the hosts; one in ten waits for an approval. */
const startRuns = async (client, { queue, runs, hosts }) => {
  const started = performance.now();
  const keyword = (name, value) => ({
    key: { name: SEARCH_ATTRIBUTES[name], type: 'KEYWORD' },
    value,
  });
  await together(
    Array.from({ length: runs }, (_, n) => n),
    async (n) => {
      const stepKey = idOf(n);
      const workspace = `/repositories/${n % 50}`;
      const waits =
        n % WAITING_ONE_IN === 0
          ? [
              keyword('state', 'waiting'),
              keyword('reason', 'approval'),
              keyword('decision', `1-${stepKey.slice(0, 8)}-00000000`),
            ]
          : [];
      await client.workflow.start('editStep', {
        workflowId: `bench/${n}`,
        taskQueue: queue,
        args: [],
        memo: {
          v: 2,
          jobPath: `jobs/${n}.md`,
          title: `Job ${n}`,
          workspace,
          host: hosts[n % hosts.length],
        },
        typedSearchAttributes: [
          keyword('stepKey', stepKey),
          keyword('workspace', workspace),
          ...waits,
        ],
      });
    },
    STARTS_AT_ONCE,
  );
  process.stderr.write(
    `${runs} runs started in ${shown((performance.now() - started) / 1000, 0)} s\n`,
  );
};

/** Sends the beats of these workers as their SDK would, until `stop` is called. */
const beat = async (connection, workers) => {
  const time = (ms) => ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 });
  const startTime = time(Date.now());
  const send = async () => {
    const heartbeatTime = time(Date.now());
    for (let from = 0; from < workers.length; from += BEATS_PAGE)
      await connection.workflowService.recordWorkerHeartbeat({
        namespace: 'default',
        identity: 'bench',
        workerHeartbeat: workers.slice(from, from + BEATS_PAGE).map(({ queue, identity }) => ({
          workerInstanceKey: `${queue} ${identity}`,
          workerIdentity: identity,
          taskQueue: queue,
          status: 1,
          startTime,
          heartbeatTime,
          elapsedSinceLastHeartbeat: time(WORKER_BEAT_MS),
        })),
      });
  };
  await send();
  const timer = setInterval(() => void send().catch(() => undefined), WORKER_BEAT_MS);
  return () => clearInterval(timer);
};

const startPollers = async (address, workers) => {
  const script = fileURLToPath(new URL('./pollers.js', import.meta.url));
  const pairs = workers.map(({ queue, identity }) => `${queue}=${identity}`);
  const child = spawn(process.execPath, [script, address, ...pairs], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
};

/** Runs a command as a user does. `emend doctor` ends with 7 where something is missing, as here the hosts without a worker. */
const measure = async ({ command, env, dir, serverPid }, args) => {
  const calls = join(dir, 'calls.json');
  const preload = fileURLToPath(new URL('./count-calls.js', import.meta.url));
  const serverBefore_ms = await cpuOf(serverPid);
  const from = performance.now();
  const { code, stdout, stderr } = await new Promise((settle) => {
    execFile(
      process.execPath,
      ['--import', preload, command, ...args],
      { env: { ...env, BENCH_CALLS: calls }, cwd: dir, maxBuffer: 2 ** 26 },
      (error, out, err) => settle({ code: error?.code ?? 0, stdout: out, stderr: err }),
    );
  });
  const ms = performance.now() - from;
  const server_ms = (await cpuOf(serverPid)) - serverBefore_ms;
  return { ms, code, stdout, stderr, server_ms, ...JSON.parse(await readFile(calls, 'utf8')) };
};

/** Milliseconds of CPU that a process has used. */
const cpuOf = async (pid) => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may hold blanks; behind it fields are numbered from 3, times in ticks of 10 ms.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[14 - 3]) + Number(fields[15 - 3])) * 10;
};

const COMMANDS = {
  hosts: { args: ['hosts'], codes: [0] },
  list: { args: ['list'], codes: [0] },
  'list --state waiting --json': { args: ['list', '--state', 'waiting', '--json'], codes: [0] },
  doctor: { args: ['doctor'], codes: [0, 7] },
};

const callsText = (calls) =>
  Object.entries(calls)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

const rowsOf = async (place, rounds) => {
  const rows = [];
  for (const [name, { args, codes }] of Object.entries(COMMANDS)) {
    const found = [];
    for (let round = 0; round < rounds; round += 1) {
      found.push(await measure(place, args));
      const { code, stdout, stderr } = found.at(-1);
      if (!codes.includes(code))
        process.stderr.write(`emend ${name} ended with ${code}: ${stderr.slice(0, 500)}\n`);
      if (round === 0)
        process.stderr.write(
          `emend ${name}: ${stdout.split('\n').length} lines; ${stdout.slice(-300)}\n`,
        );
    }
    const seconds = found.map(({ ms }) => ms / 1000);
    const { calls } = found.at(-1);
    const cpu = (of) => `${shown(median(found.map(of)), 0)} ms`;
    const used = `${cpu(({ cpu_ms }) => cpu_ms)}, of the server ${cpu(({ server_ms }) => server_ms)}`;
    const { ListWorkers: lists = 0, ...others } = calls;
    rows.push(row(`emend ${name}: seconds`, spread(seconds), median(seconds), GOAL));
    rows.push(row(`emend ${name}: CPU of the command`, used));
    rows.push(row(`emend ${name}: calls`, callsText(calls)));
    rows.push(
      row(
        `emend ${name}: calls without ListWorkers (${lists})`,
        `${sumOf(others)}`,
        sumOf(others),
        CALLS_GOAL,
      ),
    );
  }
  return rows;
};

/** Makes the home, and the records of the other hosts in its store. */
const knowHosts = async (env, hostCount) => {
  const home = await resolveHome(env);
  const own = await hostId(home);
  const store = await resolveStore(env, home);
  const { records } = await openStores(home, store);
  const hosts = [own, ...Array.from({ length: hostCount - 1 }, (_, n) => idOf(n))];
  const start = (id) => {
    const n = hosts.indexOf(id);
    const mark = id.slice(0, 8);
    const name = n === 0 ? 'here' : `host-${n}`;
    return { name, machine: mark, boot: mark, build: BUILD, at: new Date().toISOString() };
  };
  await together(hosts, (id) => recordStart(records, id, start(id)));
  return { own, store, hosts, start };
};

const run = async ({ hosts: hostCount, runs, pollers, rounds, commands }) => {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'emend-bench-')));
  const endings = [() => rm(dir, { recursive: true, force: true, maxRetries: 3 })];
  try {
    const serverHome = join(dir, 'server-home');
    await mkdir(serverHome, { mode: 0o700 });
    const server = await startServer(serverHome);
    endings.push(endAtExit(server.pid));
    endings.push(() => server.stop());
    const env = {
      PATH: process.env.PATH,
      HOME: dir,
      EMEND_HOME: join(dir, 'home'),
      EMEND_QUEUE: 'many',
      TEMPORAL_ADDRESS: server.address,
      TEMPORAL_CONFIG_FILE: join(dir, 'no-temporal.toml'),
      ANTHROPIC_API_KEY: 'none-is-needed',
      no_proxy: '127.0.0.1,localhost',
    };
    const { own, store, hosts, start } = await knowHosts(env, hostCount);
    const queues = queuesFor(env, own);
    const identityOf = (id) => workerIdentity(store.id, id, start(id));
    const worker = (id) => ({ queue: hostQueueOf(queues, id), identity: identityOf(id) });
    const served = hosts.slice(0, -SILENT_HOSTS);
    const connection = await Connection.connect({ address: server.address });
    endings.push(() => connection.close());
    const client = new Client({ connection });
    await startRuns(client, { queue: queues.workflow, runs, hosts });
    const simulated = [
      { queue: queues.workflow, identity: identityOf(own) },
      { queue: queues.model, identity: identityOf(own) },
      ...served.slice(pollers).map(worker),
    ];
    const stopBeats = await beat(connection, simulated);
    endings.push(stopBeats);
    endings.push(await startPollers(server.address, served.slice(0, pollers).map(worker)));
    console.log(
      `${hostCount} hosts: ${pollers} with real pollers, ${served.length - pollers} with simulated beats, ${SILENT_HOSTS} without a worker; ${runs} open runs, one in ${WAITING_ONE_IN} waits.\n`,
    );
    const all = [];
    for (const command of commands) {
      const load = loadavg()[0].toFixed(1);
      const rows = await rowsOf({ command, env, dir, serverPid: server.pid }, rounds);
      console.log(table(`${command}, load ${load} at the beginning`, rows));
      all.push(...rows);
    }
    return all;
  } finally {
    for (const end of endings.splice(0).reverse()) await end();
  }
};

const measureAll = async (options) => {
  console.log(machineLine());
  const rows = await run(options);
  return rows.some(({ verdict }) => verdict === 'missed') ? 1 : 0;
};

// Temporal's native library may hold the process for a moment after all is closed.
process.exit(
  await runBench(readOptions, USAGE, measureAll).catch((error) => (console.error(error), 1)),
);
