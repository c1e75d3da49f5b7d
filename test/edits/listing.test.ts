import { describe, expect, test } from '@jest/globals';
import { lineCheck, listing, mergeRanges } from '../../src/edits/listing.js';
import { windowedListing } from '../../src/edits/listing-windows.js';
import { splitLines } from '../../src/edits/text.js';

describe('lineCheck', () => {
  test('never changes: prompts and answers in journals quote it', () => {
    expect([
      lineCheck(undefined, 'a', 'b'),
      lineCheck('a', 'b', undefined),
      lineCheck(undefined, '', undefined),
    ]).toEqual(['41j', 'a5p', 'wf6']);
  });
  test('is three base36 characters and tells line and neighbours apart', () => {
    const checks = new Set<string>();
    for (let i = 0; i < 1_000; i += 1) {
      const check = lineCheck('p', `line ${i}`, 'n');
      expect(check).toMatch(/^[0-9a-z]{3}$/);
      checks.add(check);
    }
    expect(checks.size).toBeGreaterThan(970);
    expect(lineCheck('a', 'x', 'b')).not.toBe(lineCheck('b', 'x', 'a'));
    expect(lineCheck('', 'x', 'b')).not.toBe(lineCheck(undefined, 'x', 'b'));
  });
});

test('a listing shows numbers, checks, tabs and what is left out', () => {
  const text = splitLines('a\n\tb\nc\nd\n');
  const c = (line: number): string =>
    `${line}:${lineCheck(text.lines[line - 2], text.lines[line - 1] ?? '', text.lines[line])}`;
  expect(listing(text)).toBe(`${c(1)}| a\n${c(2)}| →\tb\n${c(3)}| c\n${c(4)}| d\n`);
  expect(
    listing(text, [
      [2, 2],
      [4, 9],
    ]),
  ).toBe(`... line 1 is not shown\n${c(2)}| →\tb\n... line 3 is not shown\n${c(4)}| d\n`);
  expect(listing(splitLines('→\tx\n\ty\n'))).not.toContain('→\t→');
  expect(listing(splitLines(''))).toBe('');
});

test('mergeRanges joins what touches and cuts to the file', () => {
  expect(
    mergeRanges(
      [
        [5, 9],
        [1, 2],
        [3, 4],
        [12, 40],
      ],
      20,
    ),
  ).toEqual([
    [1, 9],
    [12, 20],
  ]);
  expect(
    mergeRanges(
      [
        [30, 40],
        [0, 0],
      ],
      20,
    ),
  ).toEqual([]);
});

describe('windows', () => {
  const lines = Array.from({ length: 5_000 }, (_, i) => (i % 100 === 0 ? `function part${i}() {` : `  work(${i});`));
  lines[3210] = '  const veryRareName = 1;';
  const text = splitLines(`${lines.join('\n')}\n`);
  const sees = (seen: readonly (readonly [number, number])[] | undefined, line: number): boolean =>
    seen?.some(([a, b]) => a <= line && line <= b) ?? true;

  test('a file that fits is shown whole', () => {
    const small = windowedListing(splitLines('a\nb\n'), 1_000);
    expect(small.seen).toBeUndefined();
    expect(small.listing.split('\n')).toHaveLength(3);
  });

  test('named lines, rare words, head, tail and definitions are shown, within the budget', () => {
    const shown = windowedListing(text, 20_000, 'In line 1500 and `veryRareName`, see main.ts:4004.');
    for (const line of [1, 40, 1480, 1500, 1520, 3205, 3211, 3220, 4004, 4990, 5000, 2001, 2101])
      expect([line, sees(shown.seen, line)]).toEqual([line, true]);
    expect(sees(shown.seen, 2050)).toBe(false);
    expect(shown.listing.length).toBeLessThan(26_000);
    expect(shown.listing).toContain('are not shown');
  });

  test('what is seen is what is listed', () => {
    const shown = windowedListing(text, 3_000, 'lines 10-20');
    const numbers = [...shown.listing.matchAll(/^(\d+):[0-9a-z]{3}\| /gm)].map((m) => Number(m[1]));
    const seen = (shown.seen ?? []).flatMap(([a, b]) => Array.from({ length: b - a + 1 }, (_, i) => a + i));
    expect(numbers).toEqual(seen);
    expect(numbers).toEqual(expect.arrayContaining([10, 20]));
  });
});
