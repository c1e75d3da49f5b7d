/** What readers of answers have in common: those of text go over its lines, those of JSON over its objects. */
import { quoted } from '../../shared/text.js';
import { Outside } from '../detect.js';
import type { Edit, ParsedResponse } from '../edit.js';
import { fileBefore, namedPath, namesThere } from '../paths.js';
import { type Json, readJson } from '../text/json.js';
import type { Fault, ParseContext, Reading, Reason } from '../types.js';

/** `open`: the answer ends inside of what it is about. */
export const invalid = (code: string, message: string, index?: number, open = false): Reading => ({
  kind: 'invalid',
  open,
  reasons: [{ code, message, ...(index === undefined ? {} : { index }) }],
});

/** Returns a response that can be read. */
export const parsed = (
  edits: readonly Edit[],
  count: number,
  notes: readonly Reason[] = [],
  summary: string | null = null,
): ParsedResponse => ({ edits, count, fault: null, notes, summary, request: null });

/** Returns a response that cannot be read, of which `count` edits are known. */
export const unread = (fault: Reading, count = 0): ParsedResponse => ({
  edits: [],
  count,
  fault,
  notes: [],
  summary: null,
  request: null,
});

/** Why an edit does not fit the file. */
export const fault = (code: string, message: string): Fault => ({ code, message });

/** Goes over an answer's lines and follows what stands outside of its edits. */
export abstract class AnswerReader {
  /** Without their ends. */
  readonly lines: readonly string[];
  /** 1 for each line that ended in CRLF; a CR before a missing line end belongs to the text. */
  readonly returned: ArrayLike<number>;
  protected readonly context: ParseContext;
  protected readonly outside = new Outside();
  /** 0-based number of the present line. */
  protected lineIndex = 0;
  /** What prose may stand round. */
  protected abstract readonly whole: string;

  #names: ReadonlySet<string> | undefined;

  constructor(body: string, context: ParseContext) {
    const lines = body.split('\n');
    const hasReturns = body.includes('\r');
    this.returned = hasReturns ? Uint8Array.from(lines, (line) => Number(line.endsWith('\r'))) : [];
    this.lines = hasReturns
      ? lines.map((line, lineIndex) => (this.returned[lineIndex] === 1 ? line.slice(0, -1) : line))
      : lines;
    this.context = context;
  }

  /** Number of edits that were read so far. */
  abstract get edits(): number;
  /** Reads what begins at the present line, and goes on behind it. */
  protected abstract one(line: string): Reading | null;

  /** Null: the answer was read to its end. */
  parse(): Reading | null {
    let wrong: Reading | null = null;
    while (wrong === null && this.lineIndex < this.lines.length) wrong = this.one(this.line());
    return wrong ?? this.atEnd();
  }
  protected atEnd(): Reading | null {
    return this.outside.fault(this.edits);
  }
  get notes(): readonly Reason[] {
    return this.hasProse
      ? [{ code: 'prose', message: `Text around the ${this.whole} was ignored.` }]
      : [];
  }
  protected get hasProse(): boolean {
    return this.outside.hasProse;
  }

  /** The line before the present edit, which may name its file. */
  protected get before(): string {
    return this.outside.before(
      this.lineIndex,
      (fence) => namedPath(fence, this.context.files) !== null,
    );
  }
  /** The file of an edit that names none, by the line before it (`fileBefore`). */
  protected fileBy(line: string, current: string | null): string | null {
    return fileBefore(
      line,
      current,
      this.context,
      () => (this.#names ??= namesThere(this.context)),
    );
  }

  /** The line so many lines ahead; '' behind the last. */
  protected line(ahead = 0): string {
    return this.lines[this.lineIndex + ahead] ?? '';
  }
  protected lineWords(index = this.lineIndex): string {
    return `Line ${index + 1} of the answer, ${quoted(this.lines[index] ?? '', 120)}`;
  }
  /** Is the present line the last, which may be cut? */
  protected get isLast(): boolean {
    return this.lineIndex >= this.lines.length - 1;
  }
  protected invalid(code: string, message: string, open = false): Reading {
    return invalid(code, message, this.edits, open);
  }
  /** The same of the present line, which may be cut. */
  protected broken(code: string, message: string): Reading {
    return this.invalid(code, message, this.isLast);
  }
}

/** An answer in JSON: an object, several of them, or a list. */
export interface JsonAnswer {
  readonly value: Json;
  /** The objects in their order; of a list its members, of lists in it theirs. */
  readonly parts: readonly Json[];
  /** The same reading where each reason about one of `edits` says which, and the 1-based line of the answer where its object begins. */
  withLines(reading: Reading, word: string, edits: readonly Json[]): Reading;
  /** Returns the 1-based line of the answer where an object of it begins; null: it is none. */
  lineOf(value: Json): number | null;
}

/** The JSON of an answer's body, or why it is none. */
export const readJsonAnswer = (
  body: string,
  { linesBefore = 0 }: ParseContext,
): JsonAnswer | Reading => {
  const json = readJson(body);
  if (json.kind === 'open') {
    const message = `The JSON ends inside a ${json.inside}. Send the whole answer.`;
    return invalid(`cut_inside_${json.inside}`, message, undefined, true);
  }
  const lineOf = lineCounter(body, linesBefore + 1);
  const isWhole = json.kind === 'value' && body.slice(json.end).trim() === '';
  if (!isWhole) {
    const line = lineOf(json.kind === 'value' ? json.end : json.at);
    const what = json.kind === 'value' ? 'text follows after the JSON object' : json.message;
    return invalid(
      'not_json',
      `The answer is not one JSON object: line ${line}: ${what}. Send the JSON object alone.`,
    );
  }
  const { value, starts } = json;
  const withLine = (reason: Reason, word: string, edits: readonly Json[]): Reason => {
    const { index = -1 } = reason;
    const start = starts.get(edits[index] ?? null);
    if (start === undefined) return reason;
    return {
      ...reason,
      message: `${word} ${index + 1} (line ${lineOf(start)} of the answer): ${reason.message}`,
    };
  };
  return {
    value,
    lineOf: (object) => {
      const start = starts.get(object);
      return start === undefined ? null : lineOf(start);
    },
    parts: Array.isArray(value) ? (value as readonly Json[]).flat() : [value],
    withLines: (reading, word, edits) => {
      const withPlaces = (reasons: readonly Reason[]): Reason[] =>
        reasons.map((reason) => withLine(reason, word, edits));
      return reading.kind === 'plans'
        ? { ...reading, notes: withPlaces(reading.notes) }
        : { ...reading, reasons: withPlaces(reading.reasons) };
    },
  };
};

/** Returns the line at an offset, counted from `first`; cheap for offsets in rising order. */
const lineCounter = (text: string, first: number): ((offset: number) => number) => {
  const nextEnd = (from: number): number => {
    const end = text.indexOf('\n', from);
    return end < 0 ? Infinity : end;
  };
  let [start, line, end] = [0, first, nextEnd(0)];
  return (offset) => {
    if (offset < start) [start, line, end] = [0, first, nextEnd(0)];
    for (; end < offset; end = nextEnd(start)) {
      start = end + 1;
      line += 1;
    }
    return line;
  };
};
