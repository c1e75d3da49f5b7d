/**
 * Finds the place that looks most like the requested text, and describes how it differs. Refusals show it; no edit is applied there. The
 * characters that look alike (LOOKALIKES) also serve the pass `lookalikes` (locate/fold.ts).
 */
import { quoted, sameEnds } from '../../shared/text.js';
import { characterName } from '../text/codec.js';
import { withoutBackslashes, withPlainEntities } from '../text/escapes.js';
import type { Reason } from '../types.js';

export { sameEnds };

const CHARACTERS_NAMED = 4; // bound: Characters that are named where two lines look alike.
const NEAREST_TEXT_LINES = 200_000; // bound: The nearest place is looked for in texts up to this length,
const NEAREST_WANTED_LINES = 200; // bound: for so many lines of what was wanted,
const NEAREST_PLACES_PER_LINE = 50; // bound: at so many places of each.
const PART_OF_LINE_CHARS = 3; // bound: A part of a line is told as such from this length on.
const COPIED_LINES = 30; // bound: The nearest place is shown whole up to so many lines,
const COPIED_LINE_CHARS = 300; // bound: of at most so many characters each.
const QUOTED_LINE_CHARS = 160; // bound: Of a line quoted in a refusal at most this much is shown.

export interface Nearest {
  /** 1-based line of the text where the wanted lines would begin. */
  readonly line: number;
  /** How many of the wanted lines stand there exactly. */
  readonly matching: number;
  /** The first wanted line that differs; null: all stand there. `index` is 0-based in the wanted lines; `found` null: past the end. */
  readonly firstDifference: {
    readonly index: number;
    readonly expected: string;
    readonly found: string | null;
    readonly dimension: Dimension;
  } | null;
  /** What stands there, to be copied: as many lines as were wanted; empty: too many or too long. */
  readonly lines: readonly string[];
}

/** No-break spaces and other spaces of their own width, and characters of no width. */
const SPACES: readonly (readonly [RegExp, string])[] = [
  [/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, ' '],
  [/[\u200b-\u200d\u2060\ufeff]/g, ''],
];
const LOOKALIKES: readonly (readonly [RegExp, string])[] = [
  ...SPACES,
  [/[\u2018\u2019\u201a\u201b\u2032\u00b4]/g, "'"],
  [/[\u201c\u201d\u201e\u201f\u2033]/g, '"'],
  [/[\u2010-\u2015\u2212]/g, '-'],
  [/\u2026/g, '...'],
];

/** Typographic characters as the plain ones that they look like. */
export const foldLookalikes = (text: string): string => fold(text, LOOKALIKES);
const fold = (text: string, replacements: typeof LOOKALIKES): string =>
  replacements.reduce((folded, [pattern, plain]) => folded.replace(pattern, plain), text);

const squeeze = (line: string): string => line.trim().replace(/\s+/g, ' ');
const plain = (line: string): string => withoutBackslashes(withPlainEntities(foldLookalikes(line)));
const loose = (line: string): string => squeeze(plain(line)).toLowerCase();

/** A word or more of a line, in place of the line. */
const isPart = (expected: string, actual: string): boolean =>
  squeeze(expected).length >= PART_OF_LINE_CHARS && squeeze(actual).includes(squeeze(expected));

/** In which way two lines differ, the mildest first, and what is the same of two lines that differ in no other. */
const DIMENSIONS = [
  ['line end', (line: string) => line.replace(/(?<!\r)\r+$/, '')],
  ['non-ASCII spaces', (line: string) => fold(line, SPACES)],
  ['look-alike characters', foldLookalikes],
  ['white space at the line end', (line: string) => line.trimEnd()],
  ['indentation', (line: string) => line.trim()],
  ['white space', (line: string) => line.replace(/\s+/g, '')],
  ['letter case', (line: string) => squeeze(line).toLowerCase()],
  ['look-alike characters', (line: string) => squeeze(foldLookalikes(line))],
  [
    'letter case and look-alike characters',
    (line: string) => squeeze(foldLookalikes(line)).toLowerCase(),
  ],
  ['HTML entities', (line: string) => withPlainEntities(line)],
  ['backslashes', (line: string) => withoutBackslashes(line)],
] as const;
export type Dimension =
  | (typeof DIMENSIONS)[number][0]
  | 'only a part of the line'
  | 'text'
  | 'end of file';

