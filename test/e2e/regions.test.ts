/** A file too large for one answer is edited in regions; a model that is shown windows asks for lines. */
import { afterEach, expect, test } from '@jest/globals';
import { UNFINISHED_ASKED, UNFINISHED_ASKED_OF_A_PART } from '../../src/model/prompts/edit.js';
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
const NOTE = 'Two more of them, please.';
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
const LONG = structured([
  { type: 'append', file_path: 'big.ts', content: `// ${'much '.repeat(900)}\n` },
]);
const tripled = (...functions: number[]): string =>
  functions.reduce((all, n) => all.replace(block(n), block(n).replace('a * 2', 'a * 3')), BIG);

const ladder = async (s: Scene, run: Parameters<Scene['events']>[0]): Promise<readonly string[]> =>
  (await s.events(run)).flatMap((event) => (event.type === 'fallback' ? [event.to] : []));

test('a file of 5,000 lines is edited in regions after truncations, over a kill between two of them, and revised', async () => {
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
        ...[edit(3, 4), structured([], 'None here.'), edit(200), edit(300), edit(498, 499)].map(
          (answer, i) => ({
            name: `revised ${i + 1}`,
            match: { contains: [NOTE, `This call is for part ${i + 1}:`] },
            answer,
          }),
        ),
        part(1, 4, edit(3)),
        // Too long once more, so this region is cut in two.
        part(2, 4, LONG),
        // Outside of its region, then nothing to do.
        part(
          2,
          5,
          structured([{ type: 'delete', file_path: 'big.ts', start_line: 34, end_line: 34 }]),
          1,
        ),
        part(2, 5, structured([], 'None here.')),
        part(3, 5, edit(200)),
        part(4, 5, edit(300)),
        part(5, 5, edit(499)),
        { name: 'all at once', match: { contains: 'big.ts' }, answer: LONG },
      ],
    },
  ));
  // Region 1 is answered and its worker gone before the workflow hears of it.
  const dying = await s.worker('proposeEdit:after:4');
  const limits =
    'limits: { outputBudget_tokens: 128, maxOutputBudget_tokens: 256, maxTotalChunks: 20 }';
  const run = await s.start('big.md', job(`target_files: [big.ts]\n${limits}`));
  await dying.exited;
  expect(dying.fired()).toBe(true);
  await s.worker();
  const first = await s.settle(run, 240);
  expect(first.status).toMatchObject({
    decision: { reason: 'approval' },
    usage: { calls: 10, unknownCalls: 0 },
  });
  expect(first.proposal?.files).toMatchObject([{ path: 'big.ts', added: 4, removed: 4 }]);
  const asked = s.rehearsal.requests().map(({ rule }) => rule);
  expect(asked.filter((rule) => rule === 'part 1 of 4')).toHaveLength(1);
  const steps = await ladder(s, run);
  expect(steps).toEqual([
    'format structured-edit',
    'output budget 256 tokens',
    expect.stringMatching(/^region 1 of 4 \(lines 1 to 12[0-9]0\)$/),
    expect.stringMatching(/^region 2 of 4 /),
    expect.stringMatching(/^region 2 of 5 /),
    expect.stringMatching(/^region 3 of 5 /),
    expect.stringMatching(/^region 4 of 5 /),
    expect.stringMatching(/^region 5 of 5 \(lines 3[78][0-9]1 to 5000\)$/),
  ]);
  // Borders are where functions begin.
  for (const step of steps.slice(2)) expect(Number(/lines (\d+)/.exec(step)?.[1]) % 10).toBe(1);
  const refused = (await s.events(run)).filter((event) => event.type === 'answer_refused');
  expect(refused).toMatchObject([
    { outcome: 'refused', message: expect.stringContaining('unseen_lines') },
  ]);

  // A revision is asked for in the same regions, and no region that was answered is used for it.
  await s.answer(run, 'revise', { note: NOTE });
  // The first request, whose response was cut off, and the parts together cost more than three times the estimate.
  const costly = await s.settle(run, 240);
  expect(costly.status).toMatchObject({ decision: { reason: 'runaway' } });
  await s.answer(run, 'continue');
  const revised = await s.settle(run, 240);
  expect(revised.proposal?.files).toMatchObject([{ path: 'big.ts', added: 6, removed: 6 }]);
  expect(
    s.rehearsal
      .requests()
      .slice(asked.length)
      .map(({ rule }) => rule),
  ).toEqual([1, 2, 3, 4, 5].map((part) => `revised ${part}`));
  expect(s.read('big.ts')).toBe(BIG);
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'applied', files: ['big.ts'] });
  expect(s.read('big.ts')).toBe(tripled(3, 4, 200, 300, 498, 499));
  await check(s, run.live!.workflowId, 'edit-step-applied-regions');
}, 300_000);

