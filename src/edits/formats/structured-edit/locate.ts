/**
 * Where an operation means: its number is right when every check and context that it quotes stands there. In a known base, and where its
 * checks stand, nothing else is. Otherwise it is the one other place where all of that stands, at least two lines on both sides (at an
 * end of the file on one), at most `DRIFT_LINES` away (tolerance `line_drift`). A bare number without either is the tolerance `unchecked_lines`; so is a number that
 * decides between places with the same text, or an end of a range that nothing quoted covers, in a file that may have changed since.
 */
import { count, quoted } from '../../../shared/text.js';
import type { Tolerance } from '../../../shared/formats.js';
import { isKnownBase, LEVELS, levelsOn, toleranceOn } from '../../locate/likeness.js';
import type { LineIndex } from '../../text/lines.js';
import { checkAt, linesOf } from '../../listing.js';
import { describeNearest, differs, nearest } from '../../locate/nearest.js';
import {
  type Claim,
  claimOf,
  matchesAt,
  matchesContext,
  DRIFT_LINES,
  ClaimFinder,
} from './claims.js';
import type { Operation } from './operations.js';
import type { ApplyOptions, Fault } from '../../types.js';

/** An operation in its place: base lines [from, to) (0-based) become `content`; from === to for inserts. */
export interface Placed {
  readonly operation: Operation;
  readonly from: number;
  readonly to: number;
  readonly tolerances: readonly Tolerance[];
}
export type Located = Placed | Fault;

/** Finds operations in one file. `locate` is called with some of `operations`. */
export class OperationLocator {
  readonly #lines: LineIndex;
  readonly #path: string;
  readonly #options: ApplyOptions;
  readonly #known: boolean;
  readonly #finder: ClaimFinder;

