/** Which lines of a file are shown that does not fit: every line here weighs 10, so budgets count lines. */
import { describe, expect, test } from '@jest/globals';
import {
  windowedListing,
  lineCheck,
  listing,
  listingReasons,
  mergeRanges,
  WINDOW_HEAD_LINES,
  WINDOW_TAIL_LINES,
  WINDOW_WORDS,
} from '../../src/edits/listing.js';
import { splitLines } from '../../src/edits/text/lines.js';

const COUNT = 1_000;
const WEIGHT = 10;
const PLAIN = 'xxxxxx';

/** 1,000 lines of 6 characters with `special` ones (by number) among them; `lines`: the budget. The ranges that are seen. */
const seen = (
  hints: string,
  lines: number,
  special: Readonly<Record<number, string>> = {},
): string => {
  const all = Array.from({ length: COUNT }, (_, i) =>
    (special[i + 1] ?? PLAIN).padEnd(6).slice(0, 6),
  );
  const shown = windowedListing(
    splitLines(`${all.join('\n')}\n`),
    lines * WEIGHT,
    hints,
    WEIGHT - 6,
  );
  return (
    shown.seen?.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(' ') ?? 'all'
  );
};
const HEAD = `1-${WINDOW_HEAD_LINES}`;
const TAIL = `${COUNT - WINDOW_TAIL_LINES + 1}-${COUNT}`;
const WIDE = 200;

test('whole where it fits, to the character', () => {
  expect(seen('', COUNT)).toBe('all');
  expect(seen('', COUNT - 0.1)).not.toBe('all');
  expect(windowedListing(splitLines(''), 0)).toEqual({ listing: '' });
});

test('head and tail, as far as the budget goes', () => {
  expect(seen('', WIDE)).toBe(`${HEAD} ${TAIL}`);
  expect(seen('', 45)).toBe(`${HEAD} 971-975`);
  expect(seen('', 7)).toBe('1-7');
  expect(seen('', 6.9)).toBe('1-6');
});

describe('lines that the instructions name', () => {
  test.each([
    ['see line 500.', '480-520'],
    ['Line 500', '480-520'],
    ['line  500', '480-520'],
    ['lines 500-510', '480-530'],
    ['lines 500 - 510', '480-530'],
    ['lines 500–510', '480-530'],
    ['lines 500to510', '480-530'],
    ['lines 500 through  510', '480-530'],
    ['LINES 500 AND 510', '480-530'],
    ['lines 510-400', '490-530'],
    ['src/a.ts:500', '480-520'],
    ['line 500 and b.py:550', '480-520 530-570'],
    ['line 990', '970-1000'],
    ['line 5000', ''],
    ['line500', ''],
    ['deadline 500', ''],
    ['a.ts:500th', ''],
    ['500', ''],
  ])('%s', (hints, window) => {
    const tail = window.endsWith('1000') ? window : `${window} ${TAIL}`.trim();
    expect(seen(hints, WIDE)).toBe(`${HEAD} ${tail}`);
  });

  test('come first, then what is round them, then the head', () => {
    expect(seen('line 500', 10)).toBe('480-488 500');
    expect(seen('line 500 and line 600', 10)).toBe('480-487 500 600');
    expect(seen('line 500', 60)).toBe('1-19 480-520');
    // More than fit: nothing else is shown.
    expect(seen('line 500, line 600, line 700', 2)).toBe('500 600');
  });

  test('a hundred of them at most', () => {
    const named = Array.from({ length: 101 }, (_, i) => `line ${100 + i * 2}`).join(', ');
    const shown = seen(named, 101).split(' ');
    expect(shown).toContain('298');
    expect(shown).not.toContain('300');
  });
});

