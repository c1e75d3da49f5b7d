/**
 * Reads the combined diff (git-style, see edits/diff.ts) into files, hunks and lines. Lines of a hunk are counted by its header, so that
 * content which looks like a header stays content. Pure.
 */
export type Sign = ' ' | '+' | '-';

export interface DiffLine {
  readonly sign: Sign;
  readonly text: string;
  /** 1-based; null on the side where the line is not. */
  readonly before: number | null;
  readonly after: number | null;
  /** The file ends here without a line end. */
  readonly noEnd?: true;
}
export interface Hunk {
  readonly beforeStart: number;
  readonly beforeLines: number;
  readonly afterStart: number;
  readonly afterLines: number;
  readonly lines: readonly DiffLine[];
}
export interface DiffFile {
  readonly path: string;
  /** The path before, where it was moved. */
  readonly movedFrom: string | null;
  readonly isNew: boolean;
  readonly isDeleted: boolean;
  /** `100644 -> 100755` where the mode changes; null otherwise. */
  readonly mode: string | null;
  readonly hunks: readonly Hunk[];
  /** What the diff says of a file that is not UTF-8: shown as it is. */
  readonly notes: readonly string[];
}

interface Draft {
  path: string;
  movedFrom: string | null;
  isNew: boolean;
  isDeleted: boolean;
  oldMode: string | null;
  newMode: string | null;
  hunks: Hunk[];
  notes: string[];
}
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const ESCAPES: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 };

/** A path as git quotes it: `"a/b\303\244c"`, bytes of UTF-8 in octal. */
const unquote = (name: string): string => {
  if (!name.startsWith('"')) return name.replace(/\t$/, '');
  const bytes: number[] = [];
  const inner = name.slice(1, name.lastIndexOf('"'));
  const encoder = new TextEncoder();
  for (let i = 0; i < inner.length; i++) {
    const char = inner[i] ?? '';
    if (char !== '\\') {
      const point = inner.codePointAt(i) ?? 0;
      bytes.push(...encoder.encode(String.fromCodePoint(point)));
      if (point > 0xffff) i++;
      continue;
    }
    const octal = /^[0-7]{3}/.exec(inner.slice(i + 1, i + 4));
    if (octal) {
      bytes.push(parseInt(octal[0], 8));
      i += 3;
    } else {
      bytes.push(ESCAPES[inner[i + 1] ?? ''] ?? inner.charCodeAt(i + 1));
      i += 1;
    }
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
};

const side = (name: string): string | null => {
  const path = unquote(name);
  return path === '/dev/null' ? null : path.replace(/^[ab]\//, '');
};

/** `diff --git a/x b/x` of a file without hunks: both names are the same. */
const headerPath = (rest: string): string => {
  if (rest.startsWith('"')) return unquote(rest.slice(0, rest.indexOf('"', 1) + 1)).replace(/^a\//, '');
  return rest.slice(0, (rest.length - 1) / 2).replace(/^a\//, '');
};

export const parseDiff = (diff: string): readonly DiffFile[] => {
  const lines = diff.split('\n');
  const files: Draft[] = [];
  let file: Draft | null = null;
  const begin = (path: string): Draft => {
    const made: Draft = {
      path,
      movedFrom: null,
      isNew: false,
      isDeleted: false,
      oldMode: null,
      newMode: null,
      hunks: [],
      notes: [],
    };
    files.push(made);
    return made;
  };
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    at += 1;
    if (line.startsWith('# ')) {
      // The part of a file whose bytes a diff cannot say; its names are in its first line.
      const named = /^# (?:Binary files )?(\S.*?) (?:->|and) (.*?)(?:: not UTF-8| differ)/.exec(line);
      if (named) {
        const path = side(named[2] ?? '') ?? side(named[1] ?? '') ?? '';
        if (file?.path !== path) file = begin(path);
      }
      file?.notes.push(line.slice(2));
      continue;
    }
    if (line.startsWith('diff --git ')) {
      file = begin(headerPath(line.slice(11)));
      continue;
    }
    if (file === null) continue;
    const hunk = HUNK.exec(line);
    if (hunk) {
      const read = readHunk(lines, at, hunk);
      file.hunks.push(read.hunk);
      at = read.next;
    } else readHeader(file, line);
  }
  return files.map(({ oldMode, newMode, ...rest }) => ({
    ...rest,
    mode: oldMode !== null && newMode !== null && oldMode !== newMode ? `${oldMode} -> ${newMode}` : null,
  }));
};

const readHeader = (file: Draft, line: string): void => {
  const [, word, rest = ''] =
    /^(---|\+\+\+|rename from|rename to|old mode|new mode|new file mode|deleted file mode) (.*)$/.exec(line) ?? [];
  if (word === '---') file.path = side(rest) ?? file.path;
  if (word === '+++') file.path = side(rest) ?? file.path;
  if (word === 'rename from') file.movedFrom = unquote(rest);
  if (word === 'rename to') file.path = unquote(rest);
  if (word === 'old mode') file.oldMode = rest;
  if (word === 'new mode') file.newMode = rest;
  if (word === 'new file mode') file.isNew = true;
  if (word === 'deleted file mode') file.isDeleted = true;
};

const readHunk = (
  lines: readonly string[],
  from: number,
  [, bs, bl = '1', as, al = '1']: RegExpExecArray,
): { readonly hunk: Hunk; readonly next: number } => {
  const [beforeStart, beforeLines, afterStart, afterLines] = [Number(bs), Number(bl), Number(as), Number(al)];
  const found: DiffLine[] = [];
  let [before, after, at] = [beforeStart, afterStart, from];
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const last = found.at(-1);
    if (line.startsWith('\\ ') && last !== undefined) found[found.length - 1] = { ...last, noEnd: true };
    else if (before >= beforeStart + beforeLines && after >= afterStart + afterLines) break;
    else {
      const sign = line.startsWith('+') ? '+' : line.startsWith('-') ? '-' : ' ';
      const text = line.slice(1);
      found.push({ sign, text, before: sign === '+' ? null : before, after: sign === '-' ? null : after });
      if (sign !== '+') before += 1;
      if (sign !== '-') after += 1;
    }
    at += 1;
  }
  return { hunk: { beforeStart, beforeLines, afterStart, afterLines, lines: found }, next: at };
};
