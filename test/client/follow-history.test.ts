import { getEventListeners } from 'node:events';
import type { Connection } from '@temporalio/client';
import { expect, test } from '@jest/globals';
import { followHistory } from '../../src/client/follow-history.js';

/** Like the SDK's connection: each request puts a listener on the signal of its scope, and leaves it there. */
const connectionWith = (pages: number, seen: AbortSignal[]): Connection => {
  let scope: AbortSignal | null = null;
  let page = 0;
  const connection = {
    withAbortSignal: async (signal: AbortSignal, call: () => Promise<unknown>) => {
      scope = signal;
      return call();
    },
    workflowService: {
      getWorkflowExecutionHistory: async () => {
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
        return { history: { events: [{ eventId: page, eventType: 7 }] }, nextPageToken: new Uint8Array([1]) };
      },
    },
  };
  return connection as unknown as Connection;
};

test('a run that is watched through many changes leaves no listeners on the signal, which still ends the request under way', async () => {
  const stop = new AbortController();
  const seen: AbortSignal[] = [];
  const listeners: number[] = [];
  const connection = connectionWith(30, seen);
  const following = followHistory(connection, 'default', { workflowId: 'w', runId: 'r' }, 0, stop.signal, async () => {
    listeners.push(getEventListeners(stop.signal, 'abort').length);
    if (listeners.length === 30) setImmediate(() => setImmediate(() => stop.abort()));
  });
  await following;
  expect(seen).toHaveLength(31);
  expect(listeners).toEqual(Array(30).fill(0));
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
});
