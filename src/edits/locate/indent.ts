/**
 * The tolerances `tabs` and `indent`: the same lines with blanks for tabs or the other way around, or all shifted by the same indentation.
 * New lines are changed the same way; nothing else about them changes. Where there is a grammar, the result has no new syntax error and no
 * definition of another name (settle/files.ts).
 */
import type { LineChain } from './line-chain.js';

/** Puts a line of the answer into the file's indentation; null: the line does not have the indentation that would go. */
export type Shift = (line: string) => string | null;

const indentOf = (line: string): string => /^[ \t]*/.exec(line)?.[0] ?? '';
const isBlank = (line: string): boolean => line.trim() === '';

/** How the answer's lines `wanted` become the file's lines `found`, or null where they differ in anything but a uniform indentation. */
const indentShift = (
  answerLines: readonly string[],
  fileLines: readonly string[],
): Shift | null => {
  const pairs = pairsOf(answerLines, fileLines);
  const shift = pairs === null || pairs.length === 0 ? null : shiftOf(pairs);
  return shift === null ? null : (line) => (isBlank(line) ? line : shift(line));
};

const TAB_WIDTHS = [2, 3, 4, 8];

/** How the answer's lines become the file's if one of them has tabs where the other has blanks, each tab as many; null: they do not. */
const tabShift = (answerLines: readonly string[], fileLines: readonly string[]): Shift | null => {
  const pairs = pairsOf(answerLines, fileLines);
  if (pairs === null) return null;
  for (const width of TAB_WIDTHS) {
    const toTabs = (indent: string): string =>
      '\t'.repeat(Math.floor(indent.length / width)) + ' '.repeat(indent.length % width);
    const toBlanks = (indent: string): string => ' '.repeat(indent.length * width);
    for (const [from, shifted] of [
      [/^ *$/, toTabs],
      [/^\t*$/, toBlanks],
    ] as const) {
      const fits = pairs.every(([answer, file]) => from.test(answer) && shifted(answer) === file);
      if (fits && pairs.some(([answer]) => answer !== '')) return shiftIndent(from, shifted);
    }
  }
  return null;
};

/** New lines in the form of the file stay as they are. */
const shiftIndent =
  (from: RegExp, shifted: (indent: string) => string): Shift =>
  (line) => {
    const indent = indentOf(line);
    return from.test(indent) ? shifted(indent) + line.slice(indent.length) : line;
  };

/** Indentations of the answer and of the file, line by line; null: the lines differ in more. */
const pairsOf = (answerLines: readonly string[], fileLines: readonly string[]): Pairs | null => {
  const pairs: (readonly [string, string])[] = [];
  for (const [i, line] of answerLines.entries()) {
    const other = fileLines[i] ?? '';
    if (isBlank(line) && isBlank(other)) continue;
    const [a, b] = [indentOf(line), indentOf(other)];
    if (line.slice(a.length) !== other.slice(b.length)) return null;
    pairs.push([a, b]);
  }
  return pairs;
};

type Pairs = readonly (readonly [string, string])[];

/** `pairs`: the indentation of the answer, then of the file. */
const shiftOf = (pairs: Pairs): Shift | null => {
  const added = commonPrefix(pairs);
  if (added !== null) return (line) => added + line;
  const removed = commonPrefix(pairs.map(([answer, file]) => [file, answer]));
  return removed === null
    ? null
    : (line) => (line.startsWith(removed) ? line.slice(removed.length) : null);
};

/** What `long` has before `short`, where that is the same for all; '' says nothing and is no shift. */
const commonPrefix = (
  pairs: readonly (readonly [short: string, long: string])[],
): string | null => {
  const [short = '', long = ''] = pairs[0] ?? [];
  const prefix = long.slice(0, long.length - short.length);
  return prefix !== '' && pairs.every(([a, b]) => b === prefix + a) ? prefix : null;
};

// Places of lines that stand in the file in another, uniformly shifted indentation (tolerance `indent`).

export interface ShiftedPlaces {
  readonly places: readonly { readonly first: number; readonly shift: Shift }[];
  /** There are more candidates than were looked at. */
  readonly more: boolean;
}

const SHIFTS = { indent: indentShift, tabs: tabShift };
export type ShiftName = keyof typeof SHIFTS;

/** `chain` must know the texts of `lines`. */
export const shiftedPlaces = (
  chain: LineChain,
  lines: readonly string[],
  name: ShiftName,
): ShiftedPlaces => {
  const fileLines = chain.find(lines, 'indent');
  const places = fileLines.first.flatMap((first) => {
    const texts = chain.run(first, lines.length).map((node) => chain.textOf(node));
    const shift = SHIFTS[name](lines, texts);
    return shift === null ? [] : [{ first, shift }];
  });
  return { places, more: fileLines.more };
};
