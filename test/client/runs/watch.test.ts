import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { archivedRun } from '../../../src/client/archive/run.js';
import { resolveRun, eventsFrom } from '../../../src/client/runs/resolve.js';
import { runEvents, showRun } from '../../../src/client/runs/show.js';
import { watchList } from '../../../src/client/runs/watch-list.js';
import { waitForRun, watchRun } from '../../../src/client/runs/watch.js';
import type { StepResult } from '../../../src/shared/run.js';
import type { StepEvent } from '../../../src/shared/events.js';
import type { Emend } from '../../../src/client/types.js';
import type { RunList } from '../../../src/client/runs/list.js';
import { eventEntries } from '../../../src/stores/ports.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { followRun } from '../../../src/cli/follow-run.js';
import { fakeIo } from '../../cli/io.js';
import { fakeEmend, FakeServer, newsOf, startedData, type FakeRun } from '../fake.js';

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

/** What a worker's archive has of a run by then. */
const archive = (
  emend: Emend,
  { described: { workflowId, runId } }: FakeRun,
  events: readonly StepEvent[],
) => {
  const data = startedData({ workflowId, runId });
  const started = { id: 'started', at: new Date(0).toISOString(), kind: 'started' as const, data };
  return emend.archive.append(KEY, [started, ...eventEntries(events, runId)]);
};
const FINISHED = { seq: 1, at: 1, type: 'step_finished' as const, outcome: 'applied' };

