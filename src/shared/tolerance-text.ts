/** The tolerances of a proposal, `tolerance path:line` each, in words for the reviewer and in the lists that events and results carry. Pure. */
import { TOLERANCES } from './formats.js';
import { count } from './text.js';

export const LISTED_TOLERANCES = 20; // bound: Tolerances that an event or a result lists; further ones are counted.

/** The tolerances of a proposal as an event or a result has them. */
export interface ToleranceList {
  /** `tolerance path:line` of each that was used, the first of them; absent: none was used. */
  readonly tolerances?: readonly string[];
  /** Number of further tolerances that are not listed; absent: none. */
  readonly moreTolerances?: number;
}

interface ToleranceParts {
  readonly name: string;
  readonly path: string;
  /** 1-based; null: not known. */
  readonly line: string | null;
}

/** Reads `tolerance path:line`. */
const toleranceParts = (used: string): ToleranceParts => {
  const [name = '', ...rest] = used.split(' ');
  const place = rest.join(' ');
  const [, path = place, line = null] = /^(.*):(\d+)$/s.exec(place) ?? [];
  return { name, path, line };
};

/** Returns the file in which a tolerance was used. */
export const toleranceFile = (used: string): string => toleranceParts(used).path;

/** Returns `trailing_space in src/a.ts, line 3: answer and file differ in trailing white space`. */
export const toleranceText = (used: string): string => {
  const { name, path, line } = toleranceParts(used);
  const meaning = Object.hasOwn(TOLERANCES, name)
    ? `: ${TOLERANCES[name as keyof typeof TOLERANCES].what}`
    : '';
  return `${name} in ${path}${line === null ? '' : `, line ${line}`}${meaning}`;
};

/** Returns the first tolerances and the number of the others. */
export const listTolerances = (used: readonly string[]): ToleranceList => {
  const more = used.length - LISTED_TOLERANCES;
  if (used.length === 0) return {};
  const tolerances = used.slice(0, LISTED_TOLERANCES);
  return more > 0 ? { tolerances, moreTolerances: more } : { tolerances };
};

/** Returns a sentence for each listed tolerance, and one for those that are not listed. */
export const toleranceSentences = ({
  tolerances = [],
  moreTolerances = 0,
}: ToleranceList): readonly string[] => [
  ...tolerances.map((used) => `tolerance used: ${toleranceText(used)}`),
  ...(moreTolerances === 0 ? [] : [`${count(moreTolerances, 'more tolerance')} used`]),
];
