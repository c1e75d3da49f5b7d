/** What another run on the same worker takes while one run is sent thousands of signals that mean nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { resolveRun, startStep, waitForRun } from '../../dist/src/client/index.js';
import { median, row, spread } from '../numbers.js';
import { appendAnswer, jobText, ruleFor, runStep, since, writeJob } from '../runs.js';

const FILE = 'junk.txt';
const LINES = 40;
/** Signals under way at a time: as many as one client sends that waits for each of these. */
const AT_ONCE = 20;
const rules = () => [ruleFor(FILE, appendAnswer(FILE))];
const settings = { target_files: [FILE], format: 'structured-edit', commit: false, test: false };

/** Per round the time of a step, then that of one during a flood of `signals / rounds` and more, until the step has ended. */
const measure = async (stage, { signals }) => {
  const repository = (name) =>
    stage.repository(name, { [FILE]: 'a line that stays as it is\n'.repeat(LINES) });
  const waiting = await writeJob(
    await repository('junk-waits'),
    'job.md',
    jobText({ ...settings, approval: 'ask' }),
  );
  const job = await writeJob(
    await repository('junk-other'),
    'job.md',
    jobText({ ...settings, approval: 'auto' }),
  );
  const { stepKey } = await startStep(stage.emend, { job: waiting });
  const run = await resolveRun(stage.emend, stepKey);
  await waitForRun(stage.emend, run);
  const handle = stage.client.workflow.getHandle(run.live.workflowId);
  const step = async () => {
    const from = performance.now();
    await runStep(stage, job, 'applied');
    return since(from);
  };
  await step();
  const seen = { quiet: [], flooded: [], sent: 0, ms: 0 };
  while (seen.sent < signals) {
    seen.quiet.push(await step());
    let over = false;
    const from = performance.now();
    const lanes = Array.from({ length: AT_ONCE }, async () => {
      while (!over) {
        await handle.signal('approve', { decision: `none-${seen.sent}` });
        seen.sent += 1;
      }
    });
    await sleep(200);
    seen.flooded.push(await step());
    over = true;
    await Promise.all(lanes);
    seen.ms += since(from);
    // What is left of the flood is no part of the next quiet round.
    await handle.query('status');
  }
  return seen;
};

const rowsOf = ({ quiet, flooded, sent, ms }) => {
  const ratios = flooded.map((each, round) => each / quiet[round]);
  return [
    row(
      `a step while another run on its worker is sent junk, over one without (${quiet.length} rounds)`,
      spread(ratios),
      median(ratios),
      { atMost: 2 },
    ),
    row('junk signals to the one run', `${sent}, ${Math.round((sent * 1000) / ms)} a second`),
  ];
};

export const junk = { title: 'Junk signals', rules, measure, rowsOf };
