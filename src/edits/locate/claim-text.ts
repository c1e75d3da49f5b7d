/**
 * Finds the lines that structured edits name: the passes of the locator (locate.ts) for numbers with checks and contexts, and for symbols.
 *
 * A number is right if every check and context that the edit quotes occurs there. In a known base, and if its checks are there, no other
 * place is right. Otherwise the place is the only other one where all of that occurs, at least two lines on both sides (at an end of the file on one), at most
 * `DRIFT_LINES` away (tolerance `line_drift`). A bare number without either is the tolerance `unchecked_lines`; so is a number that decides
 * between places with the same text, or an end of a range that nothing quoted covers, in a file that may have changed since.
 */
import { count, quoted } from '../../shared/text.js';
import type { ToleranceSettings } from '../../shared/formats.js';
import type { RangeEdit, SymbolPoint } from '../edit.js';
import { checkAt, linesOf } from '../listing.js';
import { mayUse, type PassName, type RangePlace, type SearchedText } from '../locate.js';
import type { LineIndex } from '../text/lines.js';
import type { Syntax } from '../syntax-port.js';
import type { ApplyOptions, Fault } from '../types.js';
import {
  type Claim,
  ClaimFinder,
  claimOf,
  DRIFT_LINES,
  matchesAt,
  matchesContext,
} from './claims.js';
import { isKnownBase, LEVELS } from './likeness.js';
import { describeNearest, differs, nearest } from './nearest.js';
import { symbolPlacer } from './symbol.js';

type Found = RangePlace | Fault | null;

/** One list for all edits whose quotes are exact. */
const NO_TOLERANCES: RangePlace['tolerances'] = [];

export class ClaimText implements SearchedText<RangeEdit, RangePlace> {
  readonly settings: ToleranceSettings | undefined;
  readonly #lines: LineIndex;
  readonly #path: string;
  readonly #isKnown: boolean;
  readonly #finder: ClaimFinder;
  readonly #syntax: Syntax | undefined;
  #placer: ReturnType<typeof symbolPlacer> | null = null;

