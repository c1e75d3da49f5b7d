/**
 * Resets, as the Temporal UI and API make them: of finished and of paused runs, to every workflow task of their history. Nothing is paid
 * for, applied or committed a second time; what a person changed since is a conflict. EMEND_LONG=1 resets to every point of every
 * history, else to the first and last and a printed, seeded sample.
 */
import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { resolveRun, type ResolvedRun, type RunView } from '../../src/client/index.js';
import { sampled } from '../support/seeded.js';
import { longOnly } from '../support/skipped.js';
import { emendCommand, eventually, lockOf, withHandle } from './ends.js';
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { startDevServer } from '../../src/temporal/dev-server.js';
import { numbered, scene, whole, type Scene } from './support.js';

jest.setTimeout(600_000);

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const job = (...keys: readonly string[]): string =>
  ['---', ...keys, '---', '# Raise it', '', 'Two, please.', ''].join('\n');
const A = { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) };
const N = {
  name: 'n',
  match: { contains: '- n.txt' },
  answer: whole({ 'n.txt': numbered(40).replace('line 30\n', 'line thirty\n') }),
};

const FAILING = [
  'target_files: [a.js]',
  'baseline: fix',
  'test: exit 1',
  'limits: { maxFailedVerifications: 1 }',
  'commit: true',
];

interface Case {
  readonly name: string;
  readonly files: Record<string, string>;
  readonly rules: Parameters<typeof scene>[1];
  readonly job: string;
  /** Answers by the reason of the pause, in the first run and, by the same policy, in each reset one. */
  readonly answers: Readonly<Record<string, string>>;
  /** Before a pause is answered, in the first run only. */
  readonly meanwhile?: (s: Scene, reason: string) => void;
  /** The first run is left in this pause. */
  readonly stopAt?: string;
  readonly outcome: string | null;
  /** Outcomes that a reset run may come to; the pause of that reason instead where the case is left paused. */
  readonly resetTo: readonly string[];
}
const CASES: readonly Case[] = [
  {
    name: 'finished, committed',
    files: { 'a.js': 'const a = 1;\n' },
    rules: [A],
    job: job('target_files: [a.js]', 'test: node --check a.js', 'commit: true'),
    answers: { approval: 'approve' },
    outcome: 'committed',
    resetTo: ['committed'],
  },
  {
    name: 'finished, applied without a commit',
    files: { 'a.js': 'const a = 1;\n' },
    rules: [A],
    job: job('target_files: [a.js]', 'test: node --check a.js'),
    answers: { approval: 'approve' },
    outcome: 'applied',
    resetTo: ['applied'],
  },
  {
    name: 'not applied after its tests, then left out',
    files: { 'a.js': 'const a = 1;\n' },
    rules: [A],
    job: job(...FAILING),
    answers: { tests_failed: 'skip' },
    outcome: 'skipped',
    resetTo: ['skipped'],
  },
  {
    name: 'rolled back after its tests, then left out',
    files: { 'a.js': 'const a = 1;\n' },
    rules: [A],
    job: job(...FAILING, 'sandbox: off'),
    // What was rolled back is not applied again: a person is asked.
    answers: { approval: 'approve', tests_failed: 'skip', conflict: 'take_theirs' },
    outcome: 'skipped',
    resetTo: ['skipped'],
  },
  {
    name: 'paused at its approval',
    files: { 'a.js': 'const a = 1;\n' },
    rules: [A],
    job: job('target_files: [a.js]', 'commit: true'),
    answers: {},
    stopAt: 'approval',
    outcome: null,
    resetTo: ['approval'],
  },
  {
    name: 'paused as its attempts are spent',
    files: { 'a.js': 'const a = 1;\n' },
    rules: [{ ...A, answer: 'FILE a.js {{nonce}}\nno end\n' }],
    job: job('target_files: [a.js]', 'commit: true'),
    answers: {},
    stopAt: 'attempts_exhausted',
    outcome: null,
    resetTo: ['attempts_exhausted'],
  },
  {
    name: "rebased onto a person's commit, committed",
    files: { 'n.txt': numbered(40) },
    rules: [N],
    job: job('target_files: [n.txt]', 'commit: true'),
    answers: { approval: 'approve', conflict: 'rebase' },
    meanwhile: (s, reason) => {
      if (reason !== 'approval' || s.read('n.txt').includes('line two')) return;
      s.write('n.txt', numbered(40).replace('line 2\n', 'line two\n'));
      s.git('commit', '-q', '-a', '-m', 'Two in words');
    },
    outcome: 'committed',
    resetTo: ['committed'],
  },
];

