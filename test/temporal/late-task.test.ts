/**
 * A task that reaches its worker late: the server gave it out, heard nothing, and another attempt did the work. On a real server, whose
 * answers a proxy holds back.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Context } from '@temporalio/activity';
import { NativeConnection, Worker } from '@temporalio/worker';
import { activity } from '../../src/activities/frame/activity.js';
import { createEditRunner } from '../../src/activities/frame/edit-worker.js';
import type { ActivityPorts } from '../../src/activities/frame/ports.js';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import type { DevServer } from '../../src/temporal/dev-server.js';
import { resolveTimings } from '../../src/temporal/settings.js';
import { cutProxy } from '../support/cut-proxy.js';
import { bareEnvironment, newHome, startServer } from './support/server.js';

const QUEUE = 'late-task';
/** PENDING_ACTIVITY_STATE_STARTED */
const STARTED = 2;
let place: { home: string; remove: () => Promise<void> };
let server: DevServer;
let client: ClientConnection;
beforeAll(async () => {
  place = await newHome();
  server = await startServer(place.home, 'memory');
  client = await connectClient({
    env: bareEnvironment(place.home),
    home: place.home,
    connect_ms: 10_000,
  });
}, 60_000);
afterAll(async () => {
  await client.close();
  await server.stop();
  await place.remove();
});

test('the work of an attempt that the server gave up before it arrived is not begun', async () => {
  const done: string[] = [];
  const refusals: string[] = [];
  const quiet = (): Promise<void> => Promise.resolve();
  const ports = {
    timings: resolveTimings({}),
    checkHome: quiet,
    archive: { append: quiet },
    clock: { time_ms: () => Date.now() },
    edits: createEditRunner(),
    logger: {},
  } as unknown as ActivityPorts;
  const workerOf = async (name: string, address: string, more: object): Promise<Worker> => {
    const connection = await NativeConnection.connect({ address });
    const work = () => {
      done.push(`${name} ${Context.current().info.attempt}`);
      return Promise.resolve({ attempt: Context.current().info.attempt });
    };
    const attempt = activity('markPhase', ports, work);
    const late = async (input: Parameters<typeof attempt>[0]) => {
      try {
        return await attempt(input);
      } catch (error) {
        refusals.push(String(error));
        throw error;
      }
    };
    return Worker.create({ connection, taskQueue: QUEUE, activities: { late }, ...more });
  };
  const proxy = await cutProxy(server.address);
  const workflowsPath = fileURLToPath(new URL('./workflows/index.ts', import.meta.url));
  const flows = await workerOf('none', server.address, { workflowsPath, activities: {} });
  const slow = await workerOf('slow', proxy.address, {
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 2 },
  });
  const running = [flows.run(), slow.run()];
  // Its poll is with the server.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  proxy.holdAnswers();
  const run = await client.client.workflow.start('oneOfTwo', {
    taskQueue: QUEUE,
    workflowId: QUEUE,
  });
  const pending = async () => (await run.describe()).raw.pendingActivities?.[0];
  for (let at = await pending(); Number(at?.state) !== STARTED; at = await pending())
    await new Promise((r) => setTimeout(r, 100));
  const quick = await workerOf('quick', server.address, {});
  running.push(quick.run());
  // Each poll that is held was given an attempt.
  const taken = [`quick ${(await run.result()) as number}`];
  expect(done).toEqual(taken);
  proxy.letGo();
  const late = () => done.length + refusals.length;
  for (let tries = 0; late() < 2 && tries < 100; tries++)
    await new Promise((r) => setTimeout(r, 100));
  for (const each of [flows, slow, quick]) each.shutdown();
  await Promise.all(running);
  proxy.close();
  expect(done).toEqual(taken);
  // Of one held poll, or of both.
  expect(refusals).not.toEqual([]);
  for (const refusal of refusals) expect(refusal).toContain('another attempt');
}, 60_000);
