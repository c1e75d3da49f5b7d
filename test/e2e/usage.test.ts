/**
 * What a run says it used holds every call that may be on the bill: those that a cancel or a limit cut short too. And limits that a
 * person raises reach every call from then on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exitOfResult } from '../../src/cli/errors.js';
import { scene, whole, type Scene } from './support.js';

const one = (n: number): string => `const one = ${n};\n`;
const good = (path: string) => ({
  name: path,
  match: { contains: `- ${path}` },
  answer: whole({ [path]: one(2) }),
});
/** The first `times` of these calls break off in the middle. */
const cut = (times: number, ...contains: string[]) => ({
  name: 'cut',
  match: { contains, times },
  answer: 'nothing much',
  fault: { kind: 'drop' as const, after_bytes: 500 },
});
const job = (...keys: string[]): string =>
  ['---', ...keys, '---', '# Grow', '', 'Raise it.', ''].join('\n');
const BRIEF = 'Now write the brief';
const PICK = 'Files of the project';
const MARKER = 'EMEND-COMPLETE {{nonce}} 0 0\n';
const PATHS = [
  'held.js',
  'long.js',
  'cut.js',
  'next.js',
  'told.js',
  'mute.js',
  'lost.js',
  'after.js',
  'picked.js',
  'c.js',
  'd.js',
  'dear.js',
  'cheap.js',
  'slow.js',
  'soon.js',
];

let s: Scene;
beforeAll(async () => {
  const priced = 'models:\n  rehearsal:\n    input_usd: 1000\n    output_usd: 1000\n';
  s = await scene(
    { ...Object.fromEntries(PATHS.map((path) => [path, one(1)])), 'emend.yaml': priced },
    [
      { ...good('held.js'), fault: { kind: 'hold' as const, after_bytes: 400 } },
      { ...good('slow.js'), fault: { kind: 'slow' as const, first_ms: 2_000, chunk_ms: 0 } },
      { ...good('dear.js'), usage: { input_tokens: 60_000 } },
      { name: 'long', match: { contains: '- long.js', times: 1 }, answer: 'x'.repeat(5000) },
      { ...good('mute.js'), fault: { kind: 'hold' as const } },
      { ...cut(1, '- lost.js'), name: 'lost', fault: { kind: 'drop' as const } },
      cut(2, BRIEF, 'c.js'),
      { name: 'brief', match: { contains: BRIEF }, answer: `Up.\n${MARKER}` },
      cut(1, '- cut.js'),
      cut(4, PICK),
      {
        name: 'pick',
        match: { contains: PICK },
        answer: `{"files": [{"path": "picked.js", "why": "holds it"}]}\n${MARKER}`,
      },
      ...PATHS.map(good),
    ],
  );
  await s.worker();
});
afterAll(async () => {
  await s.close();
});
const asked = (...rules: string[]): number =>
  s.rehearsal.requests().filter(({ rule }) => rules.includes(rule ?? '')).length;

test('budget_usd with a model whose price is not known is refused before the first call', async () => {
  const run = await s.start(
    'unpriced.md',
    job('target_files: [held.js]', 'model: unheard-of', 'budget_usd: 1'),
  );
  const result = await s.end(run);
  expect(result).toMatchObject({
    outcome: 'refused',
    problem: { code: 'config_invalid' },
    usage: { calls: 0 },
  });
  expect(result.problem?.next).toContain('`models:`');
  expect(exitOfResult(result)).toBe(2);
  expect(s.rehearsal.requests()).toEqual([]);
});

test('a model without a price that a decision sets is refused before it is asked', async () => {
  const run = await s.start(
    'switched.md',
    job('target_files: [told.js]', 'model: rehearsal', 'budget_usd: 0.01'),
  );
  expect((await s.settle(run)).status.decision?.reason).toBe('estimate');
  await s.answer(run, 'retry', { set: { model: 'unheard-of' } });
  const { decision, usage } = (await s.settle(run)).status;
  expect(decision?.files[0]?.message).toMatch(
    /unheard-of: budget_usd is 0.01, .* not known. .*set.model=/,
  );
  expect([usage.calls, s.rehearsal.requests()]).toEqual([0, []]);
  await s.answer(run, 'retry', { set: { model: 'rehearsal', budget_usd: 1000 } });
  expect((await s.settle(run)).status.decision?.reason).toBe('approval');
  await s.answer(run, 'abort');
});

