/**
 * Listings with checked line numbers: `1200kef| text`. The check is 3 letters over the line and its two neighbours, so that an
 * operation that quotes it says which text it means, and a wrong number is noticed. Letters right behind the number are the fewest tokens.
 *
 * A tab is shown as `→` and the tab itself, so that it can be told from blanks; a file that has this pair of its own is shown as it is.
 */
import type { Change } from './text/changes.js';
import { type Text, indexOf, type LineIndex, NO_LINES } from './text/lines.js';
import type { Reason } from './types.js';
import { EDIT_BOUNDS } from '../shared/bounds.js';

const WINDOW_NAMED_LINES = 20; // bound: Of a long file the lines are shown round a line that the task names,
const WINDOW_FADE_LINES = 15; // bound: round a word of the task, which is worth a third so many lines from its own,
export const WINDOW_HEAD_LINES = 40; // bound: at its head,
export const WINDOW_TAIL_LINES = 30; // bound: and at its end.
export const WINDOW_WORDS = 40; // bound: Words of the task that are looked for.

/** 1-based lines, both included. */
export type LineRange = readonly [number, number];

const CHECKS = 26 ** 3;
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
  let hash =
    Math.imul(previous, 0x85ebca6b) ^ Math.imul(own, 0xc2b2ae35) ^ Math.imul(next, 0x27d4eb2f);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  const check = hash % CHECKS;
  return String.fromCharCode(
    ...[check / 676, (check / 26) % 26, check % 26].map((digit) => 97 + Math.floor(digit)),
  );
};

/** ◆ The check of a line: 3 letters; `undefined` for a neighbour that is not there. Never changes: operations quote it. */
export const lineCheck = (
  previous: string | undefined,
  line: string,
  next: string | undefined,
): string => mix(hashLine(previous), hashLine(line), hashLine(next));

/** The check of 1-based line `line` of a text. */
export const checkAt = (lines: Pick<LineIndex, 'line'>, line: number): string | null => {
  const own = lines.line(line - 1);
  return own === undefined ? null : lineCheck(lines.line(line - 2), own, lines.line(line));
};

const TAB_SHOWN = '→\t';

/** Does the listing of this file mark tabs? Then `→` before a tab in an answer is the mark, not text. */
export const marksTabs = (lines: LineIndex): boolean =>
  lines.includes('\t') && !lines.includes(TAB_SHOWN);

/** Takes the marks of shown tabs off an answer's line. */
export const withoutTabMarks = (line: string): string => line.replaceAll(TAB_SHOWN, '\t');

/** What a prompt says about listings. */
export const LISTING_LEGEND =
  'Each line reads `NUMBERCHECK| TEXT`, CHECK being three letters. Quote lines as `NUMBERCHECK`, for example "1200kef". The text begins after "| ". ' +
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

/** At most so many of the words, and how many more there are. */
export const firstOf = (words: readonly string[], most: number): string =>
  `${words.slice(0, most).join(', ')}${words.length > most ? ` and ${words.length - most} more` : ''}`;

const gap = (from: number, to: number): string =>
  `... ${linesOf(from - 1, to)} ${from === to ? 'is' : 'are'} not shown`;

const shownLine = (lines: LineIndex, line: number, mark: boolean): string => {
  const text = lines.line(line - 1) ?? '';
  return `${line}${checkAt(lines, line) ?? ''}| ${mark ? text.replaceAll('\t', TAB_SHOWN) : text}`;
};

// What to show of a file that does not fit: the lines that are worth most, by the lines and words that the instructions name.

export interface Windowed {
  readonly listing: string;
  /** 1-based inclusive ranges that are shown; absent where the whole file is. */
  readonly seen?: readonly LineRange[];
}

const DEFINITION =
  /^\s{0,4}(export|import|from|def|class|async|function|const|let|var|interface|type|enum|struct|impl|trait|fn|pub|mod|use|func|package|public|private|protected|static|abstract|namespace|module|sub|template|typedef|#include|#define|@\w+|\w[\w$.]*\s*(=\s*(async\s*)?(function\b|\()|\([^)]*\)\s*\{))/;
/** In parts of what the best line by its words is worth. */
const WORTH = { named: 1e6, nearNamed: 2, head: 0.5, tail: 0.3, definition: 0.05 };

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
  const cost = (at: number): number => (lines[at]?.length ?? 0) + lineHead_chars;
  let left = budget_chars;
  if (lines.every((_, at) => (left -= cost(at)) >= 0)) return { listing: listing(text) };

  const worth = worthOf(lines, hints);
  const best = [...worth.keys()].filter((at) => (worth[at] ?? 0) > 0);
  best.sort((a, b) => (worth[b] ?? 0) - (worth[a] ?? 0) || a - b);
  left = budget_chars;
  const fit = best.filter((at) => cost(at) <= left && (left -= cost(at)) >= 0);
  const ranges = fit.map((at): LineRange => [at + 1, at + 1]);
  const seen = mergeRanges(ranges, lines.length);
  return { listing: listing(text, seen), seen };
};

