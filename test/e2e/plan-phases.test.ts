/**
 * A phase's run as part of its plan: cancelled by itself, ended before its plan is, kept to its own worktree; and a mark that cannot be
 * written. Each leaves the plan with a question that leads on, and nothing that was committed is lost.
 */
import { afterEach, expect, test } from '@jest/globals';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolveRun, showRun, type ResolvedRun } from '../../src/client/index.js';
import { longOnly } from '../support/skipped.js';
import { check } from './check-history.js';
import { eventually, withHandle } from './ends.js';
import { answerFor, phaseRun, planText, startDemo, TWO_WAVES } from './plan-support.js';
import { scene, type Scene } from './support.js';

const long = longOnly(
  'up to a minute each; the rules are in test/workflows/plan/stages/phases.test.ts',
);

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const WAVE = TWO_WAVES.slice(0, 2);
const sceneOf = async (
  phases = WAVE,
  more: Record<string, string> = {},
  env: Record<string, string> = {},
) =>
  (open = await scene(
    { 'plans/010_demo.md': planText(phases), 'emend.yaml': 'test: [node -e 0]\n', ...more },
    phases.map((phase) => answerFor(phase)),
    { env },
  ));
/** No worker takes the host's work: found out soon, and taken for no sleep of the server while the next worker is on its way. */
const NOBODY = { EMEND_SCHEDULETOSTART_MS: '3000', EMEND_HEARTBEATTIMEOUT_MS: '120000' };
const isOpen = async (s: Scene, { stepKey }: ResolvedRun): Promise<boolean> =>
  (await resolveRun(s.emend, stepKey)).live?.open === true;
/** Until an activity of the run was given up: no worker came in its time. */
const timedOut = (s: Scene, run: ResolvedRun): Promise<unknown> =>
  eventually('an activity that nobody began', () =>
    withHandle(s, run, async (handle) => {
      const { events } = await handle.fetchHistory();
      return events?.some((event) => event.activityTaskTimedOutEventAttributes != null) === true;
    }),
  );
/** The run of a phase, at its approval. */
const atApproval = async (s: Scene, run: ResolvedRun, name: string): Promise<ResolvedRun> => {
  const phase = await phaseRun(s, run, name);
  expect((await s.settle(phase, 60)).status.decision?.reason).toBe('approval');
  return phase;
};
const worktrees = (s: Scene): number => s.git('worktree', 'list').trim().split('\n').length - 1;

test('the run of a phase is cancelled in the Temporal UI: the plan asks, the phase beside it goes on and belongs to it', async () => {
  const s = await sceneOf();
  await s.worker();
  const run = await startDemo(s);
  const one = await atApproval(s, run, 'p1-1');
  const two = await atApproval(s, run, 'p2-1');
  await withHandle(s, one, (handle) => handle.cancel());
  await eventually('the end of p1-1', async () => !(await isOpen(s, one)));
  expect(await isOpen(s, run)).toBe(true);
  // Still the plan's: what becomes of it counts.
  await s.answer(two, 'approve');
  const asked = (await s.settle(run, 150)).status.decision;
  expect(asked).toMatchObject({ reason: 'cancelled', accepts: ['retry', 'skip', 'abort'] });
  expect(asked?.message).toContain('Phase 1 (One)');
  await check(s, run.live!.workflowId, 'plan-paused-cancelled');
  await s.answer(run, 'retry', { decision: asked?.id ?? '' });
  await s.answer(await atApproval(s, run, 'p1-2'), 'approve');
  const ended = await s.end(run, 150);
  expect(ended.plan?.phases.map(({ status }) => status)).toEqual(['completed', 'completed']);
  expect(s.read('src/one.js') + s.read('src/two.js')).toContain('src/two.js');
  expect([worktrees(s), s.git('status', '--porcelain')]).toEqual([0, '']);
  await check(s, run.live!.workflowId, 'plan-completed-after-a-cancel');
}, 240_000);

