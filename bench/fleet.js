/**
 * `npm run bench:fleet`: runs per minute with 1, 2 and 4 workers of one queue, each with 4 model calls at once, and what a run costs in CPU,
 * by part. Once with a model that answers at once, where the cores are the limit, and once with one that takes 20 s, where the workers
 * are. Temporal's dev server, SeaweedFS as the store, a git repository and one call a run. Exit codes: 0 the goal is met, 1 it is missed
 * or nothing was measured, 2 usage.
 */
import { readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startStep } from '../dist/src/client/index.js';
import { findSeaweed, startSeaweed } from '../test/support/seaweed.ts';
import { row, shown, table } from './numbers.js';
import { machineLine, runBench } from './program.js';
import { appendAnswer, jobText, ruleFor, writeJob } from './runs.js';
import { openStage } from './stage.js';

const WORKERS = [1, 2, 4];
const CALLS_AT_ONCE = 4;
/** What counts: from one worker to four, with the slow model. */
const GOAL = { atLeast: 3.5 };
/** Of the fast model: more than two cores can work on. */
const FAST_RUNS_AT_ONCE = 8;
const LINES = 40;
const LOOK_MS = 100;
/** The first runs end within this time, or something is wrong. */
const WARM_MS = 300_000;

const USAGE = `npm run bench:fleet -- [options]
  --latency N     seconds that the slow model takes to answer (20)
  --seconds N     seconds that the slow model is measured with each number of workers (40)
  --fast N        the same of the fast model (15)
  --store KIND    bucket (SeaweedFS; default) or directory`;

const readOptions = () => {
  const of = (value) => ({ type: 'string', default: value });
  const { values } = parseArgs({
    options: {
      latency: of('20'),
      seconds: of('40'),
      fast: of('15'),
      store: of('bucket'),
      help: { type: 'boolean' },
    },
  });
  for (const name of ['latency', 'seconds', 'fast'])
    if (!/^[1-9][0-9]{0,3}$/.test(values[name]))
      throw new Error(`--${name}: expected a whole number from 1, received ${values[name]}`);
  if (!['bucket', 'directory'].includes(values.store))
    throw new Error(`--store: expected bucket or directory, received ${values.store}`);
  const { latency, seconds, fast, store, help = false } = values;
  return { latency: Number(latency), seconds: Number(seconds), fast: Number(fast), store, help };
};

/** Milliseconds that the process has used, and its children that have ended. */
const cpuOf = async (pid) => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may hold blanks; fields are numbered from 3 behind it, in ticks of 10 ms.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = (n) => Number(fields[n - 3]);
  return { own: (ticks(14) + ticks(15)) * 10, children: (ticks(16) + ticks(17)) * 10 };
};

/** A worker and its launcher (src/system/launcher.ts), whose children git's processes are. */
const withLauncher = async (pid) => {
  const launchers = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'))
    .split(' ')
    .filter(Boolean);
  return Promise.all([pid, ...launchers].map(cpuOf));
};

const partsOf = async ({ workers, server, store }) => {
  const each = (await Promise.all(workers.map(({ pid }) => withLauncher(pid)))).flat();
  const sum = (of) => each.reduce((all, one) => all + of(one), 0);
  const bench = process.cpuUsage();
  return {
    worker: sum(({ own }) => own),
    git: sum(({ children }) => children),
    server: (await cpuOf(server)).own,
    store: store === null ? null : (await cpuOf(store)).own,
    bench: (bench.user + bench.system) / 1000,
  };
};

/**
 * Each of the jobs is run again as soon as it has ended, for `seconds` once `warm` runs have. The first runs begin `apart_s` after one another:
 * calls that begin together end together for ever, and a window would hold a wave more or less. Runs a minute are counted from one end of a
 * run to another.
 */
const measure = async (stage, fleet, jobs, { warm, seconds, apart_s }) => {
  const ends = [];
  let isOver = false;
  const loop = async (job, n) => {
    await sleep(n * apart_s * 1000);
    while (!isOver) {
      const { workflowId, runId } = await startStep(stage.emend, { job });
      const { outcome } = await stage.client.workflow.getHandle(workflowId, runId).result();
      if (outcome !== 'committed') throw new Error(`${job.workspace} ended ${outcome}`);
      ends.push(performance.now());
    }
  };
  const loops = Promise.all(jobs.map(loop));
  loops.catch(() => undefined);
  const wait = (ms) => Promise.race([sleep(ms), loops]);
  for (let ms = 0; ends.length < warm; ms += LOOK_MS) {
    if (ms > WARM_MS) throw new Error(`${ends.length} runs ended in ${WARM_MS / 1000} s`);
    await wait(LOOK_MS);
  }
  const before = await partsOf(fleet);
  ends.length = 0;
  await wait(seconds * 1000);
  const after = await partsOf(fleet);
  const runs = ends.length;
  const minutes = (ends.at(-1) - ends[0]) / 60_000;
  isOver = true;
  await loops;
  if (runs < 2) throw new Error(`${runs} runs ended in ${seconds} s; raise --seconds`);
  process.stderr.write(`${fleet.workers.length} x worker: ${runs} runs\n`);
  const cpu = Object.entries(after).map(([part, used]) => [
    part,
    used === null ? null : (used - before[part]) / runs,
  ]);
  return { runs, perMinute: (runs - 1) / minutes, cpu: Object.fromEntries(cpu) };
};

