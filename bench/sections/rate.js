/** Steps per second with one worker, against as many workflows with as many empty activities: what server and SDK give at most. */
import { performance } from 'node:perf_hooks';
import { startStep } from '../../dist/src/client/index.js';
import { median, row, shown, spread } from '../numbers.js';
import { appendAnswer, jobText, ruleFor, startBaseline, writeJob } from '../runs.js';

const FILE = 'rate.txt';
const LINES = 40;
/** preflight, propose, build, apply */
const ACTIVITIES = 4;
const rules = () => [ruleFor(FILE, appendAnswer(FILE))];

const job = {
  target_files: [FILE],
  format: 'structured-edit',
  approval: 'auto',
  commit: false,
  test: false,
};

/** Rounds of `steps` baselines at once, then `steps` steps at once, each in a workspace of its own. */
const measure = async (stage, { steps, rateRounds }) => {
  const jobs = [];
  for (let n = 0; n < steps; n++) {
    const repo = await stage.repository(`rate-${n}`, {
      [FILE]: 'a line that stays as it is\n'.repeat(LINES),
    });
    jobs.push(await writeJob(repo, 'job.md', jobText(job)));
  }
  const work = {
    baseline: () =>
      Promise.all(
        jobs.map(async () =>
          (await startBaseline(stage, { before: ACTIVITIES, after: 0, update: false })).result(),
        ),
      ),
    steps: () => Promise.all(jobs.map((each) => oneStep(stage, each))),
  };
  await work.baseline();
  await work.steps();
  const seen = { steps, baseline: [], step: [] };
  for (let round = 0; round < rateRounds; round++) {
    seen.baseline.push(await timed(stage, work.baseline));
    seen.step.push(await timed(stage, work.steps));
  }
  return seen;
};

const timed = async (stage, work) => {
  await stage.costs();
  const from = performance.now();
  const client = process.cpuUsage();
  await work();
  const ms = performance.now() - from;
  const used = process.cpuUsage(client);
  return { ms, client_ms: (used.user + used.system) / 1000, ...(await stage.costs()) };
};

const oneStep = async ({ emend, client }, each) => {
  const { workflowId, runId } = await startStep(emend, { job: each });
  const { outcome } = await client.workflow.getHandle(workflowId, runId).result();
  if (outcome !== 'applied') throw new Error(`ended ${outcome}`);
};

const rowsOf = ({ steps, baseline, step }) => {
  const rate = (seen) => seen.map(({ ms }) => (steps * 1000) / ms);
  const ratios = baseline.map(({ ms }, round) => ms / step[round].ms);
  const costs = (seen) =>
    `${shown(median(seen.map(({ cpu_ms }) => cpu_ms)) / steps, 1)} ms in the worker, ${shown(median(seen.map(({ client_ms }) => client_ms)) / steps, 1)} ms in the client`;
  return [
    row(
      `steps per second over workflows of ${ACTIVITIES} empty activities per second`,
      spread(ratios),
      median(ratios),
      { atLeast: 0.8 },
    ),
    row(
      `workflows of ${ACTIVITIES} empty activities, ${steps} at once (${baseline.length} rounds)`,
      `${spread(rate(baseline), 1)} a second`,
    ),
    row(`steps, ${steps} at once, each in its own workspace`, `${spread(rate(step), 1)} a second`),
    row('CPU of a workflow of empty activities', costs(baseline)),
    row('CPU of a step, without its child processes', costs(step)),
    row(
      'child processes of a step',
      `${shown(median(step.map(({ children }) => children)) / steps, 1)}`,
    ),
  ];
};

// The queue's own limit (20 calls a second) is an operator's choice, not what is measured.
export const rate = {
  title: 'Steps per second, one worker',
  env: { EMEND_MODELCALLS_PERSECOND: '10000' },
  rules,
  measure,
  rowsOf,
};
