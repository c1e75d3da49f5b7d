/**
 * ◆ Runs that the previous release started and left (paused, in the middle of a model call, in the middle of writing) are ended by
 * today's build: nothing recorded is asked for again, nothing half done stays. The release is the packed one, with its own command
 * line, its own worker and its own workflow bundle. EMEND_LONG=1 runs all of them, else a printed, seeded sample.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { resolveRun } from '../../src/client/index.js';
import type { StepResult } from '../../src/shared/run.js';
import { sampled } from '../support/seeded.js';
import { buildWorker, commandOf, endBuildWorkers, TODAY, unpacked } from './builds.js';
import { scene, whole, type Scene } from './support.js';

const OLD = unpacked('0.1.0');

let open: Scene | null = null;
afterEach(async () => {
  await endBuildWorkers();
  await open?.close();
  open = null;
});

const FILES = { 'a.js': 'module.exports = 1;\n', 'b.js': 'module.exports = 1;\n' };
const BRIEF = {
  name: 'brief',
  match: { contains: 'Now write the brief' },
  answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
};
const A = {
  name: 'a',
  match: { contains: '- a.js' },
  answer: whole({ 'a.js': 'module.exports = 2;\n' }),
};
const B = {
  name: 'b',
  match: { contains: '- b.js' },
  answer: whole({ 'b.js': 'module.exports = 2;\n' }),
};
const job = (more = ''): string => `---
target_files: [a.js, b.js]
test: node -e "require('assert').strictEqual(require('./a.js') + require('./b.js'), 4)"
baseline: fix
commit: true
${more}---
# Grow

Raise the numbers.
`;
const asked = (s: Scene): readonly (string | null)[] =>
  s.rehearsal.requests().map((request) => request.rule ?? null);

/** The old release's `emend run`, until the run waits or is `held`; the run as today's client finds it. */
const startOld = async (s: Scene, text: string, until: 'waits' | (() => boolean) = 'waits') => {
  writeFileSync(join(s.repo, 'job.md'), text);
  const started = commandOf(s, OLD, 'run', 'job.md', '--json');
  if (until === 'waits') expect(await started).toMatchObject({ code: 3 });
  else await s.until(until);
  const archived = readdirSync(join(s.home, 'archive'));
  expect(archived).toHaveLength(1);
  return resolveRun(s.emend, archived[0]!);
};
const expectCommitted = async (
  s: Scene,
  run: Awaited<ReturnType<typeof startOld>>,
): Promise<StepResult> => {
  const result = await s.end(run, 90);
  expect(result).toMatchObject({
    outcome: 'committed',
    files: ['a.js', 'b.js'],
    verification: 'pass',
  });
  expect(s.read('a.js') + s.read('b.js')).toBe('module.exports = 2;\nmodule.exports = 2;\n');
  expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
  expect(s.git('status', '--porcelain', '--ignored').trim()).toBe('?? job.md');
  return result;
};

test('the release is the one it says, and not today’s build', async () => {
  const s = (open = await scene(FILES, []));
  expect(await commandOf(s, OLD, '--version')).toEqual({
    code: 0,
    out: expect.stringMatching(/^0\.1\.0\+[0-9a-f]{8}\n$/),
  });
  expect(
    OLD.startsWith(TODAY) && OLD !== TODAY && existsSync(join(OLD, 'dist/workflow-bundle.js')),
  ).toBe(true);
});

const CASES: Record<string, () => Promise<void>> = {};

CASES[
  'paused at approval: approved with today’s client, ended by today’s worker, no answer asked for again'
] = async () => {
  const s = (open = await scene(FILES, [BRIEF, A, B]));
  const old = await buildWorker(s, OLD);
  const run = await startOld(s, job());
  await old.end();
  await s.worker();
  const paused = await s.settle(run);
  expect(paused).toMatchObject({ source: 'run', status: { decision: { reason: 'approval' } } });
  expect(await s.answer(run, 'approve')).toMatchObject({ outcome: 'resolved', via: 'update' });
  await expectCommitted(s, run);
  expect(asked(s)).toEqual(['brief', 'a', 'b']);
};

