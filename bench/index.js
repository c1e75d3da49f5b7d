/**
 * `npm run bench:index`: what 100,000 ended runs cost. One real run is made; its archive, transactions, records and calls are multiplied with
 * other keys, times and words. Measured are a worker until it is ready and `emend list`, each against an empty home, a search on the page's
 * side and as a command, the building of the index, and memory and time of `emend gc`. Ratios are of one run, its rounds interleaved.
 * Exit codes: 0 the goals are met, 1 one is missed or nothing was measured, 2 usage.
 */
import './probe.js';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openEmend } from '../dist/src/client/index.js';
import { listRuns } from '../dist/src/client/runs/list.js';
import { runIndex } from '../dist/src/client/run-index/index.js';
import { together } from '../dist/src/system/together.js';
import { EMEND } from './commands.js';
import { median, row, shown, spread, table } from './numbers.js';
import { machineLine, runBench } from './program.js';
import { appendAnswer, jobText, ruleFor, runStep, since, writeJob } from './runs.js';
import { openStage } from './stage.js';

const USAGE = `npm run bench:index -- [options]
  --runs N       ended runs in the home that is started, listed and searched (100000)
  --gc-runs N    ended runs in the home that is cleared up (100000)
  --rounds N     times that each is measured (5)`;

const GOALS = { ratio: { atMost: 2 }, search_ms: { atMost: 200 }, gc_MiB: { atMost: 1024 } };
const WORDS = ['greeting', 'parser', 'billing', 'login', 'report', 'schedule', 'export', 'cache'];
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const WORKER = fileURLToPath(new URL('../dist/worker.js', import.meta.url));

const readOptions = () => {
  const option = (value) => ({ type: 'string', default: value });
  const { values } = parseArgs({
    options: {
      runs: option('100000'),
      'gc-runs': option('100000'),
      rounds: option('5'),
      help: { type: 'boolean' },
    },
  });
  for (const name of ['runs', 'gc-runs', 'rounds'])
    if (!/^[1-9][0-9]*$/.test(values[name]))
      throw new Error(`--${name}: expected a whole number from 1, received ${values[name]}`);
  return {
    runs: Number(values.runs),
    gcRuns: Number(values['gc-runs']),
    rounds: Number(values.rounds),
    help: values.help === true,
  };
};

/** Runs a job for real: one file, approved, tested by nothing, committed. */
const realRun = async (stage) => {
  const workspace = await stage.repository('work', { 'a.txt': 'a\n' });
  const settings = { target_files: ['a.txt'], commit: true, test: false };
  const job = await writeJob(workspace, 'job.md', jobText(settings, 'Change the GREETING'));
  const { stepKey } = await runStep(stage, job, 'committed');
  // Whoever looks at an ended run notes its end.
  await listRuns(stage.emend);
  return stepKey;
};

/** The texts of a run's files, by path below the home. */
const filesOfRun = async (home, stepKey) => {
  const files = {};
  for (const place of ['archive', 'transactions', 'records/steps', 'calls']) {
    const entries = await readdir(join(home, place, stepKey), {
      recursive: true,
      withFileTypes: true,
    }).catch(() => []);
    for (const entry of entries.filter((file) => file.isFile())) {
      const path = join(entry.parentPath, entry.name);
      files[path.slice(home.length + 1)] = await readFile(path, 'utf8');
    }
  }
  return files;
};

const keyOf = (n) => createHash('sha256').update(`run ${n}`).digest('hex').slice(0, 32);

/** The n-th copy: another key, other words, and a minute older than the one before. */
const copyOf = (files, stepKey, n, places) => {
  const at_ms = Date.now() - 100 * DAY_MS - n * MINUTE_MS;
  const change = (text) =>
    text
      .replaceAll(stepKey, keyOf(n))
      .replaceAll('GREETING', `${WORDS[n % WORDS.length]} number ${n}`)
      .replaceAll(/"at":"[^"]+"/g, () => `"at":"${new Date(at_ms).toISOString()}"`);
  return Object.entries(files)
    .filter(([path]) => places.some((place) => path.startsWith(`${place}/`)))
    .map(([path, text]) => [change(path), change(text)]);
};