/** How `found` differs from `expected`; both are lines without their ends and are not equal. */
const dimensionOf = (expected: string, actual: string): Dimension =>
  DIMENSIONS.find(([, key]) => key(expected) === key(actual))?.[0] ??
  (isPart(expected, actual) ? 'only a part of the line' : 'text');

/** The dimension with what cannot be seen: which typographic characters and special spaces each side has that the other has not. */
export const differs = (
  expected: string,
  actual: string,
  dimension = dimensionOf(expected, actual),
): string => {
  const own = (side: string, other: string): string[] =>
    [...new Set(side)]
      .filter((c) => c > '\x7f' && foldLookalikes(c) !== c && !other.includes(c))
      .map(characterName);
  const sides = [
    ['the file has', own(actual, expected)],
    ['the answer has', own(expected, actual)],
  ] as const;
  const sideTexts = sides.flatMap(([who, names]) =>
    names.length === 0 ? [] : [`${who} ${names.slice(0, CHARACTERS_NAMED).join(', ')}`],
  );
  return sideTexts.length === 0 ? dimension : `${dimension} (${sideTexts.join('; ')})`;
};

const compareAt = (text: readonly string[], quote: readonly string[], start: number): Nearest => {
  let matching = 0;
  let first: Nearest['firstDifference'] = null;
  for (const [index, expected] of quote.entries()) {
    const actual = text[start + index] ?? null;
    if (actual === expected) matching += 1;
    else
      first ??= {
        index,
        expected,
        found: actual,
        dimension: actual === null ? 'end of file' : dimensionOf(expected, actual),
      };
  }
  const lines = text.slice(start, start + quote.length);
  const fits =
    lines.length <= COPIED_LINES && lines.every((line) => line.length <= COPIED_LINE_CHARS);
  return { line: start + 1, matching, firstDifference: first, lines: fits ? lines : [] };
};

/** Share of the longer of two texts that they have in common at their ends. */
export const likeness = (a: string, b: string): number => {
  const [head, tail] = sameEnds(a, b);
  return (head + tail) / Math.max(a.length, b.length, 1);
};

/** Where no line stands anywhere, not even loosely: the place of the line most like the first telling wanted line. */
const nearestByLikeness = (text: readonly string[], quote: readonly string[]): number | null => {
  const index = quote.findIndex((line) => squeeze(line).length > 3);
  const target = loose(quote[index] ?? '');
  let best = 0.5;
  let place: number | null = null;
  if (index < 0) return null;
  const lines = looseLines.linesOf(text).slice(0, NEAREST_TEXT_LINES / 10);
  for (const [lineIndex, line] of lines.entries()) {
    const score = likeness(target, line);
    if (score > best) [best, place] = [score, lineIndex - index];
  }
  return place;
};

/** Where no line is alike: the place of the first line that holds the first telling wanted line as a part. */
const nearestByPart = (text: readonly string[], quote: readonly string[]): number | null => {
  const index = quote.findIndex((line) => squeeze(line).length >= PART_OF_LINE_CHARS);
  const target = squeeze(quote[index] ?? '');
  if (index < 0) return null;
  const lineIndex = squeezedLines.linesOf(text).findIndex((line) => line.includes(target));
  return lineIndex < 0 ? null : lineIndex - index;
};

/**
 * The place in `text` most like `quote`: every line that is there, loosely (white space, case, look-alikes and escapes aside), votes for
 * a place; the most votes win, then the place nearest to `hint` (1-based line). Cost is bounded whatever the inputs. Null: nothing alike.
 */
