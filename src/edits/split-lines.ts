/** Lines of a decoded text, and what is said of their ends. */
import type { LineIndex } from './lines.js';

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
export const kindOfEnds = (ends: readonly string[]): EolKind => {
  const kinds = new Set(ends);
  kinds.delete('');
  if (kinds.size > 1) return 'mixed';
  const [only] = kinds;
  if (only === undefined) return 'none';
  return only === '\n' ? 'lf' : only === '\r\n' ? 'crlf' : 'cr';
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
