/**
 * A file's text as one string that edits change in parts. It is kept in pieces: a change cuts the piece that it is in, and the pieces
 * are put together only for a search that needs the text in one, or if there are many. So neither a search nor a change costs more than one
 * pass over the text.
 */
import { sameEnds } from '../../shared/text.js';
import type { Text } from '../text/lines.js';
import { type Folded, folded, type TextLikeness } from './fold.js';

export const LOOSE_STRINGS = 100; // bound: Strings of one file that are looked for by a likeness: each costs a pass over the file.
const PIECES_KEPT = 128; // bound: Pieces of a text; more are put together.
export const PLACES_REPORTED = 50; // bound: Places of a text that occurs several times, named in its refusal.

/** [from, to) of a text. */
export type Stretch = readonly [from: number, to: number];

export class StringText {
  #pieces: readonly string[];
  /** Stretches of the present text that edits wrote, in order; an empty one is the seam of a deletion. */
  #written: readonly Stretch[] = [];
  /** Stretches of the present text at the ends of what edits quoted, which the edits left as they were. */
  #kept: readonly Stretch[] = [];
  readonly #folds = new Map<TextLikeness, Folded>();
  #withoutSpace: string | null = null;
  #lines: readonly string[] | null = null;
  /** Numbers of the edits whose strings were looked for by a likeness. */
  readonly #looseEdits = new Set<number>();

  constructor(text: string) {
    this.#pieces = [text];
  }

  /** Makes one string of a file's text, with LF as line end. */
  static ofLines({ lines, ends }: Text): StringText {
    return new StringText(lines.join('\n') + ((ends.at(-1) ?? '') === '' ? '' : '\n'));
  }