const fill = async (home, { files, stepKey, count, places }) => {
  const from = performance.now();
  await together(
    Array.from({ length: count }, (_, n) => n),
    async (n) => {
      for (const [path, text] of copyOf(files, stepKey, n, places)) {
        await mkdir(dirname(join(home, path)), { recursive: true, mode: 0o700 });
        await writeFile(join(home, path), text, { mode: 0o600 });
      }
    },
  );
  process.stderr.write(`${count} runs written in ${shown(since(from) / 1000, 0)} s\n`);
};

/** Milliseconds of CPU of a process and its threads so far. */
const cpuOf = async (pid) => {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

const startTime = async (env) => {
  const from = performance.now();
  const worker = spawn(process.execPath, [WORKER], { env, stdio: ['ignore', 'ignore', 'pipe'] });
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

/** Says at its end what memory and CPU the command took. */
const COST = `data:text/javascript,${encodeURIComponent(
  `import { readFileSync } from 'node:fs';
  process.on('exit', () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    const [, kB] = /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
    process.stderr.write('\\ncost ' + kB / 1024 + ' ' + (userCPUTime + systemCPUTime) / 1000 + '\\n');
  });`,
)}`;

const runCli = (env, ...args) => runNode(env, EMEND[1], ...args);

const runNode = async (env, ...args) => {
  const from = performance.now();
  const child = spawn(process.execPath, ['--import', COST, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  let errors = '';
  child.stdout.on('data', (bytes) => (printed += bytes));
  child.stderr.on('data', (bytes) => (errors += bytes));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}: ${errors}`);
  const [, MiB, cpu] = /cost ([\d.]+) ([\d.]+)\n$/.exec(errors).map(Number);
  return { ms: since(from), cpu, MiB, printed };
};

const ratio = (what, key, { empty, full }) => {
  const ratios = full.map((cost, round) => cost[key] / empty[round][key]);
  const middle = (all) => shown(median(all.map((cost) => cost[key])), 0);
  const words = `${spread(ratios)}: ${middle(full)} over ${middle(empty)} ms`;
  return row(what, words, median(ratios), GOALS.ratio);
};

const comparisons = async (homes, runs, rounds) => {
  const seen = { start: { empty: [], full: [] }, list: { empty: [], full: [] }, search: [] };
  // The first of each, which makes the home's ids and looks through all transactions once in this boot, is not counted.
  for (let round = 0; round <= rounds; round += 1)
    for (const name of ['empty', 'full']) {
      const start = await startTime(homes[name]);
      const list = await runCli(homes[name], 'list');
      if ((name === 'full') !== list.printed.includes('older runs'))
        throw new Error(`emend list printed ${list.printed}`);
      const search =
        name === 'full' ? await runCli(homes[name], 'list', '--search', 'PARSER number 9') : null;
      if (round === 0) continue;
      seen.start[name].push(start);
      seen.list[name].push(list);
      if (search !== null) seen.search.push(search.ms - list.ms);
    }
  const over = `${shown(runs)} ended runs over none`;
  return [
    ratio(`a worker until it is ready, ${over}`, 'ms', seen.start),
    ratio('its CPU', 'cpu', seen.start),
    ratio(`\`emend list\`, ${over}`, 'ms', seen.list),
    ratio('its CPU', 'cpu', seen.list),
    row('`emend list --search`: ms more than `emend list`', spread(seen.search, 0)),
  ];
};

