/** Text that goes over several lines of code: block comments, docstrings, templates, and strings if the language lets them. */

/** Languages in which a string in double quotes may hold line ends. */
const LONG_STRINGS = /\.(?:rs|sh|bash|zsh|rb|php|pl|cs|sql|scala)$/i;
/** An escape, a string or a comment of one line is taken whole; what remains opens a block. */
const OPENING = /\\.|"""|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|\/\/.*|"|`|\/\*|<!--/g;
const CLOSING: Readonly<Record<string, string>> = {
  '"""': '"""',
  "'''": "'''",
  '"': '"',
  '`': '`',
  '/*': '*/',
  '<!--': '-->',
};

/** Returns for each line whether it begins within such text, as far as delimiters show it. */
export const linesWithinBlocks = (path: string, lines: readonly string[]): readonly boolean[] => {
  const hasLongStrings = LONG_STRINGS.test(path);
  let closing: string | null = null;
  return lines.map((line) => {
    const isWithin = closing !== null;
    closing = closingAfter(line, closing, hasLongStrings);
    return isWithin;
  });
};

/** Returns what closes the block that is open at the end of a line; null: none is. */
const closingAfter = (
  line: string,
  openBlock: string | null,
  hasLongStrings: boolean,
): string | null => {
  let closing = openBlock;
  let offset = 0;
  for (;;) {
    if (closing !== null) {
      const end = line.indexOf(closing, offset);
      if (end < 0) return closing;
      offset = end + closing.length;
    }
    OPENING.lastIndex = offset;
    closing = nextBlock(line, hasLongStrings);
    if (closing === null) return null;
    offset = OPENING.lastIndex;
  }
};

/** Returns what closes the next block that a line opens behind `OPENING.lastIndex`. */
const nextBlock = (line: string, hasLongStrings: boolean): string | null => {
  for (;;) {
    const [token] = OPENING.exec(line) ?? [];
    if (token === undefined) return null;
    const closing = CLOSING[token];
    if (closing !== undefined && (token !== '"' || hasLongStrings)) return closing;
  }
};
