/** Finds where an edit belongs in its file: the passes, in the order in which they are tried. */
import { TOLERANCES, type Tolerance, type ToleranceSettings } from '../shared/formats.js';
import type { Edit } from './edit.js';
import type { Fault } from './types.js';

/** A way in which the text that an edit quotes may stand in the file. */
export type PassName = 'symbol' | 'stated' | 'exact' | Tolerance;

interface Pass {
  readonly name: PassName;
  /** The tolerance that the pass is; null: it needs none. */
  readonly tolerance: Tolerance | null;
}
const plain = (name: PassName): Pass => ({ name, tolerance: null });
const tolerant = (tolerance: Tolerance): Pass => ({ name: tolerance, tolerance });

/**
 * The passes, strictest first. The first one by which an edit occurs anywhere decides: in one place it belongs there, in several it is
 * refused. An edit uses only the tolerances of its dialect (`hint.rules`) that are on.
 */
const PASSES: readonly Pass[] = [
  // A structured edit may name a definition, whose lines the syntax tree knows.
  plain('symbol'),
  // A diff and a structured edit state a line, which is right in the file that they were written for.
  plain('stated'),
  // Blocks, strings and patches state none, and a file may have changed since: nearly all quote it as it is.
  plain('exact'),
  // A response may end its lines in CRLF where the file does not, or the other way around.
  tolerant('line_endings'),
  // Models leave out blanks at the ends of lines, which they do not see.
  tolerant('trailing_space'),
  // Models write plain quotes, dashes and spaces for typographic ones, or the other way around.
  tolerant('lookalikes'),
  // Editors and models cut the blank before the context lines of a diff.
  tolerant('lost_blank'),
  // Models write blanks for the tabs of a file, or tabs for its blanks.
  tolerant('tabs'),
  // Models quote a nested block as if it began at the margin.
  tolerant('indent'),
  // Models leave out the middle of a long quote and write `...` for it.
  tolerant('elision'),
  // Models quote the part of a line that changes, as other tools let them do.
  tolerant('part_of_line'),
  // A file may have changed since it was listed: all that a structured edit quotes occurs together in one other place.
  tolerant('line_drift'),
];

/** The text of a file as edits of one kind are located in it. */
export interface SearchedText<E extends Edit, P> {
  readonly settings: ToleranceSettings | undefined;
  /** Returns the place by a pass, or why there is not exactly one; null: the edit occurs nowhere by it, or such edits do not use it. */
  find(pass: PassName, edit: E): P | Fault | null;
}

/** Where the lines of an edit stand, and what becomes of them. */
export interface LinePlace {
  /** The first of the lines that go: a node of the chain (locate/line-chain.ts), for a base line its 0-based number. */
  readonly first: number;
  /** Both sides as they are applied: a tolerance may have put them into the file's form. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly tolerances: readonly Tolerance[];
  /** Which line of `before` each line of `after` keeps, -1 for none, if the pass decides that; null: a diff of both decides. */
  readonly kept: ArrayLike<number> | null;
}

/** Base lines [from, to), 0-based, that an edit names. */
export interface RangePlace {
  readonly from: number;
  readonly to: number;
  readonly tolerances: readonly Tolerance[];
}

/** Is a tolerance on, and one of those that the edit's dialect may use? */
export const mayUse = (
  edit: Edit,
  tolerance: Tolerance,
  settings: ToleranceSettings | undefined,
): boolean =>
  edit.hint.rules.tolerances.has(tolerance) &&
  (settings?.[tolerance] ?? TOLERANCES[tolerance].default);

/** Finds the place of an edit, or why there is not exactly one; null: it occurs nowhere. */
export const locate = <E extends Edit, P>(edit: E, text: SearchedText<E, P>): P | Fault | null => {
  for (const { name, tolerance } of PASSES) {
    if (tolerance !== null && !mayUse(edit, tolerance, text.settings)) continue;
    const result = text.find(name, edit);
    if (result !== null) return result;
  }
  return null;
};
