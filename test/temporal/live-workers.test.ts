/** Who serves a queue, on a real server with real worker processes that are killed, stopped and ended. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { liveWorkers, WORKER_BEAT_MS, workersOf } from '../../src/temporal/live-workers.js';
import { startDevServer, type DevServer } from '../../src/temporal/dev-server.js';
import { newHome, serverOptions } from './support/server.js';

jest.setTimeout(120_000);

const TOLD_MS = 10_000;
let place: Awaited<ReturnType<typeof newHome>>;
const servers: DevServer[] = [];
const children: ChildProcess[] = [];
beforeAll(async () => {
  place = await newHome();
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const server of servers) await server.stop(0);
  await place.remove();
});

/** `flag`: more of the server's configuration. */
const server = async (name: string, flag?: string): Promise<Connection> => {
  const options = await serverOptions(place.home, 'memory');
  const path = join(place.home, `temporal-${name}`);
  await writeFile(path, `#!/bin/sh\nexec '${options.cli.path}' "$@" ${flag ?? ''}\n`, {
    mode: 0o755,
  });
  const home = join(place.home, name);
  const started = await startDevServer({
    ...options,
    home,
    port: 0,
    cli: { ...options.cli, path },
  });
  servers.push(started);
  return Connection.connect({ address: started.address });
};
const worker = async (
  connection: Connection,
  queue: string,
  beat = WORKER_BEAT_MS,
): Promise<ChildProcess> => {
  const script = join(process.cwd(), 'test/support/beating-worker.js');
  const args = [script, connection.options.address, queue, String(beat)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
};

test('at once while it lives, busy or not; within 10 s no more when it was killed, stopped or ended', async () => {
  const connection = await server('beats');
  const live = (queue: string, doubted?: boolean) =>
    liveWorkers({ connection, namespace: 'default', queue }, doubted);
  const ENDS = ['SIGKILL', 'SIGSTOP', 'SIGTERM'] as const;
  const started = await Promise.all(
    [...ENDS, 'busy', 'slow'].map((queue) =>
      worker(connection, queue, queue === 'slow' ? 60_000 : undefined),
    ),
  );
  const all = async (): Promise<string> =>
    (await Promise.all([...ENDS, 'busy', 'slow'].map((queue) => live(queue)))).join();
  // From its first poll on: the first beat comes later.
  expect(await all()).toBe('SIGKILL,SIGSTOP,SIGTERM,busy,slow');
  started[3]?.kill('SIGUSR2');
  // Past what a poll alone would say.
  await sleep(4 * WORKER_BEAT_MS);
  expect(await all()).toBe('SIGKILL,SIGSTOP,SIGTERM,busy,slow');
  expect(await live('busy', true)).toEqual(['busy']);
  expect(await live('none')).toEqual([]);
  // A server allows few lists a second: those of all queues are one.
  const lists = jest.spyOn(connection.workflowService, 'listWorkers');
  const polls = jest.spyOn(connection.workflowService, 'describeTaskQueue');
  const { workers: seen } = await workersOf({ connection, namespace: 'default' }, 'SIG', ENDS);
  // The server lists workers in any order.
  expect(seen.map(({ queue, is }) => `${queue} ${is}`).sort()).toEqual(
    ENDS.map((queue) => `${queue} live`).sort(),
  );
  expect([lists, polls].map(({ mock }) => mock.calls.length)).toEqual([1, 0]);
  lists.mockRestore();
  polls.mockRestore();
  ENDS.forEach((signal, index) => started[index]?.kill(signal));
  // Who is doubted is known sooner.
  expect(await Promise.all([live('SIGKILL', true), live('SIGSTOP', true)])).toEqual([[], []]);
  const end = performance.now() + TOLD_MS;
  while ((await all()) !== ',,,busy,slow') expect(performance.now()).toBeLessThan(end);
  // Whoever looks again waits for no beat a second time.
  const last = new Map<string, number>();
  const look = () => liveWorkers({ connection, namespace: 'default', queue: 'SIGKILL', last });
  expect(await look()).toEqual([]);
  const began = performance.now();
  expect(await look()).toEqual([]);
  expect(performance.now() - began).toBeLessThan(2_000);
  // A machine that slept: while we wait for its beat it comes.
  const again = live('SIGSTOP');
  started[1]?.kill('SIGCONT');
  expect(await again).toEqual(['SIGSTOP']);
  await connection.close();
});

test('a server that takes no beats: whoever polls is taken to live', async () => {
  const connection = await server(
    'none',
    '--dynamic-config-value frontend.WorkerHeartbeatsEnabled=false',
  );
  const live = (doubted?: boolean) =>
    liveWorkers({ connection, namespace: 'default', queue: 'old' }, doubted);
  expect(await live()).toEqual([]);
  await worker(connection, 'old');
  await sleep(3 * WORKER_BEAT_MS);
  expect([await live(), await live(true)]).toEqual([['old'], ['old']]);
  await connection.close();
});