const SETTINGS = { format: 'structured-edit', approval: 'auto', commit: true, test: false };
const jobsFor = (stage, file, count) =>
  Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const content = 'a line that stays as it is\n'.repeat(LINES);
      const repo = await stage.repository(`${file}-${n}`, { [file]: content });
      return writeJob(repo, 'job.md', jobText({ target_files: [file], ...SETTINGS }));
    }),
  );

const cpuText = ({ worker, server, git, store, bench }) => {
  const total = worker + server + git + (store ?? 0);
  const ofStore = store === null ? 'store in the worker' : `store ${shown(store, 0)}`;
  return `${shown(total, 0)} ms: worker ${shown(worker, 0)}, server ${shown(server, 0)}, git ${shown(git, 0)}, ${ofStore} (beside it client and model of the bench ${shown(bench, 0)})`;
};

const rowsOf = (seen, goal) => [
  ...seen.flatMap(({ workers, runs, perMinute, cpu }) => [
    row(`${workers} x worker: runs per minute`, `${shown(perMinute, 1)} (${runs} runs)`),
    row(`${workers} x worker: CPU of a run`, cpuText(cpu)),
  ]),
  row('runs per minute, 4 workers over 1', shown(gain(seen)), gain(seen), goal),
];
const gain = (seen) => seen.at(-1).perMinute / seen[0].perMinute;

/** Null: the store is a directory. Throws where SeaweedFS cannot be had. */
const startStore = async (kind) => {
  if (kind === 'directory') return null;
  const found = await findSeaweed();
  if ('why' in found) throw new Error(`${found.why}. Without it: --store directory`);
  return startSeaweed(found.path);
};

const end = (pid) => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
};

const measureAll = async (options) => {
  const { latency, seconds, fast } = options;
  console.log(`${machineLine()}, store: ${options.store}\n`);
  const store = await startStore(options.store);
  // It outlives its parent where that ends without closing (Ctrl-C).
  if (store !== null) process.once('exit', () => end(store.pid));
  const slow = { fault: { kind: 'slow', chunk_ms: 0, first_ms: latency * 1000 } };
  const env = (address) => ({
    // Queues by role, as workers on several machines have them: model calls go to whoever is free.
    TEMPORAL_ADDRESS: address,
    EMEND_QUEUE: 'fleet',
    BENCH_ALONE: '1',
    EMEND_MODELCALLS_ATONCE: String(CALLS_AT_ONCE),
    EMEND_MODELCALLS_PERSECOND: '10000',
    ...(store && {
      ...store.env,
      EMEND_STORE: `s3://${store.bucket}/fleet`,
      EMEND_STORE_PATH_STYLE: '1',
    }),
  });
  const rules = [
    ruleFor('fast.txt', appendAnswer('fast.txt')),
    ruleFor('slow.txt', appendAnswer('slow.txt'), slow),
  ];
  let stage = null;
  try {
    // The client of this process, too.
    Object.assign(process.env, store?.env);
    stage = await openStage({ rules, env });
    const fleet = { workers: [stage.worker], server: stage.serverPid, store: store?.pid ?? null };
    const quick = { jobs: await jobsFor(stage, 'fast.txt', FAST_RUNS_AT_ONCE), seen: [] };
    // One call more than each worker can make at once: none is ever idle.
    const long = {
      jobs: await jobsFor(stage, 'slow.txt', (CALLS_AT_ONCE + 1) * Math.max(...WORKERS)),
      seen: [],
    };
    for (const workers of WORKERS) {
      while (fleet.workers.length < workers) fleet.workers.push(await stage.addWorker());
      const some = long.jobs.slice(0, (CALLS_AT_ONCE + 1) * workers);
      const atOnce = { warm: FAST_RUNS_AT_ONCE, seconds: fast, apart_s: 0 };
      const oneByOne = {
        warm: (CALLS_AT_ONCE * workers) / 2,
        seconds,
        apart_s: latency / (CALLS_AT_ONCE * workers),
      };
      quick.seen.push({ workers, ...(await measure(stage, fleet, quick.jobs, atOnce)) });
      long.seen.push({ workers, ...(await measure(stage, fleet, some, oneByOne)) });
    }
    const each = `${CALLS_AT_ONCE} model calls at once each`;
    console.log(table(`A model that answers at once (${each})`, rowsOf(quick.seen)));
    console.log(table(`A model that takes ${latency} s (${each})`, rowsOf(long.seen, GOAL)));
    return gain(long.seen) >= GOAL.atLeast ? 0 : 1;
  } finally {
    await stage?.close();
    await store?.close();
  }
};

// Temporal's native library may hold the process for a moment after all is closed.
process.exit(
  await runBench(readOptions, USAGE, measureAll).catch((error) => (console.error(error), 1)),
);
