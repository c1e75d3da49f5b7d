/** The codec and the failures on a real server: what is too large for a history neither lands in it nor is paid for twice. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, WorkflowFailedError } from '@temporalio/client';
import {
  DefaultLogger,
  Runtime,
  Worker,
  bundleWorkflowCode,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { createTemporalGateway } from '../../src/client/gateway.js';
import { BOUNDS } from '../../src/shared/limits.js';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import type { DevServer } from '../../src/temporal/dev-server.js';
import { boundFailures } from '../../src/temporal/failures.js';
import { connectWorker, type WorkerConnection } from '../../src/worker/run-workers.js';
import { longOnly } from '../support/skipped.js';
import { createActivities } from './support/activities.js';
import { memoryBlobs } from './support/memory-blobs.js';
import { bareEnvironment, newHome, startServer } from './support/server.js';
import { asFailure, withBlobs } from '../../src/temporal/payloads.js';

const MiB = 1024 * 1024;
const quiet = new DefaultLogger('ERROR');
const blobs = memoryBlobs();
let place: { home: string; remove: () => Promise<void> };
let server: DevServer;
let client: ClientConnection;
let forWorkers: WorkerConnection;
let bundle: WorkflowBundleWithSourceMap;

const options = () => ({
  env: bareEnvironment(place.home),
  home: place.home,
  connect_ms: 10_000,
  blobs,
});
const connect = (): Promise<ClientConnection> => connectClient(options());

beforeAll(async () => {
  Runtime.install({ logger: quiet });
  const workflowsPath = fileURLToPath(new URL('./workflows/index.ts', import.meta.url));
  bundle = await bundleWorkflowCode({ workflowsPath, logger: quiet });
  place = await newHome();
  server = await startServer(place.home, 'memory');
  client = await connect();
  forWorkers = await connectWorker(options());
});
afterAll(async () => {
  await client.close();
  await forWorkers.close();
  await server.stop();
  await place.remove();
});

const workerOn = (taskQueue: string, { activities } = createActivities()): Promise<Worker> => {
  const { connection, namespace } = forWorkers;
  const dataConverter = withBlobs(blobs, asFailure);
  const interceptors = { activity: [boundFailures] };
  const workflowBundle = bundle;
  return Worker.create({
    connection,
    dataConverter,
    namespace,
    taskQueue,
    workflowBundle,
    activities,
    interceptors,
  });
};

/** Runs one workflow to its end on a worker of its own. */
const execute = async (workflow: string, args: unknown[]) => {
  const counting = createActivities();
  const { runs } = counting;
  const taskQueue = `t-${randomUUID()}`;
  const worker = await workerOn(taskQueue, counting);
  const handle = await client.client.workflow.start(workflow, {
    taskQueue,
    workflowId: taskQueue,
    args,
  });
  const outcome = await worker.runUntil(
    handle.result().then(
      (value: unknown) => ({ value, error: null }),
      (error: unknown) => ({ value: null, error }),
    ),
  );
  const { historySize } = await handle.describe();
  return { runs, ...outcome, workflowId: taskQueue, history_bytes: historySize ?? Number.NaN };
};

const LEFT_OUT = ['details: (details omitted: too large)'];
const long = longOnly('the server waits ten seconds before it tries a failed task a second time');

