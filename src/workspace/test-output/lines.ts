/** Lines of an output, and blocks of them. */
import { stripVTControlCharacters } from 'node:util';
import type { FailedTest, OutputText } from './types.js';

const READ_LINE_CHARS = 1_000; // bound: Readers see this much of each line of an output; a longer line is data.
const BLOCK_LINES = 400; // bound: Lines of an output that belong to one failed test.
const NAME_CHARS = 300; // bound: Maximum length of a failed test's name.

const LONG_LINE = new RegExp(`^([^\\n]{${READ_LINE_CHARS}})[^\\n]+`, 'gm');

/** Returns the output without colours and with `\n` at the ends of its lines. */
export function outputText(output: string): OutputText {
  const text = stripVTControlCharacters(output).replace(/\r\n/g, '\n');
  return { text, lines: text.replace(LONG_LINE, '$1…').split('\n') };
}

export const indentOf = (line: string): number => line.length - line.trimStart().length;

/** The lines without the indentation that all of them share, and without empty lines at the ends. */
function dedented(lines: readonly string[]): string {
  const indents = lines.filter((line) => line.trim() !== '').map(indentOf);
  const common = indents.reduce((least, indent) => Math.min(least, indent), Infinity);
  return lines
    .map((line) => line.slice(Number.isFinite(common) ? common : 0).trimEnd())
    .join('\n')
    .replace(/^\n+/, '')
    .trimEnd();
}

export const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);

/** Builds a failed test from the indices of its lines. */
export function failedTest(
  { lines }: OutputText,
  name: string,
  indices: readonly number[],
  place: string | null,
): FailedTest {
  const kept = indices.slice(0, BLOCK_LINES);
  return {
    name: name.trim().slice(0, NAME_CHARS),
    place,
    lines: kept,
    block: dedented(kept.map((index) => lines[index] ?? '')),
  };
}

/** Returns the first index from `from` on whose line ends a block, at most `BLOCK_LINES` further on. */
export function endOfBlock(
  { lines }: OutputText,
  from: number,
  isEnd: (line: string) => boolean,
): number {
  const last = Math.min(lines.length, from + BLOCK_LINES);
  for (let index = from; index < last; index += 1) if (isEnd(lines[index] ?? '')) return index;
  return last;
}

/** Returns `file:line` of the first line of a block that matches and is not in a dependency; groups 1 and 2 are file and line. */
export function placeIn(
  { lines }: OutputText,
  indices: readonly number[],
  pattern: RegExp,
): string | null {
  for (const index of indices.slice(0, BLOCK_LINES)) {
    const [, file, line] = pattern.exec(lines[index] ?? '') ?? [];
    if (file !== undefined && !/node_modules|^node:/.test(file))
      return line === undefined ? file : `${file}:${line}`;
  }
  return null;
}

/** A stack frame of JavaScript: `(file:line:column)` or `at file:line:column`. */
export const FRAME = /(?:\(|at |❯ )(?:file:\/\/)?([^\s():]+):(\d+):\d+/;