describe('words of the instructions', () => {
  const isSeen = (
    hints: string,
    special: Readonly<Record<number, string>>,
    line: number,
  ): boolean =>
    seen(hints, WIDE, special)
      .split(' ')
      .map((range) => range.split('-').map(Number))
      .some(([from = 0, to = from]) => from <= line && line <= to);
  test.each([
    ['in `q w` it', 'a q w b'],
    ['in `=>` it', 'a => b'],
    ['the a_b1 one', 'a_b1'],
    ['the A_b one', 'A_b'],
    ['the aB2 one', 'aB2'],
    ['the abB one', 'abB'],
    ['the AbC one', 'AbC'],
    ['the A1bC2 one', 'A1bC2'],
    ['the a.b one', 'a.b'],
    ['the plain one', 'plain;'],
    ['the PLAIN one', 'plain'],
    ['planned', 'plann'],
    ['makeTeaPot', 'teapot'],
  ])('%s', (hints, line) => {
    expect(isSeen(hints, { 300: line }, 300)).toBe(true);
    expect(seen(hints, WIDE, { 300: 'zzzz;' })).toBe(`${HEAD} ${TAIL}`);
  });
  test.each([
    ['in `q` it', 'q'],
    ['the Ab one', 'Ab'],
    ['lines 10-20', 'lines'],
  ])('%s holds no word to look for', (hints, line) => {
    expect(isSeen(hints, { 300: line }, 300)).toBe(false);
  });
  test('what is round a line comes with it, the nearest first, before the end of the file and beside its head', () => {
    expect(seen('plain', 15, { 300: 'plain' })).toBe('293-307');
    expect(seen('plain', 60, { 300: 'plain' })).toBe('1-39 290-310');
  });
  test('rarer words count for more, and several for more than one', () => {
    const special = { 100: 'plain', 200: 'plain', 300: 'plain', 400: 'rarer', 500: 'plaint' };
    expect(seen('plain, rarer', 1, special)).toBe('400');
    expect(seen('plain, rarer, laint', 1, special)).toBe('500');
  });
  test('so many words are looked for', () => {
    const words = Array.from({ length: WINDOW_WORDS - 1 }, (_, i) => `\`=${i}=\``).join(' ');
    expect(isSeen(`${words} \`last_1\``, { 300: 'last_1' }, 300)).toBe(true);
    expect(isSeen(`${words} \`more\` \`last_1\``, { 300: 'last_1' }, 300)).toBe(false);
  });
  test('a line that is too long for what is left keeps no shorter one out', () => {
    const text = splitLines(`${'plain '.repeat(50)}\n${'xxxxxx\n'.repeat(200)}`);
    expect(windowedListing(text, 100, 'plain', 4).seen).toEqual([[2, 11]]);
  });
});

test('lines that look like definitions fill what is left', () => {
  const special = { 500: 'class', 502: ' class', 600: 'def a', 700: 'lesson' };
  const definitions = seen(
    '',
    WIDE,
    Object.fromEntries(Object.entries(special).map(([at, text]) => [at, `${text} `])),
  );
  expect(definitions).toBe(`${HEAD} 500 502 600 ${TAIL}`);
  expect(seen('', 71, special)).toBe(`${HEAD} 500 ${TAIL}`);
});

describe('lineCheck', () => {
  test('never changes: prompts and answers in journals quote it', () => {
    expect([
      lineCheck(undefined, 'a', 'b'),
      lineCheck('a', 'b', undefined),
      lineCheck(undefined, '', undefined),
    ]).toEqual(['pql', 'mvt', 'yms']);
  });
  test('is three letters and tells line and neighbours apart', () => {
    const checks = new Set<string>();
    for (let i = 0; i < 1_000; i += 1) {
      const check = lineCheck('p', `line ${i}`, 'n');
      expect(check).toMatch(/^[a-z]{3}$/);
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
    `${line}${lineCheck(text.lines[line - 2], text.lines[line - 1] ?? '', text.lines[line])}`;
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
  const lines = Array.from({ length: 5_000 }, (_, i) =>
    i % 100 === 0 ? `function part${i}() {` : `  work(${i});`,
  );
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
    const shown = windowedListing(
      text,
      20_000,
      'In line 1500 and `veryRareName`, see main.ts:4004.',
    );
    for (const line of [1, 40, 1480, 1500, 1520, 3205, 3211, 3220, 4004, 4990, 5000, 2001, 2101])
      expect([line, sees(shown.seen, line)]).toEqual([line, true]);
    expect(sees(shown.seen, 2050)).toBe(false);
    expect(shown.listing.length).toBeLessThan(26_000);
    expect(shown.listing).toContain('are not shown');
  });

  test('what is seen is what is listed', () => {
    const shown = windowedListing(text, 3_000, 'lines 10-20');
    const numbers = [...shown.listing.matchAll(/^(\d+)[a-z]{3}\| /gm)].map((m) => Number(m[1]));
    const seen = (shown.seen ?? []).flatMap(([a, b]) =>
      Array.from({ length: b - a + 1 }, (_, i) => a + i),
    );
    expect(numbers).toEqual(seen);
    expect(numbers).toEqual(expect.arrayContaining([10, 20]));
  });
});

test('lines as a listing shows them are refused, unless all do not look so, or the file has such lines', () => {
  const codes = (base: string[], ...lines: string[]) =>
    listingReasons('f', { lines: base, ends: base.map(() => '\n') }, [
      { from: 0, to: 1, lines },
    ]).map(({ code }) => code);
  expect(codes(['a'], '1kef| x', '', '2afz|')).toEqual(['listing']);
  expect(codes(['a'], '1kef| x', 'y')).toEqual([]);
  expect(codes(['7aaa| a'], '1kef| x')).toEqual([]);
  expect(codes(['a'], '1:k3| x')).toEqual([]);
});
