/**
 * Listings with checked line numbers: `1200:k3f| text`. The check is 3 base36 characters over the line and its two neighbours, so that
 * an operation that quotes it says which text it means, and a wrong number is noticed.
 *
 * A tab is shown as `→` and the tab itself, so that it can be told from blanks; a file that has this pair of its own is shown as it is.
 */
import { type Text, indexOf, type LineIndex } from './text/lines.js';
import { EDIT_BOUNDS } from '../shared/bounds.js';

const WINDOW_NAMED_LINES = 20; // bound: Of a long file the lines are shown round a line that the task names,
export const WINDOW_WORD_LINES = 12; // bound: round a word of the task,
export const WINDOW_HEAD_LINES = 40; // bound: at its head,
export const WINDOW_TAIL_LINES = 30; // bound: and at its end.
export const WINDOW_TEXT = 40; // bound: Words of the task that are looked for.
export const WINDOW_PLACES = 12; // bound: A word that stands more often than this says little about where.

/** 1-based lines, both included. */
export type LineRange = readonly [number, number];

const CHECKS = 36 ** 3;
const ABSENT = 0x9e3779b9;

/** FNV-1a over UTF-16 units. */
const hashLine = (line: string | undefined): number => {
  if (line === undefined) return ABSENT;
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

/** ◆ The check of a line: 3 base36 characters; `undefined` for a neighbour that is not there. Never changes: operations quote it. */
export const lineCheck = (previous: string | undefined, line: string, next: string | undefined): string =>
  mix(hashLine(previous), hashLine(line), hashLine(next));

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

/** 0-based lines [from, to) in words; where there is none, the one behind the place. */
export const linesOf = (from: number, to: number): string =>
  to - from > 1 ? `lines ${from + 1} to ${to}` : `line ${from + 1}`;

const gap = (from: number, to: number): string =>
  `... ${linesOf(from - 1, to)} ${from === to ? 'is' : 'are'} not shown`;

const shownLine = (lines: LineIndex, line: number, mark: boolean): string => {
  const text = lines.line(line - 1) ?? '';
  return `${line}:${checkAt(lines, line) ?? ''}| ${mark ? text.replaceAll('\t', TAB_SHOWN) : text}`;
};

// What to show of a file that does not fit: lines that the instructions name, windows round words that they use, head and tail, and an
// outline (lines of low indentation that look like definitions). In this order, until the budget is spent.

export interface Windowed {
  readonly listing: string;
  /** 1-based inclusive ranges that are shown; absent where the whole file is. */
  readonly seen?: readonly LineRange[];
}

/** The share of the budget that the outline may have before windows are shown. */
const OUTLINE_SHARE = 0.3;

const DEFINITION =
  /^\s{0,4}(export|import|from|def|class|async|function|const|let|var|interface|type|enum|struct|impl|trait|fn|pub|mod|use|func|package|public|private|protected|static|abstract|namespace|module|sub|template|typedef|#include|#define|@\w+|\w[\w$.]*\s*(=\s*(async\s*)?(function\b|\()|\([^)]*\)\s*\{))/;

/**
 * The listing of `text` in at most about `budget_chars` characters, whole where it fits. `hints`: the instructions and notes.
 * `lineHead_chars`: what a line weighs beside its text.
 */
export const windowedListing = (
  text: Text,
  budget_chars: number,
  hints = '',
  lineHead_chars: number = EDIT_BOUNDS.lineHead_chars,
): Windowed => {
  const { lines } = text;
  const cost = (line: number): number => (lines[line - 1]?.length ?? 0) + lineHead_chars;
  let whole = 0;
  for (let line = 1; line <= lines.length && whole <= budget_chars; line += 1) whole += cost(line);
  if (whole <= budget_chars) return { listing: listing(text) };

  const shown = new Set<number>();
  let spent = 0;
  const show = (range: LineRange, limit: number): void => {
    for (let line = Math.max(1, range[0]); line <= Math.min(lines.length, range[1]); line += 1) {
      if (shown.has(line) || spent + cost(line) > limit) continue;
      shown.add(line);
      spent += cost(line);
    }
  };
  for (const [line] of namedLines(hints)) show([line, line], budget_chars);
  for (const range of namedLines(hints)) show(around(range, WINDOW_NAMED_LINES), budget_chars * (1 - OUTLINE_SHARE));
  for (const line of wordLines(lines, hints))
    show(around([line, line], WINDOW_WORD_LINES), budget_chars * (1 - OUTLINE_SHARE));
  show([1, WINDOW_HEAD_LINES], budget_chars);
  show([lines.length - WINDOW_TAIL_LINES + 1, lines.length], budget_chars);
  for (const [at, line] of lines.entries()) if (DEFINITION.test(line)) show([at + 1, at + 1], budget_chars);
  const single = [...shown].map((line): LineRange => [line, line]);
  const seen = mergeRanges(single, lines.length);
  return { listing: listing(text, seen), seen };
};

const around = ([from, to]: LineRange, lines: number): LineRange => [from - lines, to + lines];

/** `line 120`, `lines 10-20`, `file.ts:120`. */
const namedLines = (hints: string): LineRange[] => {
  const found: LineRange[] = [];
  for (const match of hints.matchAll(
    /\blines?\s+(\d{1,8})(?:\s*(?:-|–|to|through|and)\s*(\d{1,8}))?|\.\w+:(\d{1,8})\b/gi,
  )) {
    const from = Number(match[1] ?? match[3]);
    found.push([from, Math.max(from, Number(match[2] ?? from))]);
  }
  return found.slice(0, 100);
};

/** Lines that hold the hints' words, those of rarer words first. */
const wordLines = (lines: readonly string[], hints: string): number[] => {
  const quoted = [...hints.matchAll(/`([^`\n]{2,80})`/g)].map((m) => m[1] ?? '');
  const names = hints.match(/\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w*|[A-Z]\w*[a-z]\w*[A-Z]\w*)\b/g) ?? [];
  const plain = hints.match(/\b[A-Za-z]{5,}\b/g) ?? [];
  const words = [...new Set([...quoted, ...names, ...plain])].slice(0, WINDOW_TEXT);
  const places = new Map<string, number[]>(words.map((word) => [word, []]));
  for (const [at, line] of lines.entries())
    for (const [word, found] of places) if (found.length <= WINDOW_PLACES && line.includes(word)) found.push(at + 1);
  return [...places.values()]
    .filter((found) => found.length > 0 && found.length <= WINDOW_PLACES)
    .sort((a, b) => a.length - b.length)
    .flat();
};
