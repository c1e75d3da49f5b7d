/** Priority and fairness key of runs, in the histories of a real server. */
import { afterEach, expect, test } from '@jest/globals';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import type { ResolvedRun } from '../../src/client/index.js';
import { sha256 } from '../../src/system/hash.js';
import { phaseRun, planText, answerFor, startDemo } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
let connected: ClientConnection | null = null;
afterEach(async () => {
  await connected?.close();
  connected = null;
  await open?.close();
  open = null;
});

const PHASES = [{ name: 'One', file: 'src/one.js' }];

test('a job, a plan and the run of its phase carry priority and fairness key in their start events', async () => {
  const s = (open = await scene(
    {
      'plans/010_demo.md': planText(PHASES),
      'a.js': 'let a = 1;\n',
      'emend.yaml': 'test: false\n',
    },
    [
      { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'let a = 2;\n' }) },
      ...PHASES.map((phase) => answerFor(phase)),
    ],
  ));
  const { client } = (connected = await connectClient({
    env: s.env,
    home: s.home,
    connect_ms: 5000,
  }));
  const startOf = async (run: ResolvedRun) => {
    const { workflowId } = await s.show(run);
    const { events } = await client.workflow.getHandle(workflowId ?? '').fetchHistory();
    return events?.[0]?.workflowExecutionStartedEventAttributes?.priority;
  };
  await s.worker();
  const job = await s.start('job.md', '---\ntarget_files: [a.js]\n---\n# A\n\nRaise it.\n');
  const key = sha256(s.repo).slice(0, 12);
  const fairnessKey = expect.stringMatching(new RegExp(`^[a-z0-9-]*-${key}$`)) as unknown;
  expect(await startOf(job)).toMatchObject({ priorityKey: 3, fairnessKey });
  const plan = await startDemo(s);
  const child = await phaseRun(s, plan, 'p1-1');
  expect(await startOf(plan)).toMatchObject({ priorityKey: 4, fairnessKey });
  expect(await startOf(child)).toMatchObject({ priorityKey: 4, fairnessKey });
});
