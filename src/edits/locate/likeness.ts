/**
 * How alike two lines must be to count as the same, from exact to each tolerance. A level's key is equal for lines that are the same
 * at that level; each level takes in those before it, so that the search can climb and stop at the first that fits.
 */
import { foldLookalikes, sameEnds } from './nearest.js';
import type { ApplyOptions } from '../types.js';
import { TOLERANCES, type Tolerance, type ToleranceSettings } from '../../shared/formats.js';

export const LEVELS = ['exact', 'line_endings', 'trailing_space', 'lookalikes'] as const;
export type Level = (typeof LEVELS)[number];
/**
 * `white_space` is no tolerance: it tells lines that are absent from lines that are only spaced otherwise. `indent` finds candidates; whether
 * all lines are shifted alike is seen at each place (`indent.ts`).
 */
export type Likeness = Level | 'indent' | 'white_space';

const isTrailing = (code: number): boolean =>
  code === 32 || code === 9 || code === 11 || code === 12 || code === 13;
// A loop, not a regular expression: /[ \t]+$/ is quadratic on a long run of blanks that does not end the line.
const trimEnd = (text: string, goes = isTrailing): string => {
  let end = text.length;
  while (end > 0 && goes(text.charCodeAt(end - 1))) end--;
  return end === text.length ? text : text.slice(0, end);
};

export const LEVEL_KEYS: Readonly<Record<Likeness, (text: string) => string>> = {
  exact: (text) => text,
  line_endings: (text) => trimEnd(text, (code) => code === 13),
  trailing_space: (text) => trimEnd(text),
  lookalikes: (text) => trimEnd(foldLookalikes(text)),
  indent: (text) => text.replace(/^[ \t]+/, '').replace(/^\s*$/, ''),
  white_space: (text) => text.replace(/\s/g, ''),
};

/** Is this tolerance switched on? Absent settings have the tolerance's default. */
export const toleranceOn = (
  tolerance: Tolerance,
  settings: ToleranceSettings | undefined,
): boolean => settings?.[tolerance] ?? TOLERANCES[tolerance].default;

/** The levels to climb, in order. */
export const levelsOn = (settings: ToleranceSettings | undefined): Level[] =>
  LEVELS.filter((level) => level === 'exact' || toleranceOn(level, settings));

/** The least level at which two lines are the same, or undefined where they differ at every one. */
export const levelBetween = (a: string, b: string): Level | undefined =>
  LEVELS.find((level) => LEVEL_KEYS[level](a) === LEVEL_KEYS[level](b));

/**
 * Is this file known to be the one that the answer was made for? `options.base` says so (`compose` refuses another). Then a line number
 * may decide between places where the same text stands; otherwise that is the tolerance `unchecked_lines` (decision 0008).
 */
export const isKnownBase = (path: string, { base }: ApplyOptions): boolean =>
  base?.has(path) ?? false;

// Where a tolerance took a line of the answer for a line of the file that differs from it (typographic characters, blanks at the end), a
// change of that line keeps the file's characters in all that the answer's old and new line share.

/** Length of the folded text before each character of `text`, and of all of it. */
const foldedLengths = (text: string): number[] => {
  const lengths = [0];
  let sum = 0;
  for (const unit of text.split('')) lengths.push((sum += foldLookalikes(unit).length));
  return lengths;
};

/** Returns `fresh` as the response means it for the line `base`, which it quotes as `old`. */
const carryLine = (old: string, base: string, fresh: string): string => {
  if (old === fresh) return base;
  if (old === base) return fresh;
  const { head, start } = sharedHead(old, base, fresh);
  const { tail, end } = sharedTail(old, base, fresh);
  return (
    base.slice(0, start) + fresh.slice(head, fresh.length - tail) + base.slice(Math.max(start, end))
  );
};

/** Length of what both sides share at their start, and where that ends in `base`. */
const sharedHead = (
  old: string,
  base: string,
  fresh: string,
): { readonly head: number; readonly start: number } => {
  const [oldAt, baseAt] = [foldedLengths(old), foldedLengths(base)];
  let [head] = sameEnds(old, fresh);
  // A place inside of what one character stands for (`…`) has no counterpart: less is shared then.
  while (head > 0 && !baseAt.includes(oldAt[head] ?? 0)) head -= 1;
  return { head, start: head === 0 ? 0 : baseAt.lastIndexOf(oldAt[head] ?? 0) };
};

/** Length of what both sides share at their end, and where that begins in `base`. */
const sharedTail = (
  old: string,
  base: string,
  fresh: string,
): { readonly tail: number; readonly end: number } => {
  const [oldAt, baseAt] = [foldedLengths(old), foldedLengths(base)];
  let [, tail] = sameEnds(old, fresh);
  // Blanks at the end alone say nothing about what the file has there.
  if (old.slice(old.length - tail).trim() === '') tail = 0;
  const whole = baseAt.at(-1) ?? 0;
  const after = (shared: number): number => oldAt[old.length - shared] ?? 0;
  while (tail > 0 && after(tail) <= whole && !baseAt.includes(after(tail))) tail -= 1;
  const isPast = tail === 0 || after(tail) > whole;
  return { tail, end: isPast ? base.length : baseAt.indexOf(after(tail)) };
};

/**
 * New lines of one replacement: `null` where line `kept[j]` of the old ones stays, else its text. A changed line has the old one at its
 * place as counterpart where a stretch between kept lines has as many new lines as old ones.
 */
export const carryLines = (
  old: readonly string[],
  base: readonly string[],
  fresh: readonly string[],
  kept: ArrayLike<number>,
): (string | null)[] => {
  const result: (string | null)[] = [];
  const isKept = (j: number): boolean => (kept[j] ?? -1) >= 0;
  let oldFrom = 0;
  for (let j = 0; j < fresh.length;) {
    if (isKept(j)) {
      oldFrom = (kept[j] ?? 0) + 1;
      result.push(null);
      j += 1;
      continue;
    }
    let end = j;
    while (end < fresh.length && !isKept(end)) end += 1;
    const oldEnd = end < fresh.length ? (kept[end] ?? 0) : old.length;
    const isPaired = oldEnd - oldFrom === end - j;
    for (const [i, line] of fresh.slice(j, end).entries()) {
      const [oldLine = '', baseLine = ''] = [old[oldFrom + i], base[oldFrom + i]];
      result.push(isPaired ? carryLine(oldLine, baseLine, line) : line);
    }
    j = end;
  }
  return result;
};
