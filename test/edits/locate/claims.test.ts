/** What an operation quotes, and where else it stands: every claim of a few small files, against a plain search. */
import { describe, expect, test } from '@jest/globals';
import {
  type Claim,
  ClaimFinder,
  claimOf,
  matchesAt,
  matchesContext,
} from '../../../src/edits/locate/claims.js';
import type { RangeEdit } from '../../../src/edits/edit.js';
import { rangeEdit } from '../locate-support.js';
import { lineCheck } from '../../../src/edits/listing.js';
import { ByteText } from '../../../src/edits/text/byte-text.js';
import { indexOf, indexOfLines, splitLines } from '../../../src/edits/text/lines.js';

type Checks = 'none' | 'start' | 'end' | 'both';
interface Said {
  readonly length: number;
  readonly checks: Checks;
  readonly before: number;
  readonly after: number;
  /** 0-based line of which it quotes, and the one by which it names it. */
  readonly at: number;
  readonly named?: number;
}

const checkOf = (lines: readonly string[], at: number): string =>
  lineCheck(lines[at - 1], lines[at] ?? '', lines[at + 1]);

const operation = (
  lines: readonly string[],
  { length, checks, before, after, at, named = at }: Said,
): RangeEdit => {
  const quoted = (offset: number, isChecked: boolean) => ({
    line: named + offset + 1,
    check: isChecked ? checkOf(lines, at + offset) : null,
  });
  const context = (from: number, to: number) =>
    to > from ? lines.slice(Math.max(0, from), to) : [];
  const common = {
    contextBefore: context(at - before, at),
    contextAfter: context(at + length, at + length + after),
  };
  const isStart = checks === 'start' || checks === 'both';
  const start = quoted(0, isStart);
  if (length === 0) return rangeEdit({ ...common, type: 'insert', lines: [start, start] }, ['x']);
  const end = quoted(length - 1, checks === 'end' || checks === 'both');
  return rangeEdit({ ...common, lines: [start, end] }, ['x']);
};

describe('what it quotes', () => {
  const lines = ['a', 'b', 'c', 'd', 'e'];
  const said = (more: Partial<Said>): Said => ({
    length: 1,
    checks: 'none',
    before: 0,
    after: 0,
    at: 1,
    ...more,
  });
  test.each<[string, Partial<Said>, Pick<Claim, 'bareEnds' | 'isHeld'>]>([
    ['an insert by its number', { length: 0 }, { bareEnds: true, isHeld: false }],
    ['an insert with a check', { length: 0, checks: 'start' }, { bareEnds: false, isHeld: true }],
    ['an insert with a context', { length: 0, after: 1 }, { bareEnds: false, isHeld: true }],
    ['an insert behind the last line', { length: 0, at: 5 }, { bareEnds: false, isHeld: true }],
    ['an insert before it', { length: 0, at: 4 }, { bareEnds: true, isHeld: false }],
    ['a line by its number', {}, { bareEnds: true, isHeld: false }],
    ['a line with a check', { checks: 'start' }, { bareEnds: false, isHeld: true }],
    ['a line with two', { checks: 'both' }, { bareEnds: false, isHeld: true }],
    ['a line with the context before', { before: 1 }, { bareEnds: false, isHeld: false }],
    ['a line with both contexts', { before: 1, after: 1 }, { bareEnds: false, isHeld: true }],
    [
      'a range with its first check',
      { length: 3, checks: 'start' },
      { bareEnds: true, isHeld: false },
    ],
    [
      'a range with its last check',
      { length: 3, checks: 'end' },
      { bareEnds: true, isHeld: false },
    ],
    ['a range with both', { length: 3, checks: 'both' }, { bareEnds: false, isHeld: true }],
    [
      'its first check and what stands behind',
      { length: 3, checks: 'start', after: 1 },
      { bareEnds: false, isHeld: true },
    ],
    [
      'its first check and what stands before',
      { length: 3, checks: 'start', before: 1 },
      { bareEnds: false, isHeld: false },
    ],
    [
      'its last check and what stands before',
      { length: 3, checks: 'end', before: 1 },
      { bareEnds: false, isHeld: true },
    ],
    [
      'its last check and what stands behind',
      { length: 3, checks: 'end', after: 1 },
      { bareEnds: false, isHeld: false },
    ],
  ])('%s', (_, more, expected) => {
    expect(claimOf(operation(lines, said(more)), lines.length)).toMatchObject(expected);
  });
  test('an append is at the end, a prepend at the beginning', () => {
    const none = { length: 0, checks: [], bareEnds: false, isHeld: true, before: [], after: [] };
    expect(claimOf(rangeEdit({ type: 'append' }, ['x']), 5)).toEqual({ from: 5, ...none });
    expect(claimOf(rangeEdit({ type: 'prepend' }, ['x']), 5)).toEqual({ from: 0, ...none });
  });
});

