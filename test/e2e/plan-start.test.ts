/**
 * What a plan asks before its first phase, and what comes of each answer: one question with its parts, answered from the command line;
 * commands of the tasks run in their phases; a plan without tests says so; stages are expanded in a run; the old path goes on.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { main } from '../../src/cli/main.js';
import { planOfPath, resolveRun, startPlan } from '../../src/client/index.js';
import { statsOf } from '../../src/documents/plan/index.js';
import { fakeIo } from '../cli/io.js';
import { longOnly } from '../support/skipped.js';
import { answerFor, phaseRun, planText, startDemo } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';

const long = longOnly('each starts a run of its own; the tests that stay show the promise');

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const PHASES = [
  { name: 'One', file: 'src/one.js', tasks: 11 },
  { name: 'Two', file: 'src/two.js' },
  { name: 'Three', file: 'src/three.js' },
];
/** Each command leaves its word; in a sandbox it could not. */
const ran = (word: string): string => `require('fs').appendFileSync('.git/ran', '${word} ');\n`;
const score = {
  name: 'score',
  match: { contains: 'You judge how complex' },
  answer:
    '{"score": 3, "reasoning": "Many, and small.", "recommendation": "keep"}\nEMEND-COMPLETE {{nonce}} 0 0\n',
};

test('expansion, tests, changed files and estimate are one question, each part answered by itself; the old path goes on', async () => {
  const plan = planText(PHASES).replace(
    '- [ ] Create `src/two.js`',
    '- [ ] Create `src/two.js`\n- [ ] Run `node tests/two.cjs`',
  );
  const old = "export const made = 'before';\n";
  const s = (open = await scene(
    {
      'plans/010_demo.md': plan,
      'package.json': '{ "scripts": { "test": "node tests/all.cjs" } }\n',
      'tests/all.cjs': ran('all'),
      'tests/two.cjs': ran('two'),
      'src/three.js': old,
      'emend.yaml': 'baseline: off\nsandbox: off\n',
    },
    [score, ...PHASES.map((phase) => answerFor(phase))],
  ));
  s.write('src/three.js', "export const made = 'by hand';\n");
  await s.worker();
  const run = await startDemo(s, { estimate: 'ask' });
  const { decision } = (await s.settle(run, 60)).status;
  expect(decision).toMatchObject({ reason: 'plan_start', accepts: ['start', 'abort'], files: [] });
  expect(decision?.parts?.map(({ name, accepts }) => [name, ...accepts])).toEqual([
    ['expand', 'all', 'none', '1'],
    ['tests', 'run', 'none'],
    ['dirty', 'keep', 'skip'],
    ['estimate', 'continue'],
  ]);
  const told = decision?.parts?.map(({ message }) => message).join('\n') ?? '';
  for (const part of [
    'emend plan expand phase plans/010_demo.md 1',
    'node tests/two.cjs (tasks of Phase 2); npm test (package.json)',
    'Phase 3: src/three.js',
    '3 phases: from about',
  ])
    expect(told).toContain(part);
  // Nothing is paid for, and nothing runs, before that.
  expect([s.rehearsal.requests().length, existsSync(join(s.repo, '.git/ran'))]).toEqual([0, false]);

  const cli = async (...typed: string[]) => {
    const io = fakeIo({ env: s.env, cwd: s.repo });
    return { exit: await main(typed, io), ...io.printed };
  };
  const name = run.stepKey.slice(0, 8);
  expect((await cli('show', name)).out).toContain(
    '--set expand=all --set tests=run --set dirty=keep --set estimate=continue',
  );
  const typed = ['decide', name, 'start', '--decision', decision?.id ?? ''];
  const wrong = await cli(...typed, '--set', 'expand=2');
  expect([wrong.exit, wrong.err]).toEqual([
    expect.any(Number),
    expect.stringContaining('set.expand must be of all, none, 1'),
  ]);
  expect(
    await cli(...typed, '--set', 'expand=1', '--set', 'tests=run', '--set', 'dirty=skip'),
  ).toMatchObject({
    exit: 0,
  });

  for (const phase of ['p1-1', 'p2-1']) {
    const step = await phaseRun(s, run, phase);
    expect((await s.settle(step, 100)).status.decision?.reason).toBe('approval');
    // The plan lies in its folder by now: by its old path it is the same run.
    expect((await startDemo(s)).stepKey).toBe(run.stepKey);
    await s.answer(step, 'approve');
  }
  const ended = await s.end(run, 120);
  expect(ended.plan?.phases.map(({ status }) => status)).toEqual([
    'completed',
    'completed',
    'skipped',
  ]);
  expect(s.read('.git/ran')).toBe('all two ');
  expect(s.read('src/three.js')).toContain('by hand');
  expect(s.read('plans/010_demo/010_demo.md')).toContain('### Phase 3: Three [SKIPPED]');
  expect(s.read('plans/010_demo/phase_1_one.md')).toContain('- [x] Create `src/one.js`');

  const again = await startDemo(s);
  expect(await s.end(again, 60)).toMatchObject({ outcome: 'incomplete' });
}, 240_000);

