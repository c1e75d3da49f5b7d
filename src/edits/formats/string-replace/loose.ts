/**
 * Where a string stands that the text has only with other white space at line ends, or with typographic characters: the tolerances
 * `trailing_space` and `lookalikes` of string-replace. A place begins and ends at characters of the text, never inside of what one stands for (`…`).
 */
import { carryLines, levelsOn } from '../../locate/likeness.js';
import { lineOrigins } from '../../text/line-diff.js';
import { foldLookalikes } from '../../locate/nearest.js';
import type { ToleranceSettings } from '../../../shared/formats.js';

type LooseTolerance = 'trailing_space' | 'lookalikes';

export interface LoosePlaces {
  readonly tolerance: LooseTolerance;
  /** [from, to) in the text, in order. */
  readonly places: readonly (readonly [number, number])[];
}

/** A text as a level sees it, and where in the text each of its characters stands. */
interface Folded {
  readonly text: string;
  readonly at: readonly number[];
}

/** The places of the strictest tolerance that is on and has any; null: none has. At most `most` are listed. */
export const loosePlaces = (
  text: string,
  sought: string,
  settings: ToleranceSettings | undefined,
  most: number,
): LoosePlaces | null => {
  for (const tolerance of levelsOn(settings)) {
    if (tolerance !== 'trailing_space' && tolerance !== 'lookalikes') continue;
    const places = placesIn(folded(text, tolerance, true), folded(sought, tolerance, false).text, most);
    if (places.length > 0) return { tolerance, places };
  }
  return null;
};

/** What comes in place of `base`, which the answer quotes as `old`: what old and new share stays as the file has it. */
export const carried = (old: string, base: string, now: string): string => {
  const [oldLines, baseLines, nowLines] = [old.split('\n'), base.split('\n'), now.split('\n')];
  const kept = lineOrigins(oldLines, nowLines);
  const lines = carryLines(oldLines, baseLines, nowLines, kept);
  return lines.map((line, i) => line ?? baseLines[kept[i] ?? 0] ?? '').join('\n');
};

const placesIn = ({ text, at }: Folded, sought: string, most: number): (readonly [number, number])[] => {
  const places: (readonly [number, number])[] = [];
  if (sought === '') return places;
  for (let from = text.indexOf(sought); from >= 0 && places.length < most; from = text.indexOf(sought, from + 1)) {
    const [first = 0, last = 0] = [at[from], at[from + sought.length - 1]];
    if (at[from - 1] !== first && at[from + sought.length] !== last) places.push([first, last + 1]);
  }
  return places;
};

/** `atEnd`: the end of the text is the end of a line, too; a quoted string may end within one. */
const folded = (text: string, tolerance: LooseTolerance, atEnd: boolean): Folded => {
  const parts: string[] = [];
  const at: number[] = [];
  const lines = text.split('\n');
  let offset = 0;
  for (const [i, line] of lines.entries()) {
    const isLast = i === lines.length - 1;
    const plain = isLast && !atEnd ? line : line.replace(BLANKS_AT_END, '');
    for (const [j, unit] of plain.split('').entries()) {
      const shown = tolerance === 'lookalikes' ? foldLookalikes(unit) : unit;
      parts.push(shown);
      at.push(...Array.from(shown, () => offset + j));
    }
    if (!isLast) {
      parts.push('\n');
      at.push(offset + line.length);
    }
    offset += line.length + 1;
  }
  return { text: parts.join(''), at };
};

const BLANKS_AT_END = /(?<![ \t\v\f\r])[ \t\v\f\r]+$/;