/** Nobody dies here: a busy machine must not look like a dead worker. */
const opened = (it: Case): Promise<Scene> =>
  scene(it.files, it.rules, {
    env: {
      EMEND_HOSTHEARTBEATTIMEOUT_MS: '30000',
      EMEND_COMMANDHEARTBEATTIMEOUT_MS: '30000',
      EMEND_HEARTBEATTIMEOUT_MS: '30000',
    },
  });

/** Answers pauses by the policy until the run ends, or pauses where nothing is answered. */
const drive = async (
  s: Scene,
  run: ResolvedRun,
  answers: Case['answers'],
  before: (reason: string) => void,
) => {
  for (let pauses = 0; pauses < 8; pauses++) {
    const view = await s.settle(run, 120);
    const { decision } = view.status;
    if (decision === null) return view;
    const answer = answers[decision.reason];
    if (answer === undefined) return view;
    before(decision.reason);
    await s.answer(run, answer, { decision: decision.id });
    await eventually(
      'the decision to be resolved',
      async () => (await s.show(run)).status.decision?.id !== decision.id,
    );
  }
  throw new Error('more than 8 pauses');
};
const whereIs = ({ status }: RunView): string =>
  status.result?.outcome ?? status.decision?.reason ?? '?';

type EventId = NonNullable<
  NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number]['eventId']
>;
interface History {
  readonly runId: string;
  /** WorkflowTaskCompleted events: every point that the run can be reset to. */
  readonly points: readonly EventId[];
  /** The last of them before the first signal. */
  readonly beforeSignal: EventId | undefined;
}
const historyOf = (s: Scene, run: ResolvedRun): Promise<History> =>
  withHandle(s, run, async (handle) => {
    const { events } = await handle.fetchHistory();
    const all = events ?? [];
    const tasks = (of: typeof all): EventId[] =>
      of.flatMap(({ eventId, workflowTaskCompletedEventAttributes: task }) =>
        task == null || eventId == null ? [] : [eventId],
      );
    const signal = all.findIndex((event) => event.workflowExecutionSignaledEventAttributes != null);
    return {
      runId: (await handle.describe()).runId,
      points: tasks(all),
      beforeSignal: tasks(all.slice(0, signal)).at(-1),
    };
  });
const resetTo = (s: Scene, run: ResolvedRun, runId: string, point: EventId): Promise<ResolvedRun> =>
  withHandle(s, run, async (_handle, client) => {
    await client.workflowService.resetWorkflowExecution({
      namespace: s.emend.namespace,
      workflowExecution: { workflowId: run.live!.workflowId, runId },
      reason: 'test',
      requestId: `reset-${runId}-${String(point)}-${Math.random()}`,
      workflowTaskFinishEventId: point,
    });
    return resolveRun(s.emend, run.stepKey);
  });

/** All that a reset must leave as it is. Change times tell a second write of the same bytes. */
const standing = (s: Scene, files: readonly string[]) => ({
  asked: s.rehearsal.requests().length,
  head: s.git('rev-parse', 'HEAD').trim(),
  commits: s.git('rev-list', '--all', '--count').trim(),
  files: files.map((path) => ({
    path,
    text: s.read(path),
    changed: statSync(join(s.repo, path)).ctimeMs,
  })),
  left: s.git('status', '--porcelain', '--ignored').trim(),
});

describe('reset to every workflow task', () => {
  test.each(sampled('reset cases', CASES, 1, CASES.slice(0, 1)))(
    '$name',
    async (it) => {
      const s = (open = await opened(it));
      await s.worker();
      const run = await s.start('job.md', it.job);
      const first = await drive(s, run, it.answers, (reason) => it.meanwhile?.(s, reason));
      expect(whereIs(first)).toBe(it.outcome ?? it.stopAt);
      const { runId, points } = await historyOf(s, run);
      expect(points.length).toBeGreaterThan(2);
      const before = standing(s, Object.keys(it.files));
      for (const at of sampled(`${it.name}, reset points`, points, 0, [
        points[0]!,
        points.at(-1)!,
      ])) {
        const point = String(at);
        const again = await resetTo(s, run, runId, at);
        const view = await drive(s, again, it.answers, () => undefined);
        expect({
          point,
          to: it.resetTo.includes(whereIs(view)),
          whereIs: whereIs(view),
        }).toMatchObject({ to: true });
        expect(view.status.stepKey).toBe(run.stepKey);
        expect({ point, ...standing(s, Object.keys(it.files)) }).toEqual({ point, ...before });
        if (view.status.result?.outcome === 'committed')
          expect(view.status.result.commit).toBe(before.head);
        if (it.outcome !== null) expect(await lockOf(s)).toBeNull();
      }
    },
    900_000,
  );
});

