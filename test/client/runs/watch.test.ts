import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { archivedRun } from '../../../src/client/archive/run.js';
import { resolveRun } from '../../../src/client/runs/resolve.js';
import { runEvents } from '../../../src/client/runs/show.js';
import { waitForRun, watchRun } from '../../../src/client/runs/watch.js';
import type { StepResult } from '../../../src/shared/run.js';
import { eventEntries } from '../../../src/stores/ports.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { fakeEmend, FakeServer } from '../fake.js';

const KEY = 'abcd1234'.padEnd(32, '0');
const RESULT: StepResult = {
  v: 2,
  stepKey: KEY,
  outcome: 'applied',
  files: ['a'],
  skipped: [],
  pausedFor_ms: 0,
  wasSplit: false,
  usage: NO_USAGE,
  commit: null,
  proposalId: null,
  verification: null,
  problem: null,
};

const watched = async () => {
  const server = new FakeServer();
  const run = server.add(KEY, 'emend-1');
  const emend = await fakeEmend(server);
  return { server, run, emend, resolved: await resolveRun(emend, KEY) };
};

describe('watching a run', () => {
  test('one status query per change, told only where something is new; how it ended is kept', async () => {
    const { server, run, emend, resolved } = await watched();
    const seen: string[] = [];
    server.news = [
      () => undefined,
      () => (run.status = { ...run.status, doing: 'file 1/2: a' }),
      () => {
        run.status = { ...run.status, state: 'done', doing: 'applied', result: RESULT };
        server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
      },
    ];
    const closed = await watchRun(emend, resolved, ({ status }) => {
      seen.push(status.doing);
      return undefined;
    });
    expect(seen).toEqual(['reading the files', 'file 1/2: a', 'applied']);
    expect(server.queries).toEqual(['status', 'status', 'status', 'status']);
    expect(closed).toEqual({ status: 'COMPLETED', result: RESULT, message: null });
    expect(archivedRun(KEY, await emend.archive.read(KEY)).closed).toEqual(closed);
  });

  test('a run whose archive has its last word is asked nothing once it has ended: its worker would replay it', async () => {
    const { server, run, emend, resolved } = await watched();
    const { runId, workflowId } = run.described;
    const event = { seq: 1, at: 1, type: 'step_finished' as const, outcome: 'applied' };
    server.news = [
      () => {
        server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
      },
    ];
    const data = { workflowId, runId, namespace: 'default' };
    await emend.archive.append(KEY, [
      { id: 'started', at: new Date(0).toISOString(), kind: 'started', data },
      ...eventEntries([event], runId),
    ]);
    const seen: string[] = [];
    await watchRun(emend, resolved, ({ source, status: { doing, lastSeq } }) => {
      seen.push(`${source}: ${doing}, ${lastSeq}`);
      return undefined;
    });
    expect(seen).toEqual(['run: reading the files, 0', 'archive: applied, 1']);
    expect(await runEvents(emend, await resolveRun(emend, KEY))).toEqual([event]);
    expect(server.queries).toEqual(['status']);
  });

  test('its last worker dies, and another comes: told without any news of the run', async () => {
    const { server, run, emend, resolved } = await watched();
    server.follow = (_ref, _after, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          resolve();
        });
      });
    const seen: (string | null)[] = [];
    await watchRun(emend, resolved, ({ source, note }) => {
      seen.push(source, note);
      if (seen.length === 6) return 'stop';
      server.workers = !server.workers;
      return undefined;
    });
    const nobody = expect.stringMatching(/^No worker serves the task queues emend, emend-model, .* Start one: `emend/);
    expect(seen).toEqual(['run', null, 'archive', nobody, 'run', null]);
    expect(run.described.open).toBe(true);
  });

  test('what goes wrong beside the history ends the watch, too', async () => {
    const { server, emend, resolved } = await watched();
    server.follow = (_ref, _after, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          resolve();
        });
      });
    const watching = watchRun(emend, resolved, ({ source }) => {
      if (source === 'archive') throw new Error('no more');
      server.workers = false;
      return undefined;
    });
    await expect(watching).rejects.toThrow('no more');
  });

  test('news that come while it waits or asks are one look together', async () => {
    const { server, run, emend, resolved } = await watched();
    server.follow = async (_ref, _after, _signal, onNews) => {
      await Promise.all([onNews('change'), onNews('change'), onNews('pause')]);
      server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
    };
    await watchRun(emend, resolved, () => undefined);
    // The third is of its end.
    expect(server.queries).toEqual(['status', 'status', 'status']);
  });

  test('who waits for the end asks nothing, who waits for a pause asks at once and when one may be there', async () => {
    const { server, run, emend, resolved } = await watched();
    server.follow = async (_ref, _after, _signal, onNews) => {
      for (const news of ['change', 'change', 'end'] as const) void onNews(news);
      await sleep(500);
      server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
    };
    expect(await waitForRun(emend, resolved, { throughPauses: true })).toMatchObject({ outcome: 'closed' });
    expect(server.queries).toEqual([]);
    const other = await watched();
    const { status } = other.run;
    other.server.follow = async (_ref, _after, _signal, onNews) => {
      other.run.status = { ...status, state: 'waiting' };
      await onNews('pause');
    };
    expect(await waitForRun(other.emend, other.resolved)).toMatchObject({ outcome: 'waiting' });
    expect(other.server.queries).toEqual(['status', 'status']);
  });

  test('a listener that fails ends the watch with its error', async () => {
    const { server, run, emend, resolved } = await watched();
    server.news = [() => (run.status = { ...run.status, doing: 'more' })];
    const failing = watchRun(emend, resolved, ({ status }) => {
      if (status.doing === 'more') throw new Error('the terminal is gone');
      return undefined;
    });
    await expect(failing).rejects.toThrow('the terminal is gone');
  });

  test('a reset run is followed to the run that took its place', async () => {
    const { server, run, emend, resolved } = await watched();
    server.news = [
      () => {
        server.close(run, { status: 'TERMINATED', result: null, message: 'reset' });
        server.add(KEY, 'emend-1', {}, { doing: 'again' });
      },
      () => {
        const next = server.runs[1]!;
        next.status = { ...next.status, doing: 'over' };
        server.close(next, { status: 'COMPLETED', result: RESULT, message: null });
      },
    ];
    const seen: string[] = [];
    const closed = await watchRun(emend, resolved, ({ runId, status }) => {
      seen.push(`${runId ?? ''}: ${status.doing}`);
      return undefined;
    });
    expect(closed?.result).toEqual(RESULT);
    expect(seen).toEqual(['run-1: reading the files', 'run-2: again', 'run-2: over']);
  });

  test('waiting stops at a pause, or goes through it when asked', async () => {
    const { server, run, emend, resolved } = await watched();
    const pause = () => (run.status = { ...run.status, state: 'waiting' });
    const end = () => {
      run.status = { ...run.status, state: 'done' };
      server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
    };
    server.news = [pause, end];
    expect(await waitForRun(emend, resolved)).toMatchObject({ outcome: 'waiting', status: { state: 'waiting' } });
    server.news = [end];
    expect(await waitForRun(emend, resolved, { throughPauses: true })).toMatchObject({
      outcome: 'closed',
      result: RESULT,
    });
  });

  test('an abort of the caller ends it without touching the run', async () => {
    const { server, emend, resolved } = await watched();
    const stop = new AbortController();
    stop.abort();
    expect(await waitForRun(emend, resolved, { signal: stop.signal })).toEqual({ outcome: 'stopped' });
    expect(server.signals).toEqual([]);
    expect(server.runs[0]?.described.open).toBe(true);
  });
});