export const nearest = (
  text: readonly string[],
  quote: readonly string[],
  hint = 1,
): Nearest | null => {
  const best =
    mostVoted(votesOf(text, quote), hint) ??
    nearestByLikeness(text, quote) ??
    nearestByPart(text, quote);
  return best === null ? null : compareAt(text, quote, Math.max(0, best));
};

/** Places where the quote would begin, each with the weight of its lines that stand there. */
const votesOf = (
  text: readonly string[],
  quote: readonly string[],
): ReadonlyMap<number, number> => {
  const places = new Map<string, number[]>();
  const target = quote.slice(0, NEAREST_WANTED_LINES).map(loose);
  for (const line of target) if (line !== '') places.set(line, []);
  for (const [lineIndex, line] of looseLines.linesOf(text).entries()) {
    const own = places.get(line);
    if (own !== undefined && own.length < NEAREST_PLACES_PER_LINE) own.push(lineIndex);
  }
  const votes = new Map<number, number>();
  for (const [index, line] of target.entries())
    for (const lineIndex of places.get(line) ?? []) {
      // Longer lines tell more than a lone brace.
      const weight = line.length > 3 ? 3 : 1;
      votes.set(lineIndex - index, (votes.get(lineIndex - index) ?? 0) + weight);
    }
  return votes;
};

const mostVoted = (votes: ReadonlyMap<number, number>, hint: number): number | null => {
  let best: number | null = null;
  let most = -1;
  const distance = (start: number): number => Math.abs(start + 1 - hint);
  for (const [start, count] of votes) {
    if (start < 0 || count < most) continue;
    if (count > most || (best !== null && distance(start) < distance(best)))
      [best, most] = [start, count];
  }
  return best;
};

/** Makes each line of a text comparable, once for all quotes of a response that do not stand in it. */
class ComparedLines {
  readonly #lines = new WeakMap<readonly string[], readonly string[]>();
  readonly #key: (line: string) => string;

  constructor(key: (line: string) => string) {
    this.#key = key;
  }

  linesOf(text: readonly string[]): readonly string[] {
    const lines = this.#lines.get(text) ?? text.slice(0, NEAREST_TEXT_LINES).map(this.#key);
    this.#lines.set(text, lines);
    return lines;
  }
}
const looseLines = new ComparedLines(loose);
const squeezedLines = new ComparedLines(squeeze);

const shown = (line: string): string => quoted(line, QUOTED_LINE_CHARS);

/** To be copied: without escapes where nothing in it is hidden. */
const asItIs = (line: string): string =>
  /^[ -_a-~]*$/.test(line) && line.length <= QUOTED_LINE_CHARS ? `\`${line}\`` : shown(line);

/** The nearest place in words: line, first difference with expected and found, and which dimension differs. */
export const describeNearest = (near: Nearest | null): string => {
  if (near === null) return 'Nothing in the file is similar.';
  const { firstDifference: first } = near;
  if (first === null) return `It is at line ${near.line}.`;
  const lineIndex = near.line + first.index;
  if (first.dimension === 'only a part of the line')
    return `${asItIs(first.expected)} is only part of line ${lineIndex}; whole lines are required. The whole line ${lineIndex} is ${asItIs(first.found ?? '')}.`;
  const actual = first.found === null ? 'the file ends' : `found ${shown(first.found)}`;
  const differing =
    first.found === null ? first.dimension : differs(first.expected, first.found, first.dimension);
  return `The nearest place is line ${near.line}; line ${lineIndex} differs in ${differing}: expected ${shown(first.expected)}, ${actual}.`;
};

/** The lines of the nearest place, with their numbers above them. */
export const copyOf = (near: Nearest | null): Pick<Reason, 'copy'> => {
  if (near === null || near.lines.length === 0) return {};
  const last = near.line + near.lines.length - 1;
  const which = last === near.line ? `Line ${last}` : `Lines ${near.line} to ${last}`;
  return { copy: `${which} of the file, to copy:\n${near.lines.join('\n')}` };
};
