/** Result lines said as what differs from the base: cost and memory go with the edits, not with the file. */
import type { SpliceBase } from './codec.js';
import { indexOfLines, type LineIndex } from './lines.js';

/** What a format module makes of an answer for one file, before `spliced` gives it bytes (to-splices.ts). */
export type FilePlan =
  | LinesPlan
  | { readonly kind: 'delete'; readonly path: string }
  | { readonly kind: 'move'; readonly from: string; readonly path: string };

/** A file's result: differences from the base where the format knows them, else all lines, for a line diff. */
export type LinesPlan = (
  | { readonly changes: readonly Change[] }
  | { readonly result: LineIndex }
) & {
  readonly kind: 'lines';
  readonly path: string;
  /** The model wrote every line of the file, so what is not there may have been forgotten. */
  readonly rewritten?: true;
  /** The number of the only edit that says it, where that is known. */
  readonly index?: number;
  /** Only a diff's `\ No newline at end of file` on one side says so; absent: as the rules of `spliced`. */
  readonly finalNewline?: boolean | undefined;
  /** What `changes` count in where bytes are exact (to-splices.ts); absent: the file's own lines. */
  readonly exact?: SpliceBase | undefined;
  /** New mode from a diff header. */
  readonly mode?: number | undefined;
  /** The beginning of the result's blob hash, as git's diff states it. */
  readonly blob?: string | undefined;
};

/** Base lines [from, to) become `lines`, all of them new. Changes are in order, and at least one kept line stands between two. */
export interface Change {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** How many lines more the result has; below 0: fewer. */
export const grownBy = (changes: readonly Change[]): number =>
  changes.reduce((sum, { from, to, lines }) => sum + lines.length - (to - from), 0);

/** A change, and the 0-based result line at which its lines stand. */
export type PlacedChange = Change & { readonly at: number };

export const placed = (changes: readonly Change[]): readonly PlacedChange[] => {
  let shift = 0;
  return changes.map(({ from, to, lines }) => {
    const at = from + shift;
    shift += lines.length - (to - from);
    // Named one by one: a spread of ten thousand objects costs as much as the rest of the pass.
    return { from, to, lines, at };
  });
};

/** Collects changes in the order of the base, joining those that touch. */
export class ChangeList {
  readonly #changes: { from: number; to: number; lines: string[] }[] = [];

  /** Base lines [from, to) go, `lines` come in their place; not before what was said already. */
  put(from: number, to: number, lines: readonly string[]): void {
    if (from === to && lines.length === 0) return;
    const last = this.#changes.at(-1);
    if (last === undefined || from > last.to)
      return void this.#changes.push({ from, to, lines: lines.slice() });
    last.to = Math.max(last.to, to);
    for (const line of lines) last.lines.push(line);
  }
  done(): readonly Change[] {
    return this.#changes;
  }
}

/** The changes of result lines whose origins are known. */
export const changesFrom = (
  baseLines: number,
  lines: readonly string[] | LineIndex,
  origins: ArrayLike<number>,
): readonly Change[] => {
  const result = indexOfLines(lines);
  const list = new ChangeList();
  let next = 0;
  let fresh = 0;
  for (let at = 0; at <= result.length; at += 1) {
    const origin = at < result.length ? (origins[at] ?? -1) : baseLines;
    if (origin < 0) continue;
    if (origin > next || at > fresh) list.put(next, origin, result.range(fresh, at));
    next = origin + 1;
    fresh = at + 1;
  }
  return list.done();
};

/** All result lines. */
export const expand = (base: LineIndex, changes: readonly Change[]): readonly string[] => {
  const { all } = base;
  const result: string[] = [];
  let next = 0;
  const keepUpTo = (end: number): void => {
    for (; next < end; next += 1) result.push(all[next] ?? '');
  };
  for (const { from, to, lines } of changes) {
    keepUpTo(from);
    for (const line of lines) result.push(line);
    next = to;
  }
  keepUpTo(all.length);
  return result;
};
