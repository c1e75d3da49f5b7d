/**
 * xml-call, a dialect that other tools taught models: calls of edits, as tags (calls/tags.ts shows their shapes, calls/forms.ts lists what they mean).
 *
 *   response = *( prose / fence / call )
 *
 * All else is as in string-replace. Edits, for the marker: edits.
 */
import { AROUND_CALLS, isPartOfCall, readTagCall } from '../calls/tags.js';
import { CallReader } from '../calls/call-reader.js';
import type { Dialect, ParsedResponse } from '../edit.js';
import type { ParseContext, Reading } from '../types.js';
import { AnswerReader, unread } from './reader.js';
import { CALL_RULES } from './string-replace.js';

export const xmlCall: Dialect = {
  rules: CALL_RULES,
  parse: (body, context) => new TagReader(body, context).read(),
};

class TagReader extends AnswerReader {
  protected readonly whole = 'calls';
  readonly #reader: CallReader;
  readonly #text: string;
  /** Offset of the present line. */
  #offset = 0;

  constructor(body: string, context: ParseContext) {
    super(body, context);
    this.#text = this.lines.join('\n');
    this.#reader = new CallReader(context, CALL_RULES);
  }

  get edits(): number {
    return this.#reader.count;
  }

  read(): ParsedResponse {
    const fault = this.parse();
    return fault === null ? this.#reader.finish(this.notes) : unread(fault, this.edits);
  }

  protected one(line: string): Reading | null {
    if (line.trimStart().startsWith('<')) {
      const read = readTagCall(this.#text, this.#offset);
      if (read !== null && !('end' in read))
        return this.invalid(
          read.code,
          `Line ${this.lineIndex + 1} of the answer: ${read.message}`,
          read.isOpen,
        );
      if (read !== null) {
        const first = this.lineIndex;
        for (const { name, args } of read.calls) {
          const fault = this.#reader.take({ name, args, line: first + 1 });
          if (fault !== null) return fault;
        }
        this.#passTo(read.end);
        return null;
      }
    }
    if (isPartOfCall(line))
      return this.broken(
        'stray_line',
        `${this.lineWords()}, belongs to no call. Send each call whole, and no part of it alone.`,
      );
    this.outside.take(this.lineIndex, line);
    if (AROUND_CALLS.test(line)) this.outside.belongs(this.lineIndex);
    this.#next();
    return null;
  }

  #next(): void {
    this.#offset += this.line().length + 1;
    this.lineIndex += 1;
  }

  /** Goes on behind the line on which a call ends; what follows on that line is prose. */
  #passTo(end: number): void {
    this.outside.belongs(this.lineIndex);
    while (this.#offset + this.line().length < end) this.#next();
    const rest = this.line().slice(end - this.#offset);
    if (rest.trim() !== '') this.outside.take(this.lineIndex, rest);
    this.#next();
  }
}