test.each([
  ['within its budgets', {}, 0, 'completed'],
  ['over a budget', { budget_calls: 1 }, 3, undefined],
])(
  '--yes on a run that waits for its estimate, %s',
  async (...[, overrides, exit, outcome]) => {
    const two = PHASES.slice(1);
    const s = (open = await scene(
      { 'plans/010_demo.md': planText(two), 'emend.yaml': 'test: false\n' },
      two.map((phase) => answerFor(phase)),
    ));
    await s.worker();
    const plan = await planOfPath(s.repo, 'plans/010_demo.md');
    const run = await resolveRun(s.emend, (await startPlan(s.emend, { plan, overrides })).stepKey);
    expect((await s.settle(run, 60)).status.decision?.reason).toBe('estimate');
    const io = fakeIo({ env: s.env, cwd: s.repo });
    expect([await main(['plan', 'run', 'plans/010_demo.md', '--yes'], io), io.printed.err]).toEqual(
      [exit, ''],
    );
    expect(io.printed.out).toMatch(
      exit === 0 ? /estimate approved \(--yes\)/ : /emend decide \w+ continue/,
    );
    expect((await s.show(run)).status.result?.outcome).toBe(outcome);
  },
  120_000,
);

long(
  'without tests the plan asks once for a command; a phase ends as no_tests, which is counted, and its task stays open',
  async () => {
    const two = PHASES.slice(1);
    const plan = planText(two).replace(
      '- [ ] Create `src/two.js`',
      '- [ ] Create `src/two.js`\n- [ ] Run the tests',
    );
    const s = (open = await scene(
      { 'plans/010_demo.md': plan },
      two.map((phase) => answerFor(phase)),
    ));
    await s.worker();
    const run = await startDemo(s, { approval: 'auto' });
    const { decision } = (await s.settle(run, 60)).status;
    expect(decision).toMatchObject({
      reason: 'test_command',
      accepts: ['other', 'no_tests', 'abort'],
      subject: null,
    });
    await s.answer(run, 'no_tests', { decision: decision?.id ?? '' });
    const ended = await s.end(run, 120);
    expect(ended.plan?.phases.map(({ status, verification }) => [status, verification])).toEqual([
      ['incomplete', 'no_tests'],
      ['completed', 'no_tests'],
    ]);
    expect(ended.plan?.phases[0]?.why).toBe('1 task is not done: Run the tests (no tests passed)');
    const events = await s.events(run);
    expect(events.filter(({ type }) => type === 'phase_tested')).toMatchObject([
      { outcome: 'no_tests' },
      { outcome: 'no_tests' },
    ]);
    expect(statsOf([events])).toMatchObject({ noTests: 2 });
    expect(s.read('plans/010_demo.md')).toContain('- [ ] Run the tests');
  },
  120_000,
);

long(
  'trust runs what the plan said at the base commit; stages of an expanded phase go to files of their own; under auto nothing is asked',
  async () => {
    const stages = [1, 2, 3, 4]
      .map((n) => `#### Stage ${n}: S${n}\n\n- [ ] Part ${n} of \`src/one.js\`\n`)
      .join('\n');
    const main_ = `# Demo\n\n### Phase 1: One [EXPANDED]\n\n**See**: [phase_1_one.md](phase_1_one.md)\n`;
    const part = `# Phase 1: One\n\n**Part of**: [010_demo.md](010_demo.md)\n\n<!-- emend:body -->\n**Objective**: Write src/one.js\n\n- [ ] Create \`src/one.js\`\n- [ ] Run \`node tests/one.cjs\`\n\n${stages}`;
    const s = (open = await scene(
      {
        'plans/010_demo/010_demo.md': main_,
        'plans/010_demo/phase_1_one.md': part,
        'tests/one.cjs': ran('one'),
        'emend.yaml': 'baseline: off\nsandbox: off\ntest_discovery: trust\n',
      },
      [
        {
          name: 'one',
          match: { contains: 'src/one.js' },
          answer: whole({ 'src/one.js': 'export const one = 1;\n' }),
        },
      ],
    ));
    await s.worker();
    const run = await startDemo(s, { approval: 'auto' });
    expect(await s.end(run, 120)).toMatchObject({ outcome: 'completed' });
    expect(s.read('.git/ran')).toBe('one ');
    const replanned = (await s.events(run)).filter(({ type }) => type === 'replanned');
    expect(replanned).toMatchObject([
      { action: 'expand_phase', oldStructure: 'expanded', newStructure: 'expanded stages' },
    ]);
    expect(s.git('log', '--format=%s')).toContain('expand_phase of Phase 1 (complexity)');
    for (const n of [1, 2, 3, 4])
      expect(s.git('ls-files')).toContain(`plans/010_demo/phase_1_one/stage_${n}_s${n}.md`);
  },
  120_000,
);

long(
  'an expansion that only a second score calls for is asked before its phase begins',
  async () => {
    const [one] = [{ ...PHASES[0]!, tasks: 8 }];
    const high = { ...score, answer: score.answer.replace('"score": 3', '"score": 9') };
    const s = (open = await scene(
      {
        'plans/010_demo.md': planText([one]),
        'emend.yaml': 'test: [node -e 0]\nplan: { expansion: 5 }\n',
      },
      [high, answerFor(one)],
    ));
    await s.worker();
    const run = await startDemo(s);
    const { decision } = (await s.settle(run, 60)).status;
    expect(decision).toMatchObject({
      reason: 'expansion',
      accepts: expect.arrayContaining(['expand', 'continue']) as unknown,
    });
    expect(decision?.message).toContain('emend plan expand phase plans/010_demo.md 1');
    await s.answer(run, 'continue', { decision: decision?.id ?? '' });
    expect((await s.settle(await phaseRun(s, run, 'p1-1'), 60)).status.decision?.reason).toBe(
      'approval',
    );
    expect(existsSync(join(s.repo, 'plans/010_demo.md'))).toBe(true);
    await s.answer(run, 'abort');
    expect(await s.end(run, 60)).toMatchObject({ outcome: 'aborted' });
  },
  120_000,
);
