/** A long plan, one phase after the other: events and bytes of the histories of its runs, and what a phase adds. */
import { planOfPath, resolveRun, startPlan, waitForRun } from '../../dist/src/client/index.js';
import { row, shown } from '../numbers.js';

/** The server warns from here on, and ends a run at five times as many. */
const WARNED = { events: 10_240, bytes: 10 * 1024 * 1024 };
/** The server's list of runs is behind what has happened. */
const LISTED_ms = 5_000;

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

/** `{ phases, seconds, runs, children }`: each run of the plan, and of its phases, with events and bytes of its history. */
const measure = async (stage, { phases }) => {
  const repo = await stage.repository('long-plan', { 'plans/001_long.md': planText(phases) });
  const plan = await planOfPath(repo, 'plans/001_long.md');
  const from = Date.now();
  const options = { mode: 'sequential', estimate: 'approved' };
  const { stepKey } = await startPlan(stage.emend, { plan, approval: 'auto', options });
  const { result } = await waitForRun(stage.emend, await resolveRun(stage.emend, stepKey));
  if (result?.outcome !== 'completed')
    throw new Error(`the plan came to ${result?.outcome}: ${result?.problem?.message}`);
  const seconds = (Date.now() - from) / 1000;
  await new Promise((resolve) => setTimeout(resolve, LISTED_ms));
  const runs = await sizesOf(stage, `WorkflowId = "${plan.workflowId}"`);
  const children = await sizesOf(stage, 'WorkflowType = "editStep"');
  return { phases, seconds, runs, children };
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

const rowsOf = ({ phases, seconds, runs, children }) => {
  const sum = (all, what) => all.reduce((total, each) => total + each[what], 0);
  const most = (all, what) => Math.max(...all.map((each) => each[what]));
  const events = most(runs, 'events');
  const bytes = most(runs, 'bytes');
  return [
    row(`a plan of ${phases} phases, to its end`, `${shown(seconds, 0)} s, ${runs.length} runs of the plan`),
    row('events of the plan per phase', shown(sum(runs, 'events') / phases)),
    row('bytes of the plan per phase', shown(sum(runs, 'bytes') / phases, 0)),
    row('longest history of a run of the plan: events', shown(events), events, { atMost: WARNED.events }),
    row('longest history of a run of the plan: bytes', shown(bytes), bytes, { atMost: WARNED.bytes }),
    row("longest history of a phase's run: events", shown(most(children, 'events')), most(children, 'events'), {
      atMost: WARNED.events,
    }),
    row("runs of phases in the server's list", shown(children.length)),
  ];
};

export const plan = { title: 'A long plan', rules, measure, rowsOf };