/** A rare word counts for more than one that stands in many lines; 0: nothing leads to the line. */
const worthOf = (lines: readonly string[], hints: string): Float64Array => {
  const worth = new Float64Array(lines.length);
  const near = new Float64Array(lines.length);
  const lower = lines.map((line) => line.toLowerCase());
  const fade = Math.exp(-1 / WINDOW_FADE_LINES);
  for (const word of wordsOf(hints)) {
    let [places, value] = [0, 0];
    const fading = (own: number): number =>
      (value = Math.max(own, value * fade < 1e-6 ? 0 : value * fade));
    for (const [at, line] of lower.entries()) {
      const own = line.includes(word) ? 1 : 0;
      places += own;
      near[at] = fading(own);
    }
    const rarity = places === 0 ? 0 : Math.log(1 + lines.length / places) ** 2;
    value = 0;
    for (let at = lines.length - 1; at >= 0; at -= 1)
      worth[at] = (worth[at] ?? 0) + rarity * fading(near[at] ?? 0);
  }
  const top = worth.reduce((most, each) => Math.max(most, each), 0) || 1;
  const add = ([from, to]: LineRange, part: number): void => {
    for (let at = Math.max(0, from - 1); at < Math.min(lines.length, to); at += 1)
      worth[at] = (worth[at] ?? 0) + part * top;
  };
  for (const [from, to] of namedLines(hints)) {
    add([from, from], WORTH.named);
    add([from - WINDOW_NAMED_LINES, to + WINDOW_NAMED_LINES], WORTH.nearNamed);
  }
  add([1, WINDOW_HEAD_LINES], WORTH.head);
  add([lines.length - WINDOW_TAIL_LINES + 1, lines.length], WORTH.tail);
  for (const [at, line] of lines.entries())
    if (DEFINITION.test(line)) add([at + 1, at + 1], WORTH.definition);
  return worth;
};

const NAMED = /\blines?\s+(\d{1,8})(?:\s*(?:-|–|to|through|and)\s*(\d{1,8}))?|\.\w+:(\d{1,8})\b/gi;
/** `line 120`, `lines 10-20`, `file.ts:120`. */
const namedLines = (hints: string): readonly LineRange[] =>
  [...hints.matchAll(NAMED)].slice(0, 100).map(([, first, last, place]) => {
    const from = Number(first ?? place);
    return [from, Math.max(from, Number(last ?? from))];
  });

/** In lower case: what is quoted, names, and the words of names and prose without their endings. */
const wordsOf = (hints: string): readonly string[] => {
  const prose = hints.replace(NAMED, ' ');
  const quoted = [...prose.matchAll(/`([^`\n]{2,80})`/g)].map((match) => match[1] ?? '');
  const names = prose.match(/\b\w+[._]\w[\w.]*\b|\b\w*[a-z][A-Z]\w*\b/g) ?? [];
  const parts =
    prose.replace(/([a-z0-9])([A-Z])/g, '$1 $2').match(/[A-Za-z][A-Za-z0-9]{2,}/g) ?? [];
  const bare = parts
    .map((word) => word.replace(/(?:ing|ed|es|s|e)$/i, ''))
    .filter((word) => word.length > 2);
  return [...new Set([...quoted, ...names, ...bare].map((word) => word.toLowerCase()))].slice(
    0,
    WINDOW_WORDS,
  );
};

// New text that was copied from a listing, with its numbers and checks.

/** `12kef| text`, as a prompt lists a line. */
const LISTED = /^\s*(\d+)([a-z]{3})\|(?: |$)/;

/** A new line with number and check: where all lines have them, or they are those of the file's own listing. */
const listedLine = ({ lines }: Change, base: LineIndex): string | undefined => {
  const listed = lines.filter((line) => LISTED.test(line));
  if (lines.every((line) => LISTED.test(line) || line.trim() === '')) return listed[0];
  return listed.find(
    (line) => checkAt(base, Number(LISTED.exec(line)?.[1])) === LISTED.exec(line)?.[2],
  );
};

/** Lines with the numbers and checks of a listing, unless the file has such lines. */
export const listingReasons = (
  path: string,
  text: Text | null,
  changes: readonly Change[],
): Reason[] => {
  const base = text === null ? NO_LINES : indexOf(text);
  const listed = changes
    .map((change) => listedLine(change, base))
    .find((line) => line !== undefined);
  if (listed === undefined || base.all.some((line) => LISTED.test(line))) return [];
  const message = `The new text of ${path} has the listing's numbers and checks: ${JSON.stringify(listed.slice(0, 100))}. Send only the text behind "| ".`;
  return [{ code: 'listing', path, message }];
};
