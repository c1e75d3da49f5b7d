/** How long a step takes beside a workflow of five empty activities and one update; what it costs its worker. */
import { performance } from 'node:perf_hooks';
import { median, row, shown, spread } from '../numbers.js';
import { takeCosts } from '../probe.js';
import { appendAnswer, jobText, ruleFor, runStep, since, timeBaseline, writeJob } from '../runs.js';

const FILE = 'time.txt';
const LINES = 40;
export const rules = () => [ruleFor(FILE, appendAnswer(FILE))];

const settings = { target_files: [FILE], format: 'structured-edit', approval: 'ask' };
export const SHAPES = {
  plain: {
    title: 'without tests and commit',
    job: { ...settings, commit: false, test: false },
    outcome: 'applied',
  },
  commit: {
    title: 'with commit',
    job: { ...settings, commit: true, test: false },
    outcome: 'committed',
  },
  verified: {
    title: 'with tests and commit',
    job: { ...settings, commit: true, test: 'exit 0' },
    outcome: 'committed',
  },
};
const GOALS = { plain: { atMost: 2 }, commit: { atMost: 2.5 }, verified: undefined };

/** Writes a job for each shape, in a repository of its own. */
export const makeJobs = async (stage) => {
  const content = 'a line that stays as it is\n'.repeat(LINES);
  const jobs = {};
  for (const [name, { job }] of Object.entries(SHAPES)) {
    const repo = await stage.repository(`time-${name}`, { [FILE]: content });
    jobs[name] = await writeJob(repo, 'job.md', jobText(job));
  }
  return jobs;
};

/** Rounds of one baseline and one step of each shape, in an order that turns from round to round. */
const measure = async (stage, { rounds }) => {
  const jobs = await makeJobs(stage);
  const work = {
    baseline: () => timeBaseline(stage),
    ...Object.fromEntries(
      Object.keys(SHAPES).map((name) => [
        name,
        () => timeStep(stage, jobs[name], SHAPES[name].outcome),
      ]),
    ),
  };
  const names = Object.keys(work);
  for (const name of names) await work[name]();
  const seen = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (let n = 0; n < names.length; n++) {
      const name = names[(n + round) % names.length];
      await stage.costs();
      takeCosts();
      const ms = await work[name]();
      seen[name].push({ ms, client: takeCosts(), ...(await stage.costs()) });
    }
  return seen;
};

const timeStep = async (stage, job, outcome) => {
  const from = performance.now();
  await runStep(stage, job, outcome);
  return since(from);
};

const rowsOf = (seen) => {
  const of = (name, pick) => seen[name].map(pick);
  const base = of('baseline', ({ ms }) => ms);
  const baseCpu = median(of('baseline', ({ cpu_ms }) => cpu_ms));
  const rows = [
    row(
      `baseline: start, five empty activities, one update (${base.length} rounds)`,
      `${spread(base, 0)} ms`,
    ),
    row(
      'baseline: CPU of the worker',
      `${spread(
        of('baseline', ({ cpu_ms }) => cpu_ms),
        0,
      )} ms`,
    ),
  ];
  for (const [name, { title }] of Object.entries(SHAPES)) {
    const own = of(name, ({ ms, child_ms }) => ms - child_ms);
    const ratios = own.map((ms, round) => ms / base[round]);
    rows.push(
      row(
        `step ${title}: time over the baseline, child processes taken off`,
        spread(ratios),
        median(ratios),
        GOALS[name],
      ),
      row(
        `step ${title}: whole time`,
        `${spread(
          of(name, ({ ms }) => ms),
          0,
        )} ms`,
      ),
      row(
        `step ${title}: of it in child processes (${commandsOf(seen[name])})`,
        `${spread(
          of(name, (c) => c.child_ms),
          0,
        )} ms`,
      ),
      row(
        `step ${title}: CPU of the worker`,
        `${spread(
          of(name, (c) => c.cpu_ms),
          0,
        )} ms, ${shown(median(of(name, (c) => c.cpu_ms)) / baseCpu)} of the baseline's`,
      ),
      row(
        `step ${title}: fsyncs of worker and client`,
        `${spread(
          of(name, (c) => c.fsyncs),
          0,
        )} and ${spread(
          of(name, (c) => c.client.fsyncs),
          0,
        )}`,
      ),
    );
  }
  return rows;
};

const commandsOf = (costs) => {
  const last = costs.at(-1).commands;
  const total = Object.values(last).reduce((sum, n) => sum + n, 0);
  return `${total}: ${Object.entries(last)
    .sort((a, b) => b[1] - a[1])
    .map(([command, n]) => (n === 1 ? command : `${n} ${command}`))
    .join(', ')}`;
};

export const time = { title: 'Time, CPU and fsyncs of a step', rules, measure, rowsOf };
