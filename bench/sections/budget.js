/** What each activity of a step costs its worker, beside what it may cost: CPU, fsyncs, processes; and the server's requests for a step. */
import { actionsBetween } from '../actions.js';
import { median, row, shown } from '../numbers.js';
import { takeCosts } from '../probe.js';
import { appendAnswer, jobText, ruleFor, runStep, writeJob } from '../runs.js';

const FILE = 'budget.txt';
const LINES = 40;
const rules = () => [ruleFor(FILE, appendAnswer(FILE))];
const JOB = {
  target_files: [FILE],
  format: 'structured-edit',
  approval: 'ask',
  commit: true,
  test: 'exit 0',
};

/**
 * What each may cost: `[ms of CPU, fsyncs, processes]`. Without tests and commit the worker has 70 ms (twice the baseline), client and worker
 * 12 fsyncs, and no process is started. An activity without an entry has no goal.
 */
const MAY = {
  client: [30, 2, 0],
  preflight: [10, 2, 0],
  'runTests (base)': [10, 1, 2],
  proposeEdit: [15, 3, 0],
  buildProposal: [8, 2, 0],
  'runTests (proposal)': [10, 2, 2],
  applyProposal: [12, 3, 0],
  commit: [20, 1, 8],
  between: [25, 0, 0],
};

const measure = async (stage, { rounds }) => {
  const repo = await stage.repository('budget', {
    [FILE]: 'a line that stays as it is\\n'.repeat(LINES),
  });
  const job = await writeJob(repo, 'job.md', jobText(JOB));
  const step = () => runStep(stage, job, 'committed', { again: true });
  await step();
  const before = await stage.requestCounts();
  await step();
  const requests = actionsBetween(before, await stage.requestCounts());
  const seen = {};
  const add = (name, costs) => (seen[name] ??= []).push(costs);
  for (let round = 0; round < rounds; round++) {
    await stage.costs('parts');
    takeCosts();
    await step();
    add('client', takeCosts());
    const { activities, ...all } = await stage.costs();
    for (const { name, ...costs } of activities) add(name, costs);
    const sum = (pick) => activities.reduce((total, each) => total + pick(each), 0);
    add('between', {
      cpu_ms: all.cpu_ms - sum(({ cpu_ms }) => cpu_ms),
      fsyncs: all.fsyncs - sum(({ fsyncs }) => fsyncs),
      commands: {},
    });
  }
  return { seen, requests };
};

const named = (commands) =>
  Object.entries(commands)
    .sort((a, b) => b[1] - a[1])
    .map(([command, n]) => (n === 1 ? command : `${n} ${command}`))
    .join(', ');

const rowsOf = ({ seen, requests }) => [
  ...Object.entries(seen).map(([name, costs]) => {
    const [cpu_ms, fsyncs] = ['cpu_ms', 'fsyncs'].map((key) =>
      median(costs.map((each) => each[key])),
    );
    const { commands } = costs.at(-1);
    const processes = Object.values(commands).reduce((sum, n) => sum + n, 0);
    const time =
      costs[0].ms === undefined ? '' : `, ${shown(median(costs.map(({ ms }) => ms)), 0)} ms long`;
    const measured = `${shown(cpu_ms, 0)} ms of CPU, ${shown(fsyncs)} fsyncs, ${processes} processes${processes === 0 ? '' : ` (${named(commands)})`}${time}`;
    const goal = MAY[name];
    if (goal === undefined) return row(name, measured);
    const [maxCpu_ms, maxFsyncs, maxProcesses] = goal;
    const over = cpu_ms > maxCpu_ms || fsyncs > maxFsyncs || processes > maxProcesses;
    return {
      what: name,
      measured,
      goal: `<= ${maxCpu_ms} ms, ${maxFsyncs}, ${maxProcesses}`,
      verdict: over ? 'missed' : 'met',
    };
  }),
  row('requests to the server but polls and beats', named(requests)),
];

export const budget = { title: 'The budget of a step', rules, measure, rowsOf };
