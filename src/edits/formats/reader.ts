/** What the readers of the text formats have in common: they go over an answer's lines and follow what stands outside of its edits. */
import { quoted } from '../../shared/text.js';
import { Outside } from '../detect.js';
import type { FormatContext, Reading, Reason } from '../types.js';

/** `open`: the answer ends inside of what it is about. */
export const invalid = (code: string, message: string, index?: number, open = false): Reading => ({
  ...{ kind: 'invalid', open, reasons: [{ code, message, ...(index === undefined ? {} : { index }) }] },
});

export abstract class AnswerReader {
  /** Without their ends. */
  readonly lines: readonly string[];
  /** 1 for each line that ended in CRLF; a CR before a missing line end belongs to the text. */
  readonly returned: ArrayLike<number>;
  protected readonly context: FormatContext;
  protected readonly outside = new Outside();
  /** 0-based number of the present line. */
  protected at = 0;
  /** What prose may stand round. */
  protected abstract readonly whole: string;

  constructor(body: string, context: FormatContext) {
    const lines = body.split('\n');
    const hasReturns = body.includes('\r');
    this.returned = hasReturns ? Uint8Array.from(lines, (line) => Number(line.endsWith('\r'))) : [];
    this.lines = hasReturns ? lines.map((line, at) => (this.returned[at] === 1 ? line.slice(0, -1) : line)) : lines;
    this.context = context;
  }

  /** Number of edits that were read so far. */
  abstract get edits(): number;
  /** Reads what begins at the present line, and goes on behind it. */
  protected abstract one(line: string): Reading | null;

  /** Null: the answer was read to its end. */
  parse(): Reading | null {
    let fault: Reading | null = null;
    while (fault === null && this.at < this.lines.length) fault = this.one(this.line());
    return fault ?? this.atEnd();
  }
  protected atEnd(): Reading | null {
    return this.outside.fault(this.edits);
  }
  get notes(): readonly Reason[] {
    return this.hasProse ? [{ code: 'prose', message: `Text around the ${this.whole} was passed over.` }] : [];
  }
  protected get hasProse(): boolean {
    return this.outside.hasProse;
  }

  /** The line so many lines ahead; '' behind the last. */
  protected line(ahead = 0): string {
    return this.lines[this.at + ahead] ?? '';
  }
  protected said(at = this.at): string {
    return `Line ${at + 1} of the answer, ${quoted(this.lines[at] ?? '', 120)}`;
  }
  /** Is the present line the last, which may be cut? */
  protected get isLast(): boolean {
    return this.at >= this.lines.length - 1;
  }
  protected invalid(code: string, message: string, open = false): Reading {
    return invalid(code, message, this.edits, open);
  }
  /** The same of the present line, which may be cut. */
  protected broken(code: string, message: string): Reading {
    return this.invalid(code, message, this.isLast);
  }
}
