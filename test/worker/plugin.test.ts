/** What a worker of another team is refused for, before anything of its home is touched. test/e2e/examples.test.ts runs one. */
import { expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { queuesFor, workflowQueues } from '../../src/shared/names.js';
import { createActivities, EmendPlugin } from '../../src/worker/index.js';
import { withOwnSinks } from '../../src/worker/temporal-options.js';

const client = new Client({ connection: Connection.lazy(), namespace: 'shop' });
const connection = {} as NativeConnection;
const refusal = (message: RegExp) => ({
  problem: { code: 'usage', message: expect.stringMatching(message) },
});

test('a plugin refuses a worker without a connection, and one of another namespace than the client', async () => {
  const plugin = new EmendPlugin({ client });
  await expect(plugin.configureWorker({ taskQueue: 'release' })).rejects.toMatchObject(
    refusal(/has no connection/),
  );
  await expect(plugin.configureWorker({ taskQueue: 'release', connection })).rejects.toMatchObject(
    refusal(/namespace "default", but the client is of "shop"/),
  );
});

test('createActivities refuses one queue for all roles, as it makes a part for each', async () => {
  await expect(
    createActivities({ env: { EMEND_ONE_QUEUE: '1' }, connection }),
  ).rejects.toMatchObject(refusal(/EMEND_ONE_QUEUE/));
});

test("a sink of a program with the name of Emend's own is refused, others are kept", () => {
  const sink = { append: { fn: () => undefined } };
  expect(Object.keys(withOwnSinks({ archive: sink }, { spoken: sink }))).toEqual([
    'spoken',
    'archive',
  ]);
  expect(() => withOwnSinks({ archive: sink }, { archive: sink })).toThrow(/"archive"/);
});

test('EMEND_ONE_QUEUE gives all roles the queue of the host, and its workers also serve the queue that EMEND_QUEUE names', () => {
  const host = 'a'.repeat(32);
  const queues = queuesFor({ EMEND_QUEUE: 'release', EMEND_ONE_QUEUE: '1' }, host);
  const queue = `release-host-${host}`;
  expect(queues).toEqual({ workflow: queue, model: queue, host: queue });
  expect(workflowQueues(queues)).toEqual([queue, 'release']);
  expect(queuesFor({ EMEND_QUEUE: 'release', EMEND_ONE_QUEUE: '0' }, host).workflow).toBe(
    'release',
  );
});