describe('reset after a person changed a file of the run', () => {
  test('applied without a commit: a conflict, no call, their bytes stand', async () => {
    const it = CASES[1]!;
    const s = (open = await opened(it));
    await s.worker();
    const run = await s.start('job.md', it.job);
    await drive(s, run, it.answers, () => undefined);
    const { runId, points } = await historyOf(s, run);
    s.write('a.js', 'const a = "mine";\n');
    const again = await resetTo(s, run, runId, points[0]!);
    const view = await drive(s, again, it.answers, () => undefined);
    expect(view.status.decision).toMatchObject({ reason: 'conflict', files: [{ path: 'a.js' }] });
    expect(s.read('a.js')).toBe('const a = "mine";\n');
    expect(s.rehearsal.requests()).toHaveLength(1);
  });

  test('put back to its base: a conflict, not a second apply', async () => {
    const it = CASES[1]!;
    const s = (open = await opened(it));
    await s.worker();
    const run = await s.start('job.md', it.job);
    await drive(s, run, it.answers, () => undefined);
    const { runId, points } = await historyOf(s, run);
    s.git('checkout', '--', 'a.js');
    const again = await resetTo(s, run, runId, points[0]!);
    const view = await drive(s, again, it.answers, () => undefined);
    expect(view.status.decision).toMatchObject({ reason: 'conflict', files: [{ path: 'a.js' }] });
    expect(s.read('a.js')).toBe('const a = 1;\n');
  });

  test('committed: the commit stands, the run ends with it, later changes are left alone', async () => {
    const it = CASES[0]!;
    const s = (open = await opened(it));
    await s.worker();
    const run = await s.start('job.md', it.job);
    await drive(s, run, it.answers, () => undefined);
    const head = s.git('rev-parse', 'HEAD').trim();
    const { runId, points } = await historyOf(s, run);
    s.write('a.js', 'const a = "mine";\n');
    const again = await resetTo(s, run, runId, points[0]!);
    const view = await drive(s, again, it.answers, () => undefined);
    expect(view.status.result).toMatchObject({
      outcome: 'committed',
      commit: head,
      usage: { calls: 1 },
    });
    expect(s.read('a.js')).toBe('const a = "mine";\n');
    expect(s.git('rev-parse', 'HEAD').trim()).toBe(head);
    expect(s.rehearsal.requests()).toHaveLength(1);
  });
});

describe('a run that was revised, then committed', () => {
  const FIRST = {
    name: 'first',
    match: { contains: '- a.js' },
    answer: whole({ 'a.js': 'const a = 2;\n' }),
  };
  const REVISED = {
    name: 'revised',
    match: { contains: 'make it four' },
    answer: whole({ 'a.js': 'const a = 4;\n' }),
  };
  const MORE = {
    name: 'more',
    match: { contains: 'make it six' },
    answer: whole({ 'a.js': 'const a = 6;\n' }),
  };
  /** Commits the revised proposal, then resets the run to its start, where it asks about the first one again. */
  const revisedAndReset = async () => {
    const s = (open = await scene(CASES[0]!.files, [MORE, REVISED, FIRST]));
    await s.worker();
    const run = await s.start('job.md', CASES[0]!.job);
    await s.settle(run, 120);
    await s.answer(run, 'revise', { files: ['a.js'], note: 'make it four' });
    await s.settle(run, 120);
    await s.answer(run, 'approve');
    const { commit } = await s.end(run, 120);
    const { runId, points } = await historyOf(s, run);
    const again = await resetTo(s, run, runId, points[0]!);
    const view = await s.settle(again, 120);
    return { s, again, commit, view };
  };

  test('approve of the first proposal ends with the commit, as `emend show` says', async () => {
    const { s, again, commit, view } = await revisedAndReset();
    expect(view.note).toContain('approve ends the run with it');
    const before = standing(s, ['a.js']);
    const end = await drive(s, again, { approval: 'approve' }, () => undefined);
    expect(whereIs(end)).toBe('committed');
    expect(end.status.result).toMatchObject({ commit, files: ['a.js'] });
    expect(standing(s, ['a.js'])).toEqual(before);
    expect(s.read('a.js')).toBe('const a = 4;\n');
    expect(await lockOf(s)).toBeNull();
  });

  longOnly('the rule that tells old proposals from new ones has a unit test')(
    'approve of a proposal that is newer than the commit asks about the conflict, and the commit stays',
    async () => {
      const { s, again, commit } = await revisedAndReset();
      await s.answer(again, 'revise', { files: ['a.js'], note: 'make it six' });
      const revised = await s.settle(again, 120);
      expect(revised.note).toContain(`commit ${commit?.slice(0, 12)}`);
      expect(revised.note).not.toContain('approve ends the run with it');
      await s.answer(again, 'approve');
      const conflict = await s.settle(again, 120);
      expect(conflict.status.decision).toMatchObject({
        reason: 'conflict',
        files: [{ path: 'a.js' }],
      });
      expect(s.read('a.js')).toBe('const a = 4;\n');
    },
  );
});

