/**
 * Line diff with a bounded cost. (1) Common lines at both ends are taken off. (2) The rest goes to jsdiff, which finds a shortest edit
 * of up to `DIFF_EDITS` lines. (3) Past that, and before it for long sides, step 2 is done window by window, as long as the
 * windows stay alike: linear. (4) What is left then: lines that stand once on both sides are anchors (the longest run of them in order),
 * and step 1 is done between anchors: n log n, whatever the input. The outcome depends on the two sides alone.
 *
 * Sides may be indexes of bytes: lines become strings where they differ from the other side's, and round that.
 */
import { diffArrays } from 'diff';
import { firstBehind } from '../../shared/search.js';
import { indexOfLines, type LineIndex } from './lines.js';

export const DIFF_EDITS = 1_000; // bound: Differences up to which two texts are compared in one piece.
export const DIFF_WHOLE_LINES = 20_000; // bound: Longer texts, both counted, are compared by windows first.
const DIFF_NEAR_LINES = 32; // bound: A small window does where it ends in
const DIFF_NEAR_KEPT_LINES = 16; // bound: so many equal lines.
export const DIFF_WINDOW_LINES = 1_024; // bound: Else, and past `DIFF_EDITS`, windows have so many lines,
const DIFF_WINDOW_EDITS = 128; // bound: with so many differences in one at most,
const DIFF_WINDOW_KEPT_LINES = 3; // bound: each up to the last run of so many equal lines.
const DIFF_FEW_LINES = 8; // bound: Most edits replace a few lines by others: no diff need be made. False where nobody looked.

/** A stretch of both sides: base [b0, b1), result [r0, r1). */
type Stretch = readonly [b0: number, b1: number, r0: number, r1: number];

interface Sides {
  readonly base: LineIndex;
  readonly result: LineIndex;
  /** What is known by now of each result line, as `lineOrigins` returns it. */
  readonly origins: Int32Array;
}

/** For each result line the 0-based base line that it keeps, or -1; rising along the result. */
export const lineOrigins = (
  baseLines: readonly string[] | LineIndex,
  resultLines: readonly string[] | LineIndex,
): Int32Array => {
  const [base, result] = [indexOfLines(baseLines), indexOfLines(resultLines)];
  const origins = new Int32Array(result.length).fill(-1);
  const sides = { base, result, origins };
  let rest = trimCommon(sides, [0, base.length, 0, result.length]);
  const [b0, b1, r0, r1] = rest;
  if (areFew(b1 - b0, r1 - r0) && haveNothingInCommon(base.range(b0, b1), result.range(r0, r1)))
    return origins;
  const isLong = b1 - b0 + (r1 - r0) > DIFF_WHOLE_LINES;
  if (isLong) rest = byWindows(sides, rest);
  rest = byWindow(sides, rest, WHOLE) ?? (isLong ? rest : byWindows(sides, rest));
  byAnchors(sides, rest);
  return origins;
};

const byAnchors = (sides: Sides, stretch: Stretch): void => {
  const [b0, b1, r0, r1] = stretch;
  let before: readonly [number, number] = [b0, r0];
  for (const [b, r] of [...anchors(sides.base, sides.result, stretch), [b1, r1] as const]) {
    trimCommon(sides, [before[0], b, before[1], r]);
    if (r < r1) sides.origins[r] = b;
    before = [b + 1, r + 1];
  }
};

const areFew = (base: number, result: number): boolean =>
  base <= DIFF_FEW_LINES && result <= DIFF_FEW_LINES;

export const haveNothingInCommon = (base: readonly string[], result: readonly string[]): boolean =>
  areFew(base.length, result.length) && !base.some((line) => result.includes(line));

/** Writes the origins of lines that are equal at both ends of the stretch and returns what lies between. */
const trimCommon = ({ base, result, origins }: Sides, stretch: Stretch): Stretch => {
  let [b0, b1, r0, r1] = stretch;
  const sure = base.surelySame?.(b0, result, r0, Math.min(b1 - b0, r1 - r0)) ?? 0;
  for (let i = 0; i < sure; i += 1) origins[r0++] = b0++;
  while (b0 < b1 && r0 < r1 && base.isLine(b0, result, r0)) origins[r0++] = b0++;
  while (b0 < b1 && r0 < r1 && base.isLine(b1 - 1, result, r1 - 1)) origins[--r1] = --b1;
  return [b0, b1, r0, r1];
};

