/**
 * A file's lines by number, without a string for each: what an edit does not come near is never decoded. `Text` holds all of them as
 * strings, made when somebody asks; whoever works on a few lines of a large file asks the index.
 */

/** A file's text, decoded once; `lines[i]` is line i+1 without its end. */
export interface Text {
  readonly lines: readonly string[];
  /** The end of each line as it stands in the file: '\n', '\r\n', '\r', or '' for a last line without end. */
  readonly ends: readonly string[];
  /** The same lines, one by one; absent: made of the two arrays. */
  readonly index?: LineIndex;
}

export type EolKind = 'lf' | 'crlf' | 'cr' | 'mixed' | 'none';

/** Of the ends of a text's lines; a last line without end does not count. */
const kindOfEnds = (ends: readonly string[]): EolKind => {
  const [only, other] = new Set(ends.filter((end) => end !== ''));
  if (only === undefined) return 'none';
  return other !== undefined ? 'mixed' : only === '\n' ? 'lf' : only === '\r\n' ? 'crlf' : 'cr';
};

/** What lines end at: LF or CRLF, and CR only where the text has no LF. */
const stopOf = (text: string): '\n' | '\r' => (text.includes('\n') ? '\n' : '\r');

/** Splits a file's text, or a part of one whose `stop` is known. An empty text has no lines. */
export const splitLines = (text: string, stop: '\n' | '\r' = stopOf(text)): Text => {
  const lines: string[] = [];
  const ends: string[] = [];
  let from = 0;
  while (from < text.length) {
    const at = text.indexOf(stop, from);
    if (at < 0) {
      lines.push(text.slice(from));
      ends.push('');
      break;
    }
    const crlf = stop === '\n' && text[at - 1] === '\r';
    lines.push(text.slice(from, crlf ? at - 1 : at));
    ends.push(crlf ? '\r\n' : stop);
    from = at + 1;
  }
  return { lines, ends };
};

/** The whole text again, with its ends. */
export const textOf = ({ lines, ends }: Text): string =>
  lines.map((line, i) => line + (ends[i] ?? '')).join('');

export const linesWithEnds = (text: string, end: '\n' | '\r' = '\n'): readonly string[] =>
  text.match(end === '\n' ? /[^\n]*\n|[^\n]+/g : /[^\r]*\r|[^\r]+/g) ?? [];

/** The lines of a text, by number. */
export interface LineIndex {
  readonly length: number;
  /** The text has at least so many characters, ends counted as one each. */
  readonly leastChars: number;
  /** All lines as strings, without ends. Costs a string a line, once. */
  readonly all: readonly string[];
  /** Line `at` (0-based) without its end; undefined outside of the text, negative numbers too. */
  line(at: number): string | undefined;
  is(at: number, text: string): boolean;
  /** Is line `at` there, and the same as line `otherAt` of another text, its end apart? */
  isLine(at: number, other: LineIndex, otherAt: number): boolean;
  /** So many of the `most` lines from `at` on are the same as those of another text from `otherAt` on; more may be. Absent: not known. */
  surelySame?(at: number, other: LineIndex, otherAt: number, most: number): number;
  /** Does line `at` hold nothing but white space? Also where there is none. */
  isBlank(at: number): boolean;
  /** The end of line `at` as it stands; '' for a last line without one, and outside. */
  end(at: number): string;
  /** Lines [from, to). */
  range(from: number, to: number): string[];
  /** Lines [from, to), both within the text, as a text of their own. */
  slice(from: number, to: number): LineIndex;
  readonly eol: EolKind;
  /** Does any line hold `part`, which has no line end? */
  includes(part: string): boolean;
  /** Visits each line that stands in `texts`, with its value there. False: not done, compare strings instead. */
  findAll(texts: ReadonlyMap<string, number>, visit: (id: number, at: number) => void): boolean;
}

class StringLines implements LineIndex {
  readonly all: readonly string[];
  readonly #ends: readonly string[];
  #eol: EolKind | null = null;

  constructor(lines: readonly string[], ends: readonly string[]) {
    this.all = lines;
    this.#ends = ends;
  }
  get length(): number {
    return this.all.length;
  }
  get leastChars(): number {
    return this.all.length;
  }
  get eol(): EolKind {
    return (this.#eol ??= kindOfEnds(this.#ends));
  }
  line(at: number): string | undefined {
    return this.all[at];
  }
  is(at: number, text: string): boolean {
    return this.all[at] === text;
  }
  isLine(at: number, other: LineIndex, otherAt: number): boolean {
    const line = this.all[at];
    return line !== undefined && other.is(otherAt, line);
  }
  isBlank(at: number): boolean {
    return (this.all[at] ?? '').trim() === '';
  }
  end(at: number): string {
    return this.#ends[at] ?? '';
  }
  range(from: number, to: number): string[] {
    return this.all.slice(Math.max(0, from), Math.max(0, to));
  }
  slice(from: number, to: number): LineIndex {
    return new StringLines(this.all.slice(from, to), this.#ends.slice(from, to));
  }
  includes(part: string): boolean {
    return this.all.some((line) => line.includes(part));
  }
  findAll(): boolean {
    return false;
  }
}

const NO_ENDS: readonly string[] = [];

/** The index of a text; of bare lines one without ends. */
export const indexOf = (text: Text): LineIndex =>
  text.index ?? new StringLines(text.lines, text.ends);
export const indexOfLines = (lines: readonly string[] | LineIndex): LineIndex =>
  'findAll' in lines ? lines : new StringLines(lines, NO_ENDS);
/** The index of a file that may not be there. */
export const NO_LINES: LineIndex = new StringLines([], NO_ENDS);

/** A line that stands once in a text tells where a quote stands that holds it, and spares the search for all of its lines. */
export class LinesOnce {
  readonly #text: LineIndex;
  readonly #quotes: () => Iterable<readonly string[]>;
  #once: ReadonlySet<string> | null = null;

  /** `quotes`: all that will be asked about. */
  constructor(text: LineIndex, quotes: () => Iterable<readonly string[]>) {
    this.#text = text;
    this.#quotes = quotes;
  }
  /** Does a line of the quote, of which the longest is asked, stand exactly once? False where nobody knows. */
  isHeldBy(quote: readonly string[]): boolean {
    this.#once ??= uniqueLines(this.#text, Array.from(this.#quotes(), longestOf));
    const longest = longestOf(quote);
    return longest !== undefined && this.#once.has(longest);
  }
}

/** The line that most likely stands nowhere else; undefined where there are none. */
const longestOf = (lines: readonly string[]): string | undefined => {
  let longest: string | undefined;
  for (const line of lines)
    if (longest === undefined || line.length > longest.length) longest = line;
  return longest;
};

/** Which of `lines` stand exactly once in the text. Empty where that would take a string for each line of it. */
const uniqueLines = (
  index: LineIndex,
  lines: Iterable<string | undefined>,
): ReadonlySet<string> => {
  const ids = new Map<string, number>();
  for (const line of lines) if (line !== undefined && !ids.has(line)) ids.set(line, ids.size);
  const counts = new Uint32Array(ids.size);
  const once = new Set<string>();
  if (!index.findAll(ids, (id) => (counts[id] = (counts[id] ?? 0) + 1))) return once;
  ids.forEach((id, line) => {
    if (counts[id] === 1) once.add(line);
  });
  return once;
};
