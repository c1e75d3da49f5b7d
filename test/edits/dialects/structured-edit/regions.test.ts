/** Regions of a file. */
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { applyAnswer } from '../../../../src/edits/index.js';
import {
  joinOperations,
  operationsOf,
  splitRegion,
} from '../../../../src/edits/dialects/structured-edit/regions.js';
import type { OfferedFile } from '../../../../src/edits/types.js';
import { fuzz } from '../../../support/fuzz.js';

const LINES = 400;
const text = `${Array.from({ length: LINES }, (_, i) => `line ${i + 1}`).join('\n')}\n`;

const run = (value: unknown, file: Partial<OfferedFile> = {}) =>
  applyAnswer({
    format: 'structured-edit',
    answer: JSON.stringify(value),
    files: new Map([['a.txt', { bytes: Buffer.from(text), ...file }]]),
    options: { requireMarker: false },
  });
const operation = (more: object) => ({
  operations: [{ file_path: 'a.txt', ...more }],
  complete: true,
});

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
          const regions = splitRegion([from, to], { parts, least_lines: 100 }, starts, never);
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
    expect(splitRegion([1, 1000], { parts: 2, least_lines: 100 }, [20, 480, 530], never)).toEqual([
      [1, 479],
      [480, 1000],
    ]);
    expect(
      splitRegion([1, 1000], { parts: 2, least_lines: 100 }, [20], (line) => line === 510),
    ).toEqual([
      [1, 510],
      [511, 1000],
    ]);
    expect(splitRegion([1, 1000], { parts: 2, least_lines: 100 }, [], never)).toEqual([
      [1, 500],
      [501, 1000],
    ]);
  });

  test('a definition or a blank line is near up to the reach, and the nearest one is taken', () => {
    // The middle is line 501; it may move by (500 - 100) / 2 + 100 / 4 lines.
    const cut = (starts: number[], isBlank: (line: number) => boolean = never): number =>
      splitRegion([1, 1000], { parts: 2, least_lines: 100 }, starts, isBlank)[1]?.[0] ?? 0;
    expect([cut([276]), cut([275]), cut([726]), cut([727])]).toEqual([276, 501, 726, 501]);
    expect(cut([600, 490, 520])).toBe(490);
    const isOne =
      (...lines: number[]) =>
      (line: number): boolean =>
        lines.includes(line);
    // A cut stands below the blank line.
    expect([
      cut([], isOne(275)),
      cut([], isOne(274)),
      cut([], isOne(725)),
      cut([], isOne(726)),
    ]).toEqual([276, 501, 726, 501]);
    expect([cut([], isOne(400, 510)), cut([], isOne(490, 600))]).toEqual([511, 491]);
  });

  test('a region that is too short stays whole', () => {
    expect(splitRegion([101, 299], { parts: 2, least_lines: 100 }, [200], never)).toEqual([
      [101, 299],
    ]);
    expect(splitRegion([101, 300], { parts: 2, least_lines: 100 }, [], never)).toEqual([
      [101, 200],
      [201, 300],
    ]);
    expect(splitRegion([101, 300], { parts: 1, least_lines: 100 }, [200], never)).toEqual([
      [101, 300],
    ]);
  });
});

describe('an answer for a region', () => {
  const region = [101, 200] as const;

  test.each([
    [
      'replace inside',
      { type: 'replace', start_line: 101, end_line: 200, content: 'x\n' },
      'edited',
    ],
    [
      'replace over the border',
      { type: 'replace', start_line: 200, end_line: 201, content: 'x\n' },
      'refused',
    ],
    ['delete before it', { type: 'delete', start_line: 100, end_line: 100 }, 'refused'],
    ['insert before its first line', { type: 'insert', line: 101, content: 'x\n' }, 'edited'],
    ['insert behind its last line', { type: 'insert', line: 201, content: 'x\n' }, 'refused'],
    ['append', { type: 'append', content: 'x\n' }, 'refused'],
    ['prepend', { type: 'prepend', content: 'x\n' }, 'refused'],
  ])('%s', (_, op, outcome) => {
    const found = run(operation(op), { region });
    expect(found.outcome).toBe(outcome);
    if (found.outcome === 'refused')
      expect(found.reasons[0]).toMatchObject({ code: 'unseen_lines', index: 0 });
  });

  test('append belongs to the last region, prepend to the first', () => {
    expect(run(operation({ type: 'append', content: 'x\n' }), { region: [301, 400] }).outcome).toBe(
      'edited',
    );
    expect(
      run(operation({ type: 'insert', line: 401, content: 'x\n' }), { region: [301, 400] }).outcome,
    ).toBe('edited');
    expect(run(operation({ type: 'prepend', content: 'x\n' }), { region: [1, 100] }).outcome).toBe(
      'edited',
    );
    expect(
      run(operation({ type: 'prepend', content: 'x\n' }), { region: [301, 400] }).outcome,
    ).toBe('refused');
  });

  test.each(['', 'no JSON', '[]', '3', '{}', '{"operations": 3}', '{"operations": null}'])(
    'without operations: %s',
    (answer) => {
      expect(operationsOf(answer, undefined)).toEqual([]);
    },
  );

  test('regions that all change nothing say why, together', () => {
    expect(run(JSON.parse(joinOperations([], 'A; B')))).toMatchObject({
      outcome: 'unchanged',
      reasons: [{ code: 'said_unchanged', message: 'A; B' }],
    });
    expect(run(JSON.parse(joinOperations([], ''))).outcome).toBe('invalid');
  });

  test('what the regions say is applied as one answer', () => {
    const [first, second] = [
      operation({ type: 'delete', start_line: 200, end_line: 200 }),
      operation({ type: 'insert', line: 201, content: 'new\n' }),
    ].map((value) => operationsOf(JSON.stringify(value), undefined));
    const answer: unknown = JSON.parse(joinOperations([...(first ?? []), ...(second ?? [])]));
    expect(answer).toMatchObject({ complete: true });
    const joined = run(answer);
    if (joined.outcome !== 'edited') throw new Error(joined.outcome);
    const result = joined.files.get('a.txt');
    if (result === undefined || result === 'absent') throw new Error('no result');
    expect(Buffer.from(result.bytes).toString()).toBe(text.replace('line 200\n', 'new\n'));
  });
});
