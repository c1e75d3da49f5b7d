/** Places in a text: lines, sorted spans, and splices. */
import type { Span, TextSplice } from './types.js';
import { firstBehind } from '../../shared/search.js';

/** Returns the index of the first of the sorted `items` that starts at or after `from`. */
export const firstAt = (items: readonly { readonly from: number }[], from: number): number =>
  firstBehind(items.length, (index) => (items[index]?.from ?? Infinity) < from);

/** Returns those of the sorted `items` that start within the span. */
export const within = <T extends { readonly from: number }>(
  items: readonly T[],
  { from, to }: Span,
): readonly T[] => items.slice(firstAt(items, from), firstAt(items, to));

/** Returns whether one of the sorted, disjoint `spans` contains the offset. */
export function isIn(spans: readonly Span[], offset: number): boolean {
  const before = spans[firstAt(spans, offset + 1) - 1];
  return before !== undefined && offset < before.to;
}

/** Returns the offsets at which the lines of a text start. `lineOf(offset)` counts from 1. Lines end at LF, CRLF or CR. */
export function lineIndex(source: string): {
  readonly starts: readonly number[];
  readonly lineOf: (offset: number) => number;
} {
  const starts = [0];
  for (const match of source.matchAll(/\r\n|\n|\r/g)) starts.push(match.index + match[0].length);
  const items = starts.map((from) => ({ from }));
  return { starts, lineOf: (offset) => firstAt(items, offset + 1) };
}

/** Returns the text after all splices. They must not overlap. Splices at the same offset are applied in the order of the list. */
export function splice(source: string, splices: readonly TextSplice[]): string {
  const sorted = splices
    .map((edit, index) => ({ ...edit, index }))
    .sort((a, b) => a.from - b.from || a.index - b.index);
  let result = '';
  let end = 0;
  for (const { from, to, text } of sorted) {
    if (from < end) throw new Error(`Splices overlap at ${from}.`);
    result += source.slice(end, from) + text;
    end = to;
  }
  return result + source.slice(end);
}
