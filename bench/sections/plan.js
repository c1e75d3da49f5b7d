/** A long plan, one phase after the other: histories of its runs, what a phase adds, and whether late phases cost more than early ones. */
import { planOfPath, resolveRun, startPlan, waitForRun } from '../../dist/src/client/index.js';
import { row, shown } from '../numbers.js';

/** The server warns from here on, and ends a run at five times as many. */
const WARNED = { events: 10_240, bytes: 10 * 1024 * 1024 };
/** The server's list of runs is behind what has happened. */
const LISTED_ms = 5_000;
/** Phases at each end that are held against each other; of a short plan a quarter. */
const ENDS = 100;
const LOOK_ms = 25;

const pathOf = (n) => `src/part-${n}.js`;
const rules = ({ phases }) =>
  Array.from({ length: phases }, (_, index) => ({
    name: pathOf(index + 1),
    match: { contains: `- ${pathOf(index + 1)}\n` },
    answer: `FILE ${pathOf(index + 1)} {{nonce}}\nexport const part = ${index + 1};\nEND FILE {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n`,
  }));

const planText = (phases) =>
  [
    '# A long plan\n',
    ...Array.from({ length: phases }, (_, index) => {
      const path = pathOf(index + 1);
      return `### Phase ${index + 1}: Part ${index + 1}\n\n**Objective**: Write \`${path}\`\n\n- [ ] Create \`${path}\`\n`;
    }),
  ].join('\n');

/**
 * What the worker cost from each mark to the next. Each phase asks the model once, so the count of requests says which one is under way.
 */
const stretches = async (stage, marks, over) => {
  const found = [];
  for (const mark of marks) {
    while (stage.requests() < mark && !over())
      await new Promise((resolve) => setTimeout(resolve, LOOK_ms));
    const { cpu_ms, child_ms } = await stage.costs();
    found.push({ at: Date.now(), cpu_ms, child_ms });
  }
  return found;
};

/** `{ phases, seconds, runs, children, first, last, peak }`: each run of the plan, and of its phases, with events and bytes of its history. */
const measure = async (stage, { phases }) => {
  const repo = await stage.repository('long-plan', { 'plans/001_long.md': planText(phases) });
  const plan = await planOfPath(repo, 'plans/001_long.md');
  const from = Date.now();
  const options = { mode: 'sequential', estimate: 'approved' };
  const { stepKey } = await startPlan(stage.emend, { plan, approval: 'auto', options });
  let ended = false;
  const ends = Math.min(ENDS, Math.floor(phases / 4));
  // The first phase waits for the plan to be read: what the plan costs before it is no phase's.
  const marks = stretches(stage, [1, 1 + ends, phases - ends, phases], () => ended);
  const { result } = await waitForRun(stage.emend, await resolveRun(stage.emend, stepKey));
  ended = true;
  const [begun, early, before, late] = await marks;
  const peak = await stage.peakMemory();
  if (result?.outcome !== 'completed')
    throw new Error(`the plan came to ${result?.outcome}: ${result?.problem?.message}`);
  const seconds = (Date.now() - from) / 1000;
  await new Promise((resolve) => setTimeout(resolve, LISTED_ms));
  const runs = await sizesOf(stage, `WorkflowId = "${plan.workflowId}"`);
  const children = await sizesOf(stage, 'WorkflowType = "editStep"');
  const first = { ...early, ms: early.at - begun.at };
  const last = { ...late, ms: late.at - before.at };
  return { phases, seconds, runs, children, ends, first, last, peak };
};

const sizesOf = async (stage, query) => {
  const found = [];
  for await (const { workflowId, runId } of stage.client.workflow.list({ query })) {
    const { raw } = await stage.client.workflow.getHandle(workflowId, runId).describe();
    const { historySizeBytes, historyLength } = raw.workflowExecutionInfo;
    found.push({ bytes: Number(historySizeBytes), events: Number(historyLength) });
  }
  return found;
};

const rowsOf = ({ phases, seconds, runs, children, ends, first, last, peak }) => {
  const sum = (all, what) => all.reduce((total, each) => total + each[what], 0);
  const most = (all, what) => Math.max(...all.map((each) => each[what]));
  const events = most(runs, 'events');
  const bytes = most(runs, 'bytes');
  return [
    row(
      `a plan of ${phases} phases, to its end`,
      `${shown(seconds, 0)} s, ${runs.length} runs of the plan`,
    ),
    ...[
      ['time', 'ms'],
      ["the worker's CPU", 'cpu_ms'],
    ].map(([what, key]) =>
      row(
        `${what}: the last ${ends} phases over the first ${ends}`,
        `${shown(last[key] / first[key])} (${shown(last[key] / ends, 0)} and ${shown(first[key] / ends, 0)} ms a phase)`,
        last[key] / first[key],
        { atMost: 1.2 },
      ),
    ),
    row("the worker's memory at its highest", `${shown(peak, 0)} MiB`, peak, { atMost: 572 }),
    row('events of the plan per phase', shown(sum(runs, 'events') / phases)),
    row('bytes of the plan per phase', shown(sum(runs, 'bytes') / phases, 0)),
    row('longest history of a run of the plan: events', shown(events), events, {
      atMost: WARNED.events,
    }),
    row('longest history of a run of the plan: bytes', shown(bytes), bytes, {
      atMost: WARNED.bytes,
    }),
    row(
      "longest history of a phase's run: events",
      shown(most(children, 'events')),
      most(children, 'events'),
      {
        atMost: WARNED.events,
      },
    ),
    row("runs of phases in the server's list", shown(children.length)),
  ];
};

export const plan = { title: 'A long plan', rules, env: { BENCH_ALONE: '1' }, measure, rowsOf };
