/**
 * What a structured edit quotes of the file, and where all of that occurs.
 *
 * What is quoted proves a place where it stands there, covers both ends of the lines that go away, and stands nowhere else. Where it
 * proves less the number decides, which is right only in the file that the answer was made for (decision 0008).
 */
import type { QuotedLine, RangeEdit } from '../edit.js';
import { checkAt } from '../listing.js';
import { type LineIndex, LinesOnce } from '../text/lines.js';
import { type Level, levelBetween, LEVELS } from './likeness.js';
import { LineChain } from './line-chain.js';

export const DRIFT_LINES = 100; // bound: An operation whose quotes stand elsewhere moves this far at most.
const CHECK_CANDIDATES = 1_000; // bound: What stands in more places than this moves no operation: telling them apart would cost too much.

/** What an operation quotes, with places relative to its first line. */
export interface Claim {
  /** 0-based first line as the answer numbers it. */
  readonly from: number;
  readonly length: number;
  readonly checks: readonly { readonly offset: number; readonly quoted: QuotedLine }[];
  /** A number stands alone: neither a check nor a context goes with it. */
  readonly bareEnds: boolean;
  /** Both ends of the lines that go away are covered by what is quoted. An end of the file is what it is. */
  readonly isHeld: boolean;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** `count`: lines of the file. */
export const claimOf = ({ hint }: RangeEdit, count: number): Claim => {
  const { type, lines, contextBefore: before, contextAfter: after } = hint;
  if (lines === null) {
    const from = type === 'append' ? count : 0;
    return { from, length: 0, checks: [], bareEnds: false, isHeld: true, before, after };
  }
  const hasContext = before.length + after.length > 0;
  const [start, end] = lines;
  const from = start.line - 1;
  if (type === 'insert') {
    // The line after the last one is named by no listing; its number alone says what is meant: the end.
    const checks = start.check === null ? [] : [{ offset: 0, quoted: start }];
    const isSure = checks.length > 0 || hasContext || from === count;
    return { from, length: 0, checks, bareEnds: !isSure, isHeld: isSure, before, after };
  }
  const length = end.line - from;
  const ends = [
    { offset: 0, quoted: start },
    { offset: length - 1, quoted: end },
  ];
  const checks = ends.filter(({ quoted }) => quoted.check !== null);
  const covered = hasContext || checks.length === 2 || (checks.length === 1 && length === 1);
  const startHeld = before.length > 0 || checks.some(({ offset }) => offset === 0);
  const endHeld = after.length > 0 || checks.some(({ offset }) => offset === length - 1);
  return { from, length, checks, bareEnds: !covered, isHeld: startHeld && endHeld, before, after };
};

/** How alike all that is quoted is to what stands at `from`: the loosest level that a line of a context needs; null: it does not stand there. */
export const matchesAt = (claim: Claim, lines: LineIndex, from: number): Level | null => {
  for (const { offset, quoted } of claim.checks)
    if (checkAt(lines, from + offset + 1) !== quoted.check) return null;
  const before = matchesContext(claim.before, lines, from - claim.before.length);
  const after = matchesContext(claim.after, lines, from + claim.length);
  return before === null || after === null ? null : looser(before, after);
};

const looser = (a: Level, b: Level): Level => (LEVELS.indexOf(a) < LEVELS.indexOf(b) ? b : a);

export const matchesContext = (
  context: readonly string[],
  lines: LineIndex,
  from: number,
): Level | null => {
  let loosest: Level = 'exact';
  for (const [i, expected] of context.entries()) {
    const actual = lines.line(from + i);
    if (actual === expected) continue;
    const level = actual === undefined ? undefined : levelBetween(actual, expected);
    if (level === undefined) return null;
    loosest = looser(loosest, level);
  }
  return loosest;
};

const isTelling = (context: readonly string[]): boolean =>
  context.some((line) => line.trim() !== '');

/** Are the lines on both sides of a place quoted? An end of the file is what it is; a check quotes the neighbours of its line too. */
const isHeldAt = ({ checks, length, before, after }: Claim, from: number, count: number): boolean =>
  (from === 0 || isTelling(before) || checks.some(({ offset }) => offset === 0)) &&
  (from + length === count ||
    isTelling(after) ||
    checks.some(({ offset }) => offset === Math.max(0, length - 1)));

/** Adjacent lines that a claim is about. */
interface Stretch {
  /** It quotes that the file begins or ends here, which is so in one place only. */
  readonly atEnd: boolean;
  readonly lines: readonly string[];
}

/** Where else what claims quote stands; one pass over the file serves all operations. */
export class ClaimFinder {
  readonly #lines: LineIndex;
  readonly #claims: Iterable<Claim>;
  #lineChain: LineChain | null = null;
  readonly #once: LinesOnce;
  #placesByCheck: ReadonlyMap<string, readonly number[]> | null = null;