test('a model that is shown a part of a file asks for lines, and gets them', async () => {
  const wants = (ranges: number[][]): string =>
    JSON.stringify({ needs_lines: { ranges }, complete: true, nonce: '{{nonce}}' });
  const s = (open = await scene({ 'big.ts': BIG, 'asks.ts': BIG }, [
    { name: 'shown', match: { contains: ['- big.ts', `\n${lineOf(321)}`] }, answer: edit(321) },
    {
      name: 'asks',
      match: { contains: '- big.ts', times: 1 },
      answer: wants([[lineOf(321) - 2, lineOf(321) + 2]]),
    },
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

test('a task that every region names as undone is told of in the commit, one that a region does is not', async () => {
  const lines = Array.from({ length: 25 }, (_, n) => block(n)).join('');
  const part = (index: number, answer: string) => ({
    name: `part ${index}`,
    match: { contains: [UNFINISHED_ASKED_OF_A_PART, `This call is for part ${index}:`] },
    answer,
  });
  const small = (n: number): string => edit(n).replaceAll('big.ts', 'small.ts');
  const s = (open = await scene(
    { 'small.ts': lines },
    {
      v: 1,
      enforce_max_tokens: true,
      rules: [
        part(1, `NOT DONE: 2: no such function here\nNOT DONE: 3: no caller\n\n${small(3)}`),
        part(2, `NOT DONE: 1: done before\nNOT DONE: 3: none here either\n\n${small(20)}`),
        {
          name: 'all at once',
          match: { contains: 'small.ts' },
          answer: LONG.replaceAll('big.ts', 'small.ts'),
        },
      ],
    },
  ));
  await s.worker();
  const limits = 'limits: { outputBudget_tokens: 128, maxOutputBudget_tokens: 256 }';
  const tasks = '1. [ ] Triple 3\n2. [ ] Triple 20\n3. [ ] Mend the callers';
  const run = await s.start(
    'small.md',
    `---\ntarget_files: [small.ts]\napproval: auto\ncommit: true\n${limits}\n---\n\n# Triple\n\n${tasks}\n\n${UNFINISHED_ASKED}\n`,
  );
  const ended = await s.end(run, 120);
  expect(
    s.rehearsal.requests().flatMap(({ rule }) => (rule?.startsWith('part') ? [rule] : [])),
  ).toEqual(['part 1', 'part 2']);
  expect(ended).toMatchObject({ outcome: 'committed', files: ['small.ts'] });
  expect(s.git('log', '-1', '--format=%B')).toContain('Not done: task 3: no caller\n');
  expect(s.git('log', '-1', '--format=%B')).not.toMatch(/task [12]/);
}, 300_000);

test('what guards find once all regions have answered goes to the model with the last region', async () => {
  const lines = Array.from({ length: 25 }, (_, n) => block(n)).join('');
  const part = (index: number, answer: string, contains: string[] = []) => ({
    name: `part ${index}`,
    match: { contains: [`This call is for part ${index}:`, ...contains] },
    answer: answer.replaceAll('big.ts', 'small.ts'),
  });
  const s = (open = await scene(
    { 'small.ts': lines },
    {
      v: 1,
      enforce_max_tokens: true,
      rules: [
        part(1, edit(3)),
        { ...part(2, edit(20), ['syntax: ']), name: 'mended' },
        part(2, edit(20).replace('a * 3;', 'a * (3;')),
        {
          name: 'all at once',
          match: { contains: 'small.ts' },
          answer: LONG.replaceAll('big.ts', 'small.ts'),
        },
      ],
    },
  ));
  await s.worker();
  const limits = 'limits: { outputBudget_tokens: 128, maxOutputBudget_tokens: 256 }';
  const run = await s.start('small.md', job(`target_files: [small.ts]\napproval: auto\n${limits}`));
  expect(await s.end(run, 120)).toMatchObject({ outcome: 'applied', files: ['small.ts'] });
  const asked = s.rehearsal.requests().map(({ rule }) => rule);
  expect(asked.slice(asked.indexOf('part 1'))).toEqual(['part 1', 'part 2', 'mended']);
  expect(s.read('small.ts')).toBe(tripled(3, 20).slice(0, lines.length));
}, 300_000);
