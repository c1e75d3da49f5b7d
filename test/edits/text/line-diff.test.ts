/** Which base line a result line keeps: all of the shortest texts, and one text for each way to compare long ones. */
import { expect, test } from '@jest/globals';
import {
  DIFF_EDITS,
  DIFF_WHOLE_LINES,
  haveNothingInCommon,
  lineOrigins,
} from '../../../src/edits/text/line-diff.js';

const texts = (most: number, of: readonly string[] = ['a', 'b', 'c']): string[][] =>
  most === 0
    ? [[]]
    : [[], ...texts(most - 1, of).flatMap((rest) => of.map((line) => [line, ...rest]))];
/** The length of a longest common subsequence, by its definition. */
const common = ([a, ...as]: readonly string[], [b, ...bs]: readonly string[]): number => {
  if (a === undefined || b === undefined) return 0;
  return a === b ? 1 + common(as, bs) : Math.max(common([a, ...as], bs), common(as, [b, ...bs]));
};
const origins = (base: readonly string[], result: readonly string[]): number[] => [
  ...lineOrigins(base, result),
];
const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `line ${i}`);

test('short texts: as many lines are kept as can be, in order, each its own', () => {
  const all = texts(4);
  for (const base of all)
    for (const result of all) {
      const found = origins(base, result);
      const kept = found.flatMap((b, r) => (b < 0 ? [] : [[b, r] as const]));
      expect(found.length).toBe(result.length);
      for (const [i, [b, r]] of kept.entries())
        if (base[b] !== result[r] || b <= (kept[i - 1]?.[0] ?? -1))
          throw new Error(JSON.stringify([base, result, found]));
      if (kept.length !== common(base, result))
        throw new Error(JSON.stringify([base, result, found]));
    }
});

test('few lines on both sides without a line in common are told before any diff; more are not looked at', () => {
  expect(haveNothingInCommon(['a', 'b'], ['c'])).toBe(true);
  expect(haveNothingInCommon(['a', 'b'], ['c', 'b'])).toBe(false);
  expect(haveNothingInCommon(numbered(8), ['c'])).toBe(true);
  expect(haveNothingInCommon(numbered(9), ['c'])).toBe(false);
  expect(haveNothingInCommon(['c'], numbered(9))).toBe(false);
});

/** Every `nth` line is another one in the result, which begins with `before` new ones. */
const changed = (count: number, nth: number, before: number): void => {
  const base = numbered(count);
  const result = base.map((line, i) => (i % nth === nth - 1 ? `new ${i}` : line));
  const wanted = base.map((_, i) => (i % nth === nth - 1 ? -1 : i));
  expect(origins(base, [...numbered(before).map((line) => `${line} before`), ...result])).toEqual([
    ...numbered(before).map(() => -1),
    ...wanted,
  ]);
};
test.each([
  ['in one piece', 2 * DIFF_EDITS, 10, 3],
  ['by small windows', DIFF_WHOLE_LINES, 50, 3],
  ['by small windows, as there are too many differences', DIFF_WHOLE_LINES / 2 - 50, 18, 0],
  ['by large windows', DIFF_WHOLE_LINES / 2 - 50, 16, 2],
  ['by the lines that stand once', DIFF_EDITS * 2, 3, 5],
])('long texts %s: what is the same is kept', (_, count, nth, before) => {
  changed(count, nth, before);
});

test('lines that moved: the longer part is kept where it stands, and lines that stand twice tell nothing', () => {
  const base = numbered(1500).flatMap((line) => [line, '}']);
  const moved = [...base.slice(2000), ...base.slice(0, 2000)];
  const found = origins(base, moved);
  // The last line is common to both ends.
  expect(found.slice(1000)).toEqual(
    Array.from({ length: 2000 }, (_, i) => (i === 1999 ? 2999 : i)),
  );
  expect(found.slice(0, 1000).every((b) => b === -1)).toBe(true);
});