test('what it is expected to take is in the status and the events before the first call', async () => {
  const run = await s.start('told.md', job('target_files: [told.js]', 'model: rehearsal'));
  await s.settle(run);
  const told = (await s.events(run)).map(({ type }) => type);
  expect(told.indexOf('estimated')).toBeGreaterThan(-1);
  expect(told.indexOf('estimated')).toBeLessThan(told.indexOf('edit_chunk_started'));
  const { estimate } = (await s.show(run)).status;
  expect(estimate).toMatchObject({
    calls: 1,
    model: 'rehearsal',
    priced: { source: 'emend.yaml', date: null },
  });
  expect(estimate?.usd).toBeCloseTo(
    ((estimate?.input_tokens ?? 0) + (estimate?.output_tokens ?? 0)) / 1000,
  );
  await s.answer(run, 'abort');
});

describe('calls of which no activity told', () => {
  test('a call that an abort cuts off is counted, priced and shown', async () => {
    const run = await s.start('held.md', job('target_files: [held.js]', 'model: rehearsal'));
    await s.until(() => s.rehearsal.requests().some(({ state }) => state === 'held'));
    await s.answer(run, 'abort');
    const { usage, outcome } = await s.end(run);
    expect(outcome).toBe('aborted');
    expect(usage).toMatchObject({ calls: 1, unknownCalls: 1 });
    expect(usage.input_tokens).toBeGreaterThan(0);
    expect(usage.usd).toBeGreaterThan(0);
    expect((await s.show(run)).status.usage).toEqual(usage);
  });

  test('a call that an abort cuts off before anything came back is counted and priced by what was sent', async () => {
    const run = await s.start('mute.md', job('target_files: [mute.js]', 'model: rehearsal'));
    await s.until(() =>
      s.rehearsal.requests().some(({ rule, state }) => rule === 'mute.js' && state === 'held'),
    );
    await s.answer(run, 'abort');
    const { usage } = await s.end(run);
    expect(usage).toMatchObject({ calls: 1, unknownCalls: 1, output_tokens: 0 });
    expect(usage.input_tokens).toBeGreaterThan(100);
    // A thousand dollars per million of them.
    expect(usage.usd).toBeCloseTo(usage.input_tokens / 1000);
  });

  test('a connection that broke before the headers counts against the budget', async () => {
    const keys = [
      'target_files: [lost.js, after.js]',
      'approval: auto',
      'limits: { budget_calls: 3 }',
    ];
    const run = await s.start('lost.md', job(...keys));
    const view = await s.settle(run);
    expect(view.status.decision).toMatchObject({ reason: 'budget', subject: 'budget_calls' });
    // The brief, the call that was lost, and the one that was answered.
    expect(view.status.usage).toMatchObject({ calls: 3, unknownCalls: 1 });
    expect([asked('lost', 'lost.js'), asked('after.js')]).toEqual([2, 0]);
    await s.answer(run, 'retry', { set: { budget_calls: 10 } });
    expect(await s.end(run)).toMatchObject({
      outcome: 'applied',
      usage: { calls: 4, unknownCalls: 1 },
    });
  });

  test('an answer that was given up counts against the budget before the next call, and once only after it', async () => {
    const keys = [
      'target_files: [long.js]',
      'approval: auto',
      'limits: { maxAnswer_bytes: 1024, budget_tokens: 400 }',
    ];
    const run = await s.start('long.md', job(...keys));
    // The estimate is over this budget already: go on all the same.
    expect((await s.settle(run)).status.decision?.reason).toBe('estimate');
    await s.answer(run, 'retry');
    const given = await s.settle(run);
    expect(given.status.decision).toMatchObject({ reason: 'model_unavailable' });
    expect(given.status.decision?.message).toContain('maxAnswer_bytes');
    expect(given.status.usage).toMatchObject({ calls: 1, unknownCalls: 1 });

    await s.answer(run, 'retry', { set: { maxAnswer_bytes: 100_000 } });
    expect((await s.settle(run)).status.decision).toMatchObject({
      reason: 'budget',
      subject: 'budget_tokens',
    });
    expect(asked('long', 'long.js')).toBe(1);

    await s.answer(run, 'retry', { set: { budget_tokens: 100_000 } });
    // The same recorded call has its answer now, and counts both attempts: they are two, not three.
    const { usage, outcome } = await s.end(run);
    expect(outcome).toBe('applied');
    expect(usage).toMatchObject({ calls: 2, unknownCalls: 1 });
    expect(asked('long', 'long.js')).toBe(2);
  });

  test('calls that were cut off use up maxTotalChunks', async () => {
    const keys = [
      'target_files: [cut.js, next.js]',
      'approval: auto',
      'limits: { maxTotalChunks: 2 }',
    ];
    const run = await s.start('cut.md', job(...keys));
    const view = await s.settle(run);
    expect(view.status.decision).toMatchObject({
      reason: 'chunk_limit',
      files: [{ path: 'next.js' }],
    });
    expect(view.status.decision?.message).toContain('2 edit calls used');
    expect([asked('cut.js'), asked('next.js')]).toEqual([1, 0]);
    await s.answer(run, 'retry');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['cut.js', 'next.js'] });
  });
});