long(
  "abort: the phases' runs end first, what they committed stays under a ref that the result names, then the worktrees go",
  async () => {
    const s = await sceneOf();
    const worker = await s.worker('commit:hold-before:1');
    const run = await startDemo(s);
    const one = await atApproval(s, run, 'p1-1');
    const two = await atApproval(s, run, 'p2-1');
    await s.answer(two, 'approve');
    await s.until(worker.fired);
    await s.answer(run, 'abort');
    await eventually('the end of p1-1', async () => !(await isOpen(s, one)));
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    // Its commit has begun and must come to its end.
    expect([await isOpen(s, two), await isOpen(s, run), worktrees(s)]).toEqual([true, true, 2]);
    worker.go();
    const ended = await s.end(run, 150);
    expect(ended.outcome).toBe('aborted');
    // What its abort cut short did not fail.
    const told = ended.plan!.phases.map(({ status, why }) => [status, why]);
    expect(told.slice(0, 2)).toEqual([
      ['aborted', 'the plan was aborted'],
      ['completed', null],
    ]);
    const [kept, ...others] = ended.plan?.kept ?? [];
    expect(others).toEqual([]);
    expect(kept).toMatchObject({ name: 'p2-1', phase: 2 });
    expect(s.git('rev-parse', kept!.ref).trim()).toBe(kept!.commit);
    expect(s.git('show', `${kept!.ref}:src/two.js`)).toContain('src/two.js');
    expect(
      (await showRun(s.emend, await resolveRun(s.emend, two.stepKey))).status.result?.commit,
    ).toBe(kept!.commit);
    expect([
      worktrees(s),
      s.git('branch', '--list', 'emend/*'),
      s.git('status', '--porcelain'),
    ]).toEqual([0, '', '']);
    await check(s, run.live!.workflowId, 'plan-aborted-with-a-commit-kept');
  },
  400_000,
);

long(
  'workspace_unreachable before a worktree is made, and wait: no phase works in the tree of the plan',
  async () => {
    const s = await sceneOf(WAVE, {}, NOBODY);
    const first = await s.worker('prepareWorktree:before:1');
    const run = await startDemo(s, { approval: 'auto' });
    await first.exited;
    expect(first.fired()).toBe(true);
    await timedOut(s, run);
    await s.worker();
    const asked = (await s.settle(run, 150)).status.decision;
    expect(asked).toMatchObject({ reason: 'workspace_unreachable', accepts: ['wait', 'abort'] });
    await check(s, run.live!.workflowId, 'plan-paused-unreachable-before-a-worktree');
    await s.answer(run, 'wait', { decision: asked?.id ?? '' });
    expect(await s.end(run, 100)).toMatchObject({ outcome: 'completed' });
    for (const name of ['p1-1', 'p2-1']) {
      const { status } = await showRun(s.emend, await phaseRun(s, run, name));
      expect(status.workspace.startsWith(`${s.home}-worktrees/`)).toBe(true);
    }
    expect(s.git('log', '--merges', '--format=%s').trim().split('\n')).toHaveLength(2);
    expect([worktrees(s), s.git('status', '--porcelain')]).toEqual([0, '']);
    await check(s, run.live!.workflowId, 'plan-completed-after-an-unreachable-host');
  },
  400_000,
);

long(
  'a worktree that is gone is made again from its base, and the phase works there',
  async () => {
    const s = await sceneOf();
    await s.worker();
    const run = await startDemo(s);
    const one = await atApproval(s, run, 'p1-1');
    const two = await atApproval(s, run, 'p2-1');
    const base = s.git('rev-parse', 'HEAD').trim();
    const lost = (await showRun(s.emend, one)).status.workspace;
    rmSync(lost, { recursive: true });
    s.git('worktree', 'prune');
    s.git('update-ref', '-d', `refs/heads/emend/${run.stepKey.slice(0, 16)}/p1-1`);
    // The plan's own branch has moved meanwhile: a phase begins where those beside it began.
    s.write('by-hand.txt', 'by hand\n');
    s.git('add', '-A');
    s.git('commit', '-qm', 'By hand');
    await s.answer(one, 'approve');
    const stuck = await s.settle(one, 60).catch(() => null);
    if (stuck?.status.decision != null) await s.answer(one, 'abort');
    await s.answer(two, 'approve');
    const asked = (await s.settle(run, 150)).status.decision;
    expect(asked).toMatchObject({
      reason: 'engine_failed',
      message: expect.stringContaining('Phase 1 (One)'),
    });
    await s.answer(run, 'retry', { decision: asked?.id ?? '' });
    const again = await atApproval(s, run, 'p1-2');
    const { workspace } = (await showRun(s.emend, again)).status;
    expect(workspace.startsWith(`${s.home}-worktrees/`)).toBe(true);
    expect(existsSync(join(workspace, 'by-hand.txt'))).toBe(false);
    await s.answer(again, 'approve');
    expect(await s.end(run, 150)).toMatchObject({ outcome: 'completed' });
    expect(
      s.git('rev-parse', `${s.git('log', '--format=%H', '--grep=^Phase 1: One').trim()}^`).trim(),
    ).toBe(base);
    expect([worktrees(s), s.git('status', '--porcelain')]).toEqual([0, '']);
  },
  400_000,
);

