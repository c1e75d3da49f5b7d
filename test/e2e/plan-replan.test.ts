/** Plans that fail, grow and are replanned while they run: against a scripted model, with real tests, git and documents. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { longOnly } from '../support/skipped.js';
import { check } from './check-history.js';
import { signalPlan } from '../../src/client/runs/plan-runs.js';
import { planOfPath } from '../../src/client/runs/start-plan.js';
import {
  answerFor,
  marked,
  phaseRun,
  planText,
  replanned,
  startDemo,
  type DemoPhase,
} from './plan-support.js';
import { scene, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const long = longOnly('the first shows the whole way; the others take longer than `npm test` may');

const decisionOf = async (s: Scene, run: Awaited<ReturnType<typeof startDemo>>) => {
  const { decision } = (await s.settle(run, 120)).status;
  if (decision === null) throw new Error('the plan asks nothing');
  return decision;
};
const PHASES: readonly DemoPhase[] = [
  { name: 'Foundation', file: 'src/one.js' },
  { name: 'Core logic', file: 'src/two.js' },
];
/** Fails with the same words until src/ready.js is there. */
const NEEDS_READY = `baseline: fix\ntest: ["test -f src/ready.js || { echo 'Error: src/ready.js is missing'; exit 1; }"]\n`;
const READY: DemoPhase = { name: 'Prepare', file: 'src/ready.js' };

describe('a phase whose tests fail', () => {
  test('twice in the same way: the model adds a phase before it, and the plan comes to its end', async () => {
    const s = (open = await scene(
      { 'plans/010_demo.md': planText(PHASES), 'emend.yaml': NEEDS_READY },
      [
        replanned({
          action: 'add_phase',
          phase: 1,
          name: 'Prepare',
          objective: 'Write src/ready.js',
          tasks: ['Create `src/ready.js`'],
        }),
        ...[READY, ...PHASES].map((phase) => answerFor(phase)),
      ],
    ));
    await s.worker();
    const run = await startDemo(s, { approval: 'auto' });
    const result = await s.end(run, 120);
    expect(result).toMatchObject({ outcome: 'completed' });
    expect(
      result.plan?.phases.map(({ number, status, replans }) => [number, status, replans]),
    ).toEqual([
      [3, 'completed', 1],
      [1, 'completed', 1],
      [2, 'completed', 0],
    ]);
    // Two edits that failed, one replan, and one edit for each of three phases.
    expect(result.usage.calls).toBe(6);
    const log = s.git('log', '--reverse', '--format=%s').trim().split('\n');
    expect(log.filter((subject) => !subject.startsWith('Mark'))).toEqual([
      'base',
      'Revise plans/010_demo: add_phase of Phase 1 (test_failure_pattern)',
      'Phase 3: Prepare',
      'Phase 1: Foundation',
      'Phase 2: Core logic',
    ]);
    const plan = s.read('plans/010_demo.md');
    expect(plan.indexOf('### Phase 3: Prepare [COMPLETED]')).toBeLessThan(
      plan.indexOf('### Phase 1: Foundation [COMPLETED]'),
    );
    expect(plan).toMatch(
      /## Revision History\n\n- \*\*[^*]+\*\* Phase 1: `add_phase` because of `test_failure_pattern`\n {2}- Structure: 2 phases -> 3 phases\n/,
    );
    const types = (await s.events(run)).map((event) => event.type);
    for (const type of ['phase_failed', 'trigger_checked', 'replan_triggered', 'replanned'])
      expect(types).toContain(type);
    expect(s.git('status', '--porcelain')).toBe('');
    await check(s, run.live!.workflowId, 'plan-completed-replanned');
  }, 240_000);

  long(
    'always: every path ends at a limit, and the calls are counted',
    async () => {
      const s = (open = await scene(
        {
          'plans/010_demo.md': planText(PHASES),
          'emend.yaml': `baseline: fix\ntest: ["echo 'Error: never'; exit 1"]\n`,
        },
        [
          replanned({ action: 'update_tasks', phase: 1, add: ['Think again'] }),
          ...PHASES.map((phase) => answerFor(phase)),
        ],
      ));
      await s.worker();
      const run = await startDemo(s, { approval: 'auto' });
      const decision = await decisionOf(s, run);
      expect(decision).toMatchObject({
        reason: 'replan_limit',
        accepts: ['force', 'revise', 'continue', 'skip', 'abort'],
      });
      // 3 x 2 attempts, and a replan after the first and the second pair.
      expect(s.rehearsal.requests()).toHaveLength(8);
      const stops = (await s.events(run)).filter(({ type }) => type === 'loop_stopped');
      expect(stops).toMatchObject([{ phase: 1, replans: 2, limit: 2 }]);
      await check(s, run.live!.workflowId, 'plan-paused-replan-limit');
      await s.answer(run, 'abort', { decision: decision.id });
      expect(await s.end(run, 60)).toMatchObject({ outcome: 'aborted' });
      expect(s.git('status', '--porcelain')).toBe('');
    },
    240_000,
  );
});

