/**
 * Listings with checked line numbers: `1200:k3f| text`. The check is 3 base36 characters over the line and its two neighbours, so that
 * an operation that quotes it says which text it means, and a wrong number is noticed.
 *
 * A tab is shown as `→` and the tab itself, so that it can be told from blanks; a file that has this pair of its own is shown as it is.
 */
import type { Text } from './split-lines.js';
import { indexOf, type LineIndex } from './lines.js';

export type LineRange = readonly [number, number];

const CHECKS = 36 ** 3;
const ABSENT = 0x9e3779b9;

/** FNV-1a over UTF-16 units. */
const hashLine = (line: string): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < line.length; i += 1) {
    const unit = line.charCodeAt(i);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >> 8), 0x01000193);
  }
  return hash >>> 0;
};

/** Mixes the three hashes so that each bit tells (murmur3's finaliser). */
const mix = (previous: number, own: number, next: number): string => {
  let hash = Math.imul(previous, 0x85ebca6b) ^ Math.imul(own, 0xc2b2ae35) ^ Math.imul(next, 0x27d4eb2f);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return (hash % CHECKS).toString(36).padStart(3, '0');
};

const hashOrAbsent = (line: string | undefined): number => (line === undefined ? ABSENT : hashLine(line));

/** ◆ The check of a line: 3 base36 characters; `undefined` for a neighbour that is not there. Never changes: operations quote it. */
export const lineCheck = (previous: string | undefined, line: string, next: string | undefined): string =>
  mix(hashOrAbsent(previous), hashLine(line), hashOrAbsent(next));

/** The check of 1-based line `line` of a text. */
export const checkAt = (lines: Pick<LineIndex, 'line'>, line: number): string | null => {
  const own = lines.line(line - 1);
  return own === undefined ? null : lineCheck(lines.line(line - 2), own, lines.line(line));
};

const TAB_SHOWN = '→\t';

/** Does the listing of this file mark tabs? Then `→` before a tab in an answer is the mark, not text. */
export const marksTabs = (lines: LineIndex): boolean => lines.includes('\t') && !lines.includes(TAB_SHOWN);

/** Takes the marks of shown tabs off an answer's line. */
export const withoutTabMarks = (line: string): string => line.replaceAll(TAB_SHOWN, '\t');

/** What a prompt says about listings. */
export const LISTING_LEGEND =
  'Each line reads `NUMBER:CHECK| TEXT`. Quote lines as `NUMBER:CHECK`, for example "1200:k3f". The text begins after "| ". ' +
  'A tab is shown as `→` and a tab; write a plain tab in your answer.';

/** Merges overlapping and touching ranges and cuts them to the file. */
export const mergeRanges = (ranges: readonly LineRange[], lines: number): LineRange[] => {
  const merged: [number, number][] = [];
  const inside = ranges
    .map(([a, b]): [number, number] => [Math.max(1, a), Math.min(lines, b)])
    .filter(([a, b]) => a <= b);
  for (const [from, to] of inside.sort((x, y) => x[0] - y[0])) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
};

/** The listing of a text, whole or of the 1-based inclusive `ranges`; lines left out are counted. */
export const listing = (text: Text, ranges?: readonly LineRange[]): string => {
  const lines = indexOf(text);
  const mark = marksTabs(lines);
  const shown = mergeRanges(ranges ?? [[1, lines.length]], lines.length);
  const out: string[] = [];
  let next = 1;
  for (const [from, to] of [...shown, [lines.length + 1, lines.length] as const]) {
    if (from > next) out.push(gap(next, from - 1));
    for (let line = from; line <= to; line += 1) out.push(shownLine(lines, line, mark));
    next = to + 1;
  }
  return out.map((line) => `${line}\n`).join('');
};

const gap = (from: number, to: number): string =>
  from === to ? `... line ${from} is not shown` : `... lines ${from} to ${to} are not shown`;

const shownLine = (lines: LineIndex, line: number, mark: boolean): string => {
  const text = lines.line(line - 1) ?? '';
  return `${line}:${checkAt(lines, line) ?? ''}| ${mark ? text.replaceAll('\t', TAB_SHOWN) : text}`;
};
