/** What guards look at: the base's lines and what became of them. Cost goes with the changes unless a guard asks for all lines. */
import {
  type Change,
  changesFrom,
  expand,
  grownBy,
  placed,
  type PlacedChange,
} from '../text/changes.js';
import { haveNothingInCommon, lineOrigins } from '../text/line-diff.js';
import { type LineIndex, NO_LINES } from '../text/lines.js';
import { firstBehind } from '../../shared/search.js';

export interface GuardView {
  readonly path: string;
  /** Without lines for a new file. */
  readonly base: LineIndex;
  readonly changes: readonly PlacedChange[];
  readonly result: ResultLines;
}

/** The result's lines, from the base and the changes. */
class ResultLines {
  readonly length: number;
  readonly #base: LineIndex;
  readonly #changes: readonly PlacedChange[];
  #all: readonly string[] | null = null;

  constructor(base: LineIndex, changes: readonly PlacedChange[]) {
    this.#base = base;
    this.#changes = changes;
    this.length = base.length + grownBy(changes);
  }

  get leastChars(): number {
    return this.length;
  }
  get all(): readonly string[] {
    return (this.#all ??= expand(this.#base, this.#changes));
  }
  line(at: number): string {
    const change = this.#before(at);
    const within = change === null ? undefined : change.lines[at - change.at];
    return within ?? this.#base.line(this.#kept(at, change)) ?? '';
  }
  /** The 0-based base line that line `at` keeps, or -1 for a new one. */
  origin(at: number): number {
    const change = this.#before(at);
    return change !== null && at - change.at < change.lines.length ? -1 : this.#kept(at, change);
  }
  #kept(at: number, change: PlacedChange | null): number {
    return change === null ? at : change.to + at - change.at - change.lines.length;
  }
  /** The last change that begins at `at` or before. */
  #before(at: number): PlacedChange | null {
    const behind = firstBehind(this.#changes.length, (i) => (this.#changes[i]?.at ?? 0) <= at);
    return this.#changes[behind - 1] ?? null;
  }
}

/** `changes` null: not known, a diff of all lines says them. Where they are known, each is looked at for lines that it says again. */
export const viewOf = (
  path: string,
  base: LineIndex,
  result: LineIndex | null,
  changes: readonly Change[] | null,
): GuardView => {
  const found =
    changes === null
      ? changesFrom(base.length, result ?? NO_LINES, lineOrigins(base, result ?? NO_LINES))
      : changes.flatMap((change) => refined(base, change));
  const all = placed(found);
  return { path, base, changes: all, result: new ResultLines(base, all) };
};

const refined = (base: LineIndex, change: Change): readonly Change[] => {
  const { from, to, lines } = change;
  // Lines only come, or only go.
  if (from === to || lines.length === 0) return [change];
  const old = base.range(from, to);
  if (haveNothingInCommon(old, lines)) return [change];
  const parts = changesFrom(to - from, lines, lineOrigins(old, lines));
  return parts.map((part) => ({ from: from + part.from, to: from + part.to, lines: part.lines }));
};

/** `a/b/c` and all that it lies in, the outermost first. */
export const prefixes = (name: string, separator: '/' | '.'): readonly string[] => {
  const parts = name.split(separator);
  return parts.map((_, at) => parts.slice(0, at + 1).join(separator));
};

/** Visits the lines that the base did not have, with their 0-based place in the result. */
export const eachNewLine = (
  { changes }: GuardView,
  visit: (line: string, at: number, change: PlacedChange) => void,
): void => {
  for (const change of changes)
    for (let i = 0; i < change.lines.length; i += 1)
      visit(change.lines[i] ?? '', change.at + i, change);
};