describe('payloads on a real server', () => {
  test('a result of 3 MiB: the activity runs once, the next one gets it whole, the history stays small', async () => {
    const { runs, value, history_bytes, workflowId } = await execute('largeText', [3 * MiB]);
    expect(value).toBe(3 * MiB);
    // As `emend gc` reads it, which removes what no history names.
    const gateway = createTemporalGateway(client.client, client.connection, client.namespace);
    expect(await gateway.historyText({ workflowId, runId: null })).toMatch(/sha256:[0-9a-f]{64}/);
    expect(runs).toMatchObject({ makeText: 1, textLength: 1 });
    expect(history_bytes).toBeLessThan(8 * 1024);
  });

  // The SDK tried it again from a timer, whose error ended the process: `emend worker` too, ended right after it was ready.
  test('a call that is open while its connection is closed is cancelled, and one begun later too', async () => {
    const other = await connect();
    const taskQueue = `t-${randomUUID()}`;
    const handle = await other.client.workflow.start('paused', {
      taskQueue,
      workflowId: taskQueue,
    });
    const ended = handle.result();
    await Promise.all([other.close(), expect(ended).rejects.toMatchObject({ cause: { code: 1 } })]);
    await expect(handle.describe()).rejects.toMatchObject({ cause: { code: 1 } });
  });

  // `emend run` looked on while a server started again, and ended with a stack.
  test('a server that does not know the namespace, as it may for a moment after its start, counts as away', async () => {
    const { connection } = client;
    const gateway = createTemporalGateway(
      new Client({ connection, namespace: 'later' }),
      connection,
      'later',
    );
    const described = gateway.describe({ workflowId: 'any', runId: null });
    await expect(described).rejects.toMatchObject({ problem: { code: 'no_server' } });
  });

  test('a result over the maximum fails once, without retry, and says why', async () => {
    const { runs, error } = await execute('largeText', [BOUNDS.payload_bytes + 1]);
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
      expect((error as WorkflowFailedError).cause).toMatchObject({
        cause: { type: 'disk', nonRetryable: true },
      });
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
    await expect(starting.finally(() => (blobs.failing = null))).rejects.toMatchObject({
      problem: { code: 'disk' },
    });
    await expect(client.client.workflow.getHandle(id).describe()).rejects.toThrow(/not found/i);
  });

  // A JSON string has two bytes more than its letters, and a list of it, as failure details are, two more.
  test.each([
    ['at the limit of failure details', BOUNDS.inlinePayload_bytes - 4, 0, []],
    ['at the limit of what goes inline', BOUNDS.inlinePayload_bytes - 2, 0, LEFT_OUT],
    ['one byte over', BOUNDS.inlinePayload_bytes - 1, 1, LEFT_OUT],
    ['a note of the largest size', BOUNDS.note_bytes, 1, LEFT_OUT],
  ])('every way of a value, %s', async (_name, letters, stored, different) => {
    const text = randomUUID().padEnd(letters, 'x');
    const before = blobs.kept.size;
    const id = `t-${randomUUID()}`;
    const worker = await workerOn(id);
    const start = { taskQueue: id, workflowId: id, args: [text], memo: { text } };
    const handle = await client.client.workflow.start('everyWay', start);
    const came = await worker.runUntil(async () => {
      await handle.signal('say', text);
      expect(await handle.executeUpdate('put', { args: [text] })).toBe(text);
      expect(await handle.query('get', text)).toBe(text);
      expect((await handle.describe()).memo).toEqual({ text });
      return handle.result() as Promise<string[]>;
    });
    expect(came).toEqual(different);
    expect(blobs.kept.size - before).toBe(stored);
    const { historySize } = await handle.describe();
    // Over the limit the history has references only.
    if (stored > 0) expect(historySize).toBeLessThan(BOUNDS.inlinePayload_bytes);
    else expect(historySize).toBeGreaterThan(5 * BOUNDS.inlinePayload_bytes);
  });

  test.each([
    ['small', 10],
    ['over what goes inline', 200],
    ['over what the server takes', 40_000],
  ])(
    'an answer to a query, %s: it comes whole, and reading left nothing in the store',
    async (_name, count) => {
      const id = `t-${randomUUID()}`;
      const worker = await workerOn(id);
      const handle = await client.client.workflow.start('asked', {
        taskQueue: id,
        workflowId: id,
        args: [],
      });
      const before = blobs.kept.size;
      const answers = await worker.runUntil(async () => [
        await handle.query<string[], [number]>('rows', count),
        await handle.query<string[], [number]>('rows', count),
      ]);
      await handle.terminate();
      for (const answer of answers) {
        expect(answer).toHaveLength(count);
        expect(answer.at(-1)).toBe(String(count - 1).padEnd(100, 'row'));
      }
      expect(blobs.kept.size).toBe(before);
    },
  );

  long(
    'a value of a workflow whose blob is gone: its task says so in the history, and goes on when the blob is back',
    async () => {
      const text = 'y'.repeat(BOUNDS.note_bytes);
      const id = `t-${randomUUID()}`;
      const before = new Set(blobs.kept.keys());
      const handle = await client.client.workflow.start('largeText', {
        taskQueue: id,
        workflowId: id,
        args: [1, text],
      });
      const [ref] = [...blobs.kept.keys()].filter((each) => !before.has(each));
      const bytes = blobs.kept.get(ref!)!;
      blobs.kept.delete(ref!);
      const worker = await workerOn(id);
      const value = await worker.runUntil(async (): Promise<unknown> => {
        for (;;) {
          const { events } = await handle.fetchHistory();
          const failed = (events ?? []).flatMap(
            (event) => event.workflowTaskFailedEventAttributes ?? [],
          );
          const said = failed.map(({ failure }) => failure?.message ?? '');
          if (said.length > 0) {
            expect(said[0]).toContain(`${ref} is not there`);
            break;
          }
          await new Promise((go) => setTimeout(go, 100));
        }
        blobs.kept.set(ref!, bytes);
        return handle.result() as Promise<unknown>;
      });
      expect(value).toBe(1);
    },
    60_000,
  );
});
