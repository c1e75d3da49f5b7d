/**
 * ◆ What a run goes on from in a new run (continue-as-new): one that this build cannot read waits for a newer worker, which then goes on
 * with the same history; one that makes no progress pauses, and the others on its worker go on meanwhile.
 */
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { NativeConnection, Worker } from '@temporalio/worker';
import { initialPlan } from '../../src/workflows/plan/state.js';
import type { PlanInput, EditStepInput } from '../../src/shared/run.js';
import { SIGNALS, WORKFLOWS } from '../../src/shared/names.js';
import { versioned } from '../../src/shared/problems.js';
import { currentRules } from '../../src/shared/rules.js';
import { initialState } from '../../src/workflows/step/state.js';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import { BUNDLE, replay } from '../support/replay.js';
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
const COMMANDS =
  /^(activityTask|timer|marker|upsert|startChild|workflowExecutionUpdate|workflowExecutionC)/;

const inputOf = (s: Scene, stepKey: string): PlanInput =>
  versioned({
    stepKey,
    workspace: s.repo,
    planPath: 'plans/010_demo',
    title: 'Demo',
    queues: s.emend.queues,
    timings: s.emend.timings,
    overrides: {},
    hints: [],
    searchAttributes: false,
    approval: 'auto',
    rules: currentRules(),
    options: {
      phase: null,
      mode: 'auto',
      forceReplan: false,
      drift: null,
      estimate: 'approved',
      restart: false,
    },
  });
const startedWith = async (
  client: ClientConnection['client'],
  workflowId: string,
): Promise<{ args: unknown[] }> => {
  const [first] = (await client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];
  const { payloads } = first!.workflowExecutionStartedEventAttributes!.input!;
  return { args: await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads) };
};
interface Asked {
  readonly decision: {
    readonly id: string;
    readonly reason: string;
    readonly message: string;
  } | null;
}

test('a run that spins pauses, the others on its worker go on; a later version waits for a worker that reads it', async () => {
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
      args: [{ ...of, carried }],
    });
  const asked = async (handle: Awaited<ReturnType<typeof start>>) => {
    for (;;) {
      const { decision } = await handle.query<Asked>('status');
      if (decision !== null) return decision;
    }
  };
  const by = { name: 'ann', from: 'cli' };
  const kinds = async (handle: Awaited<ReturnType<typeof start>>) =>
    ((await handle.fetchHistory()).events ?? []).map((event) =>
      Object.keys(event).find(
        (key) => key.endsWith('EventAttributes') && event[key as keyof typeof event] != null,
      ),
    );

  const worker = await s.worker();
  // At stage `running` with an empty group the plan would run no phase, again and again.
  const input = inputOf(s, 'a'.repeat(32));
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
  await spinning.executeUpdate('decide', { args: [retry] });
  expect(await spinning.result()).toMatchObject({ outcome: 'refused' });
  await replay(JSON.parse(historyToJSON(await spinning.fetchHistory())), 'spinning');

  const planOf = inputOf(s, 'b'.repeat(32));
  const { args } = await startedWith(client, run.live!.workflowId);
  const stepOf = { ...(args[0] as EditStepInput), stepKey: 'c'.repeat(32) };
  const laters = [
    await start(planOf, { v: 3, reportedSeq: 0, state: initialPlan(planOf, 0) }),
    await start(
      stepOf,
      { v: 3, reportedSeq: 0, state: initialState(stepOf, 0) },
      WORKFLOWS.editStep,
    ),
  ];
  const waits: Record<string, object> = {};
  for (const later of laters) {
    const unknown = await asked(later);
    expect(unknown).toMatchObject({
      reason: 'version_unknown',
      message: expect.stringMatching(/has version 3/),
    });
    const wait = (waits[later.workflowId] = {
      v: 2,
      decision: unknown.id,
      answer: 'wait',
      requestId: 'w',
      by,
    });
    await expect(later.executeUpdate('decide', { args: [wait] })).rejects.toThrow();
    await later.signal(SIGNALS.decide, { ...wait, requestId: 'x' });
    expect((await asked(later)).id).toBe(unknown.id);
    expect((await kinds(later)).filter((kind) => COMMANDS.test(kind ?? ''))).toEqual([]);
  }

  // The newer worker reads version 3: woken, it goes on as if the older one had never had the run.
  await worker.kill();
  const code = readFileSync(BUNDLE, 'utf8');
  const newer = code.replace(
    'const isKnown = (value) => versionOf(value) === VERSION;',
    'const isKnown = (value) => [2, 3].includes(versionOf(value));',
  );
  expect(newer).not.toBe(code);
  const native = await NativeConnection.connect({ address: s.env.TEMPORAL_ADDRESS! });
  const upgraded = await Worker.create({
    connection: native,
    taskQueue: s.emend.queues.workflow,
    workflowBundle: { code: newer },
    sinks: { archive: { append: { fn: () => undefined } } },
  });
  await upgraded.runUntil(async () => {
    for (const later of laters) {
      await later.signal(SIGNALS.decide, { ...waits[later.workflowId], requestId: 'y' });
      while (!(await kinds(later)).includes('activityTaskScheduledEventAttributes'));
    }
  });
  await native.close();
  for (const later of laters) {
    const events = (await later.fetchHistory()).events ?? [];
    expect(events.filter((event) => event.workflowTaskFailedEventAttributes != null)).toEqual([]);
    await later.terminate();
  }
}, 120_000);
