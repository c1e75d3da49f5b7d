/** Answers that ask to be shown more lines instead of editing. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { applyAnswer } from '../../../../src/edits/index.js';
import type { Syntax } from '../../../../src/edits/syntax-port.js';
import type { OfferedFile } from '../../../../src/edits/types.js';
import { loadSyntax } from '../../../../src/syntax/index.js';
import { NEEDS_LINES_LINES } from '../../../../src/edits/settle/lines-request.js';

const MOST = NEEDS_LINES_LINES;
const linesOf = (count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join(''));
const seen = [[1, 10]] as const;
const LONG: OfferedFile = { bytes: linesOf(400), seen };

let syntax: Syntax;
beforeAll(async () => {
  syntax = await loadSyntax(['a.ts']);
});

const run = (
  value: unknown,
  files: Readonly<Record<string, OfferedFile>> = { 'a.txt': LONG },
  tree?: Syntax,
) =>
  applyAnswer({
    format: 'structured-edit',
    answer: JSON.stringify(value),
    files: new Map(Object.entries(files)),
    options: { requireMarker: false, ...(tree === undefined ? {} : { syntax: tree }) },
  });
const needs = (needs_lines: unknown) => ({ needs_lines, complete: true });
const rangesOf = (found: ReturnType<typeof run>) =>
  found.outcome === 'needs_lines' ? found.needs?.ranges : [found.outcome, found];

describe('ranges', () => {
  test('come merged and in order, within the file, and the reason names them', () => {
    const wanted = [
      [390, 999],
      [55, 55],
      [50, 52],
      [51, 54],
    ];
    expect(run(needs({ ranges: wanted }))).toEqual({
      outcome: 'needs_lines',
      needs: {
        path: 'a.txt',
        ranges: [
          [50, 55],
          [390, 400],
        ],
      },
      reasons: [
        {
          code: 'needs_lines',
          path: 'a.txt',
          message:
            'The answer is not an edit: it asks to see the lines 50 to 55, 390 to 400 of a.txt.',
        },
      ],
    });
    const found = run(
      needs({
        ranges: [
          [1, 1],
          [7.9, 7.9],
        ],
      }),
    );
    expect(found).toMatchObject({
      reasons: [{ message: expect.stringContaining('the lines 1, 7 of a.txt') }],
    });
  });

  test('are cut where one answer asks for more than it may', () => {
    const file = { 'a.txt': { bytes: linesOf(2 * MOST), seen } };
    expect(rangesOf(run(needs({ ranges: [[1, 2 * MOST]] }), file))).toEqual([[1, MOST]]);
    const parts = [
      [11, 20],
      [31, 30 + MOST],
      [MOST + 40, MOST + 50],
    ];
    expect(rangesOf(run(needs({ ranges: parts }), file))).toEqual([
      [11, 20],
      [31, 20 + MOST],
    ]);
    const exact = [
      [1, MOST - 1],
      [MOST + 10, MOST + 10],
      [MOST + 20, MOST + 20],
    ];
    expect(rangesOf(run(needs({ ranges: exact }), file))).toEqual(exact.slice(0, 2));
  });
});

describe('symbols', () => {
  const file = (text: string): Readonly<Record<string, OfferedFile>> => ({
    'a.ts': { bytes: Buffer.from(text), seen: [[1, 1]] },
  });
  const menu = file(
    'const a = 1;\n\n// What it costs.\nclass Menu {\n  price() {\n    return 1;\n  }\n}\n',
  );
  const all = (symbols: unknown, more: object = {}) =>
    run(needs({ symbols, ...more }), menu, syntax);

  test('are found by their names, with their comments', () => {
    for (const name of ['Menu.price', 'price', 'Menu::price'])
      expect(rangesOf(all([name]))).toEqual([[5, 7]]);
    expect(rangesOf(all(['Menu']))).toEqual([[3, 8]]);
    expect(rangesOf(all(['price'], { ranges: [[1, 1]] }))).toEqual([
      [1, 1],
      [5, 7],
    ]);
    // All that have the name.
    const two = file('class A {\n  m() {}\n}\n\nclass B {\n  m() {}\n}\n');
    expect(rangesOf(run(needs({ symbols: ['m'] }), two, syntax))).toEqual([
      [2, 2],
      [6, 6],
    ]);
  });

  test.each([['Menu.cost'], ['rice'], ['price.Menu'], ['Menu.']])('%s is missing', (name) => {
    expect(all([name])).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'symbol_missing', path: 'a.ts' }],
    });
  });

  test('none is found where no tree can be made', () => {
    const unread = { outcome: 'refused', reasons: [{ code: 'symbol_missing' }] };
    expect(run(needs({ symbols: ['price'] }), menu)).toMatchObject(unread);
    expect(run(needs({ symbols: ['line'] }), { 'a.txt': LONG }, syntax)).toMatchObject(unread);
  });
});

describe('refused', () => {
  test.each<[string, unknown, string, string]>([
    ['no object', 'lines', 'invalid', '`needs_lines` must be an object'],
    ['a list', [[4, 5]], 'invalid', '`needs_lines` must be an object'],
    ['nothing wanted', {}, 'invalid', 'needs `ranges`'],
    ['no range and no symbol', { ranges: [], symbols: [] }, 'invalid', 'needs `ranges`'],
    ['an unknown key', { range: [[4, 5]] }, 'invalid', 'unknown key "range"'],
    [
      'an unknown key beside a known one',
      { ranges: [[4, 5]], why: '' },
      'invalid',
      'unknown key "why"',
    ],
    ['ranges that are none', { ranges: '4-5' }, 'invalid', 'needs `ranges`'],
    ['a range that is a number', { ranges: [4, 5] }, 'invalid', 'needs `ranges`'],
    ['a range without its end', { ranges: [[4]] }, 'invalid', 'needs `ranges`'],
    ['a range of words', { ranges: [['4', '5']] }, 'invalid', 'needs `ranges`'],
    ['a range whose end is a word', { ranges: [[4, '5']] }, 'invalid', 'needs `ranges`'],
    ['a range whose beginning is a word', { ranges: [['4', 5]] }, 'invalid', 'needs `ranges`'],
    ['a range from line 0', { ranges: [[0, 5]] }, 'invalid', 'needs `ranges`'],
    ['a range that ends before it begins', { ranges: [[5, 4]] }, 'invalid', 'needs `ranges`'],
    ['symbols that are none', { symbols: 'a' }, 'invalid', 'needs `ranges`'],
    ['a symbol that is a number', { symbols: ['a', 3] }, 'invalid', 'needs `ranges`'],
    ['a symbol without a name', { symbols: ['a', ''] }, 'invalid', 'needs `ranges`'],
    ['a path that is a number', { file_path: 3, ranges: [[4, 5]] }, 'invalid', 'needs `file_path`'],
    ['lines behind the end', { ranges: [[401, 600]] }, 'refused', 'a.txt has 400 lines'],
    ['another file', { file_path: 'b.txt', ranges: [[4, 5]] }, 'refused', 'b.txt'],
  ])('%s', (_name, value, outcome, words) => {
    expect(run(needs(value))).toMatchObject({
      outcome,
      reasons: [{ message: expect.stringContaining(words) }],
    });
  });

  test('operations beside it', () => {
    expect(run({ ...needs({ ranges: [[4, 5]] }), operations: [] })).toMatchObject({
      outcome: 'invalid',
      reasons: [{ code: 'bad_needs_lines' }],
    });
  });

  test('without a path where several files are offered', () => {
    const two = { 'a.txt': LONG, 'b.txt': LONG };
    expect(run(needs({ ranges: [[4, 5]] }), two)).toMatchObject({
      outcome: 'invalid',
      reasons: [{ message: expect.stringContaining('several files') }],
    });
    expect(run(needs({ file_path: 'b.txt', ranges: [[4, 5]] }), two)).toMatchObject({
      outcome: 'needs_lines',
      needs: { path: 'b.txt' },
    });
  });

  test.each<[string, OfferedFile]>([
    ['that is shown whole', { bytes: linesOf(400) }],
    ['that is not there yet', { bytes: null, seen }],
  ])('of a file %s nothing is missing', (_name, file) => {
    expect(run(needs({ ranges: [[4, 5]] }), { 'a.txt': file })).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'all_lines_shown', path: 'a.txt' }],
    });
  });

  test('without its marker it is not believed', () => {
    const found = applyAnswer({
      format: 'structured-edit',
      answer: '{"needs_lines": {"ranges": [[4, 5]]}}',
      files: new Map([['a.txt', LONG]]),
      options: { requireMarker: true },
    });
    expect(found.outcome).toBe('unmarked');
  });
});
