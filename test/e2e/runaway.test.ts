/** A job of 30 files whose model answers in the wrong form each time: what it may cost until a person is asked, and what the answers do. */
import { afterEach, expect, test } from '@jest/globals';
import { expectedText } from '../../src/shared/usage.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const PATHS = Array.from({ length: 30 }, (_, index) => `part${index + 10}.js`);
/** Each file has its attempts in two formats. */
const CALLS_PER_FILE = 4;
const JOB = [
  '---',
  `target_files: [${PATHS.join(', ')}]`,
  'model: rehearsal',
  'approval: auto',
  '---',
  '# Comment',
  '',
  'Add a comment.',
  '',
].join('\n');

test('30 files, no answer in the right form: the run asks after the third; continue and skip', async () => {
  const s = (open = await scene(
    {
      ...Object.fromEntries(PATHS.map((path) => [path, 'const one = 1;\n'.repeat(20)])),
      'emend.yaml': 'models:\n  rehearsal:\n    input_usd: 3\n    output_usd: 15\n',
    },
    [
      {
        name: 'brief',
        match: { contains: 'Now write the brief' },
        answer: 'Names stay.\nEMEND-COMPLETE {{nonce}} 0 0\n',
      },
      {
        name: 'wrong form',
        match: { regex: '.' },
        answer: 'Sure! Here is the file:\n\n```js\nconst x = 1;\n```\n',
        usage: { output_tokens: 1_000 },
      },
    ],
  ));
  await s.worker();
  const run = await s.start('job.md', JOB);
  const { decision, usage, estimate, budget, counts } = (await s.settle(run)).status;
  expect(decision).toMatchObject({
    reason: 'runaway',
    files: [],
    accepts: ['continue', 'change_model', 'revise', 'skip', 'abort'],
  });
  expect(counts).toMatchObject({ failed: 3, pending: 27, done: 0 });
  expect(usage.calls).toBe(1 + 3 * CALLS_PER_FILE);
  expect(s.rehearsal.requests()).toHaveLength(usage.calls);
  expect(usage.usd).toBeLessThan(2 * (estimate?.usd ?? 0));
  expect(decision?.message).toContain('part10.js, part11.js, part12.js');
  expect(decision?.message).toContain(`estimate: ${expectedText(estimate!)}`);
  // Nobody set a budget: it is ten times the estimate.
  expect(budget).toEqual({ usd: Math.max(1, 10 * (estimate?.usd ?? 0)), isDefault: true });
  const [shown] = (await s.events(run)).filter((event) => event.type === 'estimated');
  expect(shown).toMatchObject({ budget });

  await s.answer(run, 'continue');
  const later = (await s.settle(run)).status;
  // The same failure is not asked about again, and three times the estimate is.
  expect(later.decision?.reason).toBe('runaway');
  expect(later.decision?.message).toMatch(/^the run has used 3 times its estimate; /);
  expect(later.usage.calls).toBeGreaterThan(usage.calls);

  await s.answer(run, 'skip');
  expect(await s.end(run)).toMatchObject({ outcome: 'skipped', usage: later.usage });
  expect(s.rehearsal.requests()).toHaveLength(later.usage.calls);
});

test('a model that is changed edits the files that failed, and the others', async () => {
  const paths = PATHS.slice(0, 4);
  const edited = (path: string) => ({
    name: path,
    match: { contains: `- ${path}` },
    answer: whole({ [path]: 'const one = 2;\n' }),
  });
  const s = (open = await scene(
    Object.fromEntries(paths.map((path) => [path, 'const one = 1;\n'])),
    [
      {
        name: 'brief',
        match: { contains: 'Now write the brief' },
        answer: 'Names stay.\nEMEND-COMPLETE {{nonce}} 0 0\n',
      },
      { name: 'declined', match: { regex: '.', times: 3 }, answer: '', fault: { kind: 'refusal' } },
      ...paths.map(edited),
    ],
  ));
  await s.worker();
  const run = await s.start(
    'job.md',
    JOB.replace(/target_files: .*/, `target_files: [${paths.join(', ')}]`),
  );
  expect((await s.settle(run)).status.decision?.reason).toBe('runaway');
  await s.answer(run, 'change_model', { set: { model: 'another' } });
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: paths });
  expect(s.rehearsal.requests()).toHaveLength(1 + 3 + 4);
});
