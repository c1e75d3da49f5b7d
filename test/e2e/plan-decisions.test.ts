/** Decisions that a plan's run asks as a job's does: a test command that was found, tests that fail on the merged tree, a phase that failed. */
import { afterEach, expect, test } from '@jest/globals';
import { check } from './check-history.js';
import { answerFor, phaseRun, planText, startDemo, TWO_WAVES } from './plan-support.js';
import { requestsOf, scene, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/** Each phase passes by itself; the two of them together do not, until somebody has seen to it. */
const CHECK =
  "const { existsSync } = require('node:fs');\n" +
  "process.exit(['src/one.js', 'src/two.js'].every(existsSync) && !existsSync('both-are-meant') ? 1 : 0);\n";

test('test_command, tests_failed on the merged tree and engine_failed, each asked by the plan and answered', async () => {
  const files = {
    'plans/010_demo.md': planText(TWO_WAVES),
    'package.json': '{ "name": "demo", "scripts": { "test": "node check.cjs" } }\n',
    'check.cjs': CHECK,
  };
  const s = (open = await scene(
    files,
    TWO_WAVES.map((phase) => answerFor(phase)),
  ));
  await s.worker();
  const run = await startDemo(s);
  const workflowId = run.live!.workflowId;

  const found = (await s.settle(run)).status.decision;
  expect(found).toMatchObject({
    reason: 'test_command',
    accepts: ['run', 'other', 'no_tests', 'abort'],
  });
  expect(s.rehearsal.requests()).toHaveLength(0);
  await check(s, workflowId, 'plan-paused-test-command');
  await s.answer(run, 'run', { decision: found?.id ?? '' });

  for (const name of ['p1-1', 'p2-1']) {
    const phase = await phaseRun(s, run, name);
    expect((await s.settle(phase, 100)).status.decision?.reason).toBe('approval');
    await s.answer(phase, 'approve');
  }
  const failed = (await s.settle(run, 200)).status.decision;
  expect(failed).toMatchObject({
    reason: 'tests_failed',
    accepts: ['revise', 'keep', 'manual', 'abort'],
  });
  await check(s, workflowId, 'plan-paused-tests-failed');
  // A person mends it, and the tests are run again.
  s.write('both-are-meant', '');
  s.git('add', 'both-are-meant');
  s.git('commit', '-qm', 'Both are meant');
  await s.answer(run, 'manual', { decision: failed?.id ?? '' });

  const third = await phaseRun(s, run, 'p3-1');
  expect((await s.settle(third, 200)).status.decision?.reason).toBe('approval');
  await s.answer(third, 'abort');
  const engine = (await s.settle(run, 100)).status.decision;
  expect(engine).toMatchObject({
    reason: 'engine_failed',
    accepts: ['retry', 'manual', 'skip', 'abort'],
  });
  expect(engine?.message).toContain('Phase 3 (Three)');
  await check(s, workflowId, 'plan-paused-engine-failed');
  await s.answer(run, 'skip', { decision: engine?.id ?? '' });
  const ended = await s.end(run, 120);
  expect(ended.plan?.phases.map(({ status }) => status)).toEqual([
    'completed',
    'completed',
    'skipped',
  ]);
  expect(s.git('status', '--porcelain')).toBe('');
}, 400_000);

test("the score of a phase chooses the model by the routes, and how hard it thinks by the API's own parameter", async () => {
  const two = TWO_WAVES.slice(0, 2).map(({ name, file }) => ({ name, file }));
  const hard = planText(two).replace('Write src/two.js', 'Write src/two.js: security, refactor');
  const s = (open = await scene(
    {
      'plans/010_demo.md': hard,
      'emend.yaml':
        'test: [node -e 0]\nmodel: plain\nroutes:\n  - { complexity: medium, model: larger }\nmodels: { larger: { thinking: budget } }\n',
    },
    two.map((phase) => answerFor(phase)),
  ));
  await s.worker();
  const run = await startDemo(s, { approval: 'auto' });
  const first = (await s.settle(run, 60)).status.decision;
  // The models have no price here, so the estimate is asked about whatever was said before.
  if (first !== null) await s.answer(run, 'continue', { decision: first.id });
  expect(await s.end(run, 120)).toMatchObject({ outcome: 'completed' });
  expect(s.rehearsal.requests().map(({ model }) => model)).toEqual(['plain', 'larger']);
  const sent = await requestsOf(s);
  expect(sent.find(({ model }) => model === 'plain')).not.toHaveProperty('thinking');
  const larger = sent.find(({ model }) => model === 'larger');
  expect(larger).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 4_096 } });
  expect(larger?.max_tokens).toBe(16_384 + 4_096);
}, 240_000);
