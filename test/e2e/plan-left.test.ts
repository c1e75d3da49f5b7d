/** What a plan's run leaves behind when it is cut off, and how the next one goes on from it. */
import { afterEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import {
  checkpointOf,
  planOfPath,
  resolveRun,
  runOfPlan,
  showRun,
} from '../../src/client/index.js';
import { removeEndedWorktrees } from '../../src/client/ended/worktrees.js';
import { printedFaults } from '../support/json-schema.js';
import { check } from './check-history.js';
import { closedOf, emendCommand, eventually, withHandle } from './ends.js';
import { answerFor, phaseRun, planText, startDemo, type DemoPhase } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const PLAN = 'plans/010_demo.md';
const PHASES: readonly DemoPhase[] = [
  { name: 'One', file: 'src/one.js' },
  { name: 'Two', file: 'src/two.js' },
];
type Run = Awaited<ReturnType<typeof startDemo>>;
const terminate = (s: Scene, run: Run): Promise<unknown> =>
  withHandle(s, run, (handle) => handle.terminate('test'));
const subjects = (s: Scene): readonly string[] =>
  s.git('log', '--reverse', '--format=%s').trim().split('\n');

test('terminated between commit and mark: the next run finds the commit by its trailer, marks it and pays for nothing twice', async () => {
  const [one, two] = PHASES as [DemoPhase, DemoPhase];
  // Of Phase 1 the model leaves its second task, and says so; of Phase 2 it says nothing.
  const text = planText([{ ...one, tasks: 3 }, two]);
  const files = { 'plans/010_demo.md': text, 'emend.yaml': 'test: [node -e 0]\n' };
  const said = answerFor(one);
  const script = [
    { ...said, answer: `NOT DONE: 2: nothing to test yet\n\n${said.answer}` },
    answerFor(two),
  ];
  const s = (open = await scene(files, script));
  const worker = await s.worker('markPhase:before:1');
  const first = await startDemo(s, { approval: 'auto' });
  await worker.exited;
  expect(subjects(s)).toEqual(['base', 'Phase 1: One']);
  await terminate(s, first);
  await s.worker();
  const run = await startDemo(s, { approval: 'auto' });
  expect(run.stepKey).not.toBe(first.stepKey);
  const ended = await s.end(run, 120);
  expect(ended).toMatchObject({ outcome: 'incomplete', usage: { calls: 1 } });
  expect(ended.plan?.phases.map(({ status, why }) => [status, why])).toEqual([
    ['incomplete', '1 task is not done: Task 2 (nothing to test yet)'],
    ['completed', null],
  ]);
  expect(s.git('log', '--format=%b', '--grep=^Phase 1')).toContain(
    'Not done: task 2: nothing to test yet\n',
  );
  expect(s.read('plans/010_demo.md')).toContain(
    '- [x] Create `src/one.js`\n- [ ] Task 2\n- [x] Task 3\n',
  );
  expect(s.rehearsal.requests()).toHaveLength(2);
  expect(subjects(s).map((subject) => subject.split(' of ')[0])).toEqual([
    'base',
    'Phase 1: One',
    'Phase 2: Two',
    'Mark Phase 2',
  ]);
  expect((await s.events(run)).find(({ type }) => type === 'resumed_from')).toMatchObject({
    run: null,
    committed: [1],
    failures: 0,
    replans: 0,
  });
  const commit = s.git('log', '--format=%h', '--abbrev=12', '--grep=^Phase 1').trim();
  expect(s.read('summaries/010_partial.md')).toContain(
    `- Phase 1 (One): incomplete, commit ${commit}, tests: pass, 1 task is not done: Task 2 (nothing to test yet)`,
  );
  expect((await emendCommand(s, 'plan', 'show', 'plans/010_demo.md')).out).toMatch(
    /Phase 1: One \[INCOMPLETE\] +2\/3 tasks .*\n +not done: Task 2\n/,
  );
  expect(s.git('status', '--porcelain')).toBe('');
  await check(s, run.live!.workflowId, 'plan-completed-from-a-commit');

  // The mark taken away by a person is not simply written again: they are asked, and done over where they say so.
  // What was left of Phase 1 they have done themselves.
  const asManual = s
    .read('plans/010_demo.md')
    .replace('[INCOMPLETE]', '[COMPLETED]')
    .replace('- [ ] Task 2', '- [x] Task 2');
  s.write(
    'plans/010_demo.md',
    asManual.replace('### Phase 2: Two [COMPLETED]', '### Phase 2: Two'),
  );
  s.git('commit', '-qam', 'Do Phase 2 over');
  const again = await startDemo(s, { approval: 'auto' });
  const { decision } = (await s.settle(again)).status;
  expect(decision).toMatchObject({ reason: 'resume', accepts: ['resume', 'restart', 'abort'] });
  expect(decision?.message).toContain('Phase 2 (Two) was marked as done by');
  await check(s, again.live!.workflowId, 'plan-paused-resume');
  await s.answer(again, 'resume');
  expect(await s.end(again, 60)).toMatchObject({ outcome: 'completed', usage: { calls: 0 } });
  expect(s.read('plans/010_demo.md')).toContain('### Phase 2: Two [COMPLETED]');
}, 240_000);

/** The first phase is marked, and no checkpoint knows of it. */
const terminatedAfterMark = async (phases = PHASES): Promise<Scene> => {
  const s = (open = await scene(
    { 'plans/010_demo.md': planText(phases), 'emend.yaml': 'test: [node -e 0]\n' },
    phases.map((phase) => answerFor(phase)),
  ));
  const worker = await s.worker('markPhase:after:1');
  const first = await startDemo(s, { approval: 'auto' });
  await worker.exited;
  await terminate(s, first);
  return s;
};

test('terminated between a mark and its checkpoint: the next run commits that mark with its own, also where the next phase has the same name', async () => {
  const s = await terminatedAfterMark(PHASES.map((phase) => ({ ...phase, name: 'Same' })));
  expect(s.git('status', '--porcelain')).toBe(' M plans/010_demo.md\n?? summaries/\n');
  await s.worker();
  const run = await startDemo(s, { approval: 'auto' });
  const settled = await s.settle(run, 120);
  expect(settled.status.decision?.message ?? null).toBeNull();
  expect(await s.end(run, 120)).toMatchObject({ outcome: 'completed', usage: { calls: 1 } });
  expect(s.git('status', '--porcelain')).toBe('');
}, 240_000);

test('the same where a person has done what was left: the next run has nothing to do but that commit', async () => {
  const s = await terminatedAfterMark();
  const mine = s.read('plans/010_demo.md').replace(/### Phase 2: Two$/m, '$& [SKIPPED]');
  s.git('stash', '-q');
  s.write(
    'plans/010_demo.md',
    s.read('plans/010_demo.md').replace(/### Phase 2: Two$/m, '$& [SKIPPED]'),
  );
  s.git('commit', '-qam', 'Not wanted');
  s.write('plans/010_demo.md', mine);
  const summary = s.read('summaries/010_partial.md');
  await s.worker();
  const run = await startDemo(s, { approval: 'auto' });
  expect(await s.end(run, 60)).toMatchObject({ outcome: 'incomplete', usage: { calls: 0 } });
  expect(s.read('summaries/010_partial.md')).toBe(summary);
  expect(s.git('status', '--porcelain')).toBe('');
  expect(subjects(s).at(-1)).toBe('Mark phases of plans/010_demo');
}, 240_000);

test('aborted after a failure: its checkpoint is read, a person is asked with the reason, and the failures count on', async () => {
  const failing = `test: ["test -f src/two.js && { echo 'Error: two is bad'; exit 1; }; true"]\n`;
  const s = (open = await scene({ 'plans/010_demo.md': planText(PHASES), 'emend.yaml': failing }, [
    // A report on the failures, a replan: neither can be used, so each attempt that follows asks by itself.
    { name: 'replan', match: { contains: 'You revise an implementation plan' }, answer: 'No.' },
    ...PHASES.map((phase) => answerFor(phase)),
  ]));
  await s.worker();
  const plan = await planOfPath(s.repo, 'plans/010_demo.md');
  expect(await checkpointOf(s.emend, plan)).toBeNull();
  const first = await startDemo(s, { approval: 'auto' });
  const asking = await phaseRun(s, first, 'p2-3');
  await s.settle(asking);
  await s.answer(first, 'abort');
  expect(await s.end(first)).toMatchObject({ outcome: 'aborted' });
  // The cancelled phase's calls among them.
  const paid = s.rehearsal.requests().length;
  expect((await checkpointOf(s.emend, plan))?.step_key).toBe(first.stepKey);
  expect(await s.emend.archive.lastFile(first.stepKey, 'checkpoint-')).toMatchObject({
    status: 'aborted',
    last_error: expect.stringContaining('two is bad'),
    test_failure_history: [
      { phase: 2, iteration: 1 },
      { phase: 2, iteration: 2 },
    ],
  });

  // As a person types it, without a run that is open: started where it was left. Here nobody answers, so it waits.
  const said = await emendCommand(s, 'plan', 'resume', 'plans/010_demo.md', '--json');
  expect({ code: said.code, err: said.err }).toEqual({ code: 3, err: '' });
  const run = await runOfPlan(s.emend, plan);
  const { decision } = (await showRun(s.emend, run)).status;
  expect(decision).toMatchObject({ reason: 'resume', accepts: ['resume', 'restart', 'abort'] });
  expect(decision?.message).toMatch(
    /an earlier run of the plan left a checkpoint: it was aborted; its tests did not pass; its last error is not fixed: .*two is bad/,
  );
  await s.answer(run, 'resume');
  const estimate = (await s.settle(run)).status.decision;
  expect(estimate?.reason).toBe('estimate');
  expect(estimate?.message).toMatch(
    /^1 phase: from about 1 model call, .*, if no phase fails, to at most about 19 model calls, /,
  );
  await s.answer(run, 'continue');
  const two = await phaseRun(s, run, 'p2-1');
  // Its tests fail before anybody is asked to approve it, and nothing of it is applied.
  expect((await s.settle(two)).status).toMatchObject({
    decision: null,
    result: { outcome: 'tests_failed', files: [] },
  });
  expect((await s.events(two)).map(({ type }) => type)).not.toContain('applied');
  // The third failure in a row is no first one: no attempt comes before what is to be decided.
  const events = await eventually('the judgement', async () => {
    const all = await s.events(run);
    return all.some(({ type }) => type === 'phase_failed') ? all : null;
  });
  expect(events.find(({ type }) => type === 'resumed_from')).toMatchObject({
    committed: [],
    failures: 2,
    run: first.stepKey.slice(0, 8),
    spent: { calls: paid },
  });
  const { plan: progress, usage } = (await showRun(s.emend, run)).status;
  expect(progress?.budget.used_calls).toBe(paid + usage.calls);
  expect(events.find(({ type }) => type === 'phase_failed')).toMatchObject({
    phase: 2,
    run: 1,
    consecutive: 3,
  });
  await s.answer(run, 'abort');
  await s.end(run);
  const restarted = await emendCommand(
    s,
    'plan',
    'run',
    'plans/010_demo.md',
    '--restart',
    '--json',
    '--auto',
  );
  expect(JSON.parse(restarted.out)).toMatchObject({ started: 'new' });
  expect(s.git('status', '--porcelain')).toBe('');
}, 240_000);

const BOTH: readonly DemoPhase[] = [
  { name: 'One', file: 'src/one.js', dependencies: [] },
  { name: 'Two', file: 'src/two.js', dependencies: [] },
];
/** A person's own worktree and branch, of the names that ours have. */
const own = (s: Scene): string => {
  s.git('branch', 'emend/mine');
  s.git('worktree', 'add', '-q', '-b', 'mine', `${s.repo}-mine`);
  return `${s.repo}-mine`;
};
const expectOwnOnly = (s: Scene, mine: string): void => {
  expect(s.git('worktree', 'list').trim().split('\n')).toHaveLength(2);
  expect(existsSync(mine)).toBe(true);
  expect(s.git('branch', '--format=%(refname:short)').trim().split('\n')).toEqual([
    'emend/mine',
    'main',
    'mine',
  ]);
  const dir = `${s.home}-worktrees`;
  expect(existsSync(dir) ? readdirSync(dir) : []).toEqual([]);
  expect(s.git('status', '--porcelain')).toBe('');
};
/** Phase 1 waits for its approval, Phase 2 stands in its apply. */
const onePausedOneInApply = async () => {
  const files = { 'plans/010_demo.md': planText(BOTH), 'emend.yaml': 'test: [node -e 0]\n' };
  const s = await scene(
    files,
    BOTH.map((phase) => answerFor(phase)),
    // Nobody dies here: a busy machine must not look like a dead worker.
    {
      env: {
        EMEND_HOSTHEARTBEATTIMEOUT_MS: '30000',
        EMEND_COMMANDHEARTBEATTIMEOUT_MS: '30000',
        EMEND_HEARTBEATTIMEOUT_MS: '30000',
      },
    },
  );
  open = s;
  const mine = own(s);
  const worker = await s.worker('applyProposal:hold-before:1');
  const run = await startDemo(s);
  const one = await phaseRun(s, run, 'p1-1');
  const two = await phaseRun(s, run, 'p2-1');
  for (const each of [one, two])
    expect((await s.settle(each)).status.decision?.reason).toBe('approval');
  await s.answer(two, 'approve');
  await s.until(() => worker.fired());
  return { s, mine, worker, run, one, two };
};

test('cancelled with one phase paused and one in apply: both are taken back, and the worktrees go, and nothing else', async () => {
  const { s, mine, worker, run, one, two } = await onePausedOneInApply();
  await withHandle(s, run, (handle) => handle.cancel());
  worker.go();
  expect(await closedOf(s, run)).toMatchObject({ status: 'CANCELLED' });
  expect((await showRun(s.emend, await resolveRun(s.emend, run.stepKey))).status.state).toBe(
    'aborted',
  );
  for (const each of [one, two])
    expect((await showRun(s.emend, await resolveRun(s.emend, each.stepKey))).status.state).toBe(
      'aborted',
    );
  expect(subjects(s)).toEqual(['base']);
  expectOwnOnly(s, mine);
}, 240_000);

test('terminated with one phase paused and one in apply: their runs come to their own end; then no worktree is left', async () => {
  const { s, mine, worker, run, one, two } = await onePausedOneInApply();
  await terminate(s, run);
  worker.go();
  expect(await s.end(two)).toMatchObject({ outcome: 'committed' });
  // The plan has ended, Phase 1 has not: its worktree is its workspace. The other's goes, and its commit is told.
  const [gone, ...more] = await removeEndedWorktrees(s.emend);
  expect(more).toEqual([]);
  expect(gone).toMatchObject({
    name: 'p2-1',
    outcome: 'removed',
    dropped: expect.stringMatching(/^[0-9a-f]{40}$/),
  });
  expect(s.git('branch', '--list', 'emend/*').trim().split('\n')).toHaveLength(2);
  expect((await s.show(one)).status.decision?.reason).toBe('approval');
  await s.answer(one, 'abort');
  await s.end(one);
  const said = await emendCommand(s, 'recover');
  expect(said.out).toContain(
    `${one.stepKey.slice(0, 8)}-p1-1  its plan has ended; its worktree is removed.`,
  );
  expectOwnOnly(s, mine);
  expect(subjects(s)).toEqual(['base']);
}, 240_000);

/** To before its phases were started: they are met as runs of others. Or to before a person's first answer. */
const resetToPhases = (s: Scene, run: Run, toAnswer = false): Promise<unknown> =>
  withHandle(s, run, async (handle, client) => {
    const { events } = await handle.fetchHistory();
    const started = (events ?? []).findIndex(
      (event) => event.startChildWorkflowExecutionInitiatedEventAttributes != null,
    );
    const answered = (events ?? []).findIndex(
      (event) => event.workflowExecutionUpdateAcceptedEventAttributes != null,
    );
    const before = (events ?? []).slice(0, toAnswer ? answered : started);
    // An answer brings a workflow task of its own, which is no boundary.
    const point = before
      .filter((event) => event.workflowTaskStartedEventAttributes != null)
      .at(toAnswer ? -2 : -1);
    await client.workflowService.resetWorkflowExecution({
      namespace: s.emend.namespace,
      workflowExecution: {
        workflowId: run.live!.workflowId,
        runId: (await handle.describe()).runId,
      },
      reason: 'test',
      requestId: randomUUID(),
      workflowTaskFinishEventId: point!.eventId!,
    });
  });

test('reset to before an answer, a phase of what is dropped waits on: it says that its plan does not wait for it, and how to end it', async () => {
  const [one] = PHASES as [DemoPhase, DemoPhase];
  const s = (open = await scene({ [PLAN]: planText([one]), 'emend.yaml': 'test: false\n' }, [
    answerFor(one),
  ]));
  await s.worker();
  const run = await startDemo(s, { estimate: 'ask' });
  await s.settle(run, 60);
  await s.answer(run, 'continue');
  const phase = await phaseRun(s, run, 'p1-1');
  await s.settle(phase, 60);
  const shown = async (): Promise<string> =>
    (await emendCommand(s, 'show', `${run.stepKey.slice(0, 8)}-p1-1`)).out;
  expect(await shown()).not.toContain('does not wait');
  await resetToPhases(s, run, true);
  const now = await resolveRun(s.emend, run.stepKey);
  await s.settle(now, 60);
  const said = `Its plan ${run.stepKey.slice(0, 8)} does not wait for it: the plan has ended, or was reset to an earlier point.`;
  expect(await shown()).toContain(said);
  await s.answer(now, 'abort');
  await s.end(now, 60);
  expect(await shown()).toContain(said);
  expect(await shown()).toContain(`emend abort ${run.stepKey.slice(0, 8)}-p1-1`);
}, 240_000);

test('reset with one phase paused and one in apply: both are found again, each is committed, merged and marked once', async () => {
  const { s, mine, worker, run, one } = await onePausedOneInApply();
  const calls = s.rehearsal.requests().length;
  await resetToPhases(s, run);
  worker.go();
  await s.answer(one, 'approve');
  const now = await resolveRun(s.emend, run.stepKey);
  expect(now.live?.runId).not.toBe(run.live?.runId);
  expect(await s.end(now, 120)).toMatchObject({ outcome: 'completed' });
  expect(s.rehearsal.requests()).toHaveLength(calls);
  const log = s.git('log', '--first-parent', '--reverse', '--format=%s').trim().split('\n');
  expect(log.map((subject) => subject.split(' of ')[0])).toEqual([
    'base',
    'Merge Phase 1: One',
    'Merge Phase 2: Two',
    'Mark Phase 2',
  ]);
  expectOwnOnly(s, mine);
  await check(s, run.live!.workflowId, 'plan-completed-after-a-reset');

  // Once more, now that all of it is done.
  const [head, plan] = [s.git('rev-parse', 'HEAD'), s.read('plans/010_demo.md')];
  await resetToPhases(s, now);
  expect(await s.end(await resolveRun(s.emend, run.stepKey), 120)).toMatchObject({
    outcome: 'completed',
  });
  expect([s.git('rev-parse', 'HEAD'), s.read('plans/010_demo.md')]).toEqual([head, plan]);
  expectOwnOnly(s, mine);
}, 240_000);

test('of a phase with a file that a person skips, the tasks that name it stay open', async () => {
  const text =
    planText([]) + '### Phase 1: Both\n\n- [ ] Change `src/one.js`\n- [ ] Change `src/two.js`\n';
  const old = 'export const n = 1;\n';
  const files = {
    'plans/010_demo.md': text,
    'src/one.js': old,
    'src/two.js': old,
    'emend.yaml': 'test: false\nlimits: { maxFilesBeforeSplit: 2 }\n',
  };
  const more = 'export const n = 2;\n';
  const both = {
    name: 'both',
    match: { contains: '- src/two.js' },
    answer: whole({ 'src/one.js': more, 'src/two.js': more }),
  };
  const s = (open = await scene(files, [both]));
  await s.worker();
  const run = await startDemo(s);
  const phase = await phaseRun(s, run, 'p1-1');
  expect((await s.settle(phase, 100)).status.decision?.reason).toBe('approval');
  await s.answer(phase, 'skip', { files: ['src/two.js'] });
  await s.answer(phase, 'approve', { files: ['src/one.js'] });
  const ended = await s.end(run, 120);
  expect(await s.end(phase)).toMatchObject({
    outcome: 'committed',
    files: ['src/one.js'],
    skipped: ['src/two.js'],
  });
  expect(ended).toMatchObject({ outcome: 'incomplete' });
  expect(ended.plan?.phases[0]).toMatchObject({
    status: 'incomplete',
    why: '1 task is not done: Change `src/two.js` (src/two.js was skipped)',
  });
  expect([s.read('src/one.js'), s.read('src/two.js')]).toEqual([more, old]);
  expect(s.read('plans/010_demo.md')).toContain(
    '- [x] Change `src/one.js`\n- [ ] Change `src/two.js`\n',
  );
}, 120_000);

test('a phase that waits for a person is told by the plan, with what to type', async () => {
  const files = {
    'plans/010_demo.md': planText(PHASES.slice(0, 1)),
    'emend.yaml': 'test: [node -e 0]\n',
  };
  const s = (open = await scene(
    files,
    PHASES.slice(0, 1).map((phase) => answerFor(phase)),
  ));
  await s.worker();
  const run = await startDemo(s, { approval: 'ask' });
  const phase = await phaseRun(s, run, 'p1-1');
  expect((await s.settle(phase)).status.decision).toMatchObject({ reason: 'approval' });
  const shown = `emend review ${run.stepKey.slice(0, 8)}-p1-1`;
  for (const asked of [
    ['plan', 'status', 'plans/010_demo.md'],
    ['show', run.stepKey],
  ])
    expect((await emendCommand(s, ...asked)).out).toMatch(
      new RegExp(`One +waits: approval +${shown}`),
    );
  const printed = await emendCommand(s, 'plan', 'status', 'plans/010_demo.md', '--json');
  expect(printedFaults(['plan', 'status', '--json'], printed.out)).toEqual([]);
  expect(JSON.parse(printed.out)).toMatchObject({
    phasesWaiting: [{ phase: 1, run: phase.stepKey, reason: 'approval' }],
  });
  // Whoever starts it once more with other options is told which of them come too late.
  const late = [
    '--phase',
    '1',
    '--auto',
    '--set',
    'budget_calls=9',
    '--report-scope-drift',
    'docs are missing',
  ];
  const followed = await emendCommand(s, 'plan', 'run', PLAN, '--json', ...late);
  expect([followed.code, followed.err]).toEqual([3, expect.stringContaining('had no effect')]);
  for (const flag of late.filter((each) => each.startsWith('--')))
    expect(followed.err).toContain(flag);
  await s.answer(phase, 'approve');
  expect(await s.end(run, 60)).toMatchObject({ outcome: 'completed' });
  expect((await emendCommand(s, 'plan', 'status', 'plans/010_demo.md')).out).not.toContain(
    'waits:',
  );
});
