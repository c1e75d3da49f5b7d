/**
 * Line diff with a bounded cost. (1) Common lines at both ends are taken off. (2) The rest goes to jsdiff, which finds a shortest edit
 * of up to `EDIT_BOUNDS.diffEdits` lines. (3) Past that, step 2 is done window by window, as long as the windows stay alike: linear.
 * (4) What is left then: lines that stand once on both sides are anchors (the longest run of them in order), and step 1 is done between
 * anchors: n log n, whatever the input. The outcome depends on the two sides alone.
 */
import { diffArrays } from 'diff';
import { EDIT_BOUNDS } from '../shared/bounds.js';

/** A stretch of both sides: base [b0, b1), result [r0, r1). */
type Stretch = readonly [b0: number, b1: number, r0: number, r1: number];

/** For each result line the 0-based base line that it keeps, or -1; rising along the result. */
export const lineOrigins = (base: readonly string[], result: readonly string[]): number[] => {
  const origins = new Array<number>(result.length).fill(-1);
  if (haveNothingInCommon(base, result)) return origins;
  const trimmed = trimCommon(base, result, [0, base.length, 0, result.length], origins);
  const [left, right] = [base.slice(trimmed[0], trimmed[1]), result.slice(trimmed[2], trimmed[3])];
  if (left.length === 0 || right.length === 0) return origins;
  if (shortestEdit(left, right, trimmed[0], trimmed[2], origins)) return origins;
  const [b0, b1, r0, r1] = byWindows(base, result, trimmed, origins);
  let before: readonly [number, number] = [b0, r0];
  for (const [b, r] of [...anchors(base, result, [b0, b1, r0, r1]), [b1, r1] as const]) {
    trimCommon(base, result, [before[0], b, before[1], r], origins);
    if (r < r1) origins[r] = b;
    before = [b + 1, r + 1];
  }
  return origins;
};

export const haveNothingInCommon = (base: readonly string[], result: readonly string[]): boolean => {
  if (base.length > EDIT_BOUNDS.diffFew_lines || result.length > EDIT_BOUNDS.diffFew_lines) return false;
  for (const line of base) if (result.includes(line)) return false;
  return true;
};

/** Writes the origins of lines that are equal at both ends of the stretch and returns what lies between. */
const trimCommon = (
  base: readonly string[],
  result: readonly string[],
  stretch: Stretch,
  origins: number[],
): Stretch => {
  let [b0, b1, r0, r1] = stretch;
  while (b0 < b1 && r0 < r1 && base[b0] === result[r0]) origins[r0++] = b0++;
  while (b0 < b1 && r0 < r1 && base[b1 - 1] === result[r1 - 1]) origins[--r1] = --b1;
  return [b0, b1, r0, r1];
};

const shortestEdit = (base: string[], result: string[], b0: number, r0: number, origins: number[]): boolean => {
  if (Math.abs(base.length - result.length) > EDIT_BOUNDS.diffEdits) return false;
  const changes = diffArrays(base, result, { maxEditLength: EDIT_BOUNDS.diffEdits });
  if (changes === undefined) return false;
  let [b, r] = [b0, r0];
  for (const change of changes) {
    if (change.removed) b += change.count;
    else if (change.added) r += change.count;
    else for (let n = 0; n < change.count; n += 1) origins[r++] = b++;
  }
  return true;
};

const { diffWindow_lines, diffWindowEdits, diffWindowKept_lines } = EDIT_BOUNDS;

/**
 * A window of each side is compared, and what lies before the end of its last longer kept run is settled; the next windows begin there.
 * Each settles a quarter of itself or is the last, so the cost is linear. What is left when the two sides are no longer alike is returned.
 */
const byWindows = (
  base: readonly string[],
  result: readonly string[],
  stretch: Stretch,
  origins: number[],
): Stretch => {
  let [b0, , r0] = stretch;
  const [, b1, , r1] = stretch;
  while (b0 < b1 && r0 < r1) {
    const left = base.slice(b0, Math.min(b1, b0 + diffWindow_lines));
    const right = result.slice(r0, Math.min(r1, r0 + diffWindow_lines));
    const changes = diffArrays(left, right, { maxEditLength: diffWindowEdits });
    if (changes === undefined) break;
    const kept: (readonly [b: number, r: number, count: number])[] = [];
    let [b, r] = [0, 0];
    for (const { removed, added, count } of changes) {
      if (!removed && !added) kept.push([b, r, count]);
      if (!added) b += count;
      if (!removed) r += count;
    }
    const isLast = b0 + left.length === b1 && r0 + right.length === r1;
    const end = kept.findLastIndex(([, , count]) => isLast || count >= diffWindowKept_lines);
    const [endB = 0, endR = 0, count = 0] = kept[end] ?? [];
    if (!isLast && Math.min(endB, endR) + count < diffWindow_lines / 4) break;
    for (const [keptB, keptR, lines] of kept.slice(0, end + 1))
      for (let i = 0; i < lines; i += 1) origins[r0 + keptR + i] = b0 + keptB + i;
    if (isLast) return [b1, b1, r1, r1];
    [b0, r0] = [b0 + endB + count, r0 + endR + count];
  }
  return [b0, b1, r0, r1];
};

/** Pairs [base, result] of lines that stand once on each side, rising on both. */
const anchors = (base: readonly string[], result: readonly string[], [b0, b1, r0, r1]: Stretch): [number, number][] => {
  const unique = (lines: readonly string[], from: number, to: number): Map<string, number> => {
    const places = new Map<string, number>();
    for (let at = from; at < to; at += 1) places.set(lines[at] ?? '', places.has(lines[at] ?? '') ? -1 : at);
    return places;
  };
  const inResult = unique(result, r0, r1);
  const pairs: [number, number][] = [];
  for (const [line, b] of unique(base, b0, b1)) {
    const r = inResult.get(line) ?? -1;
    if (b >= 0 && r >= 0) pairs.push([b, r]);
  }
  pairs.sort((x, y) => x[0] - y[0]);
  return longestRising(pairs);
};

/** The longest subsequence that rises in its second parts (patience sorting). */
const longestRising = (pairs: readonly [number, number][]): [number, number][] => {
  const tops: number[] = [];
  const previous = new Array<number>(pairs.length).fill(-1);
  const second = (pair: number): number => pairs[pair]?.[1] ?? 0;
  for (const [at, pair] of pairs.entries()) {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (second(tops[middle] ?? 0) < pair[1]) low = middle + 1;
      else high = middle;
    }
    previous[at] = low > 0 ? (tops[low - 1] ?? -1) : -1;
    tops[low] = at;
  }
  const run: [number, number][] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; at = previous[at] ?? -1) {
    const pair = pairs[at];
    if (pair !== undefined) run.push(pair);
  }
  return run.reverse();
};
