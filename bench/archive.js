/**
 * `npm run bench:archive`: what a long history costs. Makes homes with thousands of ended runs, and prints how much longer than in an empty home
 * a worker takes until it is ready, and `emend list` to its end; and what `emend gc` takes over more of them. Ratios from one run, its
 * rounds interleaved. Exit codes: 0 measured (whatever the numbers say), 1 not measured, 2 usage.
 */
import './probe.js';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, row, shown, spread, table } from './numbers.js';
import { since } from './runs.js';
import { openStage } from './stage.js';
import { freshId } from '../dist/src/stores/home.js';

const USAGE = `npm run bench:archive -- [options]
  --runs N       ended runs in the home that is started and listed (10000)
  --gc-runs N    ended runs in the home that is cleared up (100000); 0: none
  --rounds N     rounds (5)`;

const at = (path) => fileURLToPath(new URL(`../dist/${path}`, import.meta.url));
const OLD = new Date(Date.now() - 100 * 86_400_000).toISOString();
/** Files written side by side. */
const TOGETHER = 200;

/** The files that a run of one file leaves: archive, transaction, a call, a record, and the blob that they name. By path below the home. */
const runFiles = (n, workspace) => {
  const stepKey = createHash('sha256').update(`run ${n}`).digest('hex').slice(0, 32);
  const content = `content of run ${n}\n`;
  const hex = createHash('sha256').update(content).digest('hex');
  const ref = `sha256:${hex}`;
  const lock = {
    v: 2,
    stepKey,
    number: n + 1,
    workflowId: `emend-${stepKey}`,
    namespace: 'default',
    takenAt: OLD,
  };
  const host = createHash('sha256').update('host').digest('hex').slice(0, 32);
  const queues = { workflow: 'bench', model: 'bench-model', host: `bench-host-${host}` };
  const started = {
    v: 2,
    workflowId: lock.workflowId,
    runId: 'r',
    namespace: 'default',
    address: '',
    queues,
  };
  const result = {
    v: 2,
    stepKey,
    outcome: 'committed',
    files: [],
    usage: { calls: 1, input_tokens: 1, output_tokens: 1 },
  };
  const entry = (id, kind, data) => `${JSON.stringify({ v: 2, id, at: OLD, kind, data })}\n`;
  const events = Array.from({ length: 10 }, (_, seq) =>
    entry(`event-r-${seq + 1}`, 'event', {
      seq: seq + 1,
      at: Date.parse(OLD),
      type: 'warning',
      message: 'a message',
    }),
  );
  const record = `transactions/${stepKey}/${hex}-1`;
  const file = { path: 'a.txt', real: 'a.txt' };
  return {
    [`archive/${stepKey}/log.jsonl`]: [
      entry('started', 'started', { ...started, workspace, jobPath: 'job.md', title: `Run ${n}` }),
      ...events,
      entry('activity-1', 'activity', { name: 'buildProposal', result: { outcome: 'built', ref } }),
      entry('closed-r', 'closed', { status: 'COMPLETED', result, message: null }),
    ].join(''),
    [`${record}/plan-1.json`]: JSON.stringify({
      v: 2,
      kind: 'apply',
      generation: 1,
      workspace,
      lock,
      files: [file],
    }),
    [`${record}/verdict-1.json`]: '{"v":2,"verdict":"committed"}',
    [`${record}/closed.json`]: JSON.stringify({
      v: 2,
      outcome: 'applied',
      files: ['a.txt'],
      conflicts: [],
      lock,
    }),
    [`records/steps/${stepKey}/preflight-1.json`]: JSON.stringify({ v: 2, outcome: 'ready', ref }),
    [`calls/${stepKey}/${hex}/answer.json`]: JSON.stringify({ v: 2, ref }),
    [`blobs/${hex.slice(0, 2)}/${hex}`]: content,
  };
};

const fill = async (home, runs, workspace) => {
  for (let from = 0; from < runs; from += TOGETHER)
    await Promise.all(
      Array.from({ length: Math.min(TOGETHER, runs - from) }, async (_, index) => {
        for (const [path, text] of Object.entries(runFiles(from + index, workspace))) {
          const full = join(home, path);
          await mkdir(join(full, '..'), { recursive: true, mode: 0o700 });
          await writeFile(full, text, { mode: 0o400 });
        }
      }),
    );
};

