import { getEventListeners } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { expect, test } from '@jest/globals';
import { createTemporalGateway } from '../../src/client/gateway.js';
import { followHistory } from '../../src/client/history.js';
import { problemOf } from './fake.js';

/** Like the SDK's connection: each request puts a listener on the signal of its scope, and leaves it there. */
const connectionWith = (
  pages: number,
  seen: AbortSignal[],
  events: readonly object[] = [],
): Connection => {
  let scope: AbortSignal | null = null;
  let page = 0;
  let limited = false;
  const connection = {
    // A call that is lost on the way, with its connection alive, would never end without one.
    withDeadline: (deadline: number, call: () => Promise<unknown>) => {
      expect(deadline - Date.now()).toBeGreaterThan(60_000);
      limited = true;
      return call();
    },
    withAbortSignal: async (signal: AbortSignal, call: () => Promise<unknown>) => {
      scope = signal;
      return call();
    },
    workflowService: {
      getWorkflowExecutionHistory: async () => {
        expect(limited).toBe(true);
        limited = false;
        const signal = scope!;
        seen.push(signal);
        const cancelled = new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('cancelled'));
          });
        });
        page += 1;
        if (page > pages) return cancelled;
        cancelled.catch(() => undefined);
        return {
          history: { events: [{ eventId: page, eventType: 7, ...events[page - 1] }] },
          nextPageToken: new Uint8Array([1]),
        };
      },
    },
  };
  return connection as unknown as Connection;
};

const WATCHED = { namespace: 'default', workflowId: 'w', runId: 'r' };

test('a run that is watched through many changes leaves no listeners on the signal, which still ends the request under way', async () => {
  const stop = new AbortController();
  const seen: AbortSignal[] = [];
  const listeners: number[] = [];
  const connection = connectionWith(30, seen);
  const following = followHistory(
    connection,
    WATCHED,
    { after: 0, signal: stop.signal, codecs: [] },
    async () => {
      listeners.push(getEventListeners(stop.signal, 'abort').length);
      if (listeners.length === 30) setImmediate(() => setImmediate(() => stop.abort()));
    },
  );
  await following;
  expect(seen).toHaveLength(31);
  expect(listeners).toEqual(Array(30).fill(0));
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
});

const json = (value: unknown) => ({ data: new TextEncoder().encode(JSON.stringify(value)) });
const marked = (EmendState: unknown) => ({
  eventType: 40,
  upsertWorkflowSearchAttributesEventAttributes: {
    searchAttributes: { indexedFields: { EmendState: json(EmendState) } },
  },
});
const remembered = (waits: unknown) => ({
  eventType: 46,
  workflowPropertiesModifiedEventAttributes: { upsertedMemo: { fields: { waits: json(waits) } } },
});
const scheduled = (name: string, ...seqs: readonly number[]) => ({
  eventType: 10,
  activityTaskScheduledEventAttributes: {
    activityType: { name },
    input: { payloads: [json({ log: seqs.map((seq) => ({ ...EVENT, seq })) })] },
  },
});
const EVENT = { at: 1, type: 'edit_chunk_completed', file: 'a.js' };

test('only what can change a state is told, with the events since the last news; an end and a pause by name', async () => {
  const stop = new AbortController();
  const told: string[] = [];
  // One page each: the news come with the page that holds their event.
  const history = [
    scheduled('preflight', 1, 2), // told with what comes next
    { eventType: 7 },
    marked(['waiting']),
    marked([]), // the pause is over: its task tells that
    remembered({ reason: 'approval', decision: '1-x' }),
    remembered(null),
    scheduled('proposeEdit', 3),
    { eventType: 17 },
    { eventType: 29 },
    { eventType: 2 },
  ];
  const following = followHistory(
    connectionWith(history.length, [], history),
    WATCHED,
    { after: 0, signal: stop.signal, codecs: [] },
    async ({ kind, events, activity }) => {
      told.push([kind, ...events.map(({ seq }) => seq), activity ?? '-'].join(' '));
      if (kind === 'end') setImmediate(() => setImmediate(() => stop.abort()));
    },
  );
  await following;
  expect(told).toEqual([
    'change 1 2 preflight',
    'pause -',
    'pause -',
    'pause 3 proposeEdit',
    'pause -',
    'end -',
  ]);
});

test('whoever is told may fail: the follow ends with that error, though the server has no news', async () => {
  const following = followHistory(
    connectionWith(1, []),
    WATCHED,
    { after: 0, signal: new AbortController().signal, codecs: [] },
    () => Promise.reject(new Error('no more')),
  );
  await expect(following).rejects.toThrow('no more');
});

test('a server that refuses calls is not waited for: its words are told, by whatever asks', async () => {
  const server = createServer();
  server.on('stream', (stream) => {
    const said = { 'grpc-status': '16', 'grpc-message': 'the key is over' };
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', ...said },
      { endStream: true },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connection = Connection.lazy({
    address: `127.0.0.1:${port}`,
    channelArgs: { 'grpc.enable_http_proxy': 0 },
  });
  try {
    const gateway = createTemporalGateway(new Client({ connection }), connection, 'default');
    const request = {
      v: 2,
      decision: 'd',
      answer: 'skip',
      requestId: 'r',
      by: { name: 'kim', from: 'cli' },
    } as const;
    for (const ask of [
      () => gateway.describe(WATCHED),
      () => gateway.query(WATCHED, 'status', [], 1_000),
      () => gateway.update(WATCHED, request, 1_000),
      () => gateway.follow(WATCHED, 0, new AbortController().signal, () => Promise.resolve()),
    ])
      expect(await problemOf(ask)).toMatchObject({
        code: 'no_server',
        message: expect.stringMatching(/refuses calls: .*the key is over/),
        next: expect.stringContaining('TEMPORAL_API_KEY'),
      });
  } finally {
    await connection.close();
    server.close();
  }
});
