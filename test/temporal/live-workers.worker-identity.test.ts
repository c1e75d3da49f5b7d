import { expect, test } from '@jest/globals';
import type { ConnectionLike } from '@temporalio/client';
import {
  HOST_SILENT_MS,
  ofOtherStores,
  partsOf,
  pollingOf,
  workerIdentity,
  workersOf,
  type SeenWorker,
} from '../../src/temporal/live-workers.js';

const HOST = '3f2a90c1'.padEnd(32, '0');

test('workers of another store are told apart; those that do not say are not accused', () => {
  const [ours, theirs] = ['a'.repeat(32), 'b'.repeat(32)].map((store) =>
    workerIdentity(store, HOST, {
      name: 'build-2, rack 7',
      boot: '0be1d2f4',
      build: '0.1.0+1a2b3c4d',
    }),
  ) as [string, string];
  expect(ours).toBe(
    `${process.pid}@build-2, rack 7, 0.1.0+1a2b3c4d, host 3f2a90c1.0be1d2f4, store aaaaaaaa`,
  );
  expect(ofOtherStores([ours, theirs, '12@host', ''], 'a'.repeat(32))).toEqual([theirs]);
});

test('a worker that said that it ends has ended, though its last poll arrives after that; one that polls later has begun anew', async () => {
  const ended_s = Math.floor(Date.now() / 1000) - 7;
  const at = (seconds: number, nanos = 0) => ({ seconds, nanos });
  const workerHeartbeat = {
    taskQueue: 'emend-host',
    workerIdentity: '1@alpha',
    status: 3,
    heartbeatTime: at(ended_s),
  };
  const seenWith = async (polled_s: number) => {
    const workflowService = {
      listWorkers: async () => ({
        workers: [{}],
        workersInfo: [{ workerHeartbeat }],
        nextPageToken: new Uint8Array(),
      }),
      describeTaskQueue: async () => ({
        pollers: [{ identity: '1@alpha', lastAccessTime: at(polled_s, 5e8) }],
      }),
    };
    const connection = { workflowService } as unknown as ConnectionLike;
    const { workers } = await workersOf({ connection, namespace: 'n' }, 'emend', ['emend-host']);
    return workers.map(({ is }) => is);
  };
  expect(await seenWith(ended_s - 30)).toEqual(['ended']);
  expect(await seenWith(ended_s + 1)).toEqual(['ended']);
  expect(await seenWith(ended_s + 6)).toEqual(['live']);
});

/** A server with one live worker, and hosts that nobody serves. */
const hostsWithoutWorker = (workerHeartbeats: boolean) => {
  const calls: Record<string, number> = {};
  const counted =
    <T>(name: string, answer: T) =>
    async () => {
      calls[name] = (calls[name] ?? 0) + 1;
      return answer;
    };
  const heartbeatTime = { seconds: Math.floor(Date.now() / 1000), nanos: 0 };
  const beat = { taskQueue: 'emend', workerIdentity: '1@a', status: 1, heartbeatTime };
  const workflowService = {
    listWorkers: counted('listWorkers', {
      workers: workerHeartbeats ? [{ taskQueue: 'emend' }] : [],
      workersInfo: workerHeartbeats ? [{ workerHeartbeat: beat }] : [],
      nextPageToken: new Uint8Array(),
    }),
    describeTaskQueue: counted('describeTaskQueue', { pollers: [] }),
    describeNamespace: counted('describeNamespace', {
      namespaceInfo: { capabilities: { workerHeartbeats } },
    }),
  };
  const connection = { workflowService } as unknown as ConnectionLike;
  return { calls, server: { connection, namespace: 'n' } };
};
const HOST_QUEUES = Array.from({ length: 1_000 }, (_, n) => `emend-host-${n}`);

test('1,000 hosts that open runs need and nobody serves cost a list and the polls of four', async () => {
  const { calls, server } = hostsWithoutWorker(true);
  const { workers, unasked } = await workersOf(server, 'emend', ['emend', ...HOST_QUEUES]);
  expect(workers.map(({ queue, is }) => `${queue} ${is}`)).toEqual(['emend live']);
  expect(unasked).toEqual([]);
  expect(calls).toEqual({ listWorkers: 1, describeTaskQueue: 4 });
});

test('a server that takes no beats is asked for the polls of 100 queues, and of the others nothing is said', async () => {
  const { calls, server } = hostsWithoutWorker(false);
  const { unasked } = await workersOf(server, 'emend', ['emend'], { others: HOST_QUEUES });
  expect(unasked).toEqual(HOST_QUEUES.slice(99));
  // The queue of workflows has polls of workflows and of activities.
  expect(calls).toEqual({ listWorkers: 1, describeNamespace: 1, describeTaskQueue: 101 });
});

test('who may still work: whoever lives, or is silent for less than a minute; not who said that it ends, nor this boot', () => {
  const now = 1_000_000;
  const worker = (boot: string | null, is: SeenWorker['is'], ago_ms: number): SeenWorker => ({
    said: `${String(boot)} ${is} ${ago_ms}`,
    host: '3f2a90c1',
    boot,
    store: 'aaaaaaaa',
    build: null,
    versioned: false,
    seen_ms: now - ago_ms,
    is,
    queue: 'emend',
  });
  const seen = [
    worker('b1', 'live', 0),
    worker('b1', 'silent', HOST_SILENT_MS - 1),
    worker('b1', 'silent', HOST_SILENT_MS),
    worker('b1', 'ended', 0),
    // Its clock is behind, or was a year ahead.
    worker('b2', 'live', 10 * HOST_SILENT_MS),
    worker('b2', 'silent', -365 * 86_400_000),
    worker(null, 'live', 0),
  ];
  const names = (found: readonly SeenWorker[]) => found.map(({ said }) => said);
  expect(names(pollingOf(seen, 'b0', now))).toEqual([
    'b1 live 0',
    'b1 silent 59999',
    'b2 live 600000',
  ]);
  expect(names(pollingOf(seen, 'b1', now))).toEqual(['b2 live 600000']);
  // Whoever takes a host's place fears all of them.
  expect(names(pollingOf(seen, undefined, now))).toEqual([
    ...['b1 live 0', 'b1 silent 59999', 'b2 live 600000', 'null live 0'],
  ]);
});

test('a worker says which build it runs; one that does not is not guessed at', () => {
  const start = { name: 'a', boot: '0be1d2f4', build: '0.1.0+1a2b3c4d' };
  const ours = [false, true].map((versioned) =>
    partsOf(workerIdentity('a'.repeat(32), HOST, start, versioned)),
  );
  expect(ours.map(({ build, versioned }) => [build, versioned])).toEqual([
    ['0.1.0+1a2b3c4d', false],
    ['0.1.0+1a2b3c4d', true],
  ]);
  expect(['12@host', '12@host, store aaaaaaaa', ''].map((name) => partsOf(name).build)).toEqual([
    null,
    null,
    null,
  ]);
});