/** Milliseconds of CPU of a process and its threads so far. */
const cpuOf = async (pid) => {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

/** Milliseconds until the worker says that it is ready, and of its CPU; it is stopped again. */
const startTime = async (env) => {
  const from = performance.now();
  const worker = spawn(process.execPath, [at('worker.js')], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(worker, 'exit');
  for await (const line of createInterface({ input: worker.stderr }))
    if (line.includes('worker ready')) break;
  const ms = since(from);
  if (worker.exitCode !== null) throw new Error('the worker ended before it was ready');
  const cpu = await cpuOf(worker.pid);
  worker.stderr.resume();
  worker.kill('SIGTERM');
  await exited;
  return { ms, cpu };
};

/** `cpu`: of the command and its children, as the shell that starts it says at its end. */
const runCli = async (env, ...args) => {
  const from = performance.now();
  const command = [
    '-c',
    '"$@"; code=$?; times >&2; exit $code',
    'bash',
    process.execPath,
    at('client.js'),
    ...args,
  ];
  const child = spawn('bash', command, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let failed = '';
  child.stdout.on('data', (bytes) => (said += bytes));
  child.stderr.on('data', (bytes) => (failed += bytes));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`emend ${args.join(' ')} exited with ${code}: ${failed}`);
  const spent = failed
    .trim()
    .split('\n')
    .at(-1)
    .matchAll(/(\d+)m([\d.]+)s/g);
  const cpu = [...spent].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000,
    0,
  );
  return { ms: since(from), cpu, said };
};

const main = async () => {
  const wanted = { runs: '10000', 'gc-runs': '100000', rounds: '5' };
  const options = Object.fromEntries(
    Object.entries(wanted).map(([name, value]) => [name, { type: 'string', default: value }]),
  );
  const { values } = parseArgs({ options: { ...options, help: { type: 'boolean' } } });
  const numbers = Object.keys(wanted).map((name) => Number(values[name]));
  if (
    values.help === true ||
    numbers.some((number) => !Number.isSafeInteger(number) || number < 0)
  ) {
    console.log(USAGE);
    return values.help === true ? 0 : 2;
  }
  const [runs, gcRuns, rounds] = numbers;
  const stage = await openStage({ rules: [], env: { BENCH_ALONE: '1' } });
  try {
    const workspace = await stage.repository('work', { 'a.txt': 'a\n' });
    const homeOf = async (name, count) => {
      const home = join(stage.dir, name);
      await mkdir(home, { mode: 0o700 });
      await fill(home, count, workspace);
      return {
        ...stage.env,
        EMEND_HOME: home,
        EMEND_QUEUE: `bench-${name}`,
        TEMPORAL_ADDRESS: stage.env.BENCH_ADDRESS,
      };
    };
    const homes = { empty: await homeOf('empty', 0), full: await homeOf('full', runs) };
    const seen = { start: { empty: [], full: [] }, list: { empty: [], full: [] } };
    // The first of each, which makes the home's ids and fills the disk's cache, is not counted.
    for (let round = 0; round <= rounds; round++)
      for (const name of ['empty', 'full']) {
        const start = await startTime(homes[name]);
        const { said, ...list } = await runCli(homes[name], 'list');
        if ((name === 'full') !== said.includes('older runs in the archive'))
          throw new Error(`emend list said ${said}`);
        if (round === 0) continue;
        seen.start[name].push(start);
        seen.list[name].push(list);
      }
    const ratio = (what, key, { empty, full }) => {
      const ratios = full.map((each, round) => each[key] / empty[round][key]);
      const middle = (all) => shown(median(all.map((each) => each[key])), 0);
      const words = `${spread(ratios)}: ${middle(full)} over ${middle(empty)} ms`;
      return row(`${what}, ${shown(runs)} ended runs over none`, words, median(ratios), {
        atMost: 2,
      });
    };
    const rows = [
      ratio('a worker until it is ready', 'ms', seen.start),
      ratio('its CPU', 'cpu', seen.start),
      ratio('`emend list`', 'ms', seen.list),
      ratio('its CPU', 'cpu', seen.list),
    ];
    if (gcRuns > 0) {
      const env = await homeOf('old', gcRuns);
      // `emend gc` makes no home: a host's id is what one is known by.
      await writeFile(join(env.EMEND_HOME, 'host-id'), freshId());
      const { ms, said } = await runCli(env, 'gc', '--older-than', '0', '--dry-run');
      rows.push(
        row(
          `\`emend gc --dry-run\` over ${shown(gcRuns)} ended runs`,
          `${shown(ms / 1000, 0)} s: ${said.split('\n')[0]}`,
        ),
      );
    }
    console.log(table(`A long archive, ${rounds} rounds`, rows));
  } finally {
    await stage.close();
  }
  return 0;
};

// Temporal's native library may hold the process for a moment after all is closed.
process.exit(await main().catch((error) => (console.error(error), 1)));
