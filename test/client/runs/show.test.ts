import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { decide } from '../../../src/client/runs/decide.js';
import { listRuns } from '../../../src/client/runs/list.js';
import { resolveRun } from '../../../src/client/runs/resolve.js';
import { runDiff, runEvents, showRun } from '../../../src/client/runs/show.js';
import type { Emend } from '../../../src/client/types.js';
import { storePaths } from '../../../src/stores/location.js';
import { problem, ProblemError, VERSION } from '../../../src/shared/problems.js';
import type { BlobRef } from '../../../src/shared/ids.js';
import type { ProposalSummary } from '../../../src/shared/proposal-activities.js';
import type { LedgerRow, StepResult } from '../../../src/shared/run.js';
import { NO_USAGE } from '../../../src/shared/usage.js';
import { fakeEmend, FakeServer, problemOf, startedData } from '../fake.js';

const KEY = 'abcd1234'.padEnd(32, '0');

const ROW: LedgerRow = {
  path: 'a.ts',
  status: 'done',
  attempts: 1,
  format: 'whole-file',
  bucket: 'A',
  lines: 1,
  isNew: false,
  outputBudget_tokens: 16_384,
  reason: null,
  verdict: null,
};
const NONE = { hash: '', bytes: 0 } as unknown as BlobRef;
const PROPOSAL: ProposalSummary = {
  id: '',
  ref: NONE,
  diff: NONE,
  files: [],
  findings: [],
  tolerances: [],
  mustAsk: [],
};

/** What the activities of a run leave behind up to its approval. */
const archive = async (emend: Emend): Promise<void> => {
  const diff = await emend.blobs.put(new TextEncoder().encode('--- a\n+++ b\n'));
  const entry = (id: string, kind: 'started' | 'event' | 'activity', data: unknown) => ({
    id,
    at: '2026-01-01T00:00:00.000Z',
    kind,
    data,
  });
  const usage = { ...NO_USAGE, calls: 2, input_tokens: 100, output_tokens: 7 };
  await emend.archive.append(KEY, [
    entry('started', 'started', startedData({})),
    entry('e1', 'event', {
      type: 'format_chosen',
      bucket: 'A',
      file_path: 'a.ts',
      line_count: 3,
      format: 'whole-file',
      seq: 1,
      at: 0,
    }),
    entry('e2', 'event', {
      type: 'edit_chunk_started',
      file: 'a.ts',
      chunk_index: 1,
      total_chunks: 1,
      seq: 2,
      at: 0,
    }),
    entry('a1', 'activity', {
      name: 'proposeEdit',
      attempt: 1,
      result: { outcome: 'edited', usage },
    }),
    entry('e3', 'event', { type: 'edit_chunk_completed', file: 'a.ts', seq: 3, at: 0 }),
    entry('a2', 'activity', {
      name: 'buildProposal',
      attempt: 1,
      result: {
        outcome: 'built',
        proposal: {
          id: '9'.repeat(64),
          ref: diff,
          diff,
          files: [],
          findings: [],
          tolerances: [],
          mustAsk: [],
        },
      },
    }),
    entry('e4', 'event', {
      type: 'edit_step_paused',
      reason: 'approval',
      progress: { done: 1, failed: 0, skipped: 0, total: 1 },
      decision: '1-abcd1234-99999999',
      seq: 4,
      at: 5,
    }),
    // A second copy of an event.
    entry('e4b', 'event', {
      type: 'decision_resolved',
      reason: 'approval',
      decision: 'other',
      seq: 4,
      at: 5,
    }),
  ]);
};