CASES['paused at attempts_exhausted: today’s worker asks for the failed file only'] = async () => {
  const bad = {
    ...B,
    name: 'bad',
    // Twice in the form of the files, twice as JSON.
    match: { contains: '- b.js', times: 4 },
    answer: 'I would rather not.\n',
  };
  const s = (open = await scene(FILES, [
    BRIEF,
    A,
    { ...bad, answer: `${bad.answer}EMEND-COMPLETE {{nonce}} 0 0\n` },
    B,
  ]));
  const old = await buildWorker(s, OLD);
  const run = await startOld(s, job('approval: auto\n'));
  await old.end();
  await s.worker();
  expect((await s.settle(run)).status.decision).toMatchObject({
    reason: 'attempts_exhausted',
    files: [{ path: 'b.js' }],
  });
  await s.answer(run, 'retry', { note: 'please do' });
  await expectCommitted(s, run);
  expect(asked(s)).toEqual(['brief', 'a', ...Array<string>(4).fill('bad'), 'b']);
};

CASES['paused at a conflict: rebased and committed by today’s worker'] = async () => {
  const s = (open = await scene({ 'a.js': 'one\ntwo\nthree\nfour\nfive\n' }, [
    { ...A, answer: whole({ 'a.js': 'one\ntwo\nthree\nfour\nFIVE\n' }) },
  ]));
  const old = await buildWorker(s, OLD);
  const run = await startOld(s, '---\ntarget_files: [a.js]\ncommit: true\n---\n# Grow\n\nGrow.\n');
  s.write('a.js', 'ONE\ntwo\nthree\nfour\nfive\n');
  s.git('commit', '-q', '-am', 'meanwhile');
  await s.answer(run, 'approve');
  await s.until(() => existsSync(join(s.home, 'archive', run.stepKey)));
  expect((await s.settle(run)).status.decision?.reason).toBe('conflict');
  await old.end();
  await s.worker();
  await s.answer(run, 'rebase');
  expect((await s.settle(run)).status.decision?.reason).toBe('approval');
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  expect(s.read('a.js')).toBe('ONE\ntwo\nthree\nfour\nFIVE\n');
  expect(asked(s)).toEqual(['a']);
};

CASES[
  'killed in the middle of a model call: today’s worker reads the old call, counts its attempt as unknown, asks once more'
] = async () => {
  const held = {
    ...B,
    name: 'b-held',
    match: { contains: '- b.js', times: 1 },
    fault: { kind: 'hold' as const, after_bytes: 400 },
  };
  const s = (open = await scene(FILES, [BRIEF, A, held, B]));
  const old = await buildWorker(s, OLD);
  const run = await startOld(s, job('approval: auto\n'), () => asked(s).includes('b-held'));
  await old.end('SIGKILL');
  await s.worker();
  const { usage } = await expectCommitted(s, run);
  expect(asked(s)).toEqual(['brief', 'a', 'b-held', 'b']);
  expect(usage).toMatchObject({ calls: 4, unknownCalls: 1 });
};

const killedInApply = async (kill: string, committed: boolean): Promise<void> => {
  const s = (open = await scene(FILES, [BRIEF, A, B]));
  const old = await buildWorker(s, OLD, { kill });
  const run = await startOld(s, job());
  await s.answer(run, 'approve');
  await old.exited;
  expect(old.fired()).toBe(true);
  const records = readdirSync(join(s.home, 'transactions', run.stepKey), { recursive: true }).map(
    String,
  );
  expect(records.some((name) => name.endsWith('plan-1.json'))).toBe(true);
  expect(records.some((name) => name.endsWith('verdict-1.json'))).toBe(committed);
  expect(records.some((name) => name.endsWith('closed.json'))).toBe(false);

  const { code, out } = await commandOf(s, TODAY, 'recover', '--json');
  expect({ code, ...(JSON.parse(out) as object) }).toMatchObject({
    code: 0,
    transactions: [{ did: committed ? 'finished' : 'reverted', conflicts: [] }],
  });
  const contents = new Set([s.read('a.js'), s.read('b.js')]);
  expect([...contents]).toEqual([committed ? 'module.exports = 2;\n' : 'module.exports = 1;\n']);
  await s.worker();
  await expectCommitted(s, run);
  expect(asked(s)).toEqual(['brief', 'a', 'b']);
};
CASES[
  'killed in apply after the first file was linked (past the point of no return): today’s recovery reads the old journal'
] = () => killedInApply('link:1', true);
CASES[
  'killed in apply while the second temp file was made (before it): today’s recovery reads the old journal'
] = () => killedInApply('writeExclusive:2', false);

const names = Object.keys(CASES);
const [approval] = names;
test.each(sampled('upgrades', names, 1, [approval!]))(
  '%s',
  async (name) => CASES[name]!(),
  150_000,
);
