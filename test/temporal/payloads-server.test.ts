/** The codec and the failures on a real server: what is too large for a history neither lands in it nor is paid for twice. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WorkflowFailedError } from '@temporalio/client';
import { DefaultLogger, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { BOUNDS } from '../../src/shared/limits.js';
import { connectClient } from '../../src/temporal/connection.js';
import type { ClientConnection } from '../../src/temporal/connection.js';
import type { DevServer } from '../../src/temporal/dev-server.js';
import { boundFailures } from '../../src/temporal/failures.js';
import { connectWorker } from '../../src/temporal/worker-connection.js';
import type { WorkerConnection } from '../../src/temporal/worker-connection.js';
import { createActivities } from './support/activities.js';
import { memoryBlobs } from './support/memory-blobs.js';
import { bareEnvironment, newHome, startServer } from './support/server.js';

const MiB = 1024 * 1024;
const quiet = new DefaultLogger('ERROR');
const blobs = memoryBlobs();
let place: { home: string; remove: () => Promise<void> };
let server: DevServer;
let client: ClientConnection;
let forWorkers: WorkerConnection;
let bundle: WorkflowBundleWithSourceMap;

beforeAll(async () => {
  Runtime.install({ logger: quiet });
  const workflowsPath = fileURLToPath(new URL('./workflows/index.ts', import.meta.url));
  bundle = await bundleWorkflowCode({ workflowsPath, logger: quiet });
  place = await newHome();
  server = await startServer(place.home, 'memory');
  const options = { env: bareEnvironment(place.home), home: place.home, connect_ms: 10_000, blobs };
  client = await connectClient(options);
  forWorkers = await connectWorker(options);
});
afterAll(async () => {
  await client.close();
  await forWorkers.close();
  await server.stop();
  await place.remove();
});

/** Runs one workflow to its end on a worker of its own. */
const execute = async (workflow: string, args: unknown[]) => {
  const { runs, activities } = createActivities();
  const { connection, dataConverter, namespace } = forWorkers;
  const taskQueue = `t-${randomUUID()}`;
  const interceptors = { activity: [boundFailures] };
  const worker = await Worker.create({
    connection,
    dataConverter,
    namespace,
    taskQueue,
    workflowBundle: bundle,
    activities,
    interceptors,
  });
  const handle = await client.client.workflow.start(workflow, { taskQueue, workflowId: taskQueue, args });
  const outcome = await worker.runUntil(
    handle.result().then(
      (value: unknown) => ({ value, error: null }),
      (error: unknown) => ({ value: null, error }),
    ),
  );
  const { historySize } = await handle.describe();
  return { runs, ...outcome, history_bytes: historySize ?? Number.NaN };
};

describe('payloads on a real server', () => {
  test('a result of 3 MiB: the activity runs once, the next one gets it whole, the history stays small', async () => {
    const { runs, value, history_bytes } = await execute('largeText', [3 * MiB]);
    expect(value).toBe(3 * MiB);
    expect(runs).toMatchObject({ makeText: 1, textLength: 1 });
    expect(history_bytes).toBeLessThan(8 * 1024);
  });

  test('a result over the maximum fails once, without retry, and says why', async () => {
    const { runs, error } = await execute('largeText', [BOUNDS.maxPayload_bytes + 1]);
    expect(runs.makeText).toBe(1);
    expect((error as WorkflowFailedError).cause).toMatchObject({
      cause: { type: 'limit_reached', nonRetryable: true },
    });
  });

  test('a store that fails while a result is kept: once, without retry', async () => {
    blobs.failing = new Error('ENOSPC: no space left on device');
    try {
      const { runs, error } = await execute('largeText', [BOUNDS.inlinePayload_bytes + 1]);
      expect(runs.makeText).toBe(1);
      expect((error as WorkflowFailedError).cause).toMatchObject({ cause: { type: 'disk', nonRetryable: true } });
    } finally {
      blobs.failing = null;
    }
  });

  test('a failure of 3 MB reaches the workflow cut, and the worker goes on', async () => {
    const { runs, error, history_bytes } = await execute('failing', []);
    expect(error).toBeInstanceOf(WorkflowFailedError);
    expect(runs.failWith).toBe(1);
    expect(history_bytes).toBeLessThan(16 * 1024);
    expect((await execute('largeText', [1])).value).toBe(1);
  });

  test('a client that cannot store its input is told so, and nothing is started', async () => {
    blobs.failing = new Error('ENOSPC');
    const id = randomUUID();
    const starting = client.client.workflow.start('largeText', {
      taskQueue: id,
      workflowId: id,
      args: ['x'.repeat(20_000)],
    });
    await expect(starting.finally(() => (blobs.failing = null))).rejects.toMatchObject({ problem: { code: 'disk' } });
    await expect(client.client.workflow.getHandle(id).describe()).rejects.toThrow(/not found/i);
  });
});
