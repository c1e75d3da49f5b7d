/**
 * The tolerance `elision`: a line like `...` or `// ... existing code ...` in the middle of FIND stands for lines that were left out. FIND then
 * is two parts, which must stand in exactly one place each way: one head, and one tail below it. The same line in REPLACE keeps what
 * was left out; without it the lines go.
 */
import { lineOrigins } from '../../text/line-diff.js';

const ELIDED =
  /^\s*(?:\/\/+|#+|--|;+|%+|\/\*+|<!--|\{\/\*)?\s*(?:\.{3}|\u2026)(?:[^\n]{0,80}(?:\.{3}|\u2026))?\s*(?:\*\/\}?|-->)?\s*$/;

const isElided = (line: string): boolean => line.length <= 200 && ELIDED.test(line);

export interface Elided {
  readonly head: readonly string[];
  readonly tail: readonly string[];
}

/** The two parts, where exactly one line inside stands for others and both parts say something. */
export const splitElided = (lines: readonly string[]): Elided | null => {
  const places = lines.flatMap((line, i) => (isElided(line) ? [i] : []));
  const [at] = places;
  if (at === undefined || places.length > 1) return null;
  const [head, tail] = [lines.slice(0, at), lines.slice(at + 1)];
  const says = (part: readonly string[]): boolean => part.some((line) => line.trim() !== '');
  return says(head) && says(tail) ? { head, tail } : null;
};

export type ElidedPlace = { readonly head: number; readonly tail: number } | 'none' | 'several';

/** 0-based first lines of the only head and the only tail that stand with at least one line between them. */
export const placeElided = (lines: readonly string[], { head, tail }: Elided): ElidedPlace => {
  const [head0, head1] = placesOf(lines, head);
  const tails = placesOf(lines, tail);
  const last = tails.at(-1);
  const goes = (at: number | undefined, below: number | undefined): boolean =>
    at !== undefined && below !== undefined && below > at + head.length;
  if (head0 === undefined || last === undefined || !goes(head0, last)) return 'none';
  // If any pair is in order the first head and the last tail are; it is the only one where neither has a second.
  if (goes(head0, tails.at(-2)) || goes(head1, last)) return 'several';
  return { head: head0, tail: last };
};

const placesOf = (lines: readonly string[], part: readonly string[]): number[] => {
  const places: number[] = [];
  for (let at = 0; at + part.length <= lines.length; at += 1)
    if (part.every((line, i) => lines[at + i] === line)) places.push(at);
  return places;
};

/**
 * What takes the place of `nodes` (head, left out lines, tail): kept nodes and new lines. Null: REPLACE leaves lines out more than once,
 * and which ones it means is not clear.
 */
export const composeElided = (
  { head, tail }: Elided,
  nodes: readonly number[],
  replace: readonly string[],
): (number | string)[] | null => {
  const marks = replace.flatMap((line, j) => (isElided(line) ? [j] : []));
  if (marks.length > 1) return null;
  const heads = nodes.slice(0, head.length);
  const left = nodes.slice(head.length, nodes.length - tail.length);
  const tails = nodes.slice(nodes.length - tail.length);
  const keep = (old: readonly string[], own: readonly number[], now: readonly string[]): (number | string)[] => {
    const kept = lineOrigins(old, now);
    return now.map((text, j) => own[kept[j] ?? -1] ?? text);
  };
  const [mark] = marks;
  if (mark === undefined) return keep([...head, ...tail], [...heads, ...tails], replace);
  return [...keep(head, heads, replace.slice(0, mark)), ...left, ...keep(tail, tails, replace.slice(mark + 1))];
};
