/** Moving through the rows of a diff. Pure. */
import type { DiffFile, DiffLine } from './diff.js';
import type { Row } from './rows.js';

/** The line of a row; of two side by side the later one. */
export const lineOf = (row: Row): DiffLine | null =>
  row.kind === 'line' ? row.line : row.kind === 'pair' ? (row.after ?? row.before) : null;

/** Index of the next row of a kind, or null at the end. */
export const nextRow = (
  rows: readonly Row[],
  from: number,
  by: 1 | -1,
  wanted: (row: Row) => boolean,
): number | null => {
  for (let at = from + by; at >= 0 && at < rows.length; at += by) {
    const row = rows[at];
    if (row !== undefined && wanted(row)) return at;
  }
  return null;
};

const holds = (row: Row, files: readonly DiffFile[], words: string): boolean => {
  const texts =
    row.kind === 'file'
      ? [files[row.file]?.path]
      : row.kind === 'line'
        ? [row.line.text]
        : row.kind === 'pair'
          ? [row.before?.text, row.after?.text]
          : [];
  return texts.some((text) => text?.toLowerCase().includes(words) === true);
};

/** The next row, around the end, that holds the words (lower case); null: none does. */
export const searchRows = (
  rows: readonly Row[],
  files: readonly DiffFile[],
  words: string,
  from: number,
): number | null => {
  if (words === '') return null;
  for (let i = 1; i <= rows.length; i++) {
    const at = (from + i) % rows.length;
    const row = rows[at];
    if (row !== undefined && holds(row, files, words)) return at;
  }
  return null;
};

/** A row as a screen reader says it. */
export const spoken = (row: Row | undefined, file: DiffFile | undefined): string => {
  if (row === undefined) return '';
  if (row.kind === 'file') return `file ${file?.path ?? ''}`;
  if (row.kind === 'hunk') return row.text;
  const line = lineOf(row);
  if (line === null) return '';
  const word = line.sign === '+' ? 'added' : line.sign === '-' ? 'removed' : 'unchanged';
  return `${word} line ${line.after ?? line.before ?? ''}: ${line.text.slice(0, 300)}`;
};
