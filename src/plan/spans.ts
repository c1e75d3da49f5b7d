/** Places in a text: lines, sorted spans, splices. */
import type { Span, TextSplice } from './types.js';

/** Index of the first of the sorted `items` that starts at or after `from`. */
export function firstAt(items: readonly { readonly from: number }[], from: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.from ?? Infinity) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Those of the sorted `items` that start within the span. */
export const within = <T extends { readonly from: number }>(items: readonly T[], { from, to }: Span): readonly T[] =>
  items.slice(firstAt(items, from), firstAt(items, to));

/** Does one of the sorted, disjoint `spans` hold the offset? */
export function isIn(spans: readonly Span[], offset: number): boolean {
  const before = spans[firstAt(spans, offset + 1) - 1];
  return before !== undefined && offset < before.to;
}

/** Line starts of a text; `lineOf(offset)` counts from 1. Lines end at LF, CRLF or CR. */
export function lineIndex(source: string): {
  readonly starts: readonly number[];
  readonly lineOf: (offset: number) => number;
} {
  const starts = [0];
  for (const match of source.matchAll(/\r\n|\n|\r/g)) starts.push(match.index + match[0].length);
  const items = starts.map((from) => ({ from }));
  return { starts, lineOf: (offset) => firstAt(items, offset + 1) };
}

/** The text with every splice made. They must not overlap; order does not matter, but for those at one place. */
export function splice(source: string, splices: readonly TextSplice[]): string {
  const sorted = splices
    .map((each, index) => ({ ...each, index }))
    .sort((a, b) => a.from - b.from || a.index - b.index);
  let result = '';
  let at = 0;
  for (const { from, to, text } of sorted) {
    if (from < at) throw new Error(`Splices overlap at ${from}.`);
    result += source.slice(at, from) + text;
    at = to;
  }
  return result + source.slice(at);
}