  /** The present text in one piece. */
  get whole(): string {
    if (this.#pieces.length !== 1) this.#pieces = [this.#pieces.join('')];
    return this.#pieces[0] ?? '';
  }

  get lines(): readonly string[] {
    return (this.#lines ??= this.whole.split('\n'));
  }

  /** Has any edit changed the text? */
  get isChanged(): boolean {
    return this.#written.length > 0;
  }

  /** Finds where a string occurs exactly: at most one place more than a refusal names; `everywhere`: all that do not overlap. */
  find(string: string, everywhere: boolean): readonly Stretch[] {
    const length = this.#pieces.reduce((sum, piece) => sum + piece.length, 0);
    const isSplit = !everywhere && 2 * string.length * this.#pieces.length < length;
    const pieces = isSplit ? this.#pieces : [this.whole];
    const places: Stretch[] = [];
    let start = 0;
    for (const [i, piece] of pieces.entries()) {
      const step = everywhere ? string.length : 1;
      for (const offset of startsIn(piece, pieces.slice(i + 1), string, step)) {
        places.push([start + offset, start + offset + string.length]);
        if (!everywhere && places.length > PLACES_REPORTED) return places;
      }
      start += piece.length;
    }
    return places;
  }

  /** Returns where a string ends the text; null: it does not, or is empty. */
  lastPlace(string: string): Stretch | null {
    const length = this.#pieces.reduce((sum, piece) => sum + piece.length, 0);
    const from = length - string.length;
    const isLast = string !== '' && from >= 0 && this.slice([from, length]) === string;
    return isLast ? [from, length] : null;
  }

  /** May the string of one more edit, or of the same one again, be looked for by a likeness? */
  mayLoosen(index: number): boolean {
    if (this.#looseEdits.size < LOOSE_STRINGS) this.#looseEdits.add(index);
    return this.#looseEdits.has(index);
  }

  /**
   * Finds where a string occurs by a likeness, in at most `most` places. They begin and end at characters of the text, never inside of
   * what one stands for (`…`).
   */
  findLike(string: string, likeness: TextLikeness, most: number): readonly Stretch[] {
    const { text, origins } = this.#foldedBy(likeness);
    const quote = folded(string, likeness, false).text;
    const places: Stretch[] = [];
    for (
      let offset = text.indexOf(quote);
      quote !== '' && offset >= 0;
      offset = text.indexOf(quote, offset + 1)
    ) {
      const [first = 0, last = 0] = [origins[offset], origins[offset + quote.length - 1]];
      if (origins[offset - 1] !== first && origins[offset + quote.length] !== last)
        places.push([first, last + 1]);
      if (places.length >= most) break;
    }
    return places;
  }

  #foldedBy(likeness: TextLikeness): Folded {
    const fold = this.#folds.get(likeness) ?? folded(this.whole, likeness, true);
    this.#folds.set(likeness, fold);
    return fold;
  }

  /** Does the text hold the string, white space apart? */
  holdsWithoutSpace(string: string): boolean {
    this.#withoutSpace ??= this.whole.replace(/\s/g, '');
    return this.#withoutSpace.includes(string.replace(/\s/g, ''));
  }

  /** Returns the text of a stretch. */
  slice(stretch: Stretch): string {
    return partsOf(this.#pieces, stretch).join('');
  }

  /** Returns the 1-based lines at which stretches begin, which are in order. */
  linesOf(stretches: readonly Stretch[]): readonly number[] {
    const text = stretches.length === 0 ? '' : this.slice([0, stretches.at(-1)?.[0] ?? 0]);
    let line = 1;
    let end = text.indexOf('\n');
    return stretches.map(([from]) => {
      for (; end >= 0 && end < from; end = text.indexOf('\n', end + 1)) line += 1;
      return line;
    });
  }

  /** Returns the first of stretches in order that needs text that an edit wrote, or the seam that a deletion left. */
  firstOnWritten(stretches: readonly Stretch[]): Stretch | undefined {
    let next = 0;
    return stretches.find(([from, to]) => {
      while ((this.#written[next]?.[1] ?? Infinity) <= from) next += 1;
      const [start = Infinity] = this.#written[next] ?? [];
      return start < to;
    });
  }

  /** Returns the parts of a stretch that an edit quoted and kept. */
  keptIn([from, to]: Stretch): readonly string[] {
    return this.#kept
      .filter(([start, end]) => start < to && end > from)
      .map(([start, end]) => this.slice([Math.max(start, from), Math.min(end, to)]));
  }

  /** Makes the text of a file that is new or empty. */
  fill(text: string): void {
    this.#setPieces([text]);
    this.#written = [[0, text.length]];
  }

  /** Puts whole lines behind the first `line` lines; the text has as many. */
  insertLines(line: number, lines: string): void {
    const { whole } = this;
    let offset = 0;
    for (let passed = 0; passed < line; passed += 1)
      offset = whole.indexOf('\n', offset) + 1 || whole.length;
    const isOpen = offset > 0 && whole[offset - 1] !== '\n';
    this.replace([[offset, offset]], '', isOpen ? `\n${lines.replace(/\n$/, '')}` : lines);
  }

  /** Puts `after` in place of stretches that all hold `before`. They are in order and do not overlap. */
  replace(stretches: readonly Stretch[], before: string, after: string): void {
    // What both have in common at their ends is not written by the edit.
    const [head, tail] = sameEnds(before, after);
    const text = after.slice(head, after.length - tail);
    const cuts = stretches.map(([from, to]): Stretch => [from + head, to - tail]);
    this.#written = stretchesAfter(this.#written, cuts, text.length, (start, end) => [
      [start, end],
    ]);
    this.#kept = stretchesAfter(this.#kept, stretches, after.length, (start, end) =>
      stretches.length > 1
        ? []
        : [
            [start, start + head],
            [end - tail, end],
          ],
    );
    const pieces: string[] = [];
    let next = 0;
    for (const [from, to] of cuts) {
      pieces.push(...partsOf(this.#pieces, [next, from]), text);
      next = to;
    }
    pieces.push(...partsOf(this.#pieces, [next, Infinity]));
    this.#setPieces(pieces);
  }

  #setPieces(pieces: readonly string[]): void {
    this.#pieces = pieces.length > PIECES_KEPT ? [pieces.join('')] : pieces;
    this.#folds.clear();
    this.#withoutSpace = null;
    this.#lines = null;
  }
}

/** Returns a stretch of a text in pieces as the parts of them that it has. */
const partsOf = (pieces: readonly string[], [from, to]: Stretch): readonly string[] => {
  const parts: string[] = [];
  let start = 0;
  for (const piece of pieces) {
    if (start >= to) break;
    const end = start + piece.length;
    if (end > from && to > from) parts.push(piece.slice(Math.max(0, from - start), to - start));
    start = end;
  }
  return parts;
};

/** Finds where a string begins in a piece, also where it goes on in the next ones. `step`: so far from one place to the next. */
function* startsIn(
  piece: string,
  next: readonly string[],
  string: string,
  step: number,
): Generator<number> {
  for (
    let offset = piece.indexOf(string);
    offset >= 0;
    offset = piece.indexOf(string, offset + step)
  )
    yield offset;
  if (next.length === 0 || string.length < 2) return;
  const most = string.length - 1;
  const tail = piece.slice(Math.max(0, piece.length - most));
  const seam = tail + partsOf(next, [0, most]).join('');
  for (
    let offset = seam.indexOf(string);
    offset >= 0 && offset < tail.length;
    offset = seam.indexOf(string, offset + 1)
  )
    yield piece.length - tail.length + offset;
}

/** Returns where stretches are after each of `cuts` became `length` characters, of which `own` returns the stretches that come. */
const stretchesAfter = (
  stretches: readonly Stretch[],
  cuts: readonly Stretch[],
  length: number,
  own: (start: number, end: number) => readonly Stretch[],
): readonly Stretch[] => {
  const result: Stretch[] = [];
  const rest = stretches.slice();
  let shift = 0;
  let next = 0;
  for (const [from, to] of cuts) {
    for (let stretch = rest[next]; stretch !== undefined; stretch = rest[next]) {
      const [start, end] = stretch;
      if (start >= from && start >= to) break;
      if (start < from) result.push([start + shift, Math.min(end, from) + shift]);
      if (end > to) {
        rest[next] = [to, end];
        break;
      }
      next += 1;
    }
    result.push(...own(from + shift, from + shift + length));
    shift += length - (to - from);
  }
  for (const [start, end] of rest.slice(next)) result.push([start + shift, end + shift]);
  return result;
};