long.each(['wait', 'abort'] as const)(
  'the run of a phase cannot be waited for, as its host takes no work: the plan asks, and %s leads on',
  async (answer) => {
    const s = await sceneOf(WAVE.slice(0, 1), {}, NOBODY);
    const first = await s.worker('awaitChild:before:1');
    const begun = await startDemo(s);
    const one = await atApproval(s, begun, 'p1-1');
    // As the Temporal UI's Reset button does it: the phase's run is met as one that is there already.
    await withHandle(s, begun, async (handle, client) => {
      const { runId } = await handle.describe();
      const { events } = await handle.fetchHistory();
      const started = events?.findIndex(
        (event) => event.startChildWorkflowExecutionInitiatedEventAttributes != null,
      );
      const task = events
        ?.slice(0, started)
        .findLast((e) => e.workflowTaskCompletedEventAttributes != null);
      await client.workflowService.resetWorkflowExecution({
        namespace: s.emend.namespace,
        reason: 'test',
        requestId: `reset-${runId}`,
        workflowExecution: { workflowId: begun.live!.workflowId, runId },
        workflowTaskFinishEventId: task!.eventId!,
      });
    });
    await first.exited;
    expect(first.fired()).toBe(true);
    const run = await resolveRun(s.emend, begun.stepKey);
    await timedOut(s, run);
    await s.worker();
    const asked = (await s.settle(run, 150)).status.decision;
    expect(asked).toMatchObject({ reason: 'workspace_unreachable', accepts: ['wait', 'abort'] });
    expect(asked?.message).toContain('could not wait for the run of Phase 1');
    await check(s, run.live!.workflowId, 'plan-paused-run-not-waited-for');
    await s.answer(run, answer, { decision: asked?.id ?? '' });
    if (answer === 'wait') await s.answer(one, 'approve');
    expect((await s.end(run, 150)).outcome).toBe(answer === 'wait' ? 'completed' : 'aborted');
    // An abort asks for the end of the phase's run and does not wait for it: the plan takes its host for gone.
    await eventually("the end of the phase's run", async () => !(await isOpen(s, one)));
    expect(s.git('status', '--porcelain')).toBe('');
  },
  300_000,
);

long.each(['skip', 'retry', 'abort'] as const)(
  'a mark that a hook refuses: the question says so, and %s leads on',
  async (answer) => {
    const s = await sceneOf(WAVE.slice(0, 1));
    const hook = join(s.repo, '.git/hooks/pre-commit');
    mkdirSync(join(s.repo, '.git/hooks'), { recursive: true });
    writeFileSync(
      hook,
      '#!/bin/sh\nif git diff --cached --name-only | grep -q ^plans/; then echo plans are frozen; exit 1; fi\n',
    );
    chmodSync(hook, 0o755);
    await s.worker();
    const run = await startDemo(s, { approval: 'auto' });
    const asked = (await s.settle(run, 150)).status.decision;
    expect(asked).toMatchObject({
      reason: 'engine_failed',
      message: expect.stringContaining('plans are frozen'),
    });
    await check(s, run.live!.workflowId, 'plan-paused-mark-refused');
    if (answer === 'retry') rmSync(hook);
    await s.answer(run, answer, { decision: asked?.id ?? '' });
    // Where it asks again this throws.
    const next = await s.settle(run, 150);
    expect(next.status.decision).toBeNull();
    expect((await s.end(run)).outcome).toBe(answer === 'abort' ? 'aborted' : 'completed');
    expect(s.read('plans/010_demo.md').includes('[COMPLETED]')).toBe(answer === 'retry');
    expect(s.git('status', '--porcelain')).toBe('');
  },
  300_000,
);