test('budget_usd is asked about before the next call, and raised by the answer', async () => {
  const keys = [
    'target_files: [cheap.js, dear.js]',
    'model: rehearsal',
    'approval: auto',
    'limits: { budget_usd: 50 }',
  ];
  const run = await s.start('money.md', job(...keys));
  const { decision } = (await s.settle(run)).status;
  expect(decision).toMatchObject({ reason: 'budget', subject: 'budget_usd' });
  await s.answer(run, 'retry', { set: { budget_usd: 500 } });
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['cheap.js', 'dear.js'] });
});

test('wallClock_s is asked about before the next call, and raised by the answer; the pause counts for nothing', async () => {
  const keys = ['target_files: [slow.js, soon.js]', 'approval: auto', 'limits: { wallClock_s: 2 }'];
  const run = await s.start('time.md', job(...keys));
  const { decision } = (await s.settle(run)).status;
  expect(decision).toMatchObject({ reason: 'budget', subject: 'wallClock_s' });
  // The call that agrees on names was it.
  expect(asked('slow.js', 'soon.js')).toBe(1);
  await sleep(6_000);
  await s.answer(run, 'retry', { set: { wallClock_s: 7 } });
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['slow.js', 'soon.js'] });
  expect(asked('slow.js', 'soon.js')).toBe(3);
});

describe('limits that a decision raised', () => {
  test('reach pick', async () => {
    const run = await s.start('pick.md', job('approval: auto'));
    expect((await s.settle(run)).status.decision?.reason).toBe('call_lost');
    // Two more calls are cut off: with the old limit the answer would be `call_lost` again.
    await s.answer(run, 'retry', { set: { maxUnknownCalls: 3 } });
    expect(await s.end(run)).toMatchObject({
      outcome: 'applied',
      files: ['picked.js'],
      usage: { unknownCalls: 4 },
    });
  });

  test('reach brief', async () => {
    const keys = ['target_files: [c.js, d.js]', 'approval: auto', 'limits: { budget_tokens: 100 }'];
    const run = await s.start('brief.md', job(...keys));
    expect((await s.settle(run)).status.decision?.reason).toBe('estimate');
    await s.answer(run, 'retry', { set: { maxUnknownCalls: 3, budget_tokens: 1_000_000 } });
    expect(await s.end(run)).toMatchObject({
      outcome: 'applied',
      usage: { calls: 5, unknownCalls: 2 },
    });
    expect((await s.events(run)).map((event) => event.type)).toContain('brief_ready');
  });
});
