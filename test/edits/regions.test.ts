/** Regions of a file, and answers that ask for lines instead of editing. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { applyAnswer } from '../../src/edits/index.js';
import { joinOperations, operationsOf, splitRegion } from '../../src/edits/regions.js';
import type { Syntax } from '../../src/edits/syntax.js';
import type { OfferedFile } from '../../src/edits/types.js';
import { loadSyntax } from '../../src/syntax/index.js';
import { fuzz } from '../support/fuzz.js';

const LINES = 400;
const text = `${Array.from({ length: LINES }, (_, i) => `line ${i + 1}`).join('\n')}\n`;
const SHA_UNKNOWN = { requireMarker: false } as const;

const run = (value: unknown, file: Partial<OfferedFile> = {}, path = 'a.txt', syntax?: Syntax) =>
  applyAnswer({
    format: 'structured-edit',
    answer: JSON.stringify(value),
    files: new Map([[path, { bytes: Buffer.from(text), ...file }]]),
    options: { ...SHA_UNKNOWN, ...(syntax === undefined ? {} : { syntax }) },
  });
const operation = (more: object) => ({ operations: [{ file_path: 'a.txt', ...more }], complete: true });

describe('splitting', () => {
  const never = (): boolean => false;

  test('covers the region, in order, no part too short', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 0, max: 3_000 }),
        fc.integer({ min: 2, max: 6 }),
        fc.array(fc.integer({ min: 1, max: 3_500 }), { maxLength: 60 }),
        (from, more, parts, starts) => {
          const to = from + more;
          const regions = splitRegion([from, to], parts, 100, starts, never);
          expect(regions.length).toBeLessThanOrEqual(parts);
          expect(regions[0]?.[0]).toBe(from);
          expect(regions.at(-1)?.[1]).toBe(to);
          for (const [i, [a, b]] of regions.entries()) {
            expect(b).toBeGreaterThanOrEqual(a);
            if (i > 0) expect(a).toBe((regions[i - 1]?.[1] ?? 0) + 1);
          }
        },
      ),
      fuzz('regions', 100),
    );
  });

  test('cuts where a definition begins, else below a blank line, else in the middle', () => {
    expect(splitRegion([1, 1000], 2, 100, [20, 480, 530], never)).toEqual([
      [1, 479],
      [480, 1000],
    ]);
    expect(splitRegion([1, 1000], 2, 100, [20], (line) => line === 510)).toEqual([
      [1, 510],
      [511, 1000],
    ]);
    expect(splitRegion([1, 1000], 2, 100, [], never)).toEqual([
      [1, 500],
      [501, 1000],
    ]);
  });

  test('a region that is too short stays whole', () => {
    expect(splitRegion([101, 299], 2, 100, [200], never)).toEqual([[101, 299]]);
  });
});

describe('an answer for a region', () => {
  const region = [101, 200] as const;

  test.each([
    ['replace inside', { type: 'replace', start_line: 101, end_line: 200, content: 'x\n' }, 'edited'],
    ['replace over the border', { type: 'replace', start_line: 200, end_line: 201, content: 'x\n' }, 'refused'],
    ['delete before it', { type: 'delete', start_line: 100, end_line: 100 }, 'refused'],
    ['insert before its first line', { type: 'insert', line: 101, content: 'x\n' }, 'edited'],
    ['insert behind its last line', { type: 'insert', line: 201, content: 'x\n' }, 'refused'],
    ['append', { type: 'append', content: 'x\n' }, 'refused'],
    ['prepend', { type: 'prepend', content: 'x\n' }, 'refused'],
  ])('%s', (_, op, outcome) => {
    const found = run(operation(op), { region });
    expect(found.outcome).toBe(outcome);
    if (found.outcome === 'refused') expect(found.reasons[0]).toMatchObject({ code: 'unseen_lines', index: 0 });
  });

  test('append belongs to the last region, prepend to the first', () => {
    expect(run(operation({ type: 'append', content: 'x\n' }), { region: [301, 400] }).outcome).toBe('edited');
    expect(run(operation({ type: 'insert', line: 401, content: 'x\n' }), { region: [301, 400] }).outcome).toBe(
      'edited',
    );
    expect(run(operation({ type: 'prepend', content: 'x\n' }), { region: [1, 100] }).outcome).toBe('edited');
    expect(run(operation({ type: 'prepend', content: 'x\n' }), { region: [301, 400] }).outcome).toBe('refused');
  });

  test('what the regions say is applied as one answer', () => {
    const [first, second] = [
      operation({ type: 'delete', start_line: 200, end_line: 200 }),
      operation({ type: 'insert', line: 201, content: 'new\n' }),
    ].map((value) => operationsOf(JSON.stringify(value), undefined));
    const joined = run(JSON.parse(joinOperations([...(first ?? []), ...(second ?? [])])));
    if (joined.outcome !== 'edited') throw new Error(joined.outcome);
    const result = joined.files.get('a.txt');
    if (result === undefined || result === 'absent') throw new Error('no result');
    expect(Buffer.from(result.bytes).toString()).toBe(text.replace('line 200\n', 'new\n'));
  });
});

describe('needs_lines', () => {
  const seen = [[1, 10]] as const;
  let syntax: Syntax;
  beforeAll(async () => {
    syntax = await loadSyntax(['a.ts']);
  });
  const needs = (needs_lines: unknown) => ({ needs_lines, complete: true });

  test('ranges, within the file', () => {
    const found = run(
      needs({
        ranges: [
          [390, 999],
          [50, 60],
        ],
      }),
      { seen },
    );
    expect(found).toMatchObject({
      outcome: 'needs_lines',
      needs: {
        path: 'a.txt',
        ranges: [
          [50, 60],
          [390, 400],
        ],
      },
    });
  });

  test('symbols, through the syntax tree', () => {
    const bytes = Buffer.from('const a = 1;\n\nclass Menu {\n  price() {\n    return 1;\n  }\n}\n');
    const found = run(needs({ symbols: ['Menu.price'] }), { seen: [[1, 1]], bytes }, 'a.ts', syntax);
    expect(found).toMatchObject({ outcome: 'needs_lines', needs: { ranges: [[4, 6]] } });
    const missing = run(needs({ symbols: ['Menu.cost'] }), { seen: [[1, 1]], bytes }, 'a.ts', syntax);
    expect(missing).toMatchObject({ outcome: 'refused', reasons: [{ code: 'symbol_missing' }] });
  });

  test.each([
    ['nothing wanted', needs({}), 'invalid', 'bad_needs_lines'],
    ['a range that ends before it begins', needs({ ranges: [[5, 4]] }), 'invalid', 'bad_needs_lines'],
    ['an unknown key', needs({ range: [[4, 5]] }), 'invalid', 'bad_needs_lines'],
    ['operations beside it', { ...needs({ ranges: [[4, 5]] }), operations: [] }, 'invalid', 'bad_needs_lines'],
    ['behind the end', needs({ ranges: [[500, 600]] }), 'refused', 'out_of_range'],
    ['another file', needs({ file_path: 'b.txt', ranges: [[4, 5]] }), 'refused', 'file_not_offered'],
  ])('%s', (_, value, outcome, code) => {
    expect(run(value, { seen })).toMatchObject({ outcome, reasons: [{ code }] });
  });

  test('of a file that is shown whole nothing is missing', () => {
    expect(run(needs({ ranges: [[4, 5]] }))).toMatchObject({
      outcome: 'refused',
      reasons: [{ code: 'all_lines_shown' }],
    });
  });

  test('without its marker it is not believed', () => {
    const found = applyAnswer({
      format: 'structured-edit',
      answer: '{"needs_lines": {"ranges": [[4, 5]]}}',
      files: new Map([['a.txt', { bytes: Buffer.from(text), seen }]]),
      options: { requireMarker: true },
    });
    expect(found.outcome).toBe('unmarked');
  });
});