test('a run whose log cannot be read: what the server knows of it is shown, its decision answered, and what is not kept is said', async () => {
  const server = new FakeServer();
  const emend = await fakeEmend(server);
  const run = server.add(KEY, 'emend-1', {}, { doing: 'at work' });
  const log = join(storePaths(emend.store).archive, KEY, 'log.jsonl');
  await mkdir(log, { recursive: true });
  for (const name of [KEY, 'abcd', 'emend-1']) {
    const resolved = await resolveRun(emend, name);
    expect(await showRun(emend, resolved)).toMatchObject({
      source: 'run',
      status: { doing: 'at work' },
    });
    expect(await decide(emend, resolved, { answer: 'approve', decision: 'd' })).toMatchObject({
      outcome: 'resolved',
      message: expect.stringContaining(
        `(not noted in the archive: Appending to the archive at ${log} failed: EISDIR`,
      ),
    });
  }
  server.close(run, { status: 'TERMINATED', result: null, message: null });
  expect(await showRun(emend, await resolveRun(emend, KEY))).toMatchObject({ source: 'run' });
  // Of a run that nobody knows anything of nothing is made up.
  expect(await problemOf(() => resolveRun({ ...emend, runs: null }, KEY))).toMatchObject({
    code: 'disk',
  });
});

describe('without a server', () => {
  test('the archive tells state, files, decision, usage, events and diff', async () => {
    const emend = await fakeEmend(null);
    await archive(emend);
    await emend.archive.append(KEY, [
      { id: 'x', at: '2026-01-01T00:00:00.000Z', kind: 'event', data: 'no event' },
    ]);
    const run = await resolveRun(emend, 'abcd');
    const view = await showRun(emend, run);
    expect(view).toMatchObject({
      source: 'archive',
      note: `No Temporal server at localhost:7233. Damaged entries of its archive (torn, or a field is missing or has the wrong type) are omitted: 1; restore archive/${KEY} in the store.`,
      workflowId: 'emend-1',
      link: null,
      status: {
        state: 'waiting',
        title: 'T',
        doing: 'last known: buildProposal (built)',
        decision: {
          id: '1-abcd1234-99999999',
          n: 1,
          reason: 'approval',
          accepts: ['approve', 'skip', 'revise', 'select', 'abort'],
        },
        usage: { calls: 2, input_tokens: 100 },
        counts: { done: 1 },
      },
      ledger: [{ path: 'a.ts', status: 'done', format: 'whole-file', lines: 3 }],
    });
    expect((await runEvents(emend, run, 2)).map((event) => event.seq)).toEqual([3, 4]);
    expect((await runDiff(emend, run))?.diff).toBe('--- a\n+++ b\n');
    expect(await listRuns(emend)).toMatchObject({
      runs: [{ stepKey: KEY, state: 'unknown', open: false }],
      note: 'No Temporal server at localhost:7233.',
    });
  });
});