test('old decisions are sent again by the server before the repeated task opens its pause: they do not count, the person is asked anew', async () => {
  const it = CASES[0]!;
  const s = (open = await opened(it));
  await s.worker();
  const run = await s.start('job.md', it.job);
  const { decision } = (await s.settle(run, 120)).status;
  await withHandle(s, run, (handle) => handle.signal('approve', { decision: decision!.id }));
  await s.end(run, 120);
  const head = s.git('rev-parse', 'HEAD').trim();
  const { runId, points, beforeSignal } = await historyOf(s, run);
  // At the first task, and at the very task that opened the pause: the signal is there before either has run again.
  for (const point of [points[0]!, beforeSignal!]) {
    const again = await resetTo(s, run, runId, point);
    expect((await s.settle(again, 120)).status.decision?.id).toBe(decision?.id);
    expect((await s.events(again)).filter(({ type }) => type === 'decision_ignored')).not.toEqual(
      [],
    );
    await s.answer(again, 'approve', { decision: decision!.id });
    expect(await s.end(again, 120)).toMatchObject({ outcome: 'committed', commit: head });
  }
});

describe('E6: the records of the server are put back to the approval after the commit', () => {
  /** What anybody reads of the end of the run, which the commit outlives. */
  const expectCommitStays = async (s: Scene, run: ResolvedRun, head: string): Promise<void> => {
    expect(s.git('rev-parse', 'HEAD').trim()).toBe(head);
    const shown = await emendCommand(s, 'show', run.stepKey);
    expect(shown.out).not.toContain('nothing was changed');
    expect(shown.out).toContain(`git revert ${head.slice(0, 12)}`);
    const json = await emendCommand(s, 'show', run.stepKey, '--json');
    expect(JSON.parse(json.out)).toMatchObject({ status: { result: { commit: head } } });
    expect(await lockOf(s)).toBeNull();
  };
  const committed = async (s: Scene) => {
    const run = await s.start('job.md', CASES[0]!.job);
    const { decision } = (await s.settle(run, 120)).status;
    return { run, decision };
  };

  test.each(['skip', 'abort'])('by a reset; answered %s', async (answer) => {
    const s = (open = await opened(CASES[0]!));
    await s.worker();
    const { run, decision } = await committed(s);
    await withHandle(s, run, (handle) => handle.signal('approve', { decision: decision!.id }));
    await s.end(run, 120);
    const head = s.git('rev-parse', 'HEAD').trim();
    const { runId, beforeSignal } = await historyOf(s, run);
    const again = await resetTo(s, run, runId, beforeSignal!);
    const view = await s.settle(again, 120);
    expect(view.note).toContain(`commit ${head.slice(0, 12)}`);
    await s.answer(again, answer, { decision: decision!.id });
    await s.end(again, 120);
    await expectCommitStays(s, again, head);
  });

  longOnly('restarts a server twice; a reset is the same to the run')(
    'by an older copy of the database of the dev server; answered skip',
    async () => {
      const home = mkdtempSync(join(tmpdir(), 'emend-older-'));
      const options = {
        home,
        cli: await findTemporalCli({ env: process.env }),
        dbFile: join(home, 'server', 'temporal.db'),
        logFile: join(home, 'dev-server.log'),
      };
      let server = await startDevServer({ ...options, port: 0 });
      try {
        const { address } = server;
        const port = Number(address.split(':')[1]);
        const it = CASES[0]!;
        const s = (open = await scene(it.files, it.rules, { address }));
        await s.worker();
        const { run, decision } = await committed(s);
        await server.stop();
        cpSync(join(home, 'server'), join(home, 'older'), { recursive: true });
        server = await startDevServer({ ...options, port });
        await s.answer(run, 'approve', { decision: decision!.id });
        await s.end(run, 120);
        const head = s.git('rev-parse', 'HEAD').trim();
        await s.workers()[0]!.kill();
        await server.stop();
        rmSync(join(home, 'server'), { recursive: true });
        cpSync(join(home, 'older'), join(home, 'server'), { recursive: true });
        server = await startDevServer({ ...options, port });
        await s.worker();
        await s.settle(run, 120);
        await s.answer(run, 'skip', { decision: decision!.id });
        await s.end(await resolveRun(s.emend, run.stepKey), 120);
        await expectCommitStays(s, run, head);
      } finally {
        await server.stop(0);
        rmSync(home, { recursive: true, force: true });
      }
    },
  );
});
