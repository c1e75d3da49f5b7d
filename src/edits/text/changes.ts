/** Result lines said as what differs from the base: cost and memory go with the edits, not with the file. */
import type { SpliceBase } from './codec.js';
import { type Text, indexOf, indexOfLines, type LineIndex } from './lines.js';

/** What a format module makes of an answer for one file: the result's lines, before `settle` gives them bytes. */
export type FilePlan =
  | {
      readonly kind: 'lines';
      readonly path: string;
      /** Result lines without ends. */
      readonly lines: readonly string[];
      /** The same, where the format has not made strings of them. */
      readonly result?: LineIndex;
      /** The model wrote every line of the file, so what is not there may have been forgotten. */
      readonly rewritten?: true;
      /** Where each result line comes from: the 0-based index of the base line it keeps byte for byte, or -1 for a new one.
       *  Absent: not known (whole-file, blocks), `settle` finds it by a line diff. */
      readonly origins?: readonly number[];
      /** The same as differences from the base, where the format knows them; then nobody need make the lines (changes.ts). */
      readonly changes?: readonly Change[];
      /** Only a diff's `\ No newline at end of file` on one side says so; absent: as `settle`'s rules. */
      readonly finalNewline?: boolean;
      /** What `changes` count in where bytes are exact (to-splices.ts); absent: the file's own lines. */
      readonly exact?: SpliceBase;
      /** New mode from a diff header. */
      readonly mode?: number;
    }
  | { readonly kind: 'delete'; readonly path: string }
  | { readonly kind: 'move'; readonly from: string; readonly path: string };

/** Base lines [from, to) become `lines`, all of them new. Changes are in order, and at least one kept line stands between two. */
export interface Change {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Collects changes in the order of the base, joining those that touch. */
export class ChangeList {
  readonly changes: Change[] = [];
  #from = 0;
  #to = 0;
  #lines: string[] = [];
  #open = false;

  /** Base lines [from, to) go, `lines` come in their place; not before what was said already. */
  put(from: number, to: number, lines: readonly string[]): void {
    if (from === to && lines.length === 0) return;
    if (!this.#open || from > this.#to) {
      this.#close();
      [this.#open, this.#from] = [true, from];
      this.#to = from;
    }
    this.#to = Math.max(this.#to, to);
    for (const line of lines) this.#lines.push(line);
  }
  done(): readonly Change[] {
    this.#close();
    return this.changes;
  }
  #close(): void {
    if (this.#open) this.changes.push({ from: this.#from, to: this.#to, lines: this.#lines });
    this.#lines = [];
    this.#open = false;
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

export interface Expanded {
  readonly lines: readonly string[];
  readonly origins: readonly number[];
}

/** All result lines, and the base line that each keeps or -1. */
export const expand = (base: LineIndex, changes: readonly Change[]): Expanded => {
  const all = base.all;
  const lines: string[] = [];
  const origins: number[] = [];
  let next = 0;
  const keepUpTo = (end: number): void => {
    for (; next < end; next += 1) {
      lines.push(all[next] ?? '');
      origins.push(next);
    }
  };
  for (const change of changes) {
    keepUpTo(change.from);
    for (const line of change.lines) {
      lines.push(line);
      origins.push(-1);
    }
    next = change.to;
  }
  keepUpTo(all.length);
  return { lines, origins };
};

type LinesPlan = Extract<FilePlan, { kind: 'lines' }>;

/** A plan that says its changes; its lines and origins are made when somebody asks. */
export const changesPlan = (
  path: string,
  text: Text,
  changes: readonly Change[],
  more: { readonly [K in 'finalNewline' | 'mode' | 'exact']?: LinesPlan[K] | undefined } = {},
): LinesPlan => {
  let expanded: Expanded | null = null;
  const all = (): Expanded => (expanded ??= expand(indexOf(text), changes));
  return {
    kind: 'lines',
    path,
    changes,
    get lines() {
      return all().lines;
    },
    get origins() {
      return all().origins;
    },
    ...(more.finalNewline === undefined ? {} : { finalNewline: more.finalNewline }),
    ...(more.exact === undefined ? {} : { exact: more.exact }),
    ...(more.mode === undefined ? {} : { mode: more.mode }),
  };
};
