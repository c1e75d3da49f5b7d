/**
 * A text as a tolerance sees it, and where in the text each of its characters is. A text of a megabyte is folded in one pass into
 * typed arrays, once for all strings that a response looks for in it.
 */
import { foldLookalikes } from './nearest.js';

/** A likeness by which characters of a text, rather than whole lines, are compared. */
export type TextLikeness = 'trailing_space' | 'lookalikes';

export interface Folded {
  readonly text: string;
  /** Offset in the unfolded text of each character. */
  readonly origins: Int32Array;
}

const [TAB, LF, VT, CR, SPACE] = [9, 10, 11, 13, 32];
const FIRST_NOT_ASCII = 0x80;
const LONGEST_FOLD = 3; // bound: Characters that one character stands for at most, as `…` for three dots.

const isBlank = (code: number): boolean =>
  code === SPACE || code === TAB || (code >= VT && code <= CR);

/** Returns the offset behind the blanks at `from`, if they end a line; else `from`. `atEnd`: the end of the text ends a line. */
const blanksEnd = (text: string, from: number, atEnd: boolean): number => {
  let end = from;
  while (end < text.length && isBlank(text.charCodeAt(end))) end += 1;
  const endsLine = end < text.length ? text.charCodeAt(end) === LF : atEnd;
  return endsLine ? end : from;
};

/**
 * Folds a text: blanks at the ends of its lines are left out, and with `lookalikes` typographic characters become plain ones. `isWhole`:
 * its end is one of a line; the end of a quoted string may stand within a line.
 */
export const folded = (text: string, likeness: TextLikeness, isWhole: boolean): Folded => {
  const plain = likeness === 'lookalikes' ? plainCharacters(text) : null;
  const origins = new Int32Array(plain === null ? text.length : text.length * LONGEST_FOLD);
  const parts: string[] = [];
  let count = 0;
  /** From here on the text is taken as it is. */
  let start = 0;
  for (let offset = 0; offset < text.length;) {
    const code = text.charCodeAt(offset);
    const end = isBlank(code) ? blanksEnd(text, offset, isWhole) : offset;
    if (end > offset) {
      parts.push(text.slice(start, offset));
      start = offset = end;
      continue;
    }
    // Blanks within a line are passed over as one run, or each would look for its end again.
    let next = offset + 1;
    if (isBlank(code)) while (isBlank(text.charCodeAt(next))) next += 1;
    const other = code < FIRST_NOT_ASCII ? undefined : plain?.get(text.charAt(offset));
    if (other === undefined) {
      for (; offset < next; offset += 1) origins[count++] = offset;
      continue;
    }
    parts.push(text.slice(start, offset), other);
    origins.fill(offset, count, count + other.length);
    count += other.length;
    start = offset = next;
  }
  parts.push(text.slice(start));
  return { text: parts.join(''), origins: origins.subarray(0, count) };
};

/** The characters of a text that folding changes, each with what it becomes; null: it has none. */
const plainCharacters = (text: string): ReadonlyMap<string, string> | null => {
  const plain = new Map<string, string>();
  // eslint-disable-next-line no-control-regex -- the range finds every character that is not ASCII, and ASCII has control characters
  for (const character of new Set(text.match(/[^\x00-\x7f]/g))) {
    const fold = foldLookalikes(character);
    if (fold !== character) plain.set(character, fold);
  }
  return plain.size === 0 ? null : plain;
};