  /** `claims`: every claim that will be asked about, gone over more than once. */
  constructor(lines: LineIndex, claims: Iterable<Claim>) {
    this.#lines = lines;
    this.#claims = claims;
    this.#once = new LinesOnce(lines, () => this.#quotes());
  }

  /** Most edits stand at their numbers and need no search. */
  get #chain(): LineChain {
    return (this.#lineChain ??= new LineChain(this.#lines, () => this.#texts()));
  }

  *#quotes(): Generator<readonly string[]> {
    for (const claim of this.#claims) for (const { lines } of this.#stretches(claim)) yield lines;
  }
  *#texts(): Generator<string> {
    for (const lines of this.#quotes()) yield* lines;
    for (const { before, after } of this.#claims) yield* [...before, ...after];
  }

  /**
   * `claim` stands at its number; could what it quotes mean another place? Where lines between its parts are not quoted, others may have
   * come in or gone there, so each part must stand in one place by itself.
   */
  isRepeated(claim: Claim): boolean {
    return this.#stretches(claim).some(
      ({ atEnd, lines }) => !atEnd && !this.#once.isHeldBy(lines) && !this.#isOnce(lines),
    );
  }

  /** Does each part of what is quoted stand in one place by itself? How far apart two parts are only numbers say. */
  isEachOnce({ checks, before, after }: Claim): boolean {
    return (
      checks.every(({ quoted }) => this.#byCheck.get(quoted.check ?? '')?.length === 1) &&
      [before, after].every((context) => context.length === 0 || this.#isOnce(context))
    );
  }

  #isOnce(lines: readonly string[]): boolean {
    const places = this.#chain.find(lines, 'exact');
    return places.first.length === 1 && !places.more;
  }

  /**
   * Up to two other places where everything stands exactly; none where too little is quoted to move an edit by: less than two lines, or
   * not on both sides. One check is less: it has 46,656 values, so that it stands at another line proves little.
   */
  otherPlaces(claim: Claim): number[] {
    const { length: count } = this.#lines;
    const checked = new Set(claim.checks.map(({ offset }) => offset)).size;
    if (checked + claim.before.length + claim.after.length < 2) return [];
    const places: number[] = [];
    for (const from of this.#candidates(claim)) {
      if (places.length === 2) break;
      const isOther = from !== claim.from && from >= 0 && from + claim.length <= count;
      if (
        isOther &&
        isHeldAt(claim, from, count) &&
        matchesAt(claim, this.#lines, from) === 'exact'
      )
        places.push(from);
    }
    return places;
  }

  /** Where the claim would begin so that one part of what it quotes stands; none where that is in too many places. */
  #candidates(claim: Claim): readonly number[] {
    const [check] = claim.checks;
    if (check !== undefined) {
      const lines = this.#byCheck.get(check.quoted.check ?? '') ?? [];
      return lines.length > CHECK_CANDIDATES
        ? []
        : lines.map((lineIndex) => lineIndex - check.offset);
    }
    const { before, after, length } = claim;
    const [context, offset] =
      before.length >= after.length ? [before, -before.length] : [after, length];
    const places = this.#chain.find(context, 'exact');
    return places.more ? [] : places.first.map((lineIndex) => lineIndex - offset);
  }

  get #byCheck(): ReadonlyMap<string, readonly number[]> {
    if (this.#placesByCheck !== null) return this.#placesByCheck;
    const index = new Map<string, number[]>();
    for (const { checks } of this.#claims)
      for (const { quoted } of checks) index.set(quoted.check ?? '', []);
    for (let lineIndex = 0; lineIndex < this.#lines.length; lineIndex += 1)
      index.get(checkAt(this.#lines, lineIndex + 1) ?? '')?.push(lineIndex);
    return (this.#placesByCheck = index);
  }

  /**
   * What a claim quotes as the file has it there, in stretches of adjacent lines. The two ends of a range are stretches of their own even
   * where they touch: how far apart they are is said by numbers only.
   */
  #stretches({ from, length, checks, before, after }: Claim): readonly Stretch[] {
    const start: number[] = [];
    const end: number[] = [];
    for (let i = 1; i <= before.length; i += 1) start.push(from - i);
    for (const { offset } of checks)
      for (let near = -1; near <= 1; near += 1)
        (offset === 0 ? start : end).push(from + offset + near);
    for (let i = 0; i < after.length; i += 1) (length < 2 ? start : end).push(from + length + i);
    return [...this.#adjacent(start), ...this.#adjacent(end)];
  }

  #adjacent(covered: readonly number[]): readonly Stretch[] {
    const stretches: { next: number; atEnd: boolean; lines: string[] }[] = [];
    for (const lineIndex of [...new Set(covered)].sort((a, b) => a - b)) {
      let last = stretches.at(-1);
      if (last?.next !== lineIndex)
        stretches.push((last = { next: lineIndex, atEnd: false, lines: [] }));
      last.next = lineIndex + 1;
      const line = this.#lines.line(lineIndex);
      if (line === undefined) last.atEnd = true;
      else last.lines.push(line);
    }
    return stretches;
  }
}
