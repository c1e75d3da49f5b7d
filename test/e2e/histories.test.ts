/** Histories of finished and paused runs, recorded and replayed (check-history.ts). */
import { afterEach, expect, test } from '@jest/globals';
import { check } from './check-history.js';
import { scene, numbered, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const FILES = { 'a.js': 'const a = 1;\n', 'b.js': 'const b = 1;\n', 'big.txt': numbered(1200) };
const BRIEF = {
  name: 'brief',
  match: { contains: 'Now write the brief' },
  answer: 'Numbers grow.\nEMEND-COMPLETE {{nonce}} 0 0\n',
};
const A = { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) };
const B = { name: 'b', match: { contains: '- b.js' }, answer: whole({ 'b.js': 'const b = 2;\n' }) };
const BIG = {
  name: 'big',
  match: { contains: '- big.txt' },
  answer: 'FILE: big.txt\nFIND:\nline 7\nREPLACE:\nEND {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n',
};
const wrong = (name: string) => ({
  name: `wrong-${name}`,
  match: { contains: `- ${name}` },
  answer: 'I would rather not.\nEMEND-COMPLETE {{nonce}} 0 0\n',
});

test('finished: split by file, approved, verified, committed', async () => {
  const s = (open = await scene(FILES, [BRIEF, A, B, BIG]));
  await s.worker();
  const run = await s.start(
    'job.md',
    '---\ntarget_files: [a.js, b.js, big.txt]\ntest: exit 0\ncommit: true\n---\n# Grow\n\nGrow.\n',
  );
  const paused = await s.settle(run);
  await check(s, paused.workflowId!, 'edit-step-paused-approval');
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  await check(s, paused.workflowId!, 'edit-step-committed-split');
});

test('finished: truncated whole step, split, a signal by hand', async () => {
  const whole3 = {
    ...A,
    name: 'whole',
    match: { contains: ['- a.js', '- b.js'] },
    fault: { kind: 'truncate' as const, bytes: 20 },
  };
  const s = (open = await scene(FILES, [BRIEF, whole3, A, B]));
  await s.worker();
  const run = await s.start(
    'job.md',
    '---\ntarget_files: [a.js, b.js]\nlimits: { maxFilesBeforeSplit: 2 }\n---\n# Grow\n\nGrow.\n',
  );
  const paused = await s.settle(run);
  await s.emend.runs!.signal({ workflowId: paused.workflowId!, runId: null }, 'retry', 'nonsense');
  await s.emend.runs!.signal({ workflowId: paused.workflowId!, runId: null }, 'approve', {
    decision: paused.status.decision!.id,
  });
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', wasSplit: true });
  await check(s, paused.workflowId!, 'edit-step-applied-truncated');
});

test('paused: attempts exhausted; then retried, tests fail twice, aborted', async () => {
  const s = (open = await scene(FILES, [
    { ...wrong('a.js'), match: { contains: '- a.js', times: 4 } },
    A,
  ]));
  await s.worker();
  const run = await s.start(
    'job.md',
    '---\ntarget_files: [a.js]\nbaseline: off\ntest: exit 1\ncommit: true\napproval: auto\n---\n# Grow\n\nGrow.\n',
  );
  const paused = await s.settle(run);
  expect(paused.status.decision?.reason).toBe('attempts_exhausted');
  await check(s, paused.workflowId!, 'edit-step-paused-attempts');
  await s.answer(run, 'retry', { note: 'please do' });
  const failed = await s.settle(run);
  expect(failed.status.decision?.reason).toBe('tests_failed');
  await check(s, paused.workflowId!, 'edit-step-paused-tests-failed');
  await s.answer(run, 'abort');
  expect(await s.end(run)).toMatchObject({ outcome: 'aborted' });
  await check(s, paused.workflowId!, 'edit-step-aborted');
});

test('paused: conflict at apply', async () => {
  const s = (open = await scene(FILES, [A]));
  await s.worker();
  const run = await s.start('job.md', '---\ntarget_files: [a.js]\n---\n# Grow\n\nGrow.\n');
  await s.settle(run);
  s.write('a.js', 'const a = 9;\n');
  await s.answer(run, 'approve');
  const conflict = await s.settle(run);
  expect(conflict.status.decision?.reason).toBe('conflict');
  await check(s, conflict.workflowId!, 'edit-step-paused-conflict');
  await s.answer(run, 'take_theirs');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped' });
  expect(s.read('a.js')).toBe('const a = 9;\n');
});
