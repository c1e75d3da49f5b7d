/** Backslashes in place of plain characters: before quotes and underscores, and `\n` and `\t` in letters. */
import type { Severity } from '../../shared/formats.js';
import type { LineIndex } from '../text/lines.js';
import { type Escape, firstIn } from './escape.js';
import {
  isCode,
  isData,
  isMarkup,
  withoutLiterals,
  withoutStrings,
  withoutStringsIn,
} from './languages.js';
import type { GuardView } from './view.js';

// Quotes and underscores.

interface Backslashed {
  readonly escape: string;
  readonly plain: string;
  /** At least so many in one change. */
  readonly from: number;
  readonly escaped: RegExp;
  readonly bare: RegExp;
}
const BACKSLASHED: readonly Backslashed[] = [
  { escape: '\\"', plain: '"', from: 2, escaped: /\\"/g, bare: /(?<!\\)"/ },
  { escape: "\\'", plain: "'", from: 2, escaped: /\\'/g, bare: /(?<!\\)'/ },
  { escape: '\\_', plain: '_', from: 1, escaped: /\w\\_(?=\w)/g, bare: /[^\W_]_+[^\W_]/ },
];
const OTHER_QUOTES: Readonly<Record<string, string>> = { '"': "'`", "'": '"`', _: '"\'`' };

/** Quotes, or underscores in names, that a change holds only behind a backslash; the file has such ones bare, and none escaped. */
export const backslashIn = (view: GuardView): Escape | null => {
  const { path, base } = view;
  if (isMarkup(path, view.result.line(0)) || isData(path)) return null;
  // A shell or a compiler that another one starts needs such quotes; only a file shows whether they are usual.
  if (base.length === 0 && !isCode(path)) return null;
  for (const kind of BACKSLASHED) {
    const { escape, plain, bare } = kind;
    const sighting = backslashedIn(view, kind);
    if (sighting === null) continue;
    const old = base.all.map((line) => codeOf(line, kind));
    const isUsual = old.some((line) => line.includes(escape) && !bare.test(line));
    if (isUsual || (old.length > 0 && !old.some((line) => bare.test(line)))) continue;
    const severity = isCode(path) && base.length > 0 ? 'refuse' : 'ask';
    return { ...sighting, escape, plain, severity };
  }
  return null;
};

const codeOf = (line: string, { escape, plain }: Backslashed): string =>
  line.includes(escape) ? withoutStringsIn(line, OTHER_QUOTES[plain] ?? '') : line;

/** The first line of the first change that holds the character only escaped. */
const backslashedIn = (
  { changes }: GuardView,
  kind: Backslashed,
): Pick<Escape, 'place' | 'line'> | null => {
  const { escape, from, escaped, bare } = kind;
  for (const { at: start, lines } of changes) {
    if (!lines.some((line) => line.includes(escape))) continue;
    const code = lines.map((line) => codeOf(line, kind));
    const count = code.reduce((sum, line) => sum + (line.match(escaped)?.length ?? 0), 0);
    if (count < from || code.some((line) => bare.test(line))) continue;
    const first = code.findIndex((line) => line.match(escaped) !== null);
    return { place: start + first, line: lines[first] ?? '' };
  }
  return null;
};

// Line ends and tabs in letters.

/** `\n` where the next line would begin: at the end, before blanks, a capital letter, or another one. */
const LINE_END = /(?<!\\)\\n(?=$|\s{2}|\t|\\n|\\t|[A-Z}\])<#*-])/;
const LINE_CHARS = 2_000; // bound: A longer line of an existing file was not written by hand.
const LINE_ENDS = /(?<!\\)\\n/g;

/** A line that stands for several, as JSON that was escaped twice leaves it. */
export const lineEndIn = (view: GuardView): Escape | null => {
  const { path, base, changes, result } = view;
  if (/\.(?:tex|sty|cls|bib)$/i.test(path)) return null;
  const isOneLine = base.length === 0 && result.length === 1;
  for (const { at: start, lines } of changes) {
    const [line = ''] = lines;
    if (lines.length !== 1 || (line.length > LINE_CHARS && !isOneLine)) continue;
    const severity = line.includes('\\n') ? severityOf(path, line, isOneLine) : null;
    if (severity === null) continue;
    const hasSuch = base.all.some((old) => old.includes('\\n') && countIn(old) > 0);
    return hasSuch
      ? null
      : { place: start, line, escape: '\\n in letters', plain: 'a line end', severity };
  }
  return null;
};

const countIn = (line: string): number => withoutLiterals(line).match(LINE_ENDS)?.length ?? 0;

/** Null: `\n` in the line is text. */
const severityOf = (path: string, line: string, isOneLine: boolean): Severity | null => {
  const isText = isMarkup(path) || isData(path) || isOneLine;
  const code = isText ? withoutLiterals(line) : withoutStrings(line);
  const count = code.match(LINE_ENDS)?.length ?? 0;
  const isClear = LINE_END.test(code) || (isOneLine && count > 1);
  if (count === 0 || (!isClear && !isCode(path))) return null;
  // A string that goes over several lines begins or ends here.
  if (!isText && /(?<!\\)["`]/.test(code)) return null;
  return isCode(path) && isClear ? 'refuse' : 'ask';
};

/** `\t` in letters as indentation, in a file that is indented by tabs. */
export const tabIn = (view: GuardView): Escape | null => {
  const { path, base } = view;
  if (!isCode(path)) return null;
  const sighting = firstIn(view, (line, place) =>
    /^\t*\\t/.test(line)
      ? { place, line, escape: '\\t in letters', plain: 'a tab', severity: 'refuse' }
      : null,
  );
  return sighting === null || !isIndentedByTabs(base) ? null : sighting;
};
const isIndentedByTabs = (base: LineIndex): boolean =>
  base.includes('\t') &&
  base.all.some((line) => line.startsWith('\t')) &&
  !base.all.some((line) => /^\t*\\t/.test(line));
