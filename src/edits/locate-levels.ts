/**
 * How alike two lines must be to count as the same, from exact to each rung. A level's key is equal for lines that are the same
 * at that level; each level takes in those before it, so that the search can climb and stop at the first that fits.
 */
import { RUNGS, type Rung, type RungSettings } from '../shared/formats.js';
import { foldLookalikes } from './nearest.js';

export const LEVELS = ['exact', 'line_endings', 'trailing_space', 'lookalikes'] as const;
export type Level = (typeof LEVELS)[number];
/**
 * `white_space` is no rung: it tells lines that are absent from lines that are only spaced otherwise. `indent` finds candidates; whether
 * all lines are shifted alike is seen at each place (`indent.ts`).
 */
export type Likeness = Level | 'indent' | 'white_space';

const isTrailing = (code: number): boolean => code === 32 || code === 9 || code === 11 || code === 12 || code === 13;
// A loop, not a regular expression: /[ \t]+$/ is quadratic on a long run of blanks that does not end the line.
const trimEnd = (text: string): string => {
  let end = text.length;
  while (end > 0 && isTrailing(text.charCodeAt(end - 1))) end--;
  return end === text.length ? text : text.slice(0, end);
};
const trimReturns = (text: string): string => {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 13) end--;
  return end === text.length ? text : text.slice(0, end);
};

export const LEVEL_KEYS: Readonly<Record<Likeness, (text: string) => string>> = {
  exact: (text) => text,
  line_endings: trimReturns,
  trailing_space: trimEnd,
  lookalikes: (text) => trimEnd(foldLookalikes(text)),
  indent: (text) => text.replace(/^[ \t]+/, '').replace(/^\s*$/, ''),
  white_space: (text) => text.replace(/\s/g, ''),
};

/** Is this rung switched on? Absent settings have the rung's default. */
export const rungOn = (rung: Rung, settings: RungSettings | undefined): boolean =>
  settings?.[rung] ?? RUNGS[rung].default;

/** The levels to climb, in order. */
export const levelsOn = (settings: RungSettings | undefined): Level[] =>
  LEVELS.filter((level) => level === 'exact' || rungOn(level, settings));

/** The least level at which two lines are the same, or undefined where they differ at every one. */
export const levelBetween = (a: string, b: string): Level | undefined =>
  LEVELS.find((level) => LEVEL_KEYS[level](a) === LEVEL_KEYS[level](b));