describe('watching a run', () => {
  test('whoever stops does not wait for a server that leaves a call unanswered', async () => {
    const { server, emend, resolved } = await watched();
    const stop = new AbortController();
    server.polled = () => {
      setImmediate(() => stop.abort());
      return new Promise(() => undefined);
    };
    expect(await watchRun(emend, resolved, () => undefined, { signal: stop.signal })).toBeNull();
  });

  test('a run at work is asked once: what it does is read from its history; how it ended is kept', async () => {
    const { server, run, emend, resolved } = await watched();
    const seen: string[] = [];
    const file = (seq: number, name: string): readonly StepEvent[] => [
      {
        seq,
        at: 1,
        type: 'format_chosen',
        file_path: name,
        format: 'whole-file',
        bucket: 'A',
        line_count: 3,
      },
      {
        seq: seq + 1,
        at: 1,
        type: 'edit_chunk_started',
        file: name,
        chunk_index: 0,
        total_chunks: 1,
      },
    ];
    server.follow = async (_ref, _after, _signal, onNews) => {
      const edits = [
        { events: file(1, 'a.js'), activity: 'proposeEdit' },
        { events: file(3, 'b.js'), activity: 'proposeEdit' },
        { activity: 'buildProposal' },
        // A task that began nothing.
        {},
      ];
      for (const more of edits) await onNews(newsOf('change', more));
      server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
    };
    const events: number[] = [];
    const closed = await watchRun(emend, resolved, ({ status }, news) => {
      seen.push(`${status.doing} (${status.lastSeq})`);
      events.push(...news.map(({ seq }) => seq));
      return undefined;
    });
    expect(seen.slice(0, 4)).toEqual([
      'reading the files (0)',
      'file 1/1: a.js (2)',
      'file 1/2: a.js, b.js (4)',
      'checking and building the proposal (4)',
    ]);
    expect(events).toEqual([1, 2, 3, 4]);
    // The second is of its end.
    expect(server.queries).toEqual(['status', 'status']);
    expect(closed).toEqual({ status: 'COMPLETED', result: RESULT, message: null });
    expect(archivedRun(KEY, await emend.archive.read(KEY)).closed).toEqual(closed);
  });

  test('a run that waits is asked at each change: from outside nobody knows what was done at a pause', async () => {
    const { server, run, emend, resolved } = await watched();
    run.status = { ...run.status, state: 'waiting', doing: 'waiting for a decision: approval' };
    server.news = [
      () => (run.status = { ...run.status, ignored: ['skip: too late'] }),
      () => (run.status = { ...run.status, state: 'running', doing: 'applying' }),
      () => {
        server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
      },
    ];
    const seen: string[] = [];
    await watchRun(emend, resolved, ({ status }) => {
      seen.push(`${status.doing} ${status.ignored.length}`);
      return undefined;
    });
    expect(seen.slice(0, 3)).toEqual([
      'waiting for a decision: approval 0',
      'waiting for a decision: approval 1',
      'applying 1',
    ]);
    expect(server.queries).toEqual(['status', 'status', 'status', 'status']);
  });

  test('a run whose archive has its last word is asked nothing once it has ended: its worker would replay it', async () => {
    const { server, run, emend, resolved } = await watched();
    server.news = [
      () => {
        server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
      },
    ];
    await archive(emend, run, [FINISHED]);
    const seen: string[] = [];
    await watchRun(emend, resolved, ({ source, status: { doing, lastSeq } }) => {
      seen.push(`${source}: ${doing}, ${lastSeq}`);
      return undefined;
    });
    expect(seen).toEqual(['run: reading the files, 0', 'archive: applied, 1']);
    expect(await runEvents(emend, await resolveRun(emend, KEY))).toEqual([FINISHED]);
    expect(server.queries).toEqual(['status']);
  });

  test('an end that the archive has in a damaged form is asked for again, once', async () => {
    const { server, run, emend } = await watched();
    await archive(emend, run, [FINISHED]);
    const damaged = {
      id: `closed-${run.described.runId}`,
      at: new Date(1).toISOString(),
      kind: 'closed' as const,
    };
    await emend.archive.append(KEY, [{ ...damaged, data: { status: 7 } }]);
    const closed = { status: 'COMPLETED', result: RESULT, message: null };
    server.close(run, closed);
    for (const _time of [1, 2]) await showRun(emend, await resolveRun(emend, KEY));
    const read = await emend.archive.read(KEY);
    expect(archivedRun(KEY, read)).toMatchObject({ closed, closedRuns: [run.described.runId] });
    expect(read.filter(({ kind }) => kind === 'closed').length).toBe(2);
  });

  test('an end that was told of in a task which the server refused, and then came otherwise: the run is asked', async () => {
    const { server, run, emend } = await watched();
    const last = { ...FINISHED, seq: 2 };
    await archive(emend, run, [FINISHED, last]);
    server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
    server.events = [
      { seq: 1, at: 1, type: 'decision_ignored', what: 'approve', why: 'too late' },
      last,
    ];
    expect(await runEvents(emend, await resolveRun(emend, KEY))).toEqual(server.events);
  });

  test('a list never shows a run that ended as one of which nothing is known', async () => {
    const { server, run, emend } = await watched();
    await archive(emend, run, [FINISHED]);
    server.news = [
      () => {
        server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
      },
    ];
    const seen: string[] = [];
    const stop = new AbortController();
    const onChange = ({ runs }: RunList): void => {
      seen.push(...runs.map(({ state, open }) => `${state} ${open}`));
      if (seen.at(-1) !== 'running true') stop.abort();
    };
    await watchList(emend, onChange, { signal: stop.signal });
    expect([...new Set(seen)]).toEqual(['running true', 'done false']);
  });

  test('nobody serves a run, and it ends: told is its end, not that a worker is there', async () => {
    const { server, run, emend, resolved } = await watched();
    server.workers = false;
    server.follow = async (_ref, _after, signal, onNews) => {
      await sleep(200);
      server.close(run, { status: 'TERMINATED', result: null, message: 'by hand' });
      if (!signal.aborted) await onNews(newsOf('end'));
    };
    const io = fakeIo();
    const session = { io, emend, flags: {} };
    const options = {
      interactive: false,
      wait: true,
      yes: false,
      shows: 'progress' as const,
      live: false,
    };
    const { signal } = new AbortController();
    const followed = await followRun(session, resolved, { ...options, needWorker: false, signal });
    expect(followed).toMatchObject({ kind: 'closed', closed: { status: 'TERMINATED' } });
    expect(io.printed.out).toMatch(/^No worker serves the task queues [^\n]*\n$/);
  });

  test('--yes does not approve what an approver must sign, and with --wait it waits for that', async () => {
    const { server, run, emend, resolved } = await watched();
    const decision = {
      id: '1-abcd1234',
      n: 1,
      reason: 'approval' as const,
      message: '',
      files: [],
      accepts: ['approve' as const],
      proposalId: null,
      answered: {},
      openedAt: 0,
      subject: null,
      mustSign: true as const,
    };
    run.status = { ...run.status, state: 'waiting', decision };
    server.news = [
      () => {
        run.status = { ...run.status, state: 'done', decision: null };
        server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
      },
    ];
    const io = fakeIo();
    const { signal } = new AbortController();
    const options = {
      interactive: false,
      wait: true,
      yes: true,
      shows: 'waits' as const,
      live: false,
      signal,
    };
    const followed = await followRun({ io, emend, flags: {} }, resolved, {
      ...options,
      needWorker: false,
    });
    expect(followed.kind).toBe('closed');
    expect(io.printed.out).toContain('1-abcd1234');
    expect(server.updates).toEqual([]);
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
    const nobody = expect.stringMatching(
      /^No worker serves the task queues emend, emend-model, .* Start one: `emend/,
    );
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
      await Promise.all([newsOf('change'), newsOf('change'), newsOf('pause')].map(onNews));
      server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
    };
    await watchRun(emend, resolved, () => undefined);
    // The third is of its end.
    expect(server.queries).toEqual(['status', 'status', 'status']);
  });

  test('who waits for the end asks nothing, who waits for a pause asks at once and when one may be there', async () => {
    const { server, run, emend, resolved } = await watched();
    server.follow = async (_ref, _after, _signal, onNews) => {
      for (const news of ['change', 'change', 'end'] as const) void onNews(newsOf(news));
      await sleep(500);
      server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
    };
    expect(await waitForRun(emend, resolved, { throughPauses: true })).toMatchObject({
      outcome: 'closed',
    });
    expect(server.queries).toEqual([]);
    const other = await watched();
    const { status } = other.run;
    other.server.follow = async (_ref, _after, _signal, onNews) => {
      other.run.status = { ...status, state: 'waiting' };
      await onNews(newsOf('pause'));
    };
    expect(await waitForRun(other.emend, other.resolved)).toMatchObject({ outcome: 'waiting' });
    expect(other.server.queries).toEqual(['status', 'status']);
  });

  test('a listener that fails ends the watch with its error', async () => {
    const { server, run, emend, resolved } = await watched();
    run.status = { ...run.status, state: 'waiting' };
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

  test('a reset run whose next run has ended before anybody looked ended as that one did', async () => {
    const { server, run, emend, resolved } = await watched();
    server.news = [
      () => {
        server.close(run, { status: 'TERMINATED', result: null, message: 'reset' });
        server.close(server.add(KEY, 'emend-1'), {
          status: 'COMPLETED',
          result: RESULT,
          message: null,
        });
      },
    ];
    expect(await watchRun(emend, resolved, () => undefined)).toMatchObject({ result: RESULT });
  });

  test('waiting stops at a pause, or goes through it when asked', async () => {
    const { server, run, emend, resolved } = await watched();
    const pause = () => (run.status = { ...run.status, state: 'waiting' });
    const end = () => {
      run.status = { ...run.status, state: 'done' };
      server.close(run, { status: 'COMPLETED', result: RESULT, message: null });
    };
    server.news = [pause, end];
    expect(await waitForRun(emend, resolved)).toMatchObject({
      outcome: 'waiting',
      status: { state: 'waiting' },
    });
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
    expect(await waitForRun(emend, resolved, { signal: stop.signal })).toEqual({
      outcome: 'stopped',
    });
    expect(server.signals).toEqual([]);
    expect(server.runs[0]?.described.open).toBe(true);
  });
});

test('a page may hold more events than a call takes arguments: an archive gives all that it has', async () => {
  const all = Array.from({ length: 200_000 }, (_, n) => ({ ...FINISHED, seq: n + 1 }));
  expect(await eventsFrom(0, async () => all)).toHaveLength(all.length);
});
