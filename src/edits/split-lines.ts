/** Lines of a decoded text, and what is said of their ends. */
import type { Text } from './types.js';

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
