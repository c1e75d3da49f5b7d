/**
 * ◆ Values of another version that come through a server or out of a store: each is refused with what to do, nothing is lost, and after
 * the upgrade (a worker that reads them, or the value taken away) the run goes on. The stores' readers are in test/versions/readers.test.ts.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { WORKFLOWS } from '../../src/shared/names.js';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import { buildWorker, commandWorker, endBuildWorkers, readingVersion3, variant } from './builds.js';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await endBuildWorkers();
  await open?.close();
  open = null;
});

const FILES = { 'a.js': 'module.exports = 1;\n' };
const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'module.exports = 2;\n' }) },
];
const JOB = '---\ntarget_files: [a.js]\ncommit: true\n---\n# Grow\n\nGrow.\n';
const connected = async <T>(
  s: Scene,
  use: (client: ClientConnection['client']) => Promise<T>,
): Promise<T> => {
  const connection = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    return await use(connection.client);
  } finally {
    await connection.close();
  }
};

test('a record, an answer, an activity’s result and a run’s input of another version', async () => {
  const s = (open = await scene(FILES, RULES, { env: OWN_STORE }));

  // A record that another version left: read by preflight.
  const run = await s.start('job.md', JOB);
  const record = join(s.store, 'records/steps', run.stepKey, 'preflight-1.json');
  mkdirSync(dirname(record), { recursive: true });
  writeFileSync(record, JSON.stringify({ v: 3, outcome: 'ready', snapshot: { moved: true } }));
  const worker = await buildWorker(s, { later: 'buildProposal' });
  const first = await s.settle(run);
  expect(first.status.decision).toMatchObject({
    reason: 'engine_failed',
    message: expect.stringMatching(
      /preflight-1.json has version 3; this Emend reads version 2.*upgrade worker and client/,
    ),
  });
  rmSync(record);

  // An answer of another client: as an update it is refused, as a signal it does not count, and both say why.
  const ref = { workflowId: first.workflowId!, runId: null };
  const request = {
    decision: first.status.decision!.id,
    answer: 'retry',
    requestId: 'r2',
    by: { name: 'n', from: 'cli' },
  };
  const later = { ...request, v: 4 } as unknown as Parameters<
    NonNullable<typeof s.emend.runs>['update']
  >[1];
  expect(await s.emend.runs!.update(ref, later, 20_000)).toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('upgrade worker and client'),
  });
  await s.emend.runs!.signal(ref, 'answer', later);
  expect((await s.show(run)).status.ignored.at(-1)).toContain('upgrade worker and client');
  await s.emend.runs!.update(
    ref,
    { ...later, v: 2, requestId: 'r1', laterField: { v: 3 } } as never,
    20_000,
  );

  // The result of an activity of another version (build-worker.js makes the first buildProposal's result one): the task fails, not the run.
  const failing = async (): Promise<string> => {
    for (;;) {
      const { note } = await s.show(run);
      if (note?.includes('keeps retrying') === true) return note;
      await sleep(200);
    }
  };
  expect(await failing()).toContain(
    'The result of buildProposal has version 3; this Emend reads version 2.',
  );
  expect(worker.fired()).toBe(true);
  await worker.end();
  await commandWorker(s, variant('reads-3', readingVersion3));
  expect((await s.settle(run, 90)).status.decision?.reason).toBe('approval');
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  expect(s.rehearsal.requests()).toHaveLength(1);

  // A plan of another version hands over the setup of its phase; a client of another version started a run. Nothing was done: both fail at once.
  const failureOf = (name: string, input: unknown): Promise<unknown> =>
    connected(s, async (client) => {
      const handle = await client.workflow.start(WORKFLOWS.editStep, {
        taskQueue: s.emend.queues.workflow,
        workflowId: `${s.emend.queues.workflow}-${name}`,
        args: [input],
      });
      return (await handle.result().catch((error: unknown) => error)) as unknown;
    });
  expect(await failureOf('phase', { v: 1, setup: { everything: 'else' } })).toMatchObject({
    cause: {
      type: 'version_unknown',
      message: expect.stringMatching(
        /The input of the run has version 1.*upgrade worker and client/,
      ) as unknown,
    },
  });
  expect(await failureOf('typed', { v: 1, stepKey: 'f'.repeat(32) })).toMatchObject({
    cause: {
      type: 'InvalidInput',
      message: expect.stringMatching(/`v`: unknown key.*`stepKey`: unknown key/) as unknown,
    },
  });
}, 150_000);