long(
  'a report of scope drift changes tasks; a phase with too many tasks is expanded; its second score is kept',
  async () => {
    const phases = PHASES.map((phase, index) => (index === 0 ? { ...phase, tasks: 11 } : phase));
    const score = { score: 9, reasoning: 'Many parts.', recommendation: 'expand' };
    const s = (open = await scene(
      { 'plans/010_demo.md': planText(phases), 'emend.yaml': 'test: [node -e 0]\n' },
      [
        { name: 'score', match: { contains: 'You judge how complex' }, answer: marked(score) },
        replanned(
          { action: 'update_tasks', phase: 1, add: ['Migrate what is there'] },
          { times: 1 },
        ),
        ...phases.map((phase) => answerFor(phase)),
      ],
    ));
    await s.worker();
    const run = await startDemo(s, { approval: 'auto', drift: 'a migration is needed first' });
    const result = await s.end(run, 200);
    expect(result).toMatchObject({ outcome: 'completed' });
    expect(result.plan?.phases.map(({ score: last, replans }) => [last, replans])).toEqual([
      // The mean of 2.6 and 9, which are further apart than 2.0.
      [5.8, 2],
      [expect.any(Number), 0],
    ]);
    const plan = s.read('plans/010_demo/010_demo.md');
    expect(plan).toContain('`update_tasks` because of `scope_drift`');
    expect(readFileSync(join(s.home, 'logs', 'plan.log'), 'utf8')).toContain(
      'SCOPE_DRIFT: phase=1 by=--report-scope-drift description="a migration is needed first"',
    );
    expect(plan).toContain(
      '`expand_phase` because of `complexity`\n  - Structure: inline -> expanded',
    );
    expect(s.read('plans/010_demo/phase_1_foundation.md')).toContain('- [x] Migrate what is there');
    expect(s.git('status', '--porcelain')).toBe('');
  },
  240_000,
);

test('words of a person while the last phase runs: shown, and taken up as a phase after it', async () => {
  const phases = PHASES.slice(0, 1);
  const late: DemoPhase = { name: 'Late', file: 'src/late.js' };
  const s = (open = await scene(
    { 'plans/010_demo.md': planText(phases), 'emend.yaml': 'test: [node -e 0]\n' },
    [
      replanned(
        {
          action: 'add_phase',
          phase: 1,
          name: 'Late',
          objective: 'Write src/late.js',
          tasks: ['Create `src/late.js`'],
        },
        { contains: ['You revise an implementation plan', 'late is wanted, too'] },
      ),
      ...[...phases, late].map((phase) => answerFor(phase)),
    ],
  ));
  await s.worker();
  const run = await startDemo(s);
  const plan = await planOfPath(s.repo, 'plans/010_demo.md');
  const one = await phaseRun(s, run, 'p1-1');
  const first = (await s.settle(one, 60)).status.decision;
  expect(
    await signalPlan(s.emend, plan, 'replan', { by: 'ann', text: 'late is wanted, too' }),
  ).not.toBeNull();
  expect((await s.show(run)).status.plan?.reports).toEqual([
    { trigger: 'person', text: 'late is wanted, too', by: 'ann' },
  ]);
  await s.answer(one, 'approve', { decision: first?.id ?? '' });
  const two = await phaseRun(s, run, 'p2-1');
  const second = (await s.settle(two, 60)).status.decision;
  await s.answer(two, 'approve', { decision: second?.id ?? '' });
  expect(await s.end(run, 60)).toMatchObject({ outcome: 'completed', plan: { reports: [] } });
  const text = s.read('plans/010_demo.md');
  expect(text.indexOf('### Phase 1: Foundation [COMPLETED]')).toBeLessThan(
    text.indexOf('### Phase 2: Late [COMPLETED]'),
  );
  expect(text).toContain('`add_phase` because of `person`');
  const events = await s.events(run);
  expect(events.map(({ type }) => type)).toContain('revision_wanted');
  expect(events.filter(({ type }) => type === 'phase_started')).toMatchObject([
    { phase: 1, list: ['Create `src/one.js`'] },
    { phase: 2, list: ['Create `src/late.js`'] },
  ]);
}, 120_000);