test('a context is as alike as the least alike of its lines', () => {
  const lines = indexOfLines(['a', 'b ', 'say “c”']);
  expect(matchesContext(['a', 'b '], lines, 0)).toBe('exact');
  expect(matchesContext(['a', 'b', 'say “c”'], lines, 0)).toBe('trailing_space');
  expect(matchesContext(['a', 'b', 'say "c"'], lines, 0)).toBe('lookalikes');
  expect(matchesContext(['say "c"', 'b'], indexOfLines(['say “c”', 'b ']), 0)).toBe('lookalikes');
  expect(matchesContext(['b', 'x'], lines, 1)).toBeNull();
  expect(matchesContext(['a'], lines, 3)).toBeNull();
  const claim = {
    from: 1,
    length: 1,
    checks: [],
    bareEnds: false,
    isHeld: true,
    before: ['a '],
    after: ['say "c"'],
  };
  expect(matchesAt(claim, lines, 1)).toBe('lookalikes');
});

/** Where `wanted` stands. */
const places = (lines: readonly string[], wanted: readonly string[]): number[] =>
  [...lines.keys()].filter((at) => wanted.every((line, i) => lines[at + i] === line));
const stands = (
  lines: readonly string[],
  { checks, before, after, length }: Claim,
  from: number,
): boolean =>
  checks.every(
    ({ offset, quoted }) =>
      from + offset < lines.length && checkOf(lines, from + offset) === quoted.check,
  ) &&
  before.every((line, i) => lines[from - before.length + i] === line) &&
  after.every((line, i) => lines[from + length + i] === line);

const otherPlaces = (lines: readonly string[], claim: Claim): number[] => {
  const { from, length, checks, before, after } = claim;
  if (new Set(checks.map(({ offset }) => offset)).size + before.length + after.length < 2)
    return [];
  const says = (context: readonly string[]) => context.some((line) => line.trim() !== '');
  const holds = (end: number) => checks.some(({ offset }) => offset === end);
  const isHeld = (at: number) =>
    (at === 0 || says(before) || holds(0)) &&
    (at + length === lines.length || says(after) || holds(Math.max(0, length - 1)));
  return [...lines, ''].flatMap((_, at) =>
    at !== from && at + length <= lines.length && isHeld(at) && stands(lines, claim, at)
      ? [at]
      : [],
  );
};
const isEachOnce = (lines: readonly string[], { checks, before, after }: Claim): boolean =>
  checks.every(
    ({ quoted }) =>
      [...lines.keys()].filter((at) => checkOf(lines, at) === quoted.check).length === 1,
  ) &&
  [before, after].every((context) => context.length === 0 || places(lines, context).length === 1);
/** Does a stretch of adjacent lines that is quoted there stand in another place too? */
const isRepeated = (
  lines: readonly string[],
  { from, length, checks, before, after }: Claim,
): boolean => {
  const start = new Set(before.map((_, i) => from - 1 - i));
  const end = new Set<number>();
  for (const { offset } of checks)
    for (const near of [-1, 0, 1]) (offset === 0 ? start : end).add(from + offset + near);
  for (const i of after.keys()) (length < 2 ? start : end).add(from + length + i);
  return [start, end].some((covered) => {
    const sorted = [...covered].sort((a, b) => a - b);
    const stretches: number[][] = [];
    for (const at of sorted) {
      const last = stretches.at(-1);
      if (last?.at(-1) === at - 1) last.push(at);
      else stretches.push([at]);
    }
    return stretches.some(
      (stretch) =>
        stretch.every((at) => lines[at] !== undefined) &&
        places(
          lines,
          stretch.map((at) => lines[at] ?? ''),
        ).length !== 1,
    );
  });
};

const SAID: readonly Said[] = [0, 1, 2, 3].flatMap((length) =>
  (['none', 'start', 'end', 'both'] as const).flatMap((checks) =>
    [0, 1, 2].flatMap((before) =>
      [0, 1, 2].flatMap((after) =>
        [0, 1, 2, 3, 4, 5, 6].flatMap((at) =>
          [0, 2, 3, 5].map((named): Said => ({ length, checks, before, after, at, named })),
        ),
      ),
    ),
  ),
);

describe.each(['ababc', 'aaab', 'a  b a', 'xabyab', 'a', ''])('every claim of %j', (text) => {
  const lines = text.split('').map((line) => line.trim());
  const claims = SAID.filter(
    ({ length, at, named = at }) => Math.max(at, named) + length <= lines.length,
  ).map((said) => claimOf(operation(lines, said), lines.length));
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
  test.each([
    ['over strings', indexOf(splitLines(bytes.toString()))],
    ['over bytes', ByteText.of(bytes, 0, 'utf8')],
  ])('%s', (_, index) => {
    const finder = new ClaimFinder(index, claims);
    const wrong = claims.filter((claim) => {
      const found = [finder.otherPlaces(claim), finder.isEachOnce(claim), finder.isRepeated(claim)];
      const wanted = [
        otherPlaces(lines, claim).slice(0, 2),
        isEachOnce(lines, claim),
        isRepeated(lines, claim),
      ];
      return JSON.stringify(found) !== JSON.stringify(wanted);
    });
    expect(wrong).toEqual([]);
  });
});

test('a check that stands in more than a thousand places moves nothing', () => {
  const said = { length: 1, checks: 'start', before: 1, after: 0, at: 2, named: 1_500 } as const;
  const found = (count: number): number[] => {
    const lines = [...new Array<string>(count + 2).fill('}'), ...new Array<string>(600).fill('x')];
    const claim = claimOf(operation(lines, said), lines.length);
    return new ClaimFinder(indexOfLines(lines), [claim]).otherPlaces(claim);
  };
  expect(found(1_000)).toEqual([1, 2]);
  expect(found(1_001)).toEqual([]);
});
