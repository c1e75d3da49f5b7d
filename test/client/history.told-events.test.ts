import { describe, expect, test } from '@jest/globals';
import type { Payload } from '@temporalio/common';
import { noteClosed, resolveRun } from '../../src/client/runs/resolve.js';
import { runEvents, showRun } from '../../src/client/runs/show.js';
import { eventsIn } from '../../src/client/history.js';
import type { StepEvent } from '../../src/shared/events.js';
import { problem } from '../../src/shared/problems.js';
import { BlobPayloadCodec, asProblem } from '../../src/temporal/payloads.js';
import { memoryBlobs } from '../temporal/support/memory-blobs.js';
import { fakeEmend, FakeServer, refusedResult, startedData } from './fake.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const event = (seq: number, file = 'a.js'): StepEvent => ({
  type: 'edit_chunk_completed',
  file,
  seq,
  at: seq,
});
const payload = (value: unknown): Payload => ({
  data: new TextEncoder().encode(JSON.stringify(value)),
});
const scheduled = (payloads: readonly Payload[]) => ({
  activityTaskScheduledEventAttributes: { input: { payloads } },
});

describe('the events of a run in its history', () => {
  test('come from every activity input, each once, also where the input is a stored payload; what is unreadable is left out', async () => {
    const blobs = memoryBlobs();
    const codec = new BlobPayloadCodec(blobs, asProblem);
    const large = await codec.encode([payload({ log: [event(3, 'x'.repeat(20_000))] })]);
    const history = [
      {},
      { activityTaskScheduledEventAttributes: null },
      scheduled([payload({ log: [event(2), event(1)] })]),
      scheduled([payload({ log: [event(2, 'other')] })]),
      scheduled(large),
      scheduled([payload('no log'), payload({ log: [event(9)] })]),
      scheduled([{ data: new TextEncoder().encode('{') }]),
      scheduled([payload({ log: [{ seq: 'x' }, event(4)] })]),
    ];
    const told = await eventsIn(history, [codec]);
    expect(told.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(told[1]).toEqual(event(2));
  });
});

/** A server, and an archive that has heard this one event of the server's run. */
const heardOf = async (heard: StepEvent) => {
  const server = new FakeServer();
  const emend = await fakeEmend(server);
  const at = '2026-01-01T00:00:00.000Z';
  const data = startedData({});
  await emend.archive.append(KEY, [
    { id: 's', at, kind: 'started', data },
    { id: `event-run-1-${heard.seq}`, at, kind: 'event', data: heard },
  ]);
  return { server, emend };
};

describe('the archive of a run that was cut off', () => {
  test.each([true, false])(
    'gets the events it had not heard; a worker answers: %s',
    async (workers) => {
      const { server, emend } = await heardOf(event(1));
      server.workers = workers;
      const run = server.add(KEY, 'emend-1');
      server.told = [event(1), event(2)];
      server.events = [event(1), event(2), event(3)];
      server.close(run, { status: 'TERMINATED', result: null, message: 'enough' });
      await noteClosed(emend, await resolveRun(emend, KEY));
      // From now on without a server.
      const alone = { ...emend, runs: null };
      const kept = await runEvents(alone, await resolveRun(alone, KEY));
      expect(kept.map(({ seq }) => seq)).toEqual(workers ? [1, 2, 3] : [1, 2]);
      expect((await showRun(alone, await resolveRun(alone, KEY))).status).toMatchObject({
        state: 'aborted',
      });
    },
  );

  test('gets what is missing between events that it has, also of a run with a result', async () => {
    const { server, emend } = await heardOf(event(3));
    server.events = [event(1), event(2), event(3)];
    const result = refusedResult(KEY, problem('aborted', 'enough'));
    server.close(server.add(KEY, 'emend-1'), { status: 'COMPLETED', result, message: null });
    const { events } = await noteClosed(emend, await resolveRun(emend, KEY));
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });
});
