/**
 * What to show of a file that does not fit: lines that the instructions name, windows round words that they use, head and tail, and an
 * outline (lines of low indentation that look like definitions). In this order, until the budget is spent.
 */
import type { Text } from './split-lines.js';
import { type LineRange, listing, mergeRanges } from './listing.js';
import { EDIT_BOUNDS } from '../shared/bounds.js';

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
  for (const range of namedLines(hints))
    show(around(range, EDIT_BOUNDS.windowNamed_lines), budget_chars * (1 - OUTLINE_SHARE));
  for (const line of wordLines(lines, hints))
    show(around([line, line], EDIT_BOUNDS.windowWord_lines), budget_chars * (1 - OUTLINE_SHARE));
  show([1, EDIT_BOUNDS.windowHead_lines], budget_chars);
  show([lines.length - EDIT_BOUNDS.windowTail_lines + 1, lines.length], budget_chars);
  for (const [at, line] of lines.entries()) if (DEFINITION.test(line)) show([at + 1, at + 1], budget_chars);
  const seen = mergeRanges(
    [...shown].map((line): LineRange => [line, line]),
    lines.length,
  );
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
  const words = [...new Set([...quoted, ...names, ...plain])].slice(0, EDIT_BOUNDS.windowWords);
  const places = new Map<string, number[]>(words.map((word) => [word, []]));
  for (const [at, line] of lines.entries())
    for (const [word, found] of places)
      if (found.length <= EDIT_BOUNDS.windowPlaces && line.includes(word)) found.push(at + 1);
  return [...places.values()]
    .filter((found) => found.length > 0 && found.length <= EDIT_BOUNDS.windowPlaces)
    .sort((a, b) => a.length - b.length)
    .flat();
};
