/** Moving through the rows of a diff. Pure. */
import type { DiffFile, DiffLine } from './diff.js';
import type { Row } from './rows.js';

/** Returns the line that a row shows. A pair has two lines, and the later one is returned. */
export const lineOf = (row: Row): DiffLine | null =>
  row.kind === 'line' ? row.line : row.kind === 'pair' ? (row.after ?? row.before) : null;

/** Returns the index of the next row that `isWanted` accepts, or null at the end. A `step` of -1 searches backward. */
export const nextRow = (
  rows: readonly Row[],
  from: number,
  step: 1 | -1,
  isWanted: (row: Row) => boolean,
): number | null => {
  for (let index = from + step; index >= 0 && index < rows.length; index += step) {
    const row = rows[index];
    if (row !== undefined && isWanted(row)) return index;
  }
  return null;
};

const rowContains = (row: Row, files: readonly DiffFile[], words: string): boolean => {
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

/** Returns the index of the next row that contains `words` (lower case), or null. The search continues at the first row after the last. */
export const searchRows = (
  rows: readonly Row[],
  files: readonly DiffFile[],
  words: string,
  from: number,
): number | null => {
  if (words === '') return null;
  for (let i = 1; i <= rows.length; i++) {
    const index = (from + i) % rows.length;
    const row = rows[index];
    if (row !== undefined && rowContains(row, files, words)) return index;
  }
  return null;
};

/** Returns the text that a screen reader speaks for a row. */
export const screenReaderText = (row: Row | undefined, file: DiffFile | undefined): string => {
  if (row === undefined) return '';
  if (row.kind === 'file') return `file ${file?.path ?? ''}`;
  if (row.kind === 'hunk') return row.text;
  const line = lineOf(row);
  if (line === null) return '';
  const status = line.sign === '+' ? 'added' : line.sign === '-' ? 'removed' : 'unchanged';
  return `${status} line ${line.after ?? line.before ?? ''}: ${line.text.slice(0, 300)}`;
};