/** What the page's server does for a request, once it has the index in memory. */
const searches = async (env, rounds) => {
  const emend = await openEmend({ env });
  try {
    const filters = {
      'a search that few runs fit': { text: 'parser number 9999' },
      'a search that many runs fit': { text: 'number' },
      'a search that no run fits, in one repository and state': {
        text: 'nothing',
        state: 'done',
        workspace: 'x',
      },
    };
    await runIndex(emend);
    const rows = [];
    for (const [what, filter] of Object.entries(filters)) {
      const times = [];
      for (let round = 0; round < rounds; round += 1) {
        const from = performance.now();
        await listRuns(emend, { filter });
        times.push(since(from));
      }
      rows.push(row(`${what}: ms`, spread(times, 0), median(times), GOALS.search_ms));
    }
    return rows;
  } finally {
    await emend.close();
  }
};

const building = async (env) => {
  await rm(join(env.EMEND_HOME, 'index'), { recursive: true, force: true });
  const { ms, MiB } = await runCli(env, 'list');
  return row(
    '`emend list` that builds the index first',
    `${shown(ms / 1000, 0)} s, ${shown(MiB, 0)} MiB`,
  );
};

const moduleAt = (path) => JSON.stringify(new URL(`../dist/src/client/${path}`, import.meta.url));

/** `emend gc` spares files of the last hour. Here all of them may go, which takes the most memory. */
const FIND_UNUSED = `
  import { openEmend } from ${moduleAt('index.js')};
  import { findUnused } from ${moduleAt('gc/index.js')};
  const emend = await openEmend({ env: process.env });
  const { steps } = await findUnused(emend, { olderThan_ms: 0, archivesOlderThan_ms: 0 });
  const files = steps.reduce((sum, step) => sum + step.files.length, 0);
  process.stdout.write(steps.length + ' runs with ' + files + ' files in the first pass');
  await emend.close();
  process.exit(0);`;

const clearing = async (env, count) => {
  const { ms, MiB, printed } = await runNode(env, '--input-type=module', '--eval', FIND_UNUSED);
  const words = `${shown(MiB, 0)} MiB, ${shown(ms / 1000, 0)} s: ${printed}`;
  return row(
    `memory of \`emend gc\`, which looks through ${shown(count)} ended runs of which all may go`,
    words,
    MiB,
    GOALS.gc_MiB,
  );
};

const measure = async ({ runs, gcRuns, rounds }) => {
  console.log(machineLine());
  const rules = [ruleFor('a.txt', appendAnswer('a.txt'))];
  const stage = await openStage({ rules });
  try {
    const stepKey = await realRun(stage);
    const files = await filesOfRun(stage.home, stepKey);
    process.stderr.write(
      `a run leaves ${Object.keys(files).length} files:\n${Object.keys(files).join('\n')}\n`,
    );
    const homeOf = async (name, count, places) => {
      const home = join(stage.dir, name);
      await mkdir(home, { mode: 0o700 });
      await fill(home, { files, stepKey, count, places });
      await writeFile(join(home, 'host-id'), `2 ${keyOf(name)}\n`);
      return {
        ...stage.env,
        EMEND_HOME: home,
        EMEND_QUEUE: `bench-${name}`,
        TEMPORAL_ADDRESS: stage.env.BENCH_ADDRESS,
      };
    };
    const homes = {
      empty: await homeOf('empty', 0, []),
      full: await homeOf('full', runs, ['archive', 'transactions']),
    };
    const rows = [
      await building(homes.full),
      ...(await comparisons(homes, runs, rounds)),
      ...(await searches(homes.full, rounds)),
    ];
    await rm(homes.full.EMEND_HOME, { recursive: true, force: true });
    const old = await homeOf('old', gcRuns, ['archive', 'transactions', 'records', 'calls']);
    rows.push(await clearing(old, gcRuns));
    console.log(table(`An index of many runs, ${rounds} rounds`, rows));
    return rows.some(({ verdict }) => verdict === 'missed') ? 1 : 0;
  } finally {
    await stage.close();
  }
};

// Temporal's native library may hold the process for a moment after all is closed.
process.exit(
  await runBench(readOptions, USAGE, measure).catch((error) => (console.error(error), 1)),
);
