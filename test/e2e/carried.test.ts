/**
 * ◆ What a run leaves to the run that continues it (continue-as-new). A run that makes no progress pauses, and the others on its worker go
 * on. A state of another version fails the workflow task, not the run: a worker that reads it goes on with the same history.
 */
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { NativeConnection, Worker } from '@temporalio/worker';
import { initialPlan } from '../../src/workflows/plan/state.js';
import type { PlanSetup, StepSetup } from '../../src/shared/run.js';
import { MESSAGES } from '../../src/shared/messages.js';
import { WORKFLOWS } from '../../src/shared/names.js';
import { initialState } from '../../src/workflows/step/state.js';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import { BUNDLE, replay } from '../support/replay.js';
import { readingVersion3 } from './builds.js';
import { planInput } from '../shared/plan-driven.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
let connection: ClientConnection | null = null;
afterEach(async () => {
  await connection?.close();
  await open?.close();
  open = connection = null;
});

const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'module.exports = 2;\n' }) },
];
const JOB = '---\ntarget_files: [a.js]\n---\n# Grow\n\nGrow.\n';
const setupOf = (s: Scene, stepKey: string): PlanSetup => ({
  ...planInput,
  stepKey,
  workspace: s.repo,
  queues: s.emend.queues,
  timings: s.emend.timings,
});
const stepOf = (s: Scene, stepKey: string): StepSetup => {
  const { planPath: _plan, options: _options, ...setup } = setupOf(s, stepKey);
  return { ...setup, job: null, jobPath: 'job.md' };
};
interface Asked {
  readonly decision: {
    readonly id: string;
    readonly reason: string;
    readonly message: string;
  } | null;
}

test('a run that spins pauses, the others on its worker go on; a state of another version waits for a worker that reads it', async () => {
  const s = (open = await scene({ 'a.js': 'module.exports = 1;\n' }, RULES));
  connection = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  const { client } = connection;
  const start = async (
    of: { readonly stepKey: string },
    carried: unknown,
    type: string = WORKFLOWS.plan,
  ) =>
    client.workflow.start(type, {
      taskQueue: s.emend.queues.workflow,
      workflowId: `${s.emend.queues.workflow}-${of.stepKey.slice(0, 4)}`,
      args: [{ carried }],
    });
  const asked = async (handle: Awaited<ReturnType<typeof start>>) => {
    for (;;) {
      const { decision } = await handle.query<Asked>('status');
      if (decision !== null) return decision;
    }
  };
  const by = { name: 'ann', from: 'cli' };
  const eventsOf = async (handle: Awaited<ReturnType<typeof start>>) =>
    (await handle.fetchHistory()).events ?? [];
  const isWaiting = async (handle: Awaited<ReturnType<typeof start>>): Promise<boolean> =>
    (await eventsOf(handle)).some(
      ({ workflowTaskFailedEventAttributes: failed }) =>
        failed?.failure?.message ===
        'The state carried over from the previous run has version 3; this Emend reads version 2.',
    );

  const worker = await s.worker();
  // At stage `running` with an empty group the plan would run no phase, again and again.
  const input = setupOf(s, 'a'.repeat(32));
  const spinning = await start(input, {
    v: 2,
    reportedSeq: 0,
    state: { ...initialPlan(input, 0), stage: { at: 'running' } },
  });
  const stopped = await asked(spinning);
  expect(stopped).toMatchObject({
    reason: 'engine_failed',
    message: expect.stringContaining('100 moves in a row'),
  });
  const run = await s.start('job.md', JOB);
  expect((await s.settle(run)).status.decision?.reason).toBe('approval');
  // The answer leads on: the plan is read, and is not there.
  const retry = { v: 2, decision: stopped.id, answer: 'retry', requestId: 'r', by };
  await spinning.executeUpdate('answer', { args: [retry] });
  expect(await spinning.result()).toMatchObject({ outcome: 'refused' });
  await replay(JSON.parse(historyToJSON(await spinning.fetchHistory())), 'spinning');

  const planSetup = setupOf(s, 'b'.repeat(32));
  const stepSetup = stepOf(s, 'c'.repeat(32));
  const laters = [
    await start(planSetup, { v: 3, reportedSeq: 0, state: initialPlan(planSetup, 0) }),
    await start(
      stepSetup,
      { v: 3, reportedSeq: 0, state: initialState(stepSetup, 0) },
      WORKFLOWS.editStep,
    ),
  ];
  for (const later of laters) {
    while (!(await isWaiting(later)));
    await later.signal(MESSAGES.abort);
  }

  // A worker that reads version 3 goes on as if the other one had never had the run: it also takes up what came meanwhile.
  await worker.kill();
  const code = readingVersion3(readFileSync(BUNDLE, 'utf8'));
  const native = await NativeConnection.connect({ address: s.env.TEMPORAL_ADDRESS! });
  const upgraded = await Worker.create({
    connection: native,
    taskQueue: s.emend.queues.workflow,
    workflowBundle: { code },
    sinks: { archive: { append: { fn: () => undefined } } },
  });
  const results = await upgraded.runUntil(Promise.all(laters.map((later) => later.result())));
  expect(results).toMatchObject([{ outcome: 'aborted' }, { outcome: 'aborted' }]);
  await native.close();
}, 120_000);