  /** `edits`: all edits of the file. */
  constructor(lines: LineIndex, edits: readonly RangeEdit[], path: string, options: ApplyOptions) {
    this.settings = options.tolerances;
    this.#lines = lines;
    this.#path = path;
    this.#isKnown = isKnownBase(path, options);
    // Claims are computed again each time: ten thousand of them need more memory than their edits.
    this.#finder = new ClaimFinder(lines, {
      *[Symbol.iterator]() {
        for (const edit of edits) if (edit.hint.symbol === null) yield claimOf(edit, lines.length);
      },
    });
    this.#syntax = options.syntax;
  }

  find(pass: PassName, edit: RangeEdit): Found {
    const { symbol } = edit.hint;
    if (symbol !== null) return pass === 'symbol' ? this.#placeSymbol(edit, symbol) : null;
    if (pass === 'stated') return this.#stated(edit);
    return pass === 'line_drift' ? this.#moved(edit) : null;
  }

  #placeSymbol(edit: RangeEdit, symbol: SymbolPoint): RangePlace | Fault {
    this.#placer ??= symbolPlacer(this.#lines, this.#path, this.#syntax);
    return this.#placer(edit, symbol);
  }

  /** Refuses an edit whose quotes do not stand at its number. */
  absent(edit: RangeEdit): Fault {
    const claim = claimOf(edit, this.#lines.length);
    return mismatch(claim, edit, this.#lines, this.#otherPlaces(edit, claim));
  }

  #stated(edit: RangeEdit): Found {
    const [lines, path] = [this.#lines, this.#path];
    const { type } = edit.hint;
    const claim = claimOf(edit, lines.length);
    const last = claim.from + claim.length;
    if (last > lines.length) {
      const limit = type === 'insert' ? lines.length + 1 : lines.length;
      const message = `The ${type} names ${linesOf(claim.from, last)}; ${path} has ${count(lines.length, 'line')}, so the last line you can name is ${limit}.`;
      return { code: 'out_of_range', message };
    }
    const level = matchesAt(claim, lines, claim.from);
    if (level === null) return null;
    // A looser tolerance that is on takes in what a stricter one that is off would.
    const used = LEVELS.find(
      (on) =>
        (on === 'exact' || mayUse(edit, on, this.settings)) &&
        LEVELS.indexOf(on) >= LEVELS.indexOf(level),
    );
    if (used === undefined) return mismatch(claim, edit, lines, []);
    const tolerances = used === 'exact' ? NO_TOLERANCES : [used];
    const place = { from: claim.from, to: last, tolerances };
    const doubt = this.#doubt(claim);
    if (doubt === null) return place;
    if (mayUse(edit, 'unchecked_lines', this.settings))
      return { ...place, tolerances: [...place.tolerances, 'unchecked_lines'] };
    return {
      code: 'unchecked_lines',
      message: `The ${type} names line ${claim.from + 1} ${doubt}`,
    };
  }

  #moved(edit: RangeEdit): Found {
    const claim = claimOf(edit, this.#lines.length);
    if (this.#isKnown || areChecked(claim, this.#lines) || fitsInPart(claim, this.#lines))
      return null;
    const [only, ...others] = this.#otherPlaces(edit, claim);
    if (only === undefined || others.length > 0 || Math.abs(only - claim.from) > DRIFT_LINES)
      return null;
    const place = { from: only, to: only + claim.length };
    // Parts that stand elsewhere too prove less.
    if (this.#finder.isEachOnce(claim)) return { ...place, tolerances: ['line_drift'] };
    return mayUse(edit, 'unchecked_lines', this.settings)
      ? { ...place, tolerances: ['line_drift', 'unchecked_lines'] }
      : null;
  }

  /** Both ends of a file are where they are: what is said of them cannot mean another place. */
  #otherPlaces({ hint: { type } }: RangeEdit, claim: Claim): readonly number[] {
    return type === 'append' || type === 'prepend' ? [] : this.#finder.otherPlaces(claim);
  }

  /** Returns why the number alone tells where, as the end of a sentence; null: what is quoted tells it. */
  #doubt(claim: Claim): string | null {
    if (claim.bareEnds) {
      const example = checkAt(this.#lines, claim.from + 1) ?? 'kef';
      return `by number only. Quote the check from the listing (for example "${claim.from + 1}${example}"), at both ends of a range.`;
    }
    if (this.#isKnown) return null;
    if (!claim.isHeld)
      return 'and quotes only one end of its range, so the other is only a number. Quote the checks from the listing at both ends.';
    if (!this.#finder.isRepeated(claim)) return null;
    return 'and quotes text that also occurs elsewhere, so only the number identifies the line, and the file may have changed since it was shown. Quote more adjacent lines in `context_before` and `context_after`, until they occur in one place.';
  }
}

/** Do all checks stand at their numbers, and are there some? */
const areChecked = ({ checks, from }: Claim, lines: LineIndex): boolean =>
  checks.length > 0 &&
  checks.every(({ offset, quoted }) => checkAt(lines, from + offset + 1) === quoted.check);

/** Does one context stand at the number, and the other does not? Then they tell of two places. */
const fitsInPart = ({ from, length, before, after }: Claim, lines: LineIndex): boolean => {
  if (before.length === 0 || after.length === 0) return false;
  const fits = [
    matchesContext(before, lines, from - before.length),
    matchesContext(after, lines, from + length),
  ];
  return fits.some((level) => level !== null) && fits.includes(null);
};

/** A sentence about the other places where all that is quoted occurs, with a blank before it; '' if there are none. */
const elsewhere = (drifted: readonly number[]): string => {
  const places = drifted.map((from) => from + 1);
  if (places.length > 1)
    return ` What it quotes occurs in more than one other place, for example at lines ${places.join(' and ')}.`;
  return places.length === 1
    ? ` All that it quotes occurs together at line ${places.join('')}.`
    : '';
};

const mismatch = (
  claim: Claim,
  { hint: { type } }: RangeEdit,
  lines: LineIndex,
  drifted: readonly number[],
): Fault => {
  const repeated = elsewhere(drifted);
  const wrong = claim.checks.find(
    ({ offset, quoted }) => checkAt(lines, claim.from + offset + 1) !== quoted.check,
  );
  if (wrong !== undefined) {
    const { line, check } = wrong.quoted;
    const real = lines.line(line - 1);
    const actual =
      real === undefined
        ? 'there is no such line'
        : `that line is ${line}${checkAt(lines, line) ?? ''}| ${quoted(real, 160)}`;
    const message = `The ${type} quotes ${line}${check ?? ''}, but ${actual}.${repeated} Quote number and check of the line that you mean from the listing.`;
    return { code: 'check_mismatch', message };
  }
  const beforeFails =
    matchesContext(claim.before, lines, claim.from - claim.before.length) !== 'exact';
  const [key, context, from] = beforeFails
    ? (['context_before', claim.before, claim.from - claim.before.length] as const)
    : (['context_after', claim.after, claim.from + claim.length] as const);
  const i = context.findIndex((line, n) => lines.line(from + n) !== line);
  const expected = context[i] ?? '';
  const actual = lines.line(from + i);
  const difference =
    actual === undefined
      ? `expected ${quoted(expected, 160)} ${from + i < 0 ? 'before the first line' : 'after the last line'} of the file`
      : `line ${from + i + 1} differs in ${differs(expected, actual)}: expected ${quoted(expected, 160)}, found ${quoted(actual, 160)}`;
  const message = `\`${key}\` of the ${type} at line ${claim.from + 1} is not there: ${difference}. ${describeNearest(nearest(lines.all, context, claim.from + 1))}${repeated} Quote the adjacent lines exactly, or number and check from the listing.`;
  return { code: 'context_mismatch', message };
};
