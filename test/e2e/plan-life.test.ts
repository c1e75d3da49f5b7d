import { afterEach, expect, test } from '@jest/globals';
import { planOfPath, resolveRun, showRun, startPlan } from '../../src/client/index.js';
import { longOnly } from '../support/skipped.js';
import { check } from './check-history.js';
import { closedOf, eventually, withHandle } from './ends.js';
import { answerFor, phaseRun, planText, startDemo, type DemoPhase } from './plan-support.js';
import { scene, type Scene } from './support.js';

const long = longOnly('up to a minute; the pure rules are shown in test/shared');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const PHASES: readonly DemoPhase[] = [
  { name: 'One', file: 'src/one.js' },
  { name: 'Two', file: 'src/two.js' },
  { name: 'Three', file: 'src/three.js' },
];

long(
  'the document is changed while the plan runs, and the plan goes on in a new run after each phase',
  async () => {
    const before = planText(PHASES.slice(0, 2));
    const s = (open = await scene(
      { 'plans/010_demo.md': before, 'emend.yaml': 'test: [node -e 0]\n' },
      PHASES.map((phase) => answerFor(phase)),
      { env: { EMEND_PLANRUN_GROUPS: '1' } },
    ));
    await s.worker();
    const run = await startDemo(s);
    const approve = async (phase: number): Promise<void> => {
      for (;;) {
        const child = await resolveRun(s.emend, `${run.stepKey.slice(0, 8)}-p${phase}-1`).catch(
          () => null,
        );
        if (child?.live != null) {
          await s.settle(child);
          await s.answer(child, 'approve');
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    // Before phase 1 is approved, a person adds a third.
    for (let phases = 0; phases === 0;)
      phases = (await showRun(s.emend, run)).status.counts.in_progress;
    s.write('plans/010_demo.md', planText(PHASES));
    s.git('commit', '-qam', 'A third phase');
    await approve(1);
    const asked = await s.settle(run, 100);
    expect(asked.status.decision).toMatchObject({
      reason: 'plan_changed',
      accepts: ['take_new', 'keep_old', 'abort'],
    });
    expect(asked.status.decision?.message).toContain('Phase 3 (Three) is new');
    await check(s, asked.workflowId!, 'plan-paused-plan-changed');
    await s.answer(run, 'take_new');
    await approve(2);
    await approve(3);
    const now = await resolveRun(s.emend, run.stepKey);
    const result = await s.end(now, 150);
    expect(result).toMatchObject({ outcome: 'completed', usage: { calls: 3 } });
    const last = await resolveRun(s.emend, run.stepKey);
    expect(last.live?.runId).not.toBe(run.live?.runId);
    await check(s, asked.workflowId!, 'plan-completed-in-a-later-run');
    const seqs = (await s.events(last)).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(s.read('plans/010_demo.md').match(/\[COMPLETED\]/g)).toHaveLength(3);
    expect(s.git('status', '--porcelain')).toBe('');
  },
  300_000,
);

test('a phase that is renamed while it runs keeps its mark; one that is removed asks; two plans of one number have two summaries', async () => {
  const path = 'plans/010_demo.md';
  const other = { name: 'Four', file: 'src/four.js' };
  const s = (open = await scene(
    {
      [path]: planText(PHASES),
      'plans/010_b.md': planText([other]),
      'emend.yaml': 'test: false\n',
    },
    [...PHASES, other].map((phase) => answerFor(phase)),
  ));
  await s.worker();
  const run = await startDemo(s);
  const approve = async (name: string, edit?: (text: string) => string): Promise<void> => {
    const phase = await phaseRun(s, run, name);
    await s.settle(phase);
    if (edit !== undefined) {
      s.write(path, edit(s.read(path)));
      s.git('commit', '-qm', 'mine', path);
    }
    await s.answer(phase, 'approve');
  };
  await approve('p1-1', (text) => text.replace('1: One', '1: Uno'));
  await approve('p2-1', (text) => text.replace(/### Phase 2[^]*?(?=### Phase 3)/, ''));
  const asked = (await s.settle(run, 100)).status;
  expect(asked.decision).toMatchObject({
    reason: 'engine_failed',
    accepts: expect.arrayContaining(['retry', 'skip']),
  });
  expect(asked.decision?.message).toContain('plans/010_demo has no Phase 2 (Two) any more');
  expect(asked.plan?.phases.map(({ name, status }) => [name, status])).toEqual([
    ['Uno', 'completed'],
    ['Two', 'completed'],
    ['Three', 'pending'],
  ]);
  await s.answer(run, 'skip');
  await approve('p3-1');
  expect(await s.end(run, 100)).toMatchObject({ outcome: 'completed', usage: { calls: 3 } });
  expect(s.read(path)).toContain(
    '### Phase 1: Uno [COMPLETED]\n\n**Objective**: Write src/one.js\n\n- [x]',
  );
  expect(s.read(path).match(/^### .*/gm)).toEqual([
    '### Phase 1: Uno [COMPLETED]',
    '### Phase 3: Three [COMPLETED]',
  ]);
  const { stepKey } = await startPlan(s.emend, {
    plan: await planOfPath(s.repo, 'plans/010_b.md'),
    approval: 'auto',
    options: { estimate: 'approved' },
  });
  expect(await s.end(await resolveRun(s.emend, stepKey), 100)).toMatchObject({
    outcome: 'completed',
  });
  const lines = (file: string) => s.read(file).match(/(?<=^(?:- |\*\*Plan\*\*: )).*?(?=:|$)/gm);
  expect(lines('summaries/010_partial.md')).toEqual([
    '`plans/010_demo`',
    'Phase 1 (Uno)',
    'Phase 3 (Three)',
  ]);
  expect(lines('summaries/010_b_partial.md')).toEqual(['`plans/010_b`', 'Phase 1 (Four)']);
  expect(s.git('status', '--porcelain')).toBe('');
}, 240_000);

test('an estimate is asked about before anything is paid for; a budget that is used up asks, and raised it goes on', async () => {
  const two = PHASES.slice(0, 2);
  const s = (open = await scene(
    { 'plans/010_demo.md': planText(two), 'emend.yaml': 'test: false\n' },
    two.map((phase) => answerFor(phase)),
  ));
  await s.worker();
  const plan = await planOfPath(s.repo, 'plans/010_demo.md');
  const { stepKey } = await startPlan(s.emend, {
    plan,
    approval: 'auto',
    overrides: { budget_calls: 1 },
  });
  const run = await resolveRun(s.emend, stepKey);
  const estimate = (await s.settle(run)).status.decision;
  expect(estimate).toMatchObject({ reason: 'estimate', accepts: ['continue', 'abort'] });
  expect(estimate?.message).toContain('2 phases: about 2 model calls');
  expect(estimate?.message).toContain('about 2 model calls are expected; budget_calls is 1');
  expect(s.rehearsal.requests()).toHaveLength(0);
  await check(s, run.live!.workflowId, 'plan-paused-estimate');
  await s.answer(run, 'continue', { decision: estimate?.id ?? '' });
  const budget = (await s.settle(run, 100)).status.decision;
  expect(budget).toMatchObject({ reason: 'budget', subject: 'budget_calls' });
  expect(s.rehearsal.requests()).toHaveLength(1);
  await check(s, run.live!.workflowId, 'plan-paused-budget');
  await s.answer(run, 'retry', { decision: budget?.id ?? '' });
  expect(await s.end(run, 100)).toMatchObject({ outcome: 'completed', usage: { calls: 2 } });
}, 240_000);

test.each([
  ['abort', { status: 'COMPLETED', result: { outcome: 'aborted' } }],
  ['cancel', { status: 'CANCELLED', result: null }],
] as const)(
  'a plan that waits for a model that is down: %s ends it at once',
  async (how, end) => {
    const phases = [{ name: 'One', file: 'src/one.js' }];
    const down = {
      name: 'down',
      match: { contains: 'You revise an implementation plan' },
      answer: '',
    };
    const s = (open = await scene(
      { 'plans/010_demo.md': planText(phases), 'emend.yaml': 'test: false\n' },
      [
        { ...down, fault: { kind: 'overload' as const } },
        ...phases.map((phase) => answerFor(phase)),
      ],
      { env: { EMEND_OUTAGEWAIT_MS: '600000', EMEND_OUTAGEMAXWAIT_MS: '600000' } },
    ));
    await s.worker();
    const run = await startDemo(s, { drift: 'a thing that the plan does not hold' });
    await eventually('the wait', async () => (await s.show(run)).status.outage ?? null, 60);
    if (how === 'abort') await s.answer(run, 'abort', { decision: '' });
    else await withHandle(s, run, (handle) => handle.cancel());
    expect(await closedOf(s, run)).toMatchObject(end);
  },
  120_000,
);