/** How many lines of each side are compared at once, how many may differ, and after how many equal ones in a row what stands before is settled. */
type WindowSize = Readonly<Record<'lines' | 'edits' | 'kept_lines', number>>;
/** Most edits are small and lie far apart: a small window that ends in many equal lines says as much as a large one. */
const NEAR: WindowSize = {
  lines: DIFF_NEAR_LINES,
  edits: DIFF_WINDOW_EDITS,
  kept_lines: DIFF_NEAR_KEPT_LINES,
};
const WIDE: WindowSize = {
  lines: DIFF_WINDOW_LINES,
  edits: DIFF_WINDOW_EDITS,
  kept_lines: DIFF_WINDOW_KEPT_LINES,
};
const WHOLE: WindowSize = { lines: Infinity, edits: DIFF_EDITS, kept_lines: 1 };

/**
 * A window of each side is compared, and what lies before the end of its last longer kept run is settled; the next windows begin behind
 * the lines that follow it on both sides. Each settles a quarter of itself or is the last, so the cost is linear. What is left when the
 * two sides are no longer alike is returned.
 */
const byWindows = (sides: Sides, stretch: Stretch): Stretch => {
  let rest = stretch;
  for (;;) {
    const unsettled = byWindow(sides, rest, NEAR) ?? byWindow(sides, rest, WIDE);
    if (unsettled === null) return rest;
    rest = trimCommon(sides, unsettled);
    if (rest[0] === rest[1] || rest[2] === rest[3]) return rest;
  }
};

/** What is left behind one window; null: it settles too little. */
const byWindow = (
  { base, result, origins }: Sides,
  [b0, b1, r0, r1]: Stretch,
  size: WindowSize,
): Stretch | null => {
  if (b0 === b1 || r0 === r1) return [b1, b1, r1, r1];
  const [endOfBase, endOfResult] = [Math.min(b1, b0 + size.lines), Math.min(r1, r0 + size.lines)];
  if (Math.abs(endOfBase - b0 - (endOfResult - r0)) > size.edits) return null;
  const changes = diffArrays(base.range(b0, endOfBase), result.range(r0, endOfResult), {
    maxEditLength: size.edits,
  });
  if (changes === undefined) return null;
  const kept: (readonly [b: number, r: number, count: number])[] = [];
  let [b, r] = [0, 0];
  for (const { removed, added, count } of changes) {
    if (!removed && !added) kept.push([b, r, count]);
    if (!added) b += count;
    if (!removed) r += count;
  }
  const isLast = endOfBase === b1 && endOfResult === r1;
  const end = kept.findLastIndex(([, , count]) => isLast || count >= size.kept_lines);
  const [endB = 0, endR = 0, count = 0] = kept[end] ?? [];
  if (!isLast && Math.min(endB, endR) + count < size.lines / 4) return null;
  for (const [keptB, keptR, lines] of kept.slice(0, end + 1))
    for (let i = 0; i < lines; i += 1) origins[r0 + keptR + i] = b0 + keptB + i;
  return isLast ? [b1, b1, r1, r1] : [b0 + endB + count, b1, r0 + endR + count, r1];
};

/** Pairs [base, result] of lines that stand once on each side, rising on both. */
const anchors = (
  base: LineIndex,
  result: LineIndex,
  [b0, b1, r0, r1]: Stretch,
): [number, number][] => {
  const inResult = placesOnce(result.range(r0, r1), r0);
  const pairs: [number, number][] = [];
  for (const [line, b] of placesOnce(base.range(b0, b1), b0)) {
    const r = inResult.get(line) ?? -1;
    if (b >= 0 && r >= 0) pairs.push([b, r]);
  }
  return longestRising(pairs);
};

/** The place of each line, the first one's being `first`; -1 where it stands more than once. In the order of the lines. */
const placesOnce = (lines: readonly string[], first: number): Map<string, number> => {
  const places = new Map<string, number>();
  for (const [i, line] of lines.entries()) places.set(line, places.has(line) ? -1 : first + i);
  return places;
};

/** The longest run of pairs, rising in the first, that rises in the second too (patience sorting, n log n). */
const longestRising = (pairs: readonly [number, number][]): [number, number][] => {
  const tops: number[] = [];
  const tails: number[] = [];
  const previous: number[] = [];
  for (const [at, [, value]] of pairs.entries()) {
    const low = firstBehind(tails.length, (i) => (tails[i] ?? 0) < value);
    previous[at] = tops[low - 1] ?? -1;
    [tops[low], tails[low]] = [at, value];
  }
  const run = new Set<number>();
  for (let at = tops.at(-1) ?? -1; at >= 0; at = previous[at] ?? -1) run.add(at);
  return pairs.filter((_, at) => run.has(at));
};
