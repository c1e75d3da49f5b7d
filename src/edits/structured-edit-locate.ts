/**
 * Where an operation means: its number is right when every check and context that it quotes stands there. Otherwise the one other
 * place where all of that stands (rung `line_drift`): nearby for checks, which three characters alone cannot prove further off, in the
 * whole file for contexts, which are text. A bare number without either is the rung `unchecked_lines`.
 */
import type { Rung } from '../shared/formats.js';
import { checkAt } from './listing.js';
import { rungOn } from './locate-levels.js';
import { describeNearest, dimensionOf, nearest } from './nearest.js';
import type { Operation, QuotedLine } from './structured-edit-operations.js';
import type { ApplyOptions, Reason, UsedRung } from './types.js';

/** An operation in its place: base lines [from, to) (0-based) become `content`; from === to for inserts. */
export interface Placed {
  readonly operation: Operation;
  readonly from: number;
  readonly to: number;
}
export type Located =
  | { readonly ok: true; readonly placed: Placed; readonly rungs: readonly UsedRung[] }
  | { readonly ok: false; readonly reason: Reason };

/** Checks are looked for this many lines up and down. */
const CHECK_DRIFT_LINES = 20;

/** What an operation quotes, with places relative to its first line. */
interface Claim {
  readonly from: number;
  readonly length: number;
  readonly checks: readonly { readonly offset: number; readonly quoted: QuotedLine }[];
  readonly bareEnds: boolean;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export const locate = (
  operation: Operation,
  lines: readonly string[],
  path: string,
  options: ApplyOptions,
): Located => {
  const claim = claimOf(operation, lines.length);
  const at = { path, index: operation.index };
  const last = claim.from + claim.length;
  const limit = operation.type === 'insert' ? lines.length + 1 : lines.length;
  if (last > lines.length)
    return {
      ok: false,
      reason: {
        code: 'out_of_range',
        ...at,
        message: `The ${operation.type} names ${claim.length > 1 ? `lines ${claim.from + 1} to ${last}` : `line ${Math.max(last, claim.from + 1)}`}; ${path} has ${lines.length} lines, so the last that may be named is ${limit}.`,
      },
    };
  const rung = (name: Rung, from: number): UsedRung => ({ rung: name, ...at, line: from + 1 });
  const allowed = (name: Rung): boolean => rungOn(name, options.rungs);
  const place = (from: number, rungs: readonly UsedRung[]): Located => ({
    ok: true,
    placed: { operation, from, to: from + claim.length },
    rungs,
  });

  const loose = holdsAt(claim, lines, claim.from);
  if (loose !== null) {
    const rungs: UsedRung[] = loose ? [rung('trailing_space', claim.from)] : [];
    if (loose && !allowed('trailing_space')) return { ok: false, reason: mismatch(claim, operation, lines, path) };
    if (!claim.bareEnds) return place(claim.from, rungs);
    if (allowed('unchecked_lines')) return place(claim.from, [...rungs, rung('unchecked_lines', claim.from)]);
    const message = `The ${operation.type} names line ${claim.from + 1} by its bare number. Quote the check of the listing (for example "${claim.from + 1}:${checkAt(lines, claim.from + 1) ?? 'k3f'}"), at both ends of a range.`;
    return { ok: false, reason: { code: 'unchecked_lines', ...at, message } };
  }
  // Both ends of a file are where they are: what is said of them cannot mean another place.
  const movable = operation.type !== 'append' && operation.type !== 'prepend' && allowed('line_drift');
  const drifted = movable ? otherPlaces(claim, lines) : [];
  const [only] = drifted;
  if (only !== undefined && drifted.length === 1) return place(only, [rung('line_drift', only)]);
  return { ok: false, reason: mismatch(claim, operation, lines, path, drifted) };
};

const claimOf = (operation: Operation, count: number): Claim => {
  const before = operation.before ?? [];
  const after = operation.after ?? [];
  const hasContext = before.length + after.length > 0;
  if (operation.type === 'append' || operation.type === 'prepend')
    return { from: operation.type === 'append' ? count : 0, length: 0, checks: [], bareEnds: false, before, after };
  if (operation.type === 'insert') {
    const { at } = operation;
    // The line after the last one is named by no listing; its number alone says what is meant: the end.
    const atEnd = at.line === count + 1;
    const checks = at.check === null ? [] : [{ offset: 0, quoted: at }];
    return {
      from: at.line - 1,
      length: 0,
      checks,
      bareEnds: checks.length === 0 && !hasContext && !atEnd,
      before,
      after,
    };
  }
  const { start, end } = operation;
  const length = end.line - start.line + 1;
  const ends = [
    { offset: 0, quoted: start },
    { offset: length - 1, quoted: end },
  ];
  const checks = ends.filter(({ quoted }) => quoted.check !== null);
  const covered = hasContext || checks.length === 2 || (checks.length === 1 && length === 1);
  return { from: start.line - 1, length, checks, bareEnds: !covered, before, after };
};

/** Does all that is quoted stand at `from`? true: with other white space at line ends; false: exactly; null: no. */
const holdsAt = (claim: Claim, lines: readonly string[], from: number): boolean | null => {
  for (const { offset, quoted } of claim.checks) if (checkAt(lines, from + offset + 1) !== quoted.check) return null;
  const before = holdsContext(claim.before, lines, from - claim.before.length);
  const after = holdsContext(claim.after, lines, from + claim.length);
  return before === null || after === null ? null : before || after;
};

const holdsContext = (context: readonly string[], lines: readonly string[], from: number): boolean | null => {
  let loose = false;
  for (const [i, wanted] of context.entries()) {
    const found = lines[from + i];
    if (found === wanted) continue;
    if (found?.trimEnd() !== wanted.trimEnd()) return null;
    loose = true;
  }
  return loose;
};

/** Up to two other places where everything stands exactly; none where too little is quoted to move an edit by. */
const otherPlaces = (claim: Claim, lines: readonly string[]): number[] => {
  const contexts = [claim.before, claim.after].filter((c) => c.some((line) => line.trim() !== '')).length;
  const byChecks = claim.checks.length > 0 && !claim.bareEnds && (claim.length <= 1 || claim.checks.length === 2);
  // A range moved by contexts alone must be held at both ends.
  const byContext = contexts === 2 || (contexts === 1 && claim.length === 0);
  if (!byChecks && !byContext) return [];
  const reach = byContext ? lines.length : CHECK_DRIFT_LINES;
  const places: number[] = [];
  const first = Math.max(0, claim.from - reach);
  const last = Math.min(lines.length - claim.length, claim.from + reach);
  for (let from = first; from <= last && places.length < 2; from += 1)
    if (from !== claim.from && holdsAt(claim, lines, from) === false) places.push(from);
  return places;
};

const mismatch = (
  claim: Claim,
  operation: Operation,
  lines: readonly string[],
  path: string,
  drifted: readonly number[] = [],
): Reason => {
  const at = { path, index: operation.index };
  const repeated =
    drifted.length > 1
      ? ` What it quotes stands in more than one other place, for example at lines ${drifted.map((p) => p + 1).join(' and ')}.`
      : '';
  const wrong = claim.checks.find(({ offset, quoted }) => checkAt(lines, claim.from + offset + 1) !== quoted.check);
  if (wrong !== undefined) {
    const { line, check } = wrong.quoted;
    const real = lines[line - 1];
    const found =
      real === undefined
        ? 'there is no such line'
        : `that line is ${line}:${checkAt(lines, line) ?? ''}| ${clip(real)}`;
    return {
      code: 'check_mismatch',
      ...at,
      message: `The ${operation.type} quotes ${line}:${check ?? ''}, but ${found}.${repeated} Quote number and check of the line that you mean from the listing.`,
    };
  }
  const beforeFails = holdsContext(claim.before, lines, claim.from - claim.before.length) !== false;
  const [key, wanted, from] = beforeFails
    ? (['context_before', claim.before, claim.from - claim.before.length] as const)
    : (['context_after', claim.after, claim.from + claim.length] as const);
  const i = wanted.findIndex((line, n) => lines[from + n] !== line);
  const expected = wanted[i] ?? '';
  const found = lines[from + i];
  const difference =
    found === undefined
      ? `expected ${clip(expected)} ${from + i < 0 ? 'before the first line' : 'after the last line'} of the file`
      : `line ${from + i + 1} differs in ${dimensionOf(expected, found)}: expected ${clip(expected)}, found ${clip(found)}`;
  return {
    code: 'context_mismatch',
    ...at,
    message: `\`${key}\` of the ${operation.type} at line ${claim.from + 1} does not stand there: ${difference}. ${describeNearest(nearest(lines, wanted, claim.from + 1))}${repeated} Quote the adjacent lines exactly, or number and check from the listing.`,
  };
};

const clip = (line: string): string => JSON.stringify(line.length > 160 ? `${line.slice(0, 160)}…` : line);
