/** Text of others (models, files, servers) on a terminal: nothing in it may move the cursor, change colours or reorder what is read. */

export { count } from '../../shared/text.js';

const isUnsafe = (code: number): boolean =>
  (code < 0x20 && code !== 0x09 && code !== 0x0a) ||
  (code >= 0x7f && code < 0xa0) ||
  // Bidirectional controls: they make a line read in another order than it is stored.
  (code >= 0x202a && code <= 0x202e) ||
  (code >= 0x2066 && code <= 0x2069);

/** Control characters as `\xNN` or `\u{NNNN}`; tabs and line ends stay. */
export const plain = (text: string): string => {
  let shown = '';
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    shown += !isUnsafe(code) ? character : code < 0x100 ? `\\x${hex.padStart(2, '0')}` : `\\u{${hex}}`;
  }
  return shown;
};

/** One line of at most `width` characters. */
export const line = (text: string, width: number): string => {
  const flat = plain(text).replace(/[\t\n]+/g, ' ');
  return flat.length <= width ? flat : `${flat.slice(0, Math.max(0, width - 1))}…`;
};

/** In lines of at most `width` characters, broken at blanks; those after the first are set in by `indent`. A longer word keeps its line. */
export const folded = (text: string, width: number, indent: number): readonly string[] => {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    // A break inside the indent would be none.
    const blank = rest.lastIndexOf(' ', width);
    const at = blank > indent ? blank : rest.indexOf(' ', indent + 1);
    if (at < 0) break;
    lines.push(rest.slice(0, at));
    rest = `${' '.repeat(indent)}${rest.slice(at + 1)}`;
  }
  return [...lines, rest];
};

/** Columns padded to their widest cell; the last is not. Cells hold no colour. */
export const table = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
};
