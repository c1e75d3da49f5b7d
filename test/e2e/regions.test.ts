/** A file too large for one answer is edited in regions; a model that is shown windows asks for lines. */
import { afterEach, expect, test } from '@jest/globals';
import { check } from './check-history.js';
import { scene, structured, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const FUNCTIONS = 500;
/** Ten lines each: 5,000 in all. */
const block = (n: number): string =>
  `/** Number ${n}. */\nexport function f${n}(input: number): number {\n  const a = input + ${n};\n  const b = a * 2;\n` +
  `  const c = b - 1;\n  if (c > ${n}) {\n    return c;\n  }\n  return a;\n}\n`;
const BIG = Array.from({ length: FUNCTIONS }, (_, n) => block(n)).join('');
const lineOf = (n: number): number => n * 10 + 4;

const job = (front: string): string =>
  `---\ncategory: code\n${front}\n---\n\n# Double by three\n\nIn every function that wants it.\n`;
const edit = (...functions: number[]) =>
  structured(
    functions.map((n) => ({
      type: 'replace',
      file_path: 'big.ts',
      start_line: `{{line:${lineOf(n)}}}`,
      end_line: `{{line:${lineOf(n)}}}`,
      content: '  const b = a * 3;\n',
    })),
  );
const LONG = structured([{ type: 'append', file_path: 'big.ts', content: `// ${'much '.repeat(900)}\n` }]);
const tripled = (...functions: number[]): string =>
  functions.reduce((all, n) => all.replace(block(n), block(n).replace('a * 2', 'a * 3')), BIG);

const ladder = async (s: Scene, run: Parameters<Scene['events']>[0]): Promise<readonly string[]> =>
  (await s.events(run)).flatMap((event) => (event.type === 'ladder' ? [event.to] : []));

test('a file of 5,000 lines is edited in regions after truncations', async () => {
  const part = (index: number, count: number, answer: string, times?: number) => ({
    name: `part ${index} of ${count}`,
    match: {
      contains: [`edited in ${count} parts`, `This call is for part ${index}:`],
      ...(times === undefined ? {} : { times }),
    },
    answer,
  });
  const s = (open = await scene(
    { 'big.ts': BIG },
    {
      v: 1,
      enforce_max_tokens: true,
      rules: [
        part(1, 4, edit(3)),
        // Too long once more, so this region is cut in two.
        part(2, 4, LONG),
        // Outside of its region, then nothing to do.
        part(2, 5, structured([{ type: 'delete', file_path: 'big.ts', start_line: 34, end_line: 34 }]), 1),
        part(2, 5, structured([])),
        part(3, 5, edit(200)),
        part(4, 5, edit(300)),
        part(5, 5, edit(499)),
        { name: 'all at once', match: { contains: 'big.ts' }, answer: LONG },
      ],
    },
  ));
  await s.worker();
  const limits = 'limits: { outputBudget_tokens: 128, maxOutputBudget_tokens: 256, maxTotalChunks: 20 }';
  const run = await s.start('big.md', job(`target_files: [big.ts]\napproval: auto\n${limits}`));
  const result = await s.end(run, 240);
  expect(result).toMatchObject({ outcome: 'applied', files: ['big.ts'] });
  expect(s.read('big.ts')).toBe(tripled(3, 200, 300, 499));
  const steps = await ladder(s, run);
  expect(steps).toEqual([
    'output budget 256 tokens',
    expect.stringMatching(/^region 1 of 4 \(lines 1 to 12[0-9]0\)$/),
    expect.stringMatching(/^region 2 of 4 /),
    expect.stringMatching(/^region 2 of 5 /),
    expect.stringMatching(/^region 3 of 5 /),
    expect.stringMatching(/^region 4 of 5 /),
    expect.stringMatching(/^region 5 of 5 \(lines 3[78][0-9]1 to 5000\)$/),
  ]);
  // Borders are where functions begin.
  for (const step of steps.slice(1)) expect(Number(/lines (\d+)/.exec(step)?.[1]) % 10).toBe(1);
  const refused = (await s.events(run)).filter((event) => event.type === 'answer_refused');
  expect(refused).toMatchObject([{ outcome: 'refused', message: expect.stringContaining('unseen_lines') }]);
  await check(s, run.live!.workflowId, 'edit-step-applied-regions');
}, 300_000);

test('a model that is shown a part of a file asks for lines, and gets them', async () => {
  const wants = (ranges: number[][]): string =>
    JSON.stringify({ needs_lines: { ranges }, complete: true, nonce: '{{nonce}}' });
  const s = (open = await scene({ 'big.ts': BIG, 'asks.ts': BIG }, [
    { name: 'shown', match: { contains: ['- big.ts', `${lineOf(321)}:`] }, answer: edit(321) },
    { name: 'asks', match: { contains: '- big.ts', times: 1 }, answer: wants([[lineOf(321) - 2, lineOf(321) + 2]]) },
    { name: 'asks for ever', match: { contains: '- asks.ts' }, answer: wants([[2_000, 2_001]]) },
  ]));
  await s.worker();
  const run = await s.start(
    'lines.md',
    job('target_files: [big.ts]\napproval: auto\nlimits: { inputBudget_tokens: 6000 }'),
  );
  expect(await s.end(run, 120)).toMatchObject({ outcome: 'applied', usage: { calls: 2 } });
  expect(s.read('big.ts')).toBe(tripled(321));
  expect(await ladder(s, run)).toEqual([
    `lines ${lineOf(321) - 2} to ${lineOf(321) + 2} of big.ts, which the model asked for`,
  ]);

  // Two questions are answered, then they count as refused answers.
  const asks = await s.start(
    'asks.md',
    job('target_files: [asks.ts]\napproval: auto\nlimits: { inputBudget_tokens: 6000 }'),
  );
  const paused = await s.settle(asks, 120);
  expect(paused.status.decision).toMatchObject({ reason: 'attempts_exhausted' });
  expect(await ladder(s, asks)).toHaveLength(2);
  expect(s.read('asks.ts')).toBe(BIG);
}, 300_000);