describe('with a server', () => {
  test('a run with no worker answers from the archive, without a query that would hang', async () => {
    const server = new FakeServer();
    server.workers = false;
    server.add(KEY, 'emend-1');
    const emend = await fakeEmend(server);
    await archive(emend);
    const view = await showRun(emend, await resolveRun(emend, KEY));
    expect(view).toMatchObject({
      source: 'archive',
      note: expect.stringMatching(
        /^No worker serves the task queues emend, emend-model, emend-host-h \(host .*Start one: `/,
      ),
      status: { state: 'waiting', title: 'A job' },
    });
    expect(server.queries).toEqual([]);
    expect(view.link).toBe(
      'http://localhost:8233/namespaces/default/workflows/emend-1/run-1/history',
    );
  });

  test('status, ledger and proposal are of one moment, though the run goes on while it is asked', async () => {
    const server = new FakeServer();
    const run = server.add(KEY, 'emend-1');
    const emend = await fakeEmend(server);
    const { query } = server;
    let moment = 0;
    server.query = async <T>(...asked: Parameters<typeof query>): Promise<T> => {
      moment += 1;
      run.status = { ...run.status, doing: `moment ${moment}` };
      server.ledger = [{ ...ROW, path: `moment ${moment}` }];
      server.proposal = { ...PROPOSAL, id: `moment ${moment}` };
      return query<T>(...asked);
    };
    const { status, ledger, proposal } = await showRun(emend, await resolveRun(emend, KEY));
    expect([status.doing, ledger.map(({ path }) => path), proposal?.id]).toEqual([
      'moment 1',
      ['moment 1'],
      'moment 1',
    ]);
    expect(Object.keys(status)).not.toContain('ledger');
  });

  test('a run of one queue needs that one alone, and the worker that serves it', async () => {
    const server = new FakeServer();
    server.workers = false;
    server.add(KEY, 'emend-1', { queue: 'emend-host-h' });
    const emend = await fakeEmend(server);
    const { note } = await showRun(emend, await resolveRun(emend, KEY));
    expect(note).toMatch(
      /^No worker serves the task queue emend-host-h \(host .*Start one: `EMEND_QUEUE= emend worker`/,
    );
    const own = {
      ...emend,
      queues: { workflow: 'emend-host-h', model: 'emend-host-h', host: 'emend-host-h' },
    };
    expect((await showRun(own, await resolveRun(own, KEY))).note).toContain(
      'emend-host-h. Start one: `emend worker`.',
    );
  });

  test('with patience, calls that fail while a worker polls are made again, without it they are not', async () => {
    const server = new FakeServer();
    server.add(KEY, 'emend-1');
    const emend = await fakeEmend(server);
    const run = await resolveRun(emend, KEY);
    const { polled, query } = server;
    const failing = () => {
      server.polled = async () => {
        server.polled = polled;
        throw new ProblemError(problem('no_server', 'The Temporal server stopped responding.'));
      };
      server.query = async () => {
        server.query = query;
        throw new ProblemError(problem('no_worker', 'No worker is running.'));
      };
    };
    failing();
    expect(await showRun(emend, run)).toMatchObject({
      note: 'The Temporal server stopped responding.',
    });
    failing();
    expect(await showRun(emend, run, { patience_ms: 60_000 })).toMatchObject({
      source: 'run',
      note: null,
    });
    expect([server.polled, server.query]).toEqual([polled, query]);
  });

  test('whoever looks at a run that has ended keeps how, for the day when the server has forgotten it', async () => {
    const server = new FakeServer();
    const run = server.add(KEY, 'emend-1');
    server.close(run, { status: 'TERMINATED', result: null, message: 'by an operator' });
    const emend = await fakeEmend(server);
    await archive(emend);
    await showRun(emend, await resolveRun(emend, KEY));
    server.runs.length = 0;
    const later = await showRun(emend, await resolveRun(emend, KEY));
    expect(later).toMatchObject({
      source: 'archive',
      note: null,
      status: {
        state: 'aborted',
        doing: 'terminated, nothing applied (by an operator)',
        decision: null,
      },
    });
  });

  test('a run that has ended is asked once, for all of it', async () => {
    const server = new FakeServer();
    const run = server.add(KEY, 'emend-1');
    const result: StepResult = {
      v: VERSION,
      stepKey: KEY,
      outcome: 'skipped',
      files: [],
      skipped: ['a.ts'],
      wasSplit: false,
      usage: NO_USAGE,
      commit: null,
      proposalId: '8'.repeat(64),
      verification: null,
      problem: null,
      pausedFor_ms: 0,
    };
    server.close(run, { status: 'COMPLETED', result, message: null });
    const emend = await fakeEmend(server);
    await archive(emend);
    const ref = await emend.blobs.put(new TextEncoder().encode('a proposal'));
    const files = [{ path: 'a.ts', change: 'edit', added: 1, removed: 0 }];
    const proposal = {
      id: '8'.repeat(64),
      ref,
      diff: ref,
      files,
      findings: [],
      tolerances: [],
      mustAsk: [],
    };
    const entry = (kind: 'event' | 'activity', id: string, data: object) => ({
      id,
      at: '2026-01-01T00:00:00.000Z',
      kind,
      data,
    });
    const estimate = { calls: 3, input_tokens: 9, output_tokens: 9 };
    await emend.archive.append(KEY, [
      entry('activity', 'a3', {
        name: 'buildProposal',
        attempt: 1,
        result: { outcome: 'built', proposal },
      }),
      entry('event', 'e5', {
        type: 'estimated',
        ...estimate,
        usd: null,
        budget: null,
        seq: 5,
        at: 0,
      }),
      entry('event', 'e6', { type: 'step_finished', outcome: 'skipped', seq: 6, at: 0 }),
    ]);
    run.status = {
      ...run.status,
      state: 'done',
      stage: 'closed',
      result,
      estimate: { ...estimate, usd: null },
    };
    server.proposal = proposal as unknown as ProposalSummary;
    const view = await showRun(emend, await resolveRun(emend, KEY));
    expect(server.queries).toEqual(['status']);
    expect(view).toMatchObject({
      source: 'run',
      note: null,
      status: { state: 'done', stage: 'closed', result },
    });
    expect(view.status.estimate).toMatchObject(estimate);
    expect(view.proposal).toEqual(proposal);
  });

  test('a list reads what open runs wait for and asks the server how the others ended', async () => {
    const server = new FakeServer();
    server.add('11110000', 'emend-2', { waits: { reason: 'approval', decision: '1-x' } });
    const run = server.add(KEY, 'emend-1');
    server.close(run, { status: 'CANCELLED', result: null, message: 'cancelled' });
    const emend = await fakeEmend(server);
    await archive(emend);
    const { runs, note } = await listRuns(emend);
    expect(note).toBeNull();
    expect(runs.map(({ stepKey, state, open }) => ({ stepKey, state, open }))).toEqual([
      { stepKey: '11110000', state: 'waiting', open: true },
      { stepKey: KEY, state: 'aborted', open: false },
    ]);
  });
});

describe('a run that was cut off from outside', () => {
  const terminated = { status: 'TERMINATED', result: null, message: 'by an operator' };
  const note = (emend: Emend, id: string, kind: 'activity' | 'recovery', data: unknown) =>
    emend.archive.append(KEY, [{ id, at: '2026-01-01T00:00:01.000Z', kind, data }]);

  test('shows how it ended instead of the decision it waited for, and what it had applied until that is settled', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    await archive(emend);
    const run = server.add(
      KEY,
      'emend-1',
      {},
      { state: 'waiting', doing: 'waiting for a decision: conflict' },
    );
    server.close(run, terminated);
    const shown = async () => {
      const { status } = await showRun(emend, await resolveRun(emend, 'abcd'));
      const [listed] = (await listRuns(emend)).runs;
      expect(listed).toMatchObject({ state: status.state, doing: status.doing });
      return [status.state, status.doing, status.decision];
    };
    expect(await shown()).toEqual([
      'aborted',
      'terminated, nothing applied (by an operator)',
      null,
    ]);
    await note(emend, 'a3', 'activity', {
      name: 'applyProposal',
      result: { outcome: 'applied', files: ['a.ts', 'b.ts'] },
    });
    expect(await shown()).toEqual([
      'aborted',
      'terminated, 2 files applied (emend recover --undo abcd1234): a.ts, b.ts',
      null,
    ]);
    await note(emend, 'r1', 'recovery', { how: 'keep', files: [] });
    expect(await shown()).toEqual([
      'aborted',
      'terminated, 2 files applied (kept): a.ts, b.ts',
      null,
    ]);
    await note(emend, 'r2', 'recovery', { how: 'undo', files: ['a.ts', 'b.ts'] });
    expect(await shown()).toEqual([
      'aborted',
      'terminated, nothing applied (by an operator)',
      null,
    ]);
  });

  test('a reset makes another run of it, whose end counts in its turn', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    await archive(emend);
    server.close(server.add(KEY, 'emend-1'), terminated);
    await showRun(emend, await resolveRun(emend, 'abcd'));
    const again = server.add(KEY, 'emend-1');
    server.workers = false;
    expect((await showRun(emend, await resolveRun(emend, 'abcd'))).status).toMatchObject({
      state: 'waiting',
      result: null,
    });
    server.close(again, { status: 'FAILED', result: null, message: 'out of luck' });
    expect((await showRun(emend, await resolveRun(emend, 'abcd'))).status).toMatchObject({
      state: 'failed',
      doing: 'failed, nothing applied (out of luck)',
    });
  });

  test('a run that was reset ended as its last one did, when its job has run again since, too', async () => {
    const server = new FakeServer();
    const emend = await fakeEmend(server);
    await archive(emend);
    server.close(server.add(KEY, 'emend-1'), terminated);
    const again = server.add(KEY, 'emend-1');
    server.close(again, { status: 'FAILED', result: null, message: 'out of luck' });
    const shown = async () => (await showRun(emend, await resolveRun(emend, KEY))).status.state;
    expect(await shown()).toBe('failed');
    server.add('another'.padEnd(32, '0'), 'emend-1');
    expect([await shown(), await shown()]).toEqual(['failed', 'failed']);
  });
});