  constructor(
    lines: LineIndex,
    operations: readonly Operation[],
    path: string,
    options: ApplyOptions,
  ) {
    this.#lines = lines;
    this.#path = path;
    this.#options = options;
    this.#known = isKnownBase(path, options);
    // Made anew each time: ten thousand of them need more memory than their operations.
    this.#finder = new ClaimFinder(lines, {
      *[Symbol.iterator]() {
        for (const operation of operations) yield claimOf(operation, lines.length);
      },
    });
  }

  locate(operation: Operation): Located {
    const [lines, path] = [this.#lines, this.#path];
    const claim = claimOf(operation, lines.length);
    const last = claim.from + claim.length;
    const limit = operation.type === 'insert' ? lines.length + 1 : lines.length;
    if (last > lines.length) {
      const message = `The ${operation.type} names ${linesOf(claim.from, last)}; ${path} has ${count(lines.length, 'line')}, so the last line you can name is ${limit}.`;
      return { code: 'out_of_range', message };
    }
    const allowed = (name: Tolerance): boolean => toleranceOn(name, this.#options.tolerances);
    const place = (from: number, tolerances: readonly Tolerance[]): Located => {
      return { operation, from, to: from + claim.length, tolerances };
    };

    const level = matchesAt(claim, lines, claim.from);
    if (level !== null) {
      // A looser tolerance that is on takes in what a stricter one that is off would.
      const used = levelsOn(this.#options.tolerances).find(
        (on) => LEVELS.indexOf(on) >= LEVELS.indexOf(level),
      );
      if (used === undefined) return mismatch(claim, operation, lines);
      const tolerances = used === 'exact' ? [] : [used];
      const doubt = this.#doubt(claim);
      if (doubt === null) return place(claim.from, tolerances);
      if (allowed('unchecked_lines')) return place(claim.from, [...tolerances, 'unchecked_lines']);
      return {
        code: 'unchecked_lines',
        message: `The ${operation.type} names line ${claim.from + 1} ${doubt}`,
      };
    }
    // Both ends of a file are where they are: what is said of them cannot mean another place.
    const drifted =
      operation.type === 'append' || operation.type === 'prepend'
        ? []
        : this.#finder.otherPlaces(claim);
    const [only] = drifted;
    const movable = !this.#known && allowed('line_drift') && !areChecked(claim, lines);
    if (
      movable &&
      only !== undefined &&
      drifted.length === 1 &&
      Math.abs(only - claim.from) <= DRIFT_LINES
    ) {
      // Parts that stand elsewhere too prove less.
      if (this.#finder.isEachOnce(claim)) return place(only, ['line_drift']);
      if (allowed('unchecked_lines')) return place(only, ['line_drift', 'unchecked_lines']);
    }
    return mismatch(claim, operation, lines, drifted);
  }

  /** Why the number alone tells where, as the end of a sentence; null: what is quoted tells it. */
  #doubt(claim: Claim): string | null {
    if (claim.bareEnds) {
      const example = checkAt(this.#lines, claim.from + 1) ?? 'kef';
      return `by number only. Quote the check from the listing (for example "${claim.from + 1}${example}"), at both ends of a range.`;
    }
    if (this.#known) return null;
    if (!claim.held)
      return 'and quotes only one end of its range, so the other is only a number. Quote the checks from the listing at both ends.';
    if (!this.#finder.isRepeated(claim)) return null;
    return 'and quotes text that also occurs elsewhere, so only the number identifies the line, and the file may have changed since it was shown. Quote more adjacent lines in `context_before` and `context_after`, until they occur in one place.';
  }
}

/** Do all checks stand at their numbers, and are there some? */
const areChecked = ({ checks, from }: Claim, lines: LineIndex): boolean =>
  checks.length > 0 &&
  checks.every(({ offset, quoted }) => checkAt(lines, from + offset + 1) === quoted.check);

const mismatch = (
  claim: Claim,
  { type }: Operation,
  lines: LineIndex,
  drifted: readonly number[] = [],
): Fault => {
  const places = drifted.map((from) => from + 1);
  const repeated =
    places.length > 1
      ? ` What it quotes occurs in more than one other place, for example at lines ${places.join(' and ')}.`
      : places.length === 1
        ? ` All that it quotes occurs together at line ${places.join('')}.`
        : '';
  const wrong = claim.checks.find(
    ({ offset, quoted }) => checkAt(lines, claim.from + offset + 1) !== quoted.check,
  );
  if (wrong !== undefined) {
    const { line, check } = wrong.quoted;
    const real = lines.line(line - 1);
    const found =
      real === undefined
        ? 'there is no such line'
        : `that line is ${line}${checkAt(lines, line) ?? ''}| ${quoted(real, 160)}`;
    const message = `The ${type} quotes ${line}${check ?? ''}, but ${found}.${repeated} Quote number and check of the line that you mean from the listing.`;
    return { code: 'check_mismatch', message };
  }
  const beforeFails =
    matchesContext(claim.before, lines, claim.from - claim.before.length) !== 'exact';
  const [key, wanted, from] = beforeFails
    ? (['context_before', claim.before, claim.from - claim.before.length] as const)
    : (['context_after', claim.after, claim.from + claim.length] as const);
  const i = wanted.findIndex((line, n) => lines.line(from + n) !== line);
  const expected = wanted[i] ?? '';
  const found = lines.line(from + i);
  const difference =
    found === undefined
      ? `expected ${quoted(expected, 160)} ${from + i < 0 ? 'before the first line' : 'after the last line'} of the file`
      : `line ${from + i + 1} differs in ${differs(expected, found)}: expected ${quoted(expected, 160)}, found ${quoted(found, 160)}`;
  const message = `\`${key}\` of the ${type} at line ${claim.from + 1} is not there: ${difference}. ${describeNearest(nearest(lines.all, wanted, claim.from + 1))}${repeated} Quote the adjacent lines exactly, or number and check from the listing.`;
  return { code: 'context_mismatch', message };
};
