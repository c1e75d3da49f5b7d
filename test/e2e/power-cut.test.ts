/**
 * A worker whose power is cut, as a start after it finds the home: it has nothing of what was not synced (test/support/power-cut.js). What else
 * a power cut may leave, in any subset: test/stores/before.test.ts.
 */
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'let a = 2;\n' }) },
];
const JOB = '---\ntarget_files: [a.js]\ncommit: true\n---\n# Grow\n\nRaise it.\n';

test('the run goes on: what was reported is there, and no recorded answer is asked for again', async () => {
  const s = (open = await scene({ 'a.js': 'let a = 1;\n' }, RULES, { env: OWN_STORE }));
  const first = await s.worker('', { CUT: '1' });
  const run = await s.start('job.md', JOB);
  expect(await s.settle(run)).toMatchObject({ status: { decision: { reason: 'approval' } } });
  const before = (await s.emend.archive.read(run.stepKey)).map(({ id }) => id);
  await first.kill('SIGUSR2');
  const newNames = Number(readFileSync(first.mark, 'utf8'));
  expect(newNames).toBeGreaterThan(10);

  await s.worker();
  expect((await s.emend.archive.read(run.stepKey)).map(({ id }) => id).sort()).toEqual(
    [...before].sort(),
  );
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: ['a.js'] });
  expect(s.read('a.js')).toBe('let a = 2;\n');
  expect(s.rehearsal.requests().map((request) => request.rule)).toEqual(['a']);
});
